"""The fake provider: one real HTTP server that speaks the providers' wires, plays scripts and keeps a bill."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
from aiohttp import web

from leadhand.core.chain import canonical
from leadhand.core.errors import Fault
from leadhand.core.values import Assistant, Usage
from leadhand.testing.provider.asked import Asked, BadRequest, Raw
from leadhand.testing.provider.bill import Bill, BillLine
from leadhand.testing.provider.cache import CacheRule, PromptCache
from leadhand.testing.provider.chaos import REFUSED, Chaos, Dice, Mishap
from leadhand.testing.provider.wire import Failure, ServerWire
from leadhand.testing.provider.wires import ROUTES, find_wire
from leadhand.testing.scripted import Script, ScriptError, Seen, Step, as_message, rough_tokens, step_for

MAX_BODY = 256 * 2**20
_REFUSALS: dict[int, Fault] = {429: "rate_limit", 500: "server", 529: "overload", 503: "overload"}


class Provider:
    """Scripts by agent name, and everything that makes a provider more than its script.

    An agent is known by the header `x-leadhand-agent`, else by its `prompt_cache_key` (whole, or what follows its last
    `-`, `/` or `:`), else it is the only agent there is a script for, else `lead`. Replies are counted by the header
    `x-leadhand-turn`, else by the assistant turns in the request, so that a resumed agent goes on where it was; a
    fault step counts as a reply of its own. `latency_s` comes before each answer, in addition to a step's delay.
    `cache=False` bills every prompt as fresh input. With `api_key` set, any other key gets a 401.
    """

    def __init__(
        self,
        scripts: Mapping[str, Script],
        *,
        bill: Path | None = None,
        latency_s: float = 0.0,
        chaos: Chaos | None = None,
        cache: bool = True,
        cache_rules: dict[str, CacheRule] | None = None,
        api_key: str = "",
        requests_per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.scripts = dict(scripts)
        self.bill = Bill(bill)
        self.latency_s = latency_s
        self.requests: list[Asked] = []
        self.keep_requests = False
        self._dice = Dice(chaos)
        self._chaos = chaos
        self._cache = PromptCache(clock, cache_rules if cache else {})
        self._api_key = api_key
        self._quota = _Quota(requests_per_minute, clock)
        self._faults: dict[tuple[str, str], int] = {}
        self._played: dict[str, int] = {}
        self._number = 0

    def app(self) -> web.Application:
        app = web.Application(client_max_size=MAX_BODY)
        for route in ROUTES:
            app.router.add_post(route, self._serve)
        return app

    def assert_consumed(self) -> None:
        """Fail if a script given as data has steps that were never asked for."""
        for agent, script in self.scripts.items():
            if not callable(script) and self._played.get(agent, 0) < len(script):
                raise AssertionError(
                    f"the script of {agent!r} has {len(script)} steps, only {self._played.get(agent, 0)} were asked for"
                )

    # --- one request ------------------------------------------------------------------------------------------

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        try:
            wire = find_wire(request.path)
        except LookupError:
            raise web.HTTPNotFound from None
        self._number += 1
        number = self._number
        try:
            asked = self._read(wire, await request.read(), request)
        except BadRequest as bad:
            return _refuse(wire.failure(_fault_of(bad), bad.message, None), bad)
        if not self._authorised(request):
            return _refuse(wire.failure("invalid_key", "Incorrect API key provided.", None))
        wait = self._quota.wait()
        if wait:
            return _refuse(wire.failure("rate_limit", f"Rate limit reached. Please try again in {wait:.3f}s.", wait))
        mishap = self._dice.roll()
        if mishap in REFUSED or mishap == "reset":
            return await self._mishap_before(request, wire, mishap)
        return await self._play(request, wire, asked, number, mishap)

    def _read(self, wire: ServerWire, raw: bytes, request: web.Request) -> Asked:
        try:
            body = msgspec.json.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            raise BadRequest("We could not parse the JSON body of your request.") from None
        if not isinstance(body, dict):
            raise BadRequest("The body must be a JSON object.")
        asked = wire.read(body, request.path)
        asked = msgspec.structs.replace(
            asked, agent=self._agent(request.headers.get("x-leadhand-agent", ""), asked.key)
        )
        if self.keep_requests:
            self.requests.append(asked)
        return asked

    def _agent(self, named: str, key: str) -> str:
        if named:
            return named
        for candidate in (key, *(key.rpartition(mark)[2] for mark in "-/:")):
            if candidate and candidate in self.scripts:
                return candidate
        return next(iter(self.scripts)) if len(self.scripts) == 1 else "lead"

    def _authorised(self, request: web.Request) -> bool:
        if not self._api_key:
            return True
        headers = request.headers
        given = [headers.get(h, "") for h in ("x-api-key", "x-goog-api-key", "authorization")]
        return any(g.removeprefix("Bearer ") == self._api_key for g in given)

    async def _play(
        self, request: web.Request, wire: ServerWire, asked: Asked, number: int, mishap: Mishap | None
    ) -> web.StreamResponse:
        faults = self._faults.get((asked.key, asked.agent), 0)
        named = request.headers.get("x-leadhand-turn", "")
        replies = int(named) if named.isdigit() else sum(isinstance(b, Assistant) for b in asked.bodies)
        turn = replies + faults
        try:
            step = self._step(asked, turn)
        except ScriptError as error:
            return _refuse(wire.failure("bad_request", str(error), None))
        self._played[asked.agent] = max(self._played.get(asked.agent, 0), turn + 1)
        if step.fault is not None:
            self._faults[asked.key, asked.agent] = faults + 1
        message = as_message(step, turn)
        usage = step.usage or self._cache.usage(asked, rough_tokens(len(canonical(message))))
        if step.fault is None or step.maybe_billed:
            self._charge(asked, number, turn, usage, step.fault or mishap or "")
        if (delay := self.latency_s + step.delay_s) > 0:
            await anyio.sleep(delay)
        if step.fault is not None:
            return await _fault(request, wire, step)
        if isinstance(step, Raw):
            return _raw(step)
        answer = wire.answer(message, usage, asked, number)
        return await _write(request, wire, asked, answer, mishap)

    def _step(self, asked: Asked, turn: int) -> Step:
        script = self.scripts.get(asked.agent)
        if script is None:
            raise ScriptError(f"no script for agent {asked.agent!r}; scripts: {', '.join(sorted(self.scripts))}")
        return step_for(script, Seen(agent=asked.agent, turn=turn, bodies=asked.bodies))

    def _charge(self, asked: Asked, number: int, turn: int, usage: Usage, fault: str) -> None:
        self.bill.add(
            BillLine(
                number=number,
                agent=asked.agent,
                model=asked.model,
                usage=usage,
                turn=turn,
                wire=asked.wire,
                key=asked.key,
                fault=fault,
            )
        )

    async def _mishap_before(self, request: web.Request, wire: ServerWire, mishap: Mishap) -> web.StreamResponse:
        if mishap == "reset":
            return _reset(request)
        fault = _REFUSALS[REFUSED[mishap]]
        retry = self._chaos.retry_after_s if self._chaos and mishap == "429" else None
        failure = wire.failure(fault, "Chaos.", retry)
        return _refuse(failure._replace(status=REFUSED[mishap]))


# --- answers ------------------------------------------------------------------------------------------------------


async def _write(
    request: web.Request, wire: ServerWire, asked: Asked, answer: dict[str, Any], mishap: Mishap | None
) -> web.StreamResponse:
    if mishap == "stall":
        return await _stall(request)
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
    return await _stall(request) if mishap == "stall_mid" else _reset(request, response)


async def _fault(request: web.Request, wire: ServerWire, step: Step) -> web.StreamResponse:
    fault = step.fault
    assert fault is not None
    if fault == "connection":
        return _reset(request)
    if fault == "timeout":
        return await _stall(request)
    if fault == "malformed":
        return web.Response(body=b'{"id": "cut', content_type="application/json")
    failure = wire.failure(fault, step.text or f"scripted fault: {fault}", step.retry_after_s)
    # What was billed and still failed is a gateway that lost the answer: the client cannot know.
    return _refuse(failure._replace(status=502) if step.maybe_billed and fault in ("server", "overload") else failure)


def _raw(step: Raw) -> web.Response:
    body = step.body if isinstance(step.body, bytes) else msgspec.json.encode(step.body)
    return web.Response(body=body, status=step.status, headers={"content-type": step.content_type, **step.headers})


def _refuse(failure: Failure, bad: BadRequest | None = None) -> web.Response:
    body = failure.body
    if bad is not None and isinstance(body.get("error"), dict) and "param" in body["error"]:
        body["error"].update(param=bad.param or None, code=bad.code or None)
    return web.Response(
        body=msgspec.json.encode(body),
        status=failure.status,
        headers={"content-type": "application/json", **failure.headers},
    )


def _fault_of(bad: BadRequest) -> Fault:
    return "context_length" if bad.code == "context_length_exceeded" else "bad_request"


def _reset(request: web.Request, response: web.StreamResponse | None = None) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return response or web.Response()


async def _stall(request: web.Request) -> web.StreamResponse:
    """Silence until the client goes away (which cancels this handler) or the server stops."""
    await anyio.sleep_forever()
    return web.Response()


class _Quota:
    """Requests a minute, as a bucket that refills evenly."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float]) -> None:
        self._rate = per_minute / 60 if per_minute else None
        self._size = self._left = max(1.0, per_minute or 1.0)
        self._clock = clock
        self._at = clock()

    def wait(self) -> float:
        """Seconds until the next request is allowed; 0 if this one is (it is then counted)."""
        if self._rate is None:
            return 0.0
        now = self._clock()
        self._left = min(self._size, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left >= 1:
            self._left -= 1
            return 0.0
        return (1 - self._left) / self._rate


@asynccontextmanager
async def running(provider: Provider, *, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
    """Serve in this event loop (asyncio); gives the `base_url` for every wire, such as `http://127.0.0.1:4711/v1`."""
    runner = web.AppRunner(
        provider.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1, keepalive_timeout=75
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port, backlog=4096)
        await site.start()
        yield f"http://{host}:{_port(runner.addresses)}/v1"
    finally:
        with anyio.CancelScope(shield=True):
            await runner.cleanup()
        provider.bill.close()


def _port(addresses: Iterable[Any]) -> int:
    return int(next(iter(addresses))[1])
