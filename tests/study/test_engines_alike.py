"""One study by one command, on one machine and on a cluster of two nodes, one of which is killed midway.

4 designs (a solo agent, a team, peers, a best-of-3) x tasks x repeats, in real bwrap sandboxes and with real graders.
LEADHAND_GRID is tasks x repeats: 12x3 for a release, less by default.

    LEADHAND_GRID=12x3 make test ARGS="tests/study/test_engines_alike.py -s"
"""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from clusters import TwoNodes
from sessions import assert_whole, outcomes, rewards, settled, unknown
from study_files import HERE, STRATEGIES, Make, Provider

from leadhand.study.layout import StudyPaths, attempt_of, read_record

TASKS, REPEATS = map(int, os.environ.get("LEADHAND_GRID", "4x2").split("x"))
RUNS = 4 * TASKS * REPEATS
PROGRAM = [sys.executable, "-W", "error", str(HERE / "study_cli.py"), "study"]

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(200 + 12 * RUNS)]


class Session(NamedTuple):
    """What one command came to: how long it took, what it said, what the provider billed for it."""

    seconds: float
    said: list[str]
    billed: float


def run(file: Path, folder: Path, provider: Provider, *more: str, halfway: Callable[[], Any] = lambda: None) -> Session:
    """`leadhand study run`; `halfway` is called when half of the runs are finished."""
    before, began = provider.usd(), time.monotonic()
    command = [*PROGRAM, "run", str(file), "--folder", str(folder), "--plain", *more]
    said: list[str] = []
    finished = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line)
            finished += line.startswith("finished ")
            if line.startswith("finished ") and finished == RUNS // 2:
                halfway()
    assert process.returncode == 0, "".join(said)
    return Session(time.monotonic() - began, said, provider.usd() - before)


def assert_counted_once(paths: StudyPaths, session: Session) -> None:
    """Every planned run is there once and graded; what was spent is what the journals say, of whatever came of it."""
    assert_whole(paths)
    record = read_record(paths)
    assert len(record.runs) == RUNS
    lost = [name for name in outcomes(paths) if attempt_of(name)[1]]
    assert all(outcomes(paths)[name].reward is None for name in lost)  # lost with its node, never a result
    assert settled(paths) <= session.billed + 1e-6
    assert session.billed <= settled(paths) + unknown(paths) + 1e-6
    done = subprocess.run([*PROGRAM, "export", str(paths.folder)], capture_output=True, text=True, check=True)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == len({r["run"] for r in rows}) == RUNS
    spent = sum(float(r["cost"]) + float(r["attempts_cost"]) for r in rows)
    assert spent == pytest.approx(settled(paths), abs=1e-9)
    assert sum(int(r["attempts"]) - 1 for r in rows) == len(lost)
    finished = [line.split()[1].rstrip(":") for line in session.said if line.startswith("finished ")]
    assert sorted(finished) == sorted(r.run for r in record.runs)


def test_both_engines_find_the_same_though_a_node_is_killed(
    make_study: Make, provider: Provider, nodes: TwoNodes, tmp_path: Path
) -> None:
    file = make_study(provider.url, tasks=TASKS, repeats=REPEATS, sandbox="bwrap", guidance='["PIV"]', more=STRATEGIES)
    here, there = StudyPaths(tmp_path / "local"), StudyPaths(tmp_path / "ray")
    local = run(file, here.folder, provider)
    cluster = ["--engine", "ray", "--address", nodes.cluster.address]
    ray = run(file, there.folder, provider, *cluster, halfway=nodes.kill_one)
    for paths, session in ((here, local), (there, ray)):
        assert_counted_once(paths, session)
        lost = sum(attempt_of(name)[1] > 0 for name in outcomes(paths))
        print(
            f"\n{paths.folder.name}: {RUNS} runs in {session.seconds:.0f} s, {lost} attempts lost; settled "
            f"${settled(paths):.3f} <= billed ${session.billed:.3f} <= with unknown "
            f"${settled(paths) + unknown(paths):.3f}"
        )
    found = rewards(here)
    assert found == rewards(there)
    # And they are what the work earns: a solo agent is right on even numbers only.
    for (design, task, _), reward in found.items():
        assert reward == (0.25 if design == "solo_PIV" and int(task[1:]) % 2 else 1.0)
    assert len(nodes.nodes) == 1, "no node was killed"
    # The same commands again have nothing to do.
    before = provider.usd()
    assert not any(line.startswith("started") for line in run(file, here.folder, provider).said)
    assert not any(line.startswith("started") for line in run(file, there.folder, provider, *cluster).said)
    assert provider.usd() == before
