"""A virtual clock: time jumps to the next timer as soon as every task waits, so hours pass in milliseconds, exactly.

Use it to test your own designs. With pytest and anyio's plugin, override the backend in your `conftest.py`:

    @pytest.fixture(params=["asyncio", "trio"])
    def anyio_backend(request):
        return virtual_backend(request.param)

or, outside a test function, `run_virtual(main)`. Time starts at 0.0 in each run; read it with `anyio.current_time()`.

**Real work.** The clock knows of two kinds and does not jump while there is any:

- a call in a thread (`anyio.to_thread.run_sync` on the default limiter; on asyncio also `run_in_executor`): the clock
  *stands still*, the call takes no virtual time;
- a socket, pipe or other file descriptor that is waited for, or a child process: the clock runs at the *real* pace, so
  that timeouts still fire; exactness is gone for as long as that lasts.

**Limits.** Not seen, so time may jump past it: a thread on a limiter of its own, and a thread that you started by
yourself. An abandoned thread still counts on trio until it ends; on asyncio it does not. If every task waits and there
is neither a timer nor real work, the run hangs, as it would on a real clock.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

Backend = tuple[str, dict[str, Any]]
"""What anyio's pytest plugin takes as `anyio_backend`: a name and the options of its event loop."""


def virtual_backend(name: str) -> Backend:
    """The backend `name` ("asyncio" or "trio") on a virtual clock of its own. Use the answer for one run."""
    if name == "asyncio":
        return name, {"loop_factory": VirtualClockLoop}
    if name == "trio":
        # trio is not a dependency of this package: only who asks for it needs it.
        from leadhand.testing.trio_clock import virtual_options

        return name, virtual_options()
    raise ValueError(f"no backend {name!r}; there are 'asyncio' and 'trio'")


def run_virtual(main: Callable[[*Ts], Awaitable[T]], *args: *Ts, backend: str = "asyncio") -> T:
    """Run `main(*args)` to its end on a virtual clock; like `anyio.run`."""
    name, options = virtual_backend(backend)
    return anyio.run(main, *args, backend=name, backend_options=options)


class VirtualClockLoop(asyncio.SelectorEventLoop):
    """An asyncio event loop on a virtual clock."""

    def __init__(self) -> None:
        self._clock = _JumpingSelector(self._threads_at_work, self._children_run)
        self._in_executor = 0
        self._children: list[asyncio.SubprocessTransport] = []
        super().__init__(self._clock)
        # What the loop itself listens to (its wake-up pipe) is no real work.
        self._clock.own = len(self._clock.get_map())

    def time(self) -> float:
        return self._clock.now

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        future = super().run_in_executor(executor, func, *args)
        self._in_executor += 1
        future.add_done_callback(self._left_executor)
        return future

    def _left_executor(self, _future: asyncio.Future[Any]) -> None:
        self._in_executor -= 1

    async def shutdown_default_executor(self, *args: Any) -> None:
        # From Python 3.12 on it waits, with a timeout, for a thread of its own.
        self._in_executor += 1
        try:
            await super().shutdown_default_executor(*args)
        finally:
            self._in_executor -= 1

    async def subprocess_exec(self, *args: Any, **options: Any) -> Any:
        return self._watched(await super().subprocess_exec(*args, **options))

    async def subprocess_shell(self, *args: Any, **options: Any) -> Any:
        return self._watched(await super().subprocess_shell(*args, **options))

    def _watched(self, started: tuple[asyncio.SubprocessTransport, Any]) -> tuple[asyncio.SubprocessTransport, Any]:
        # A child is waited for by a thread of asyncio's own (until Python 3.12), or without any pipe.
        self._children.append(started[0])
        return started

    def _children_run(self) -> bool:
        self._children = [child for child in self._children if child.get_returncode() is None]
        return bool(self._children)

    def _threads_at_work(self) -> bool:
        if self._in_executor:
            return True
        try:
            return anyio.to_thread.current_default_thread_limiter().borrowed_tokens > 0
        except anyio.NoEventLoopError:  # a plain `asyncio.run`: nobody here uses anyio's threads
            return False


class _JumpingSelector(selectors.BaseSelector):
    """A selector that owns the time: where a real one would wait, it jumps, unless there is real work."""

    def __init__(self, threads_at_work: Callable[[], bool], children_run: Callable[[], bool]) -> None:
        self.now = 0.0
        self.own = 0
        self._threads_at_work = threads_at_work
        self._children_run = children_run
        self._real = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if self._threads_at_work():
            return self._real.select(None)
        if timeout is None or len(self.get_map()) > self.own or self._children_run():
            return self._wait(timeout)
        self.now += timeout
        return []

    def _wait(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for real; the clock follows, and never past the timer that it waits for."""
        began = time.monotonic()
        ready = self._real.select(timeout)
        if timeout is not None:
            self.now += min(time.monotonic() - began, timeout) if ready else timeout
        return ready

    def register(self, fileobj: FileDescriptorLike, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: FileDescriptorLike, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> Mapping[FileDescriptorLike, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()
