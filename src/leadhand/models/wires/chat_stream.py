"""A streamed chat completion, put together to the object of the unstreamed call."""

from __future__ import annotations

from typing import Any

from leadhand.core.errors import ModelError
from leadhand.models import loose_json as lj
from leadhand.models.openai_faults import stream_fault

_JOINED = ("content", "refusal", "reasoning_content", "reasoning", "arguments", "name")


class ChatAssembler:
    """Deltas merge by their shape: known texts are joined, tool calls merge by `index`, anything else is replaced."""

    def __init__(self) -> None:
        self._answer: dict[str, Any] = {}
        self._message: dict[str, Any] = {"role": "assistant", "content": None}
        self._calls: dict[int, dict[str, Any]] = {}
        self._finish = ""
        self._done = False

    def feed(self, event: str, data: bytes) -> None:
        if data.strip() == b"[DONE]":
            self._done = True
            return
        chunk = lj.obj(lj.decode(data))
        if chunk.get("error"):
            raise stream_fault(chunk["error"])
        for key in ("id", "model", "usage", "created", "service_tier", "system_fingerprint"):
            if chunk.get(key) is not None:
                self._answer[key] = chunk[key]
        for choice in lj.items(chunk.get("choices"))[:1]:
            self._merge(lj.obj(lj.obj(choice).get("delta")))
            self._finish = lj.string(lj.obj(choice).get("finish_reason")) or self._finish

    def _merge(self, delta: dict[str, Any]) -> None:
        for key, value in delta.items():
            if key == "tool_calls":
                for call in lj.items(value):
                    self._merge_call(lj.obj(call))
            elif key in _JOINED and isinstance(value, str):
                self._message[key] = lj.string(self._message.get(key)) + value
            elif key == "reasoning_details" and isinstance(value, list):
                self._message[key] = [*lj.items(self._message.get(key)), *value]
            elif value is not None:
                self._message[key] = value

    def _merge_call(self, delta: dict[str, Any]) -> None:
        index = delta.get("index")
        if not isinstance(index, int):
            index = len(self._calls)  # a server that sends each call whole
        call = self._calls.setdefault(index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
        if isinstance(delta.get("id"), str) and delta["id"]:
            call["id"] = delta["id"]
        function = lj.obj(delta.get("function"))
        if isinstance(function.get("name"), str):
            # Some servers repeat the whole name in every delta.
            call["function"]["name"] = call["function"]["name"] or function["name"]
        arguments = function.get("arguments")
        if arguments is not None:
            call["function"]["arguments"] += arguments if isinstance(arguments, str) else lj.text(arguments)
        for key in delta.keys() - {"index", "id", "function"}:
            if delta[key] is not None:
                call[key] = delta[key]

    def result(self) -> dict[str, Any]:
        if not self._finish and not self._done:
            raise ModelError("malformed", "the stream ended before the answer did", maybe_billed=True)
        if self._calls:
            self._message["tool_calls"] = [self._calls[i] for i in sorted(self._calls)]
        choice = {"index": 0, "message": self._message, "finish_reason": self._finish}
        return {**self._answer, "object": "chat.completion", "choices": [choice]}
