"""What the tests of wires share: a model that talks to a scripted provider over a socket, and odd answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from leadhand.core.ports import Model
from leadhand.core.values import Assistant
from leadhand.models import open_model
from leadhand.testing.provider import Provider, Raw, running
from leadhand.testing.scripted import Step


@asynccontextmanager
async def talking(name: str, *steps: Step, stream: bool | None = False) -> AsyncIterator[tuple[Model, Provider]]:
    provider = Provider({"lead": list(steps)})
    provider.keep_requests = True
    async with running(provider) as base_url:
        model = open_model(f"{name}/m", base_url=base_url, env={}, stream=stream)
        try:
            yield model, provider
        finally:
            await model.aclose()


def sent_back(provider: Provider, turn: int = 0) -> list[Any]:
    """The native items of the assistant's turn as the last request carried them."""
    turns = [b for b in provider.requests[-1].bodies if isinstance(b, Assistant)]
    return turns[turn].items


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + msgspec.json.encode(e) + b"\n\n" for e in events)


def messages_answer(*content: dict[str, Any], stop: str = "end_turn", **more: Any) -> Raw:
    usage = {"input_tokens": 5, "output_tokens": 7}
    return Raw(body={"type": "message", "content": list(content), "stop_reason": stop, "usage": usage, **more})


def chat_answer(message: dict[str, Any], finish: str = "stop", **more: Any) -> Raw:
    return Raw(body={"choices": [{"message": message, "finish_reason": finish}], **more})


def gemini_answer(*parts: dict[str, Any], finish: str = "STOP") -> Raw:
    return Raw(body={"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": finish}]})
