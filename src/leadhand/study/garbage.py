"""Keeps Python's cyclic garbage collector from stopping a process with thousands of live agents.

A full collection looks at every object there is: with 2,000 agents that is half a second in which nobody is served,
four times a minute. Almost everything goes by reference counts alone. So what has lived for a moment is taken out of
the collector's sight, and all of it is looked at now and then only.
"""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

MOMENT_S = 0.5
SELDOM_S = 900.0


@asynccontextmanager
async def seldom_collected() -> AsyncIterator[None]:
    """The body runs with collections of what is new only, and a full one every quarter of an hour."""
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_keep_out_of_sight)
            yield
            group.cancel_scope.cancel()
    finally:
        gc.unfreeze()


async def _keep_out_of_sight() -> None:
    full = anyio.current_time() + SELDOM_S
    while True:
        if anyio.current_time() >= full:
            gc.unfreeze()
            gc.collect()
            full = anyio.current_time() + SELDOM_S
        gc.freeze()
        await anyio.sleep(MOMENT_S)
