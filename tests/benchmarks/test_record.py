"""Recording a reference's answers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from leadhand.benchmarks.cases import Case, load_cases
from leadhand.benchmarks.folder import SHIPPED
from leadhand.benchmarks.record import answer, main, record

TOML = 'prompt = "x"\n[reference]\nexecutable = "orig"\n[grader]\ncases = "cases.jsonl"\n'


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
    return path


def test_answers_hold_output_and_exit_code_for_arguments_input_and_files(tmp_path: Path) -> None:
    program = script(tmp_path / "p", 'echo "$1 $(cat) $(cat a/b)"; echo loud >&2; exit 4')
    case = answer(program, Case(name="x", args=("ä",), stdin="in", files={"a/b": "file"}))
    assert (case.stdout, case.exit_code) == ("ä in file\n", 4)


def test_mute_and_flickering_cases_are_dropped(tmp_path: Path) -> None:
    program = script(tmp_path / "p", '[ "$1" = mute ] || { [ "$1" = flicker ] && date +%N || echo "$1"; }')
    kept = record(program, [Case(name=n, args=(n,)) for n in ("mute", "flicker", "fine")])
    assert list(kept) == [Case(name="fine", args=("fine",), stdout="fine\n")]


def test_the_command_rewrites_the_case_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(SHIPPED / "numerus" / "reference" / "executable", tmp_path / "orig")
    (tmp_path / "orig").chmod(0o755)
    (tmp_path / "task.toml").write_text(TOML)
    (tmp_path / "cases.jsonl").write_text('{"name":"a","args":["4"],"stdout":"wrong"}\n{"name":"mute"}\n')
    assert main([str(tmp_path)]) == 0
    assert "1 cases recorded, 1 dropped" in capsys.readouterr().out
    assert load_cases(tmp_path / "cases.jsonl") == (Case(name="a", args=("4",), stdout="IV\n"),)


def test_the_command_needs_a_reference_and_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "task.toml").write_text('prompt = "x"')
    assert main([str(tmp_path)]) == 2
    assert "nothing to record" in capsys.readouterr().err
