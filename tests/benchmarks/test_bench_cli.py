"""`leadhand bench` and `leadhand task` as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from leadhand.benchmarks.folder import SHIPPED, find_task
from leadhand.benchmarks.loading import load
from leadhand.cli.bench import register
from leadhand.core.errors import UsageError

app = typer.Typer()
register(app)


def said(*words: str) -> str:
    done = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_benchmarks_are_listed_and_loaded_by_name() -> None:
    text = said("bench", "list")
    for name in ("shipped", "commit0-lite", "programbench"):
        assert name in text
    assert {t.id for t in load("shipped").tasks()} >= {"numerus", "gridline", "satchel"}
    with pytest.raises(UsageError, match="no benchmark 'nothing'"):
        load("nothing")


def test_tasks_are_listed_and_filtered() -> None:
    hard = json.loads(said("bench", "list", "programbench", "--difficulty", "hard", "--json"))
    assert len(hard) == 18
    assert {t["difficulty"] for t in hard} == {"hard"}
    unlabelled = json.loads(said("bench", "list", "programbench", "--difficulty", "none", "--json"))
    assert len(unlabelled) == 35
    named = json.loads(said("bench", "list", "programbench", "--match", "sqlite", "--language", "c", "--json"))
    assert [t["id"] for t in named] == ["sqlite__sqlite.839433d"]
    assert "16 tasks" in said("bench", "list", "commit0-lite")


def test_what_is_not_prepared_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADHAND_CACHE", str(tmp_path))
    assert said("bench", "list", "commit0-lite").count("not prepared") == 16
    for name, why in (
        ("commit0/tinydb", "bench prepare commit0/tinydb"),
        ("commit0-lite/flask", "has no task 'flask'"),
        ("shipped/nothing", "has no task 'nothing'"),
        ("nobody/nothing", "no task 'nobody/nothing'"),
    ):
        with pytest.raises(UsageError, match=why):
            find_task(name)
    assert find_task("shipped/numerus").id == "numerus"
    with pytest.raises(UsageError, match="nothing to prepare for 'shipped'"):
        said("bench", "prepare", "shipped")
    with pytest.raises(UsageError, match="minitorch is not on PyPI"):
        said("bench", "prepare", "commit0/minitorch", "--source", "pypi")


def test_a_task_is_shown() -> None:
    text = said("bench", "show", "numerus")
    assert "folder/numerus" in text
    assert "Rebuild the command-line program" in text


def test_a_task_is_made_from_a_program(tmp_path: Path) -> None:
    asked = tmp_path / "asked.txt"
    asked.write_text("4\n14\n")
    numerus = SHIPPED / "numerus"
    words = ["task", "from-program", str(numerus / "reference/executable"), str(asked), "--to", str(tmp_path / "roman")]
    text = said(*words, "--gold", str(numerus / "gold"), "--docs", str(numerus / "workspace"))
    assert "2 cases; left out: none" in text
    assert "the gold solution scores 1.000" in text
    assert find_task(str(tmp_path / "roman")).reference == "/reference/executable"
