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
from leadhand.testing.provider.answers import failed, fault_of, raw, refuse, reset, write
from leadhand.testing.provider.asked import Asked, BadRequest, Raw
from leadhand.testing.provider.bill import Bill, BillLine
from leadhand.testing.provider.cache import CacheRule, PromptCache
from leadhand.testing.provider.chaos import REFUSED, Chaos, Dice, Mishap
from leadhand.testing.provider.quota import Quota
from leadhand.testing.provider.wire import ServerWire
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
        self._quota = Quota(requests_per_minute, clock)
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
            return refuse(wire.failure(fault_of(bad), bad.message, None), bad)
        if not self._authorised(request):
            return refuse(wire.failure("invalid_key", "Incorrect API key provided.", None))
        wait = self._quota.wait()
        if wait:
            return refuse(wire.failure("rate_limit", f"Rate limit reached. Please try again in {wait:.3f}s.", wait))
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
            return refuse(wire.failure("bad_request", str(error), None))
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
            return await failed(request, wire, step)
        if isinstance(step, Raw):
            return raw(step)
        answer = wire.answer(message, usage, asked, number)
        return await write(request, wire, asked, answer, mishap)

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
            return reset(request)
        fault = _REFUSALS[REFUSED[mishap]]
        retry = self._chaos.retry_after_s if self._chaos and mishap == "429" else None
        failure = wire.failure(fault, "Chaos.", retry)
        return refuse(failure._replace(status=REFUSED[mishap]))


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
