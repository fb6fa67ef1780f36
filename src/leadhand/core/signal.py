"""A wake-up call for tasks that wait until something about the shared state holds."""

from __future__ import annotations

from collections.abc import Callable

import anyio


class Signal:
    """`until(condition)` looks at the condition now and after every `notify`: no polling, no lost wake-up.

    Invariant: whoever changes what a condition reads calls `notify` after the change, with no await between.
    """

    def __init__(self) -> None:
        self._event = anyio.Event()

    def notify(self) -> None:
        self._event.set()
        self._event = anyio.Event()

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self._event.wait()
