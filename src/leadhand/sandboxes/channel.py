"""One runner's stream: at most one request in flight, its reply awaited without being lost on a cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import anyio

from leadhand.sandboxes.frames import BadFrame, Parser, Reply


class Pending:
    """A request that was sent. `reply` stays None when the stream was lost before it came."""

    __slots__ = ("_event", "id", "reply")

    def __init__(self, id: int) -> None:
        self.id = id
        self.reply: Reply | None = None
        self._event = anyio.Event()

    @property
    def done(self) -> bool:
        return self._event.is_set()

    def settle(self, reply: Reply | None) -> None:
        self.reply = reply
        self._event.set()

    async def wait(self) -> Reply | None:
        await self._event.wait()
        return self.reply

    async def within(self, seconds: float) -> bool:
        """Whether it was answered (or the stream was lost) within so many seconds."""
        with anyio.move_on_after(seconds):
            await self._event.wait()
        return self.done


class Channel(asyncio.Protocol):
    """Speaks `frames` over any asyncio transport. The first reply, id 0, tells pid and user of the runner.

    Replies come in order of the requests, so anything else (an agent that writes to the runner's stream) is a bad
    frame: the stream is closed and the runner counts as lost.
    """

    def __init__(self) -> None:
        self.parser = Parser()
        self.pid = 0
        self.user = ""
        self.lost = False
        self._next_id = 0
        self.hello = Pending(0)
        self._pending: Pending | None = self.hello
        self._write: Callable[[bytes], None] | None = None
        self._close: Callable[[], None] | None = None

    def bind(self, write: Callable[[bytes], None], close: Callable[[], None]) -> None:
        """How bytes go out; called by whoever made the transports."""
        self._write, self._close = write, close

    def skip_hello(self) -> None:
        """The runner on the other side was started by somebody else and said hello to them."""
        self._pending = None

    def send(self, frame: Callable[[int], bytes], limit: int = 0) -> Pending:
        """Send the request that `frame` makes of a fresh id. A reply body over `limit` bytes is a bad frame."""
        self._next_id += 1
        pending = Pending(self._next_id)
        if self.lost or self._write is None or self._pending is not None:
            self.close()
            pending.settle(None)
            return pending
        self._pending = pending
        self.parser.limit = limit
        self._write(frame(pending.id))
        return pending

    def tell(self, frame: bytes) -> None:
        """Send what has no reply."""
        if self._write is not None and not self.lost:
            self._write(frame)

    # --- asyncio.Protocol ---

    def data_received(self, data: bytes) -> None:
        if self.lost:
            return
        try:
            for reply in self.parser.feed(data):
                self._take(reply)
        except BadFrame:
            self.close()

    def _take(self, reply: Reply) -> None:
        pending, self._pending = self._pending, None
        if pending is None or reply.id != pending.id:
            self._pending = pending
            raise BadFrame(f"reply {reply.id} was not asked for")
        if reply.id == 0:
            self.pid, self.user = reply.code, reply.path
        pending.settle(reply)

    def eof_received(self) -> bool:
        self.close()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the stream; whoever waits is told that the runner is lost."""
        self.lost = True
        if self._pending is not None:
            self._pending.settle(None)
            self._pending = None
        if self._close is not None:
            close, self._close = self._close, None
            close()
