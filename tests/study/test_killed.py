"""`kill -9` on the driver: the same command goes on, and the provider's bill is inside what the journals say."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from sessions import assert_whole, outcomes, settled, unknown
from study_files import HERE, Make, Provider

from leadhand.study.layout import StudyPaths

PROGRAM = [sys.executable, "-W", "error", str(HERE / "study_cli.py"), "study", "run"]


def start(file: Path, paths: StudyPaths, *more: str) -> subprocess.Popen[bytes]:
    command = [*PROGRAM, str(file), "--folder", str(paths.folder), "--plain", *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)


def wait_for(provider: Provider, requests: int, process: subprocess.Popen[bytes]) -> None:
    """Until the provider was asked so often; this is what seeds the moments, not the clock."""
    while provider.requests_here() < requests and process.poll() is None:
        time.sleep(0.005)


@pytest.mark.timeout(240)
def test_killed_at_ten_seeded_moments(make_study: Make, provider: Provider, paths: StudyPaths) -> None:
    file = make_study(provider.url, tasks=4, repeats=2, sandbox="bwrap", concurrency=4, schedules='["blocking"]')
    random = Random(7)
    for _ in range(10):
        process = start(file, paths)
        wait_for(provider, provider.requests_here() + random.randint(1, 9), process)
        time.sleep(random.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        bill = provider.usd()
        if paths.runs.exists():
            assert settled(paths) <= bill + 1e-6
            assert bill <= settled(paths) + unknown(paths) + 1e-6
    process = start(file, paths)
    said, _ = process.communicate()
    assert process.returncode == 0, said.decode()
    assert_whole(paths)
    bill = provider.usd()
    assert settled(paths) <= bill + 1e-6
    assert bill <= settled(paths) + unknown(paths) + 1e-6
    assert any(o.resumed for o in outcomes(paths).values())
    assert not [name for name in outcomes(paths) if ".attempt-" in name]


@pytest.mark.timeout(120)
def test_the_first_ctrl_c_lets_runs_finish_the_second_interrupts(
    make_study: Make, provider: Provider, paths: StudyPaths
) -> None:
    file = make_study(provider.url, tasks=12, concurrency=2)
    process = start(file, paths)
    wait_for(provider, 8, process)
    os.killpg(process.pid, signal.SIGINT)  # the whole group, as a terminal does
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130, said.decode()
    assert b"no further run starts" in said
    found = outcomes(paths)
    assert found
    assert {o.status for o in found.values()} == {"finished"}
    assert len(found) < 36
    process = start(file, paths)
    wait_for(provider, provider.requests_here() + 3, process)
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130, said.decode()
    bill = provider.usd()
    assert settled(paths) <= bill + 1e-6
    assert bill <= settled(paths) + unknown(paths) + 1e-6
