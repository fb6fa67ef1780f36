"""Cases: how they are read, how they are run, what counts as the same."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leadhand.benchmarks.cases import Case, command, fits, load_cases, tally
from leadhand.core.errors import UsageError
from leadhand.core.values import ExecResult

ECHO = "import os, sys; print(sys.argv[1:], [sys.stdin.read()], {n: open(n).read() for n in os.listdir()})"
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=12)


@settings(max_examples=40, deadline=None)
@given(args=st.lists(TEXT, max_size=3), stdin=TEXT, text=TEXT, name=st.sampled_from(["f", "-n", "a b", "ü'\"$x"]))
def test_arguments_input_and_files_reach_the_program_unchanged(
    tmp_path_factory: pytest.TempPathFactory, args: list[str], stdin: str, text: str, name: str
) -> None:
    home = tmp_path_factory.mktemp("case")
    program = home / "program"
    program.write_text(f"#!/usr/bin/python3\n{ECHO}\n")
    program.chmod(0o755)
    case = Case(name="x", args=tuple(args), stdin=stdin, files={name: text})
    done = subprocess.run(["bash", "-c", command(case, str(program), str(home / "case"))], stdout=subprocess.PIPE)
    assert done.stdout.decode() == f"{args} {[stdin]} { {name: text} }\n"


def test_every_case_has_a_folder_of_its_own_even_below_folders(tmp_path: Path) -> None:
    for _ in range(2):
        case = Case(name="x", files={"a/b/c": "1"})
        text = command(case, "/usr/bin/find", str(tmp_path / "case"))
        done = subprocess.run(["bash", "-c", text], stdout=subprocess.PIPE, check=True)
        assert sorted(done.stdout.decode().split()) == [".", "./a", "./a/b", "./a/b/c"]
        (tmp_path / "case" / "work" / "left").write_text("over")


CASE = Case(name="a/b", stdout="yes\n", exit_code=3)


@pytest.mark.parametrize(
    ("result", "same"),
    [
        (ExecResult(exit_code=3, head=b"yes\n", size=4), True),
        (ExecResult(exit_code=3, head=b"ye", tail=b"s\n", size=4), True),
        (ExecResult(exit_code=0, head=b"yes\n", size=4), False),
        (ExecResult(exit_code=3, head=b"yes", size=3), False),
        (ExecResult(exit_code=3, head=b"yes\n", size=4, ended="timed_out"), False),
        (ExecResult(exit_code=3, head=b"yes\n", size=4, ended="killed"), False),
        (ExecResult(exit_code=3, head=b"ye", tail=b"s\n", size=900), False),
    ],
)
def test_only_the_same_output_and_exit_code_of_a_program_that_ended_by_itself_fit(
    result: ExecResult, same: bool
) -> None:
    assert fits(CASE, result) is same


def test_the_tally_counts_by_area() -> None:
    cases = [Case(name=n) for n in ("a/1", "a/2", "b/1", "plain")]
    grade = tally(cases, [cases[1]])
    assert (grade.reward, grade.passed, grade.total) == (0.75, 3, 4)
    assert grade.detail == {"areas": {"a": [1, 2], "b": [1, 1], "plain": [1, 1]}, "failed": ["a/2"]}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "holds no case"),
        ("{", ":1: not a case"),
        ('{"name":"a"}\n\n{"name":1}', ":3: not a case"),
        ('{"name":"a","stdot":"x"}', ":1: not a case"),
        ('{"name":"a"}\n{"name":"a"}', ":2: name: 'a' is used twice"),
        ('{"name":"a","files":{"/x":""}}', ":1: files"),
        ('{"name":"a","files":{"a/../../x":""}}', ":1: files"),
        ('{"name":"a","args":["\\u0000"]}', ":1: a case cannot hold a NUL"),
        ('{"name":"a","stdout":"' + "x" * 140_000 + '"}', ":1: stdout: more than"),
    ],
)
def test_a_bad_case_file_is_refused_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        load_cases(path)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)
