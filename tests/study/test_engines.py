"""Both engines keep the same contract."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from benches import StudyBench
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


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """A cluster of one node on this machine, for all checks."""
    from clusters import one_node

    with one_node(cpus=2) as ray:
        yield ray


@pytest.mark.cluster
@pytest.mark.timeout(180)
@each_check
async def test_ray(check: Check, ray: Any, make_study: Make, provider: Provider, tmp_path: Path) -> None:
    from leadhand.study.cluster import RayEngine

    @asynccontextmanager
    async def setup() -> AsyncIterator[Bench]:
        yield StudyBench(RayEngine(ray, {}, 2, 1.0, own=False), make_study, provider, tmp_path / "runs")

    await check(setup)
