"""Chat Completions as a server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from leadhand.core.errors import Fault
from leadhand.core.values import Assistant, Body, StopReason, ToolCall, ToolResult, ToolResults, Usage, User
from leadhand.testing.provider.asked import Asked, BadRequest, Block
from leadhand.testing.provider.wire import Failure

FINISH: dict[StopReason, str] = {
    "tool_calls": "tool_calls",
    "end": "stop",
    "length": "length",
    "refusal": "stop",
    "content_filter": "content_filter",
    "pause": "stop",
}
FAILURES: dict[Fault, tuple[int, str, str]] = {
    "rate_limit": (429, "tokens", "rate_limit_exceeded"),
    "quota": (429, "insufficient_quota", "insufficient_quota"),
    "overload": (503, "server_error", "server_is_overloaded"),
    "server": (500, "server_error", "server_error"),
    "timeout": (504, "server_error", "timeout"),
    "connection": (502, "server_error", "bad_gateway"),
    "malformed": (500, "server_error", "server_error"),
    "context_length": (400, "invalid_request_error", "context_length_exceeded"),
    "content_filter": (400, "invalid_request_error", "content_filter"),
    "invalid_key": (401, "invalid_request_error", "invalid_api_key"),
    "bad_request": (400, "invalid_request_error", "invalid_value"),
}


class ChatServer:
    name = "openai-chat"

    def read(self, body: Any, path: str) -> Asked:
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise BadRequest("'messages' must be a non-empty array", param="messages")
        tools = body.get("tools") or []
        bodies = read_messages(messages)
        return Asked(
            wire=self.name,
            model=str(body.get("model", "")),
            bodies=tuple(bodies),
            blocks=tuple(Block(data=msgspec.json.encode(b)) for b in [*tools, *messages]),
            max_output_tokens=int(body.get("max_completion_tokens") or body.get("max_tokens") or 16_000),
            stream=bool(body.get("stream")),
            key=str(body.get("prompt_cache_key") or ""),
        )

    def answer(self, message: Assistant, usage: Usage, asked: Asked, number: int) -> dict[str, Any]:
        refused = message.stop == "refusal"
        item: dict[str, Any] = {
            "role": "assistant",
            "content": None if refused else message.text or None,
            "refusal": message.text if refused else None,
        }
        if message.calls:
            item["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                for c in message.calls
            ]
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 1_790_000_000,
            "model": asked.model,
            "choices": [{"index": 0, "message": item, "logprobs": None, "finish_reason": FINISH[message.stop]}],
            "usage": usage_of(usage),
        }

    def events(self, answer: dict[str, Any]) -> Iterable[bytes]:
        base = {k: answer[k] for k in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
        choice = answer["choices"][0]
        for delta in deltas(choice["message"]):
            yield event({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        yield event({**base, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
        yield event({**base, "choices": [], "usage": answer["usage"]})
        yield b"data: [DONE]\n\n"

    def failure(self, fault: Fault, message: str, retry_after_s: float | None) -> Failure:
        return failure(fault, message, retry_after_s)

    def stream_error(self, fault: Fault, message: str) -> bytes:
        return event({"error": failure(fault, message, None).body["error"]})


def failure(fault: Fault, message: str, retry_after_s: float | None) -> Failure:
    status, type_, code = FAILURES[fault]
    headers = {"x-request-id": "req_failed"}
    if retry_after_s is not None:
        headers["retry-after"] = f"{retry_after_s:g}"
    error = {"message": message, "type": type_, "param": None, "code": code}
    return Failure(status, {"error": error}, headers)


def event(value: Any) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


def pieces(text: str, size: int = 24) -> Iterable[str]:
    return (text[i : i + size] for i in range(0, len(text), size))


def deltas(message: dict[str, Any]) -> Iterable[dict[str, Any]]:
    yield {"role": "assistant", "content": None}
    for key in ("content", "refusal"):
        for piece in pieces(message.get(key) or ""):
            yield {key: piece}
    for index, call in enumerate(message.get("tool_calls", [])):
        function = call["function"]
        first = {"name": function["name"], "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": call["id"], "type": "function", "function": first}]}
        for piece in pieces(function["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def usage_of(usage: Usage) -> dict[str, Any]:
    """Inclusive, as OpenAI counts."""
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.output,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def read_messages(messages: list[Any]) -> list[Body]:
    """Bodies in order; results are named by the calls before them. Enforces that every call has its result."""
    bodies: list[Body] = []
    open_calls: dict[str, str] = {}
    results: list[ToolResult] = []
    for at, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role == "tool":
            id = str(message.get("tool_call_id"))
            if id not in open_calls:
                raise BadRequest(f"messages[{at}]: tool_call_id {id!r} answers no call", param="messages")
            results.append(ToolResult(call_id=id, name=open_calls.pop(id), text=text_of(message.get("content"))))
            continue
        if open_calls:
            raise BadRequest(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following did not have response messages: {', '.join(open_calls)}",
                param="messages",
            )
        if results:
            bodies.append(ToolResults(results=tuple(results)))
            results = []
        if role == "user":
            bodies.append(User(text=text_of(message.get("content"))))
        elif role == "assistant":
            read = _read_assistant(message, at)
            open_calls = {c.id: c.name for c in read.calls}
            bodies.append(read)
        elif role not in ("system", "developer"):
            raise BadRequest(f"messages[{at}]: unknown role {role!r}", param="messages")
    if open_calls:
        raise BadRequest(f"no result for the calls {', '.join(open_calls)}", param="messages")
    if results:
        bodies.append(ToolResults(results=tuple(results)))
    return bodies


def _read_assistant(message: dict[str, Any], at: int) -> Assistant:
    calls = tuple(
        ToolCall(id=c["id"], name=c["function"]["name"], arguments=c["function"]["arguments"])
        for c in message.get("tool_calls") or []
    )
    text = text_of(message.get("content"))
    if not calls and message.get("content") is None and not message.get("refusal"):
        raise BadRequest(f"messages[{at}]: an assistant message needs content or tool_calls", param="messages")
    return Assistant(wire="openai-chat", items=[message], text=text, calls=calls)


def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(p.get("text", "")) for p in parts if isinstance(p, dict))
