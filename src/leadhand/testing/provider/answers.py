"""Answers as they go out: whole, streamed, refused, cut, or never."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
from aiohttp import web

from leadhand.core.errors import Fault
from leadhand.testing.provider.asked import Asked, BadRequest, Raw
from leadhand.testing.provider.chaos import Mishap
from leadhand.testing.provider.wire import Failure, ServerWire
from leadhand.testing.scripted import Step


async def write(
    request: web.Request, wire: ServerWire, asked: Asked, answer: dict[str, Any], mishap: Mishap | None
) -> web.StreamResponse:
    if mishap == "stall":
        return await stall(request)
    if mishap == "wrong_type":
        return web.Response(text="<html><body>504 Gateway Time-out</body></html>", content_type="text/html")
    if mishap == "empty":
        return web.Response(body=b"", content_type="application/json")
    if mishap == "stream_error" and not asked.stream:
        return web.json_response(wire.failure("server", "Chaos.", None).body)
    pieces = list(wire.events(answer)) if asked.stream else [msgspec.json.encode(answer)]
    type_ = "text/event-stream" if asked.stream else "application/json"
    if mishap is None:
        return web.Response(body=b"".join(pieces), content_type=type_)
    whole = b"".join(pieces)
    half = b"".join(pieces[: len(pieces) // 2]) if asked.stream else whole[: len(whole) // 2]
    if mishap == "truncated":
        return web.Response(body=half, content_type=type_)
    if mishap == "stream_error":
        return web.Response(body=half + wire.stream_error("server", "Chaos."), content_type=type_)
    response = web.StreamResponse(headers={"content-type": type_, "content-length": str(len(whole))})
    await response.prepare(request)
    await response.write(half)
    return await stall(request) if mishap == "stall_mid" else reset(request, response)


async def failed(request: web.Request, wire: ServerWire, step: Step) -> web.StreamResponse:
    fault = step.fault
    assert fault is not None
    if fault == "connection":
        return reset(request)
    if fault == "timeout":
        return await stall(request)
    if fault == "malformed":
        return web.Response(body=b'{"id": "cut', content_type="application/json")
    failure = wire.failure(fault, step.text or f"scripted fault: {fault}", step.retry_after_s)
    # What was billed and still failed is a gateway that lost the answer: the client cannot know.
    return refuse(failure._replace(status=502) if step.maybe_billed and fault in ("server", "overload") else failure)


def raw(step: Raw) -> web.Response:
    body = step.body if isinstance(step.body, bytes) else msgspec.json.encode(step.body)
    return web.Response(body=body, status=step.status, headers={"content-type": step.content_type, **step.headers})


def refuse(failure: Failure, bad: BadRequest | None = None) -> web.Response:
    body = failure.body
    if bad is not None and isinstance(body.get("error"), dict) and "param" in body["error"]:
        body["error"].update(param=bad.param or None, code=bad.code or None)
    return web.Response(
        body=msgspec.json.encode(body),
        status=failure.status,
        headers={"content-type": "application/json", **failure.headers},
    )


def fault_of(bad: BadRequest) -> Fault:
    return "context_length" if bad.code == "context_length_exceeded" else "bad_request"


def reset(request: web.Request, response: web.StreamResponse | None = None) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return response or web.Response()


async def stall(request: web.Request) -> web.StreamResponse:
    """Silence until the client goes away (which cancels this handler) or the server stops."""
    await anyio.sleep_forever()
    return web.Response()
