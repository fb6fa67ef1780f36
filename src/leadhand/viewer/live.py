"""Server-sent events: a page hears of what was appended to a journal, a few times a second at most."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import anyio.to_thread
import msgspec
from starlette.requests import Request
from starlette.responses import StreamingResponse

from leadhand.viewer.index import RunIndex

INTERVAL_S = 0.25
LOOK_S = 1.0
FEW = 500
"""Events whose commands are looked at before they are drawn."""
HEARTBEAT_S = 10.0

_encode = msgspec.json.Encoder().encode


def response(run: RunIndex, cursor: tuple[int, ...], request: Request) -> StreamingResponse:
    return StreamingResponse(_stream(run, cursor, request), media_type="text/event-stream")


async def _stream(run: RunIndex, cursor: tuple[int, ...], request: Request) -> AsyncIterator[bytes]:
    """Deltas from `cursor` on, the first one at once; comments in between, so that a dead page is noticed.

    A long journal is given while it is read: what is there is drawn, the rest follows; at last what its commands did.
    """
    last, looked, wait = anyio.current_time(), -1, 0.0
    while not await request.is_disconnected():
        await anyio.to_thread.run_sync(_read_on, run, wait)
        wait = INTERVAL_S
        delta = await anyio.to_thread.run_sync(run.delta, cursor)
        new = tuple(int(n) for n in delta["cursor"].split("-"))
        grew, now = (new, run.looked) != (cursor, looked), anyio.current_time()
        if grew:
            cursor, looked, last = new, run.looked, now
            yield f"id: {delta['cursor']}\ndata: ".encode() + _encode(delta) + b"\n\n"
        elif now - last > HEARTBEAT_S:
            last = now
            yield b": still here\n\n"
        if run.behind and run.reading >= 1:
            if run.looked == 0:
                await anyio.sleep(INTERVAL_S)  # the page draws the whole run first
            await anyio.to_thread.run_sync(run.look, LOOK_S)
        elif not grew:
            await anyio.sleep(INTERVAL_S)


def _read_on(run: RunIndex, seconds: float) -> None:
    """What is new, and what its commands did if that can be said at once."""
    run.refresh(seconds)
    if run.behind <= FEW:
        run.look(INTERVAL_S)
