"""Ctrl-C once wraps up and grades what there is, twice stops; a run is worked on by one process at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from e2e_cli import CLEAN, HERE, PRICE, Leadhand

from leadhand.runs.paths import RunPaths, all_runs
from leadhand.testing.provider import in_process

SOLO = ("--solo", "--lead", "openai-chat/fake", "--price", PRICE, "--sandbox", "bwrap")
Busy = Callable[[], tuple[subprocess.Popen[str], RunPaths]]


@pytest.fixture
def busy(tmp_path: Path, task: Path) -> Iterator[Busy]:
    """Start a run in a process of its own; it is in the middle of a long command when this returns."""
    with in_process("e2e_teams:SLOW", pythonpath=str(HERE)) as url:
        started: list[subprocess.Popen[str]] = []

        def start() -> tuple[subprocess.Popen[str], RunPaths]:
            process = subprocess.Popen(
                [sys.executable, "-m", "leadhand", "run", str(task), *SOLO, "--base-url", url],
                cwd=tmp_path,
                env=CLEAN | {"LEADHAND_RUNS": str(tmp_path / "runs")},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            started.append(process)
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and process.poll() is None:
                runs = all_runs(tmp_path / "runs")
                if runs and runs[0].journal.exists() and b"busy" in runs[0].journal.read_bytes().rpartition(b"\n")[0]:
                    return process, runs[0]
                time.sleep(0.02)
            raise AssertionError(f"the run never got busy: {process.communicate()}")

        yield start
        for process in started:
            process.kill()
            process.communicate()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_wraps_up_and_grades(busy: Busy, how: signal.Signals, leadhand: Leadhand) -> None:
    process, run = busy()
    process.send_signal(how)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "wrapping up" in err
    shown = leadhand("show", run.id, "--json").json["summary"]
    assert shown["status"] == "cancelled"
    assert not shown.get("valid", False)
    assert shown["reward"] == 1.0
    assert [a["status"] for a in shown["agents"]] == ["cancelled"]


def test_two_signals_stop_and_resume_goes_on(busy: Busy, leadhand: Leadhand) -> None:
    process, run = busy()
    os.kill(process.pid, signal.SIGINT)
    os.kill(process.pid, signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert f"leadhand resume {run.id}" in err
    assert leadhand("show", run.id, "--json").json["summary"]["status"] == "running"
    done = leadhand("resume", run.id, "--json")
    assert done.code == 0, done.err
    assert done.json["summary"]["reward"] == 1.0


def test_a_run_at_work_is_not_taken_up_twice(busy: Busy, leadhand: Leadhand) -> None:
    process, run = busy()
    for command in ("resume", "grade"):
        done = leadhand(command, run.id)
        assert done.code == 1
        assert done.err == f"leadhand: another process is working on run {run.id}; wait for it, or stop it\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 1
    assert leadhand("show", run.id, "--json").json["summary"]["status"] == "cancelled"
