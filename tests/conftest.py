"""Which event loop a test runs on.

Tests in `tests/core`, and tests marked `virtual_clock`, run twice: on asyncio and on trio, each on a virtual clock of
its own that starts at 0.0. All others, and tests marked `real_clock`, run on plain asyncio and the real clock.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from leadhand.testing.clock import Backend, virtual_backend

CORE = Path(__file__).parent / "core"
VIRTUAL = ("asyncio-virtual", "trio-virtual")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "anyio_backend" in metafunc.fixturenames and wants_virtual_clock(metafunc.definition):
        metafunc.parametrize("anyio_backend", VIRTUAL, indirect=True)


def wants_virtual_clock(item: pytest.Item) -> bool:
    if item.get_closest_marker("real_clock"):
        return False
    return item.get_closest_marker("virtual_clock") is not None or CORE in item.path.parents


@pytest.fixture
def anyio_backend(request: pytest.FixtureRequest) -> str | Backend:
    name: str = getattr(request, "param", "asyncio")
    return virtual_backend(name.removesuffix("-virtual")) if name in VIRTUAL else name
