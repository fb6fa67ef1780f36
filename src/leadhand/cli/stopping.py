"""Ctrl-C, in two steps: the first lets what runs come to its end, the second stops at once."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

INTERRUPTED = 130
"""The exit code of a command that was stopped at once."""

Made = TypeVar("Made")


async def until_stopped(work: Callable[[], Awaitable[Made]], wrap_up: Callable[[], None]) -> Made | None:
    """What `work` returns; None if it was stopped at once. SIGTERM is as good as Ctrl-C; its errors are raised bare."""
    made: Made | None = None
    failure: Exception | None = None

    async def watch() -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            heard = 0
            async for _ in signals:
                heard += 1
                if heard > 1:
                    group.cancel_scope.cancel()
                    return
                wrap_up()

    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        try:
            made = await work()
        except Exception as error:  # kept out of the group, which would wrap it
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return made
