"""A `Model` over HTTP: one wire, one server, one attempt a call. Core retries, limits and journals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from leadhand.core.chain import Root
from leadhand.core.errors import ModelError
from leadhand.core.ports import Reply, Request
from leadhand.models import loose_json as lj
from leadhand.models.echoes import Echoes
from leadhand.models.sse import EventStream
from leadhand.models.transport import Answer, Transport
from leadhand.models.wires.wire import Wire

Sign = Callable[[str, bytes], Mapping[str, str]]
"""Headers that authorise one request, from its path and body."""

IDLE_S = 120.0
AGENT_HEADER = "x-leadhand-agent"
TURN_HEADER = "x-leadhand-turn"


class HttpModel:
    """`model` is the provider's own name of it: a request names it as `provider/model`, which is ours.

    `name_agent`: send the agent's name and the number of its replies as headers.

    Only to servers that the user named (`base_url`): providers need not know the shape of a team.
    """

    def __init__(
        self,
        wire: Wire,
        model: str,
        base_url: str,
        sign: Sign,
        *,
        stream: bool,
        name_agent: bool = False,
        idle_s: float = IDLE_S,
    ) -> None:
        self.wire = wire
        self.model = model
        self.stream = stream
        self._sign = sign
        self._name_agent = name_agent
        self._idle_s = idle_s
        self._transport = Transport(base_url, streams=stream)

    async def complete(self, request: Request) -> Reply:
        request = msgspec.structs.replace(request, model=self.model)
        body = self.wire.encode(request, stream=self.stream)
        path = self.wire.path(request, stream=self.stream)
        headers = {"content-type": "application/json", **self._sign(path, body)}
        echoes = Echoes(headers)
        if self._name_agent:
            headers[AGENT_HEADER] = _header_text(request.agent)
            headers[TURN_HEADER] = str(request.conversation.turns)
        idle_s = self._idle_s if self.stream else None  # an unstreamed answer is silent until it is there
        try:
            async with self._transport.post(path, headers, body, total_s=request.timeout_s, idle_s=idle_s) as answer:
                return await self._read(answer, request.conversation.root, echoes)
        except ModelError as error:
            raise echoes.out_of_error(error) from None

    async def _read(self, answer: Answer, root: Root, echoes: Echoes) -> Reply:
        if not 200 <= answer.status < 300:
            # Before the words are cut, which may cut a key.
            raise self.wire.fault(answer.status, answer.headers, echoes.out_of_bytes(await answer.body()))
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            whole = await self._assemble(answer)
        else:
            whole = _object(await answer.body())
        reply = self.wire.decode(whole, root)
        id = answer.headers.get("x-request-id") or answer.headers.get("request-id") or reply.request_id
        model, id = echoes.out_of(reply.model)[:200], echoes.out_of(id)[:200]
        return Reply(message=reply.message, usage=reply.usage, model=model, request_id=id)

    async def _assemble(self, answer: Answer) -> dict[str, Any]:
        stream, assembler = EventStream(), self.wire.assembler()
        try:
            async for piece in answer.pieces():
                for event, data in stream.feed(piece):
                    assembler.feed(event, data)
            for event, data in stream.end():
                assembler.feed(event, data)
        except ValueError:
            raise ModelError("malformed", "an event of the stream is not JSON", maybe_billed=True) from None
        return assembler.result()

    async def aclose(self) -> None:
        await self._transport.aclose()


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = lj.decode(body)
    except ValueError:
        raise ModelError("malformed", "the answer is not JSON", maybe_billed=True) from None
    if not isinstance(value, dict):
        raise ModelError("malformed", "the answer is not a JSON object", maybe_billed=True)
    return value


def _header_text(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text[:100]
    return "".join(c for c in text if " " <= c <= "~")[:100]
