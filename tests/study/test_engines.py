"""Both engines keep the same contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from benches import StudyBench
from clusters import TwoNodes
from study_files import Make, Provider

from leadhand.study.local import LocalEngine
from leadhand.testing.engine_contract import CHECKS, Bench, Check

pytestmark = pytest.mark.anyio

each_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)


@each_check
async def test_local(check: Check, make_study: Make, provider: Provider, tmp_path: Path) -> None:
    @asynccontextmanager
    async def setup() -> AsyncIterator[Bench]:
        yield StudyBench(LocalEngine({}, 2), make_study, provider, tmp_path / "runs")

    await check(setup)


@pytest.mark.cluster
@pytest.mark.timeout(180)
@each_check
async def test_ray(check: Check, nodes: TwoNodes, make_study: Make, provider: Provider, tmp_path: Path) -> None:
    from leadhand.study.cluster import RayEngine

    @asynccontextmanager
    async def setup() -> AsyncIterator[Bench]:
        yield StudyBench(RayEngine(nodes.ray, {}, 2, 1.0, own=False), make_study, provider, tmp_path / "runs")

    await check(setup)
