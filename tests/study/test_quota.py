"""On a virtual clock: a provider's quota slows a study down to the quota, and fails nothing."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from quiet import Bucket, quiet_ports, quiet_study
from sessions import outcomes, run_study

from leadhand.study.layout import StudyPaths
from leadhand.study.local import LocalEngine
from leadhand.testing.scripted import Script, Seen, Step, bash, call, do, finish, reports

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_clock]

WORKERS, STEPS, LATENCY_S = 4, 30, 2.0


def lead(seen: Seen) -> Step:
    if seen.turn == 0:
        return do(*(call("delegate_agent", assignment=f"part {i}") for i in range(WORKERS)))
    if len(reports(seen)) < WORKERS:
        return do(call("wait", mode="all"))
    return finish("done")


def worker(seen: Seen) -> Step:
    return do(bash("make")) if seen.turn < STEPS else finish("my report")


def solo(seen: Seen) -> Step:
    return do(bash("make")) if seen.turn < STEPS else finish("done")


def scripts() -> dict[str, Script]:
    return {"lead": lead, "solo": solo, **{f"w{i}": worker for i in range(1, WORKERS + 1)}}


async def carried_out(folder: Path, bucket: Bucket | None) -> tuple[float, StudyPaths]:
    file = quiet_study(folder, tasks=10, workers=WORKERS, concurrency=10)
    paths = StudyPaths(folder / "study")
    began = anyio.current_time()
    end, session = await run_study(
        file, paths, engine=LocalEngine({}, 10, ports=quiet_ports(scripts, bucket, LATENCY_S))
    )
    assert end == "finished"
    assert session.board.retried == 0
    return anyio.current_time() - began, paths


async def test_a_quota_of_half_the_demand_slows_to_the_quota_and_fails_no_run(tmp_path: Path) -> None:
    free_s, free = await carried_out(tmp_path / "free", None)
    calls = sum(o.steps for o in outcomes(free).values())
    demand = calls / free_s
    bucket = Bucket(demand / 2, size=10)
    took_s, paths = await carried_out(tmp_path / "limited", bucket)
    found = outcomes(paths)
    assert {o.status for o in found.values()} == {"finished"}
    assert not any(o.degraded for o in found.values())
    assert sum(o.steps for o in found.values()) == calls == bucket.admitted
    assert bucket.refused > 0
    ideal_s = calls / bucket.rate
    assert took_s == pytest.approx(ideal_s, rel=0.05)
