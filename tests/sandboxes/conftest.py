"""Sandboxes of every kind on fresh folders. Tests that need an engine fail in CI where there is none."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from leadhand import sandboxes
from leadhand.core.ports import Sandbox
from leadhand.core.values import Mount, SandboxSpec
from needs import require

Start = Callable[..., AbstractAsyncContextManager[Sandbox]]
KINDS = [pytest.param("docker", marks=pytest.mark.engine), "bwrap", "local"]


def make_spec(kind: str, where: Path, **more: Any) -> SandboxSpec:
    """A spec on fresh folders below `where`; with the image that scripts/ci-engine.sh makes, which needs our /usr."""
    for name in ("workspace", "scratch"):
        (where / name).mkdir(parents=True, exist_ok=True)
    more.setdefault("run_id", f"test{uuid.uuid4().hex[:8]}")
    if kind == "docker":
        more.setdefault("image", os.environ.get("LEADHAND_TEST_IMAGE", "leadhand-test:1"))
        more["mounts"] = (*more.get("mounts", ()), Mount(source="/usr", target="/usr"))
    return SandboxSpec(workspace=str(where / "workspace"), scratch=str(where / "scratch"), **more)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    require(name)
    return name


@pytest.fixture
def setup(kind: str, tmp_path: Path) -> Start:
    return starter(kind, tmp_path)


def starter(kind: str, where: Path) -> Start:
    @asynccontextmanager
    async def start(**more: Any) -> AsyncIterator[Sandbox]:
        sandbox = await sandboxes.start(make_spec(kind, where, **more), kind)
        try:
            yield sandbox
        finally:
            await sandbox.aclose()

    return start
