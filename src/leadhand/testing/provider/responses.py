"""OpenAI's Responses API as a server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from leadhand.core.errors import Fault
from leadhand.core.values import Assistant, Body, ToolCall, ToolResult, ToolResults, Usage, User
from leadhand.testing.provider.asked import Asked, BadRequest, Block
from leadhand.testing.provider.chat import failure, pieces, text_of
from leadhand.testing.provider.wire import Failure


class ResponsesServer:
    """Every reply begins with an encrypted reasoning item, and refuses a request in which one came back changed."""

    name = "openai"

    def read(self, body: Any, path: str) -> Asked:
        items = body.get("input")
        if isinstance(items, str):
            items = [{"role": "user", "content": items}]
        if not isinstance(items, list) or not items:
            raise BadRequest("'input' must be a string or a non-empty array", param="input")
        front = [*(body.get("tools") or []), body.get("instructions") or ""]
        return Asked(
            wire=self.name,
            model=str(body.get("model", "")),
            bodies=tuple(read_items(items)),
            blocks=tuple(Block(data=msgspec.json.encode(b)) for b in [*front, *items]),
            max_output_tokens=int(body.get("max_output_tokens") or 16_000),
            stream=bool(body.get("stream")),
            key=str(body.get("prompt_cache_key") or ""),
            cache_ttl=_ttl(body),
        )

    def answer(self, message: Assistant, usage: Usage, asked: Asked, number: int) -> dict[str, Any]:
        cut = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(message.stop)
        status = "incomplete" if cut else "completed"
        return {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 1_790_000_000,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": cut} if cut else None,
            "instructions": None,
            "metadata": {},
            "model": asked.model,
            "output": list(output_items(message, number, status)),
            "parallel_tool_calls": True,
            "prompt_cache_options": {"mode": "implicit", "ttl": asked.cache_ttl or "30m"},
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": {
                "input_tokens": usage.prompt,
                "input_tokens_details": {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
                "output_tokens": usage.output,
                "output_tokens_details": {"reasoning_tokens": usage.reasoning},
                "total_tokens": usage.total,
            },
        }

    def events(self, answer: dict[str, Any]) -> Iterable[bytes]:
        number = 0

        def event(type: str, **more: Any) -> bytes:
            nonlocal number
            number += 1
            body = {"type": type, "sequence_number": number - 1, **more}
            return b"event: " + type.encode() + b"\ndata: " + msgspec.json.encode(body) + b"\n\n"

        begun = {**answer, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
        yield event("response.created", response=begun)
        for index, item in enumerate(answer["output"]):
            at = {"output_index": index, "item_id": item["id"]}
            yield event("response.output_item.added", output_index=index, item=_empty(item))
            if item["type"] == "function_call":
                for piece in pieces(item["arguments"]):
                    yield event("response.function_call_arguments.delta", **at, delta=piece)
                yield event(
                    "response.function_call_arguments.done", **at, name=item["name"], arguments=item["arguments"]
                )
            for n, part in enumerate(item.get("content", [])):
                kind = "output_text" if part["type"] == "output_text" else "refusal"
                text = part.get("text", part.get("refusal", ""))
                key = "text" if kind == "output_text" else "refusal"
                yield event("response.content_part.added", **at, content_index=n, part={**part, key: ""})
                for piece in pieces(text):
                    more: dict[str, Any] = {"logprobs": []} if kind == "output_text" else {}
                    yield event(f"response.{kind}.delta", **at, content_index=n, delta=piece, **more)
                yield event("response.content_part.done", **at, content_index=n, part=part)
            yield event("response.output_item.done", output_index=index, item=item)
        yield event(f"response.{answer['status']}", response=answer)

    def failure(self, fault: Fault, message: str, retry_after_s: float | None) -> Failure:
        return failure(fault, message, retry_after_s)

    def stream_error(self, fault: Fault, message: str) -> bytes:
        error = failure(fault, message, None).body["error"]
        body = {"type": "error", "sequence_number": 99, "error": error, **error}
        return b"event: error\ndata: " + msgspec.json.encode({**body, "type": "error"}) + b"\n\n"


def _ttl(body: Any) -> str:
    ttl = (body.get("prompt_cache_options") or {}).get("ttl") or ""
    if ttl not in ("", "30m", "12h"):
        raise BadRequest(
            f"Invalid value: {ttl!r}. Supported values are: '30m' and '12h'.", param="prompt_cache_options"
        )
    return str(ttl)


def output_items(message: Assistant, number: int, status: str) -> Iterable[dict[str, Any]]:
    yield {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": secret(f"rs_{number}")}
    if message.text:
        part: dict[str, Any] = {"type": "output_text", "text": message.text, "annotations": [], "logprobs": []}
        if message.stop == "refusal":
            part = {"type": "refusal", "refusal": message.text}
        phase = "commentary" if message.commentary or message.calls else "final_answer"
        yield {
            "type": "message",
            "id": f"msg_{number}",
            "role": "assistant",
            "status": status,
            "phase": phase,
            "content": [part],
        }
    for index, call in enumerate(message.calls):
        yield {
            "type": "function_call",
            "id": f"fc_{number}_{index}",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
            "status": status,
        }


def secret(id: str) -> str:
    """Encrypted reasoning that only its own id opens."""
    return f"gAAAA-{id}-{sum(id.encode()) * 2654435761 % 2**32:08x}"


def _empty(item: dict[str, Any]) -> dict[str, Any]:
    """As a stream first shows it: encrypted content comes only when the item is done."""
    blank: dict[str, Any] = {"content": [], "arguments": "", "encrypted_content": None}
    return {k: blank.get(k, v) for k, v in item.items()} | ({"status": "in_progress"} if "status" in item else {})


def read_items(items: list[Any]) -> list[Body]:
    """Bodies in order. Enforces what OpenAI does: whole reasoning, phases kept, a result for each call."""
    bodies: list[Body] = []
    turn: list[dict[str, Any]] = []
    results: list[ToolResult] = []
    calls: dict[str, str] = {}
    for at, item in enumerate(items):
        kind = item.get("type") or ("message" if "role" in item else "")
        if kind == "function_call_output":
            bodies.extend(_end_turn(turn))
            id = str(item.get("call_id"))
            if id not in calls:
                raise BadRequest(f"No tool call found for function call output with call_id {id}.", param="input")
            results.append(ToolResult(call_id=id, name=calls.pop(id), text=text_of(item.get("output"))))
            continue
        bodies.extend(_end_results(results))
        if kind == "message" and item.get("role") != "assistant":
            _all_answered(calls)
            bodies.extend(_end_turn(turn))
            bodies.append(User(text=text_of(item.get("content"))))
            continue
        if not turn:
            _all_answered(calls)
        _check(item, kind, at, items)
        if kind == "function_call":
            calls[str(item["call_id"])] = str(item["name"])
        turn.append(item)
    _all_answered(calls)
    return [*bodies, *_end_turn(turn), *_end_results(results)]


def _check(item: dict[str, Any], kind: str, at: int, items: list[Any]) -> None:
    if kind == "reasoning":
        id = str(item.get("id"))
        if item.get("encrypted_content") != secret(id):
            raise BadRequest(
                f"The encrypted content for item {id} could not be verified.", code="invalid_encrypted_content"
            )
        following = items[at + 1] if at + 1 < len(items) else {}
        if following.get("type") not in ("reasoning", "message", "function_call"):
            raise BadRequest(
                f"Item '{id}' of type 'reasoning' was provided without its required following item.", param="input"
            )
    elif kind == "message" and str(item.get("id", "")).startswith("msg_") and "phase" not in item:
        raise BadRequest(f"input[{at}]: the phase of {item['id']} was lost", param="input")
    elif kind not in ("message", "function_call"):
        raise BadRequest(f"input[{at}]: unknown item type {kind!r}", param="input")


def _all_answered(calls: dict[str, str]) -> None:
    if calls:
        raise BadRequest(f"No tool output found for function call {next(iter(calls))}.", param="input")


def _end_turn(turn: list[dict[str, Any]]) -> list[Body]:
    if not turn:
        return []
    texts = [text_of(i.get("content")) for i in turn if "role" in i]
    calls = tuple(
        ToolCall(id=i["call_id"], name=i["name"], arguments=i["arguments"])
        for i in turn
        if i.get("type") == "function_call"
    )
    body = Assistant(wire="openai", items=list(turn), text="\n\n".join(t for t in texts if t), calls=calls)
    turn.clear()
    return [body]


def _end_results(results: list[ToolResult]) -> list[Body]:
    if not results:
        return []
    body = ToolResults(results=tuple(results))
    results.clear()
    return [body]
