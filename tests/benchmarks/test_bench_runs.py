"""A rehearsed team on a Commit0 task and on a ProgramBench-shaped one: killed after it finished, resumed, graded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commit0_room import place, prepared_root

from leadhand.benchmarks.folder import SHIPPED
from leadhand.benchmarks.integrity import findings
from leadhand.core.events import AttemptReplied, Collected, Entry, Graded, GradingStarted, RunEnded
from leadhand.core.journal import read_journal
from leadhand.runs.paths import RunPaths, all_runs
from leadhand.runs.spec import read_run_file

pytestmark = pytest.mark.timeout(300)
HERE = Path(__file__).parent
COMMAND = [sys.executable, "-m", "leadhand"]
PATIENCE_S = 240


def started(task: str, solution: dict[str, str], runs: Path, cache: Path) -> tuple[RunPaths, dict[str, str]]:
    """Run a team on the task, and kill -9 the harness when the run has ended and its grading has not."""
    env = {
        **os.environ,
        "PYTHONPATH": str(HERE),
        "LEADHAND_CACHE": str(cache),
        "LEADHAND_TEST_SOLUTION": json.dumps(solution),
    }
    words = ["run", task, "--lead", "scripted/bench_teams:SCRIPTS", "--max-workers", "1", "--sandbox", "bwrap"]
    process = subprocess.Popen(
        [*COMMAND, *words, "--plain", "--runs", str(runs)], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    deadline = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < deadline:
        found = all_runs(runs) if runs.is_dir() else []
        if found and found[0].journal.exists() and b'"run_ended"' in found[0].journal.read_bytes():
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    said = process.communicate()[0].decode()
    assert process.returncode == -signal.SIGKILL, said
    return all_runs(runs)[0], env


def events(entries: list[Entry], kind: type) -> list[Entry]:
    return [e for e in entries if isinstance(e.event, kind)]


def leadhand(env: dict[str, str], *words: str) -> str:
    done = subprocess.run([*COMMAND, *words], env=env, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def resumed_and_graded(
    task: str, solution: dict[str, str], tmp_path: Path, cache: Path
) -> tuple[RunPaths, list[Entry]]:
    paths, env = started(task, solution, tmp_path / "runs", cache)
    before = read_journal(paths.journal) if paths.journal.read_bytes().endswith(b"\n") else []
    assert not events(before, Graded)
    leadhand(env, "resume", paths.id, "--plain", "--runs", str(tmp_path / "runs"))
    entries = read_journal(paths.journal)
    assert len(events(entries, RunEnded)) == len(events(entries, Collected)) == 1
    assert len(events(entries, AttemptReplied)) == 5, "nothing was asked twice"
    assert len(events(entries, Graded)) == 1
    assert len(events(entries, GradingStarted)) in (1, 2)
    leadhand(env, "grade", paths.id, "--runs", str(tmp_path / "runs"))
    again = read_journal(paths.journal)
    grades = [e.event.grade for e in again if isinstance(e.event, Graded)]
    assert len(grades) == 2
    assert (grades[0].reward, grades[0].passed) == (grades[1].reward, grades[1].passed)
    return paths, again


@pytest.mark.pypi
def test_a_team_on_a_commit0_task(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = prepared_root(tmp_path_factory.getbasetemp().parent)
    reference = place(root, "cachetools").reference
    names = ("src/cachetools/func.py", "src/cachetools/keys.py")
    solution = {name: (reference / name).read_text() for name in names}
    paths, entries = resumed_and_graded("commit0/cachetools", solution, tmp_path, root.parent)
    grade = next(e.event.grade for e in entries if isinstance(e.event, Graded))
    assert (grade.reward, grade.passed, grade.total) == (1.0, 215, 215)
    task = read_run_file(paths.run_json).lock.task
    assert (task.benchmark, task.id) == ("commit0", "cachetools")
    assert findings(entries, task) == ()


def test_a_team_on_a_task_of_programbenchs_shape(tmp_path: Path) -> None:
    solution = {"compile.sh": (SHIPPED / "numerus/gold/compile.sh").read_text()}
    paths, entries = resumed_and_graded("numerus", solution, tmp_path, tmp_path / "cache")
    grade = next(e.event.grade for e in entries if isinstance(e.event, Graded))
    assert (grade.reward, grade.passed) == (1.0, grade.total)
    run = read_run_file(paths.run_json)
    assert findings(entries, run.lock.task) == ()

    from leadhand.benchmarks.programbench.export import export

    packed = next(e.event.blob for e in entries if isinstance(e.event, Collected))
    folder = export(entries, run.lock.prices, {"design": "test"}, "numerus", paths.blob(packed), tmp_path / "out")
    assert {p.name for p in folder.iterdir()} == {"submission.tar.gz", "numerus.traj.json"}
    told = json.loads((folder / "numerus.traj.json").read_text())
    assert told["trajectory_format"] == "mini-swe-agent-1.1"
    assert told["info"]["model_stats"]["api_calls"] == 5
    assert told["info"]["exit_status"] == "finished"
    assert {m.get("agent") for m in told["messages"]} >= {"lead", "w1"}
    assert [m["role"] for m in told["messages"]][-1] == "exit"
    assert any("compile.sh" in a["arguments"] for m in told["messages"] for a in m.get("extra", {}).get("actions", []))
