"""A rehearsed team on a Commit0 task and on ProgramBench-shaped ones: killed after it finished, resumed, graded.

And its run in the hands of ProgramBench's own commands.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest
from commit0_room import place, prepared_root
from programbench_room import FAILING, REAL, Room, gold

from leadhand.benchmarks.integrity import findings
from leadhand.benchmarks.programbench.benchmark import TARGET as REFERENCE
from leadhand.benchmarks.programbench.instances import instance
from leadhand.core.events import (
    AttemptReplied,
    CheckEnded,
    Collected,
    Entry,
    Graded,
    GradingFailed,
    GradingStarted,
    RunEnded,
)
from leadhand.core.journal import read_journal
from leadhand.runs.paths import RunPaths, all_runs
from leadhand.runs.spec import read_run_file

pytestmark = pytest.mark.timeout(300)
HERE = Path(__file__).parent
COMMAND = [sys.executable, "-m", "leadhand"]
PATIENCE_S = 240


def environment(solution: dict[str, str], cache: Path, **more: str) -> dict[str, str]:
    own = {"PYTHONPATH": str(HERE), "LEADHAND_CACHE": str(cache), "LEADHAND_TEST_SOLUTION": json.dumps(solution)}
    return {**os.environ, **own, **more}


def words(task: str, runs: Path, *more: str) -> list[str]:
    team = ["--lead", "scripted/bench_teams:SCRIPTS", "--max-workers", "1"]
    return ["run", task, *team, "--plain", "--runs", str(runs), *(more or ("--sandbox", "bwrap"))]


def started(task: str, env: dict[str, str], runs: Path, *more: str) -> RunPaths:
    """Run a team on the task, and kill -9 the harness when the run has ended and its grading has not."""
    process = subprocess.Popen(
        [*COMMAND, *words(task, runs, *more)], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
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
    return all_runs(runs)[0]


def events(entries: list[Entry], kind: type) -> list[Entry]:
    return [e for e in entries if isinstance(e.event, kind)]


def leadhand(env: dict[str, str], *words: str) -> str:
    done = subprocess.run([*COMMAND, *words], env=env, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def resumed_and_graded(task: str, env: dict[str, str], tmp_path: Path, *more: str) -> tuple[RunPaths, list[Entry]]:
    paths = started(task, env, tmp_path / "runs", *more)
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
    paths, entries = resumed_and_graded("commit0/cachetools", environment(solution, root.parent), tmp_path)
    grade = next(e.event.grade for e in entries if isinstance(e.event, Graded))
    assert (grade.reward, grade.passed, grade.total) == (1.0, 215, 215)
    task = read_run_file(paths.run_json).lock.task
    assert (task.benchmark, task.id) == ("commit0", "cachetools")
    assert findings(entries, task) == ()


def test_a_team_on_a_task_of_programbenchs_shape(tmp_path: Path) -> None:
    paths, entries = resumed_and_graded("numerus", environment(gold("numerus"), tmp_path / "cache"), tmp_path)
    grade = next(e.event.grade for e in entries if isinstance(e.event, Graded))
    assert (grade.reward, grade.passed) == (1.0, grade.total)
    run = read_run_file(paths.run_json)
    assert findings(entries, run.lock.task) == ()


@pytest.mark.engine
def test_a_team_on_a_task_by_programbenchs_own_evaluator(room: Room, tmp_path: Path) -> None:
    """From the local dataset entry and its image to the reward, by the commands that a user types."""
    name = room.names["numerus"]
    task = f"programbench/{name}"
    own = {"LEADHAND_PROGRAMBENCH_TASKS": str(room.folder), "PROGRAMBENCH_DOCKER_CPUS": "1"}
    env = environment(gold("numerus"), tmp_path / "cache", **own)
    assert f"bench prepare {task}" in refused(env, *words(task, tmp_path / "runs", "--sandbox", "docker"))
    listed = json.loads(leadhand(env, "bench", "list", "programbench", "--match", "numerus", "--json"))
    assert [(t["id"], t["tests"], t["state"]) for t in listed] == [(name, 18, "not prepared")]
    assert "its reference" in leadhand(env, "bench", "prepare", task)
    assert REFERENCE in leadhand(env, "bench", "show", task)
    assert "needs its own image, for which bwrap is no place: --sandbox docker" in refused(env, *words(task, tmp_path))
    paths, entries = resumed_and_graded(task, env, tmp_path, "--sandbox", "docker", "-s", "finish_check=true")
    grade = next(e.event.grade for e in entries if isinstance(e.event, Graded))
    assert (grade.reward, grade.passed, grade.total) == (1.0, 18, 18)
    assert grade.detail["programbench"] == "1.2.5"
    assert [e.event.outcome for e in entries if isinstance(e.event, CheckEnded)] == ["passed"]
    locked = read_run_file(paths.run_json).lock.task
    assert (locked.benchmark, locked.id, locked.user) == ("programbench", name, "agent")
    assert findings(entries, locked) == ()


@pytest.mark.engine
def test_a_run_of_ours_is_evaluated_packaged_and_verified_by_their_commands(room: Room, tmp_path: Path) -> None:
    """A run on one of their own tasks, exported. The program does not build: their hidden tests are not here."""
    task, runs, out = f"programbench/{REAL}", tmp_path / "runs", tmp_path / "20261130_leadhand_scripted"
    own = {"PROGRAMBENCH_DOCKER_CPUS": "1", "PROGRAMBENCH_BLOB_DIR": str(tmp_path / "none"), "HF_HUB_OFFLINE": "1"}
    env = environment(FAILING, tmp_path / "cache", **own)
    leadhand(env, "bench", "prepare", task)
    ran = subprocess.run([*COMMAND, *words(task, runs, "--sandbox", "docker")], env=env, capture_output=True, text=True)
    (paths,) = all_runs(runs)
    entries = read_journal(paths.journal)
    assert ran.returncode != 0
    (failed,) = [e.event for e in entries if isinstance(e.event, GradingFailed)]
    assert f"programbench blob sync {REAL}" in failed.error, "no reward of 0: they could not be graded"
    assert leadhand(env, "bench", "export", paths.id, "--to", str(out), "--runs", str(runs)).strip() == str(out / REAL)
    assert {p.name for p in (out / REAL).iterdir()} == {"submission.tar.gz", f"{REAL}.traj.json"}
    program = str(Path(sys.executable).with_name("programbench"))

    def theirs(*command: str) -> int:
        done = subprocess.run([program, *command, str(out)], capture_output=True, text=True, env=env, timeout=240)
        print(done.stdout, done.stderr)
        return done.returncode

    assert [theirs("eval"), theirs("submit", "package"), theirs("submit", "verify")] == [0, 0, 0]
    told = json.loads((out / REAL / f"{REAL}.eval.json").read_text())
    assert told["error_code"] == "compile_failed"
    score = json.loads((out / "_stats/score.json").read_text())
    assert len(score[REAL]) == instance(REAL).tests
    assert not any(score[REAL].values())
    (out / "_stats/score.json").write_text(json.dumps({REAL: dict.fromkeys(score[REAL], True)}))
    assert theirs("submit", "verify") != 0, "a forged score"


def test_a_run_is_exported_with_its_trajectory(tmp_path: Path) -> None:
    runs, out = tmp_path / "runs", tmp_path / "out"
    env = environment(gold("numerus"), tmp_path / "cache")
    leadhand(env, *words("numerus", runs))
    (paths,) = all_runs(runs)
    said = leadhand(env, "bench", "export", paths.id[:15], "--to", str(out), "--runs", str(runs))
    assert said.strip() == str(out / "numerus")
    with tarfile.open(out / "numerus/submission.tar.gz") as tar:
        assert {"./compile.sh", "compile.sh"} & set(tar.getnames())
    told = json.loads((out / "numerus/numerus.traj.json").read_text())
    assert told["trajectory_format"] == "mini-swe-agent-1.1"
    assert told["info"]["model_stats"]["api_calls"] == 5
    assert told["info"]["exit_status"] == "finished"
    assert told["info"]["config"]["run"] == paths.id
    assert {m.get("agent") for m in told["messages"]} >= {"lead", "w1"}
    assert [m["role"] for m in told["messages"]][-1] == "exit"
    assert any("compile.sh" in a["arguments"] for m in told["messages"] for a in m.get("extra", {}).get("actions", []))

    def export(*more: str) -> str:
        return refused(env, "bench", "export", *more, "--runs", str(runs))

    # What cannot be exported is refused in one line, and nothing of it is written.
    shutil.copytree(paths.folder, runs / f"{paths.id}b", symlinks=True)
    shutil.copytree(paths.folder, runs / "cut", symlinks=True)
    lines = paths.journal.read_bytes().splitlines(keepends=True)
    (runs / "cut/journal.jsonl").write_bytes(b"".join(line for line in lines[:-4] if b'"collected"' not in line))
    (runs / "lost").mkdir()
    for name in ("run.json", "journal.jsonl"):
        shutil.copy(paths.folder / name, runs / "lost" / name)
    (tmp_path / "file").write_text("")
    two = str(tmp_path / "two")
    assert "are both runs of numerus: export one of them" in export(str(paths.folder), f"{paths.id}b", "--to", two)
    assert "run cut has no submission yet: `leadhand resume cut` ends it" in export("cut", "--to", two)
    assert "has lost its submission" in export("lost", "--to", two)
    assert "no run 'nobody'" in export(str(paths.folder), "nobody", "--to", two)
    assert not Path(two).exists()
    assert f"--to {tmp_path / 'file'}" in export(str(paths.folder), "--to", str(tmp_path / "file"))


def refused(env: dict[str, str], *command: str) -> str:
    """The one line with which a command is refused (after what it may have noted)."""
    done = subprocess.run([*COMMAND, *command], env=env, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.strip().splitlines()[-1]
