"""A real HTTP proxy before a llama.cpp server that forces what each agent's model may say, turn by turn.

A model small enough to be shipped does not hold the tool protocol. So the proxy adds to each request a JSON schema,
from which the server makes a grammar: every token is still the model's own choice, among those that keep to a call of
ours. What went through is kept as a transcript.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from leadhand.core.values import Usage
from leadhand.models.wires.chat import read_usage

Forced = Callable[[str, int], dict[str, Any]]
"""The call that an agent must make in a turn, as a JSON schema."""


def forced(name: str, **arguments: dict[str, Any]) -> dict[str, Any]:
    """The schema of one call of the tool `name`, with all these arguments."""
    return closed({"name": {"const": name}, "arguments": closed(arguments)})


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def words(most: int) -> dict[str, Any]:
    """Any plain text of so many characters; a pattern, so that a rambling model comes to an end."""
    return {"type": "string", "pattern": f"^[A-Za-z0-9 ,.'-]{{8,{most}}}$"}


class Proxy:
    """`usage` sums what the server said it used; `served` counts answers."""

    def __init__(self, server: str, calls: Forced, transcript: Path) -> None:
        self._server = server.removesuffix("/v1")
        self._calls = calls
        self._transcript = transcript
        self.usage = Usage()
        self.served = 0

    async def serve(self, request: web.Request) -> web.Response:
        agent, turn = request.headers["x-leadhand-agent"], int(request.headers["x-leadhand-turn"])
        body = msgspec.json.decode(await request.read())
        schema = self._calls(agent, turn)
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "call", "schema": schema}}
        began = time.monotonic()
        async with (
            aiohttp.ClientSession() as session,
            session.post(self._server + request.path, json=body, timeout=aiohttp.ClientTimeout(total=None)) as answer,
        ):
            data = await answer.read()
        self._note(agent, turn, schema, body, answer.status, data, time.monotonic() - began)
        return web.Response(body=data, status=answer.status, content_type=answer.content_type)

    def _note(self, agent: str, turn: int, schema: Any, body: Any, status: int, data: bytes, seconds: float) -> None:
        said = msgspec.json.decode(data)
        if status == 200:
            self.usage += read_usage(said["usage"]) or Usage()
            self.served += 1
        sent = {"messages": body["messages"], "tools": [t["function"]["name"] for t in body.get("tools", [])]}
        line = {"agent": agent, "turn": turn, "seconds": round(seconds, 2), "forced": schema, **sent, "answer": said}
        with self._transcript.open("ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self.serve)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        finally:
            await runner.cleanup()
