"""`finish_check` on a real task in a real sandbox: tried in a clean copy, told, killed and resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest
from run_folders import CarryOn, cut_after

from leadhand.benchmarks.folder import find_task
from leadhand.core.design import Design
from leadhand.core.errors import UsageError
from leadhand.core.events import CheckEnded, CheckStarted, Collected, Entry, Graded, MessageAdded, RunEnded
from leadhand.core.journal import read_journal
from leadhand.core.values import Task, ToolResults
from leadhand.runs import store
from leadhand.runs.paths import RunPaths, all_runs
from leadhand.runs.plan import plan
from leadhand.runs.spec import Request
from leadhand.sandboxes.leftovers import clear

T = TypeVar("T")
HERE = Path(__file__).parent
pytestmark = pytest.mark.timeout(120)


def design(name: str, **more: object) -> Design:
    return Design(lead=f"scripted/finishing_teams:{name}", finish_check=True, **more)  # type: ignore[arg-type]


def new(design: Design, folder: Path, task: Task | None = None, sandbox: str = "bwrap") -> RunPaths:
    request = Request(task=task or find_task("numerus"), design=design, sandbox=sandbox)
    return store.create(folder / "runs", plan(request, {}))


def of_kind(entries: list[Entry], kind: type[T]) -> list[T]:
    return [e.event for e in entries if isinstance(e.event, kind)]


def told(entries: list[Entry]) -> str:
    bodies = [e.message.body for e in of_kind(entries, MessageAdded)]
    return "\n".join(r.text for b in bodies if isinstance(b, ToolResults) for r in b.results)


def submitted(paths: RunPaths, entries: list[Entry]) -> set[str]:
    (packed,) = of_kind(entries, Collected)
    with tarfile.open(paths.blob(packed.blob)) as tar:
        return {m.name.removeprefix("./") for m in tar}


@pytest.mark.anyio
@pytest.mark.parametrize("solo", [False, True], ids=["team", "solo"])
async def test_a_lead_whose_work_does_not_build_is_told_and_mends_it(
    solo: bool, tmp_path: Path, carry_on: CarryOn
) -> None:
    paths = new(design("hasty", solo=solo), tmp_path)
    entries = await carry_on(paths)
    assert [(e.outcome, e.exit_code) for e in of_kind(entries, CheckEnded)] == [("failed", 3), ("passed", 0)]
    text = told(entries)
    assert "no such header\n[exit code 3]\n</leadhand-check>" in text
    assert "ls: cannot access '/reference'" in text, "the reference is not there, as it is not for the grader"
    assert text.count("</leadhand-check>") == 1
    assert [e.grade.reward for e in of_kind(entries, Graded)] == [1.0]
    assert "trace" not in submitted(paths, entries), "the workspace is as the team left it"
    assert not paths.finishing.exists()
    assert clear(f"{paths.id}.finishing".__eq__) == (0, 0)


@pytest.mark.anyio
async def test_without_isolation_it_works_too(tmp_path: Path, carry_on: CarryOn) -> None:
    entries = await carry_on(new(design("plain"), tmp_path, sandbox="local"))
    assert [e.outcome for e in of_kind(entries, CheckEnded)] == ["passed"]
    assert [e.grade.reward for e in of_kind(entries, Graded)] == [1.0]


@pytest.mark.anyio
async def test_a_build_that_takes_its_sandbox_down_has_failed(tmp_path: Path, carry_on: CarryOn) -> None:
    entries = await carry_on(new(design("destructive"), tmp_path))
    assert [e.outcome for e in of_kind(entries, CheckEnded)] == ["failed"] * 3
    assert [e.status for e in of_kind(entries, RunEnded)] == ["finished"]
    assert [e.grade.reward for e in of_kind(entries, Graded)] == [0.0]


@pytest.mark.anyio
async def test_what_cannot_be_tried_is_held_against_nobody(
    tmp_path: Path, carry_on: CarryOn, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = new(design("hasty"), tmp_path)
    paths.finishing.write_text("in the way")
    monkeypatch.setattr(store, "remove", lambda folder: None)  # nor can it be taken away
    entries = await carry_on(paths)
    (ended,) = of_kind(entries, CheckEnded)
    assert (ended.outcome, "cannot be tried" in ended.fault) == ("not_tried", True)
    assert [e.status for e in of_kind(entries, RunEnded)] == ["finished"]


@pytest.mark.anyio
@pytest.mark.parametrize("kind", [CheckStarted, CheckEnded])
async def test_a_journal_cut_in_a_check_or_after_it(kind: type, tmp_path: Path, carry_on: CarryOn) -> None:
    paths = new(design("hasty"), tmp_path)
    await carry_on(paths)
    cut_after(paths, kind)
    entries = await carry_on(paths)
    # The workspace is that of the whole run: what is tried again builds by now.
    wanted = ["failed", "passed"] if kind is CheckEnded else ["interrupted", "passed"]
    assert [e.outcome for e in of_kind(entries, CheckEnded)] == wanted
    assert [e.grade.reward for e in of_kind(entries, Graded)] == [1.0]


def leadhand(*words: str, env: dict[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "leadhand", *words]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_killed_in_the_middle_of_a_check_and_resumed(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(HERE)}
    runs = ["--plain", "--runs", str(tmp_path)]
    words = ["run", "numerus", "--lead", "scripted/finishing_teams:slow", "-s", "finish_check=true"]
    process = leadhand(*words, "--sandbox", "bwrap", *runs, env=env)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        found = all_runs(tmp_path)
        if found and found[0].journal.exists() and b'"check_started"' in found[0].journal.read_bytes():
            break
        time.sleep(0.01)
    time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    said = process.communicate()[0]
    assert process.returncode == -signal.SIGKILL, said
    (paths,) = all_runs(tmp_path)
    assert paths.finishing.exists(), "the kill came in the middle"
    again = leadhand("resume", paths.id, *runs, env=env)
    said = again.communicate(timeout=100)[0]
    assert again.returncode == 0, said
    assert "c1: interrupted" in said
    assert "c2: the build works" in said
    entries = read_journal(paths.journal)
    assert [(e.check, e.outcome) for e in of_kind(entries, CheckEnded)] == [("c1", "interrupted"), ("c2", "passed")]
    assert [e.grade.reward for e in of_kind(entries, Graded)] == [1.0]
    assert not paths.finishing.exists()
    assert clear(f"{paths.id}.finishing".__eq__) == (0, 0)


# --- the setting -----------------------------------------------------------------------------------------------


def digest_of(design: Design, task: Task) -> str:
    return plan(Request(task=task, design=design, sandbox="bwrap"), {}).lock.digest


def test_it_is_part_of_the_identity_only_where_it_is_on() -> None:
    task = find_task("numerus")
    other = msgspec.structs.replace(task, finish_check="make")
    on, off = design("hasty"), msgspec.structs.replace(design("hasty"), finish_check=False)
    assert digest_of(on, task) != digest_of(off, task)
    assert digest_of(off, task) == digest_of(off, other)
    assert digest_of(on, task) != digest_of(on, other)


def test_a_task_without_a_build_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text("prompt = 'Do it.'\n[grader]\ncommand = 'true'\n")
    with pytest.raises(UsageError, match=r"the task '.*' has none: leave finish_check out") as refused:
        new(design("hasty"), tmp_path, find_task(str(tmp_path)))
    assert "\n" not in str(refused.value)
    done = leadhand(
        *("run", str(tmp_path), "--lead", "scripted/finishing_teams:slow", "-s", "finish_check=true"),
        *("--runs", str(tmp_path / "runs")),
        env={**os.environ, "PYTHONPATH": str(HERE)},
    )
    said = done.communicate(timeout=60)[0]
    assert (done.returncode, "leave finish_check out" in said) == (2, True)
    assert not (tmp_path / "runs").exists()


def test_no_shipped_study_has_it_on() -> None:
    import leadhand.study

    files = [*Path(leadhand.study.__file__).parent.rglob("*.toml")]
    assert len(files) >= 3
    assert [f.name for f in files if "finish_check" in f.read_text()] == []
