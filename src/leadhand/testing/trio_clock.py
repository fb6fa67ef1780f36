"""The virtual clock of `leadhand.testing.clock` on trio: trio's own mock clock, held while there is real work."""

from __future__ import annotations

import math
from typing import Any

import trio
import trio.lowlevel
import trio.testing


def virtual_options() -> dict[str, Any]:
    """Options of `trio.run` for one run on a virtual clock."""
    clock = trio.testing.MockClock(autojump_threshold=0)
    return {"clock": clock, "instruments": [_HeldByRealWork(clock)]}


class _HeldByRealWork(trio.abc.Instrument):
    """Keeps the clock from jumping while a task waits for a thread or for a file descriptor.

    What a task waits for changes only when one takes a step, so it is looked at after each step.
    """

    def __init__(self, clock: trio.testing.MockClock) -> None:
        self._clock = clock

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        on_files = _waits_for_files()
        held = on_files or trio.to_thread.current_default_thread_limiter().borrowed_tokens > 0
        self._set(rate=1.0 if on_files else 0.0, threshold=math.inf if held else 0.0)

    def _set(self, *, rate: float, threshold: float) -> None:
        if self._clock.rate != rate:
            self._clock.rate = rate
        if self._clock.autojump_threshold != threshold:
            self._clock.autojump_threshold = threshold


def _waits_for_files() -> bool:
    io: Any = trio.lowlevel.current_statistics().io_statistics
    if io.backend == "epoll":
        # One of the readers is trio itself, on its wake-up socket.
        return bool(io.tasks_waiting_read + io.tasks_waiting_write > 1)
    return bool(io.tasks_waiting > 1)
