"""`leadhand grade` on what is known of a task: the task as it is given, and its author's solution."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from leadhand.benchmarks.commit0.benchmark import Commit0
from leadhand.benchmarks.folder import SHIPPED, find_task
from leadhand.benchmarks.proving import Expected
from leadhand.core.values import Grade, Task


def leadhand(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "leadhand", "grade", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


def test_the_shipped_tasks_are_as_they_should_be() -> None:
    done = leadhand("shipped", "--untouched", "--reference", "--jobs", "2", "--sandbox", "bwrap", "--json")
    assert done.returncode == 0, done.stderr
    proofs = json.loads(done.stdout)
    assert [(p["task"], p["what"], p["reward"]) for p in proofs] == [
        (task, what, reward)
        for task in ("gridline", "numerus", "satchel")
        for what, reward in (("untouched", 0.0), ("reference", 1.0))
    ]


def test_a_solution_that_is_none_is_told_and_fails_the_command(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / "numerus", tmp_path / "mine")
    (tmp_path / "mine/gold/compile.sh").write_text("exit 3\n")
    done = leadhand(str(tmp_path / "mine"), "--reference", "--sandbox", "bwrap")
    assert done.returncode == 1
    assert "NOT as expected" in done.stderr
    assert "WRONG" in done.stdout
    assert "0 of 1 as expected" in done.stdout


def test_where_nothing_is_known_nothing_is_started(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / "numerus", tmp_path / "mine")
    shutil.rmtree(tmp_path / "mine/gold")
    done = leadhand(str(tmp_path / "mine"), "--reference")
    assert (done.returncode, done.stdout) == (2, "")
    assert "comes without a solution: leave --reference out" in done.stderr


def test_no_team_is_given_the_solution() -> None:
    """It is named in the task, and nowhere in what a sandbox is started from."""
    task = find_task("numerus")
    assert task.solution == str(SHIPPED / "numerus/gold")
    assert all(task.solution not in (m.source, task.workspace) for m in task.mounts)
    assert not list(Path(task.workspace).rglob("compile.sh"))


@pytest.mark.parametrize(
    ("name", "what", "passed", "right"),
    [
        ("simpy", "untouched", 83, True),
        ("simpy", "untouched", 84, False),
        ("portalocker", "reference", 36, True),
        ("portalocker", "reference", 34, True),
        ("portalocker", "reference", 33, False),
        ("marshmallow", "reference", 1227, True),
        ("marshmallow", "reference", 1226, False),
        ("pyjwt", "reference", 258, True),
    ],
)
def test_what_commit0s_libraries_should_score(name: str, what: str, passed: int, right: bool) -> None:
    expected = Commit0().expected(Task(id=name, prompt=""), what)  # type: ignore[arg-type]
    assert expected.holds(Grade(reward=0.5, passed=passed, total=2000)) is right


def test_expectations_in_words() -> None:
    assert str(Expected(34, 36, counts=True)) == "34 to 36 passed"
    assert str(Expected(1.0, 1.0)) == "reward 1"
