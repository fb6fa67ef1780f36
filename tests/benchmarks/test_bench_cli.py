"""`leadhand bench` and `leadhand task` as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from leadhand.benchmarks.digests import content
from leadhand.benchmarks.folder import SHIPPED, find_task
from leadhand.benchmarks.loading import load
from leadhand.benchmarks.programbench.express import express
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
    for tier in ("none", "unlabelled"):
        unlabelled = json.loads(said("bench", "list", "programbench", "--difficulty", tier, "--json"))
        assert (len(unlabelled), {t["difficulty"] for t in unlabelled}) == (35, {"unlabelled"})
    named = json.loads(said("bench", "list", "programbench", "--match", "sqlite", "--language", "c", "--json"))
    assert [t["id"] for t in named] == ["sqlite__sqlite.839433d"]
    assert "16 tasks" in said("bench", "list", "commit0-lite")
    with pytest.raises(UsageError, match="no task has it; there are: easy, hard, medium, none, unlabelled"):
        said("bench", "list", "programbench", "--difficulty", "harder")
    with pytest.raises(UsageError, match="--language 'rust': no task has it; there are: c, cpp, go, hs, java, rs"):
        said("bench", "list", "programbench", "--language", "rust")


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
    with pytest.raises(UsageError, match="programbench/ID are prepared"):
        said("bench", "prepare", "programbench")
    assert {t["state"] for t in json.loads(said("bench", "list", "programbench", "--json"))} == {"not prepared"}
    with pytest.raises(UsageError, match="no image of ProgramBench is prepared"):
        load("programbench").tasks()
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


def test_a_task_is_written_in_programbenchs_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own tasks give way to those in the folder that the environment names, and only there."""
    text = said("task", "to-programbench", "gridline", "--to", str(tmp_path / "own"), "--branches", "3")
    name = find_task("gridline").digest[:7]
    assert f"programbench/leadhand__gridline.{name}: 40 tests in 3 branches" in text
    assert f"programbench/leadhand_1776_gridline.{name}:task_cleanroom_v6" in text
    assert "18 tests in 4 branches" in said("task", "to-programbench", "numerus", "--to", str(tmp_path / "own"))
    monkeypatch.setenv("LEADHAND_PROGRAMBENCH_TASKS", str(tmp_path / "own"))
    listed = json.loads(said("bench", "list", "programbench", "--json"))
    assert [(t["id"].split(".")[0], t["tests"]) for t in listed] == [
        ("leadhand__gridline", 40),
        ("leadhand__numerus", 18),
    ]
    with pytest.raises(UsageError, match=f"bench prepare programbench/leadhand__gridline.{name}"):
        find_task(f"programbench/leadhand__gridline.{name}")
    again = express(find_task("numerus"), tmp_path / "again/tasks", tmp_path / "again/blobs")
    assert content(str(tmp_path / "again/blobs" / again)) == content(str(tmp_path / "own/blobs" / again))
    monkeypatch.setenv("LEADHAND_PROGRAMBENCH_TASKS", str(tmp_path))
    with pytest.raises(UsageError, match="has no tasks/ and blobs/; `leadhand task to-programbench` makes them"):
        said("bench", "list", "programbench")
    with pytest.raises(UsageError, match="--branches must be at least 1"):
        said("task", "to-programbench", "numerus", "--to", str(tmp_path / "none"), "--branches", "0")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"--to .*/file"):
        said("task", "to-programbench", "numerus", "--to", str(tmp_path / "file"))
    (tmp_path / "task.toml").write_text("prompt = 'x'\n[grader]\ncommand = 'true'\n")
    with pytest.raises(UsageError, match="is not graded by cases"):
        said("task", "to-programbench", str(tmp_path), "--to", str(tmp_path / "none"))
