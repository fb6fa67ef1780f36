"""Anthropic's Messages API, and the same behind Bedrock's InvokeModel, as a server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

import msgspec

from leadhand.core.errors import Fault
from leadhand.core.values import Assistant, Body, StopReason, ToolCall, ToolResult, ToolResults, Usage, User
from leadhand.testing.provider.asked import Asked, BadRequest, Block
from leadhand.testing.provider.chat import pieces, text_of
from leadhand.testing.provider.wire import Failure

STOPS: dict[StopReason, str] = {
    "tool_calls": "tool_use",
    "end": "end_turn",
    "length": "max_tokens",
    "refusal": "refusal",
    "content_filter": "refusal",
    "pause": "pause_turn",
}
FAILURES: dict[Fault, tuple[int, str, str]] = {
    "rate_limit": (429, "rate_limit_error", ""),
    "quota": (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
    "overload": (529, "overloaded_error", "Overloaded"),
    "server": (500, "api_error", ""),
    "timeout": (504, "timeout_error", ""),
    "connection": (502, "api_error", ""),
    "malformed": (500, "api_error", ""),
    "context_length": (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    "content_filter": (400, "invalid_request_error", "Output blocked by content filtering policy"),
    "invalid_key": (401, "authentication_error", "invalid x-api-key"),
    "bad_request": (400, "invalid_request_error", ""),
}


class MessagesServer:
    """Every reply begins with thinking: a signature without text, as models since Claude 4.7 send it, on every other
    turn with a redacted block after it. A changed or half-lost block is refused when it comes back.
    """

    name = "anthropic"

    def read(self, body: Any, path: str) -> Asked:
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise BadRequest("messages: at least one message is required")
        if not isinstance(body.get("max_tokens"), int):
            raise BadRequest("max_tokens: Field required")
        blocks = [_block(tool) for tool in body.get("tools") or []]
        system = body.get("system") or []
        blocks += [_block(b) for b in ([{"type": "text", "text": system}] if isinstance(system, str) else system)]
        for message in messages:
            blocks += [_block(b) for b in _content(message)]
        if sum(bool(b.ttl) for b in blocks) > 4:
            raise BadRequest("A maximum of 4 blocks with cache_control may be provided.")
        return Asked(
            wire=self.name,
            model=str(body.get("model", "")),
            bodies=tuple(read_messages(messages)),
            blocks=tuple(blocks),
            max_output_tokens=body["max_tokens"],
            stream=bool(body.get("stream")),
            key=str((body.get("metadata") or {}).get("user_id") or ""),
        )

    def answer(self, message: Assistant, usage: Usage, asked: Asked, number: int) -> dict[str, Any]:
        refused = message.stop in ("refusal", "content_filter")
        details = {"type": "refusal", "category": "cyber", "explanation": message.text} if refused else None
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": asked.model,
            "content": [] if refused else list(content(message, number)),
            "stop_reason": STOPS[message.stop],
            "stop_sequence": None,
            "stop_details": details,
            "usage": {
                "input_tokens": usage.input,
                "cache_creation_input_tokens": usage.cache_write,
                "cache_read_input_tokens": usage.cache_read,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": usage.cache_write - usage.cache_write_1h,
                    "ephemeral_1h_input_tokens": usage.cache_write_1h,
                },
                "output_tokens": usage.output,
                "output_tokens_details": {"thinking_tokens": usage.reasoning},
                "service_tier": "standard",
            },
        }

    def events(self, answer: dict[str, Any]) -> Iterable[bytes]:
        end = {k: answer[k] for k in ("stop_reason", "stop_sequence", "stop_details")}
        usage = answer["usage"]
        begun = {**answer, "content": [], "usage": {**usage, "output_tokens": 1}} | dict.fromkeys(end)
        yield event("message_start", message=begun)
        yield event("ping")
        for index, block in enumerate(answer["content"]):
            start, deltas = _streamed(block)
            yield event("content_block_start", index=index, content_block=start)
            for delta in deltas:
                yield event("content_block_delta", index=index, delta=delta)
            yield event("content_block_stop", index=index)
        counts = {k: usage[k] for k in ("output_tokens", "output_tokens_details", "input_tokens")}
        yield event("message_delta", delta=end, usage=counts)
        yield event("message_stop")

    def failure(self, fault: Fault, message: str, retry_after_s: float | None) -> Failure:
        status, type_, words = FAILURES[fault]
        headers = {"request-id": "req_failed"}
        if retry_after_s is not None:
            headers["retry-after"] = f"{retry_after_s:g}"
        error = {"type": type_, "message": words or message}
        return Failure(status, {"type": "error", "error": error, "request_id": "req_failed"}, headers)

    def stream_error(self, fault: Fault, message: str) -> bytes:
        return event("error", error=self.failure(fault, message, None).body["error"])


class BedrockServer(MessagesServer):
    """InvokeModel: the model is in the path, errors are named by a header."""

    name = "bedrock"

    def read(self, body: Any, path: str) -> Asked:
        if body.get("anthropic_version") != "bedrock-2023-05-31":
            raise BadRequest("anthropic_version: Field required")
        for name in ("model", "stream"):
            if name in body:
                raise BadRequest(f"{name}: Extra inputs are not permitted")
        model = unquote(path.rpartition("/model/")[2].removesuffix("/invoke"))
        return msgspec.structs.replace(super().read(body, path), model=model)

    def failure(self, fault: Fault, message: str, retry_after_s: float | None) -> Failure:
        status, type_ = BEDROCK_FAILURES.get(fault, (400, "ValidationException"))
        headers = {"x-amzn-errortype": f"{type_}:http://internal.amazon.com/coral/"}
        if retry_after_s is not None:
            headers["retry-after"] = f"{retry_after_s:g}"
        return Failure(status, {"message": FAILURES[fault][2] or message}, headers)


BEDROCK_FAILURES: dict[Fault, tuple[int, str]] = {
    "rate_limit": (429, "ThrottlingException"),
    "quota": (400, "ServiceQuotaExceededException"),
    "overload": (503, "ServiceUnavailableException"),
    "server": (500, "InternalServerException"),
    "timeout": (408, "ModelTimeoutException"),
    "connection": (502, "InternalServerException"),
    "malformed": (500, "InternalServerException"),
    "invalid_key": (403, "UnrecognizedClientException"),
}


def event(type: str, **more: Any) -> bytes:
    return b"event: " + type.encode() + b"\ndata: " + msgspec.json.encode({"type": type, **more}) + b"\n\n"


def content(message: Assistant, number: int) -> Iterable[dict[str, Any]]:
    yield {"type": "thinking", "thinking": "", "signature": signature("", number)}
    if number % 2 == 0:
        yield {"type": "redacted_thinking", "data": signature("redacted", number)}
    if message.text:
        yield {"type": "text", "text": message.text}
    for call in message.calls:
        try:
            arguments = msgspec.json.decode(call.arguments)
        except msgspec.DecodeError:
            arguments = call.arguments  # cut: only a stream can show it
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def signature(text: str, number: int) -> str:
    """Proves that a block is whole: the number it was made with, and a checksum of number and text."""
    return f"{number}.{sum(f'{number}/{text}'.encode()) * 2654435761 % 2**32:08x}"


def _signed(block: dict[str, Any]) -> bool:
    text = block.get("thinking", "") if block["type"] == "thinking" else "redacted"
    proof = str(block.get("signature" if block["type"] == "thinking" else "data"))
    number = proof.partition(".")[0]
    return number.isdigit() and proof == signature(text, int(number))


def _streamed(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": p} for p in pieces(block["text"])]
        case "thinking":
            start = {"type": "thinking", "thinking": "", "signature": ""}
            return start, [{"type": "signature_delta", "signature": block["signature"]}]
        case "tool_use":
            given = block["input"]
            text = given if isinstance(given, str) else msgspec.json.encode(given).decode() if given else ""
            deltas = [{"type": "input_json_delta", "partial_json": p} for p in ["", *pieces(text)]]
            return {**block, "input": {}}, deltas
    return block, []


def _block(block: dict[str, Any]) -> Block:
    control = block.get("cache_control")
    bare = {k: v for k, v in block.items() if k != "cache_control"}
    return Block(data=msgspec.json.encode(bare), ttl=(control.get("ttl") or "5m") if control else "")


def _content(message: dict[str, Any]) -> list[dict[str, Any]]:
    given = message.get("content")
    return [{"type": "text", "text": given}] if isinstance(given, str) else list(given or [])


def read_messages(messages: list[Any]) -> list[Body]:
    """Bodies in order. Enforces what Anthropic does: no blank text, whole thinking, a result for each call."""
    bodies: list[Body] = []
    open_calls: dict[str, str] = {}
    for at, message in enumerate(messages):
        blocks = _content(message)
        if not blocks:
            raise BadRequest(f"messages.{at}: all messages must have non-empty content")
        for block in blocks:
            _check(block, at)
        if message.get("role") == "assistant":
            if open_calls:
                raise BadRequest(_unanswered(at, open_calls))
            open_calls = {b["id"]: b["name"] for b in blocks if b["type"] == "tool_use"}
            bodies.append(_assistant(blocks))
            continue
        results = [b for b in blocks if b["type"] == "tool_result"]
        if blocks[: len(results)] != results:
            raise BadRequest(f"messages.{at}: tool_result blocks must come first")
        if {b["tool_use_id"] for b in results} != set(open_calls):
            unknown = [b["tool_use_id"] for b in results if b["tool_use_id"] not in open_calls]
            raise BadRequest(
                f"messages.{at}: unexpected tool_use_id {unknown[0]}" if unknown else _unanswered(at, open_calls)
            )
        if results:
            bodies.append(
                ToolResults(
                    results=tuple(
                        ToolResult(
                            call_id=b["tool_use_id"],
                            name=open_calls[b["tool_use_id"]],
                            text=text_of(b.get("content")),
                            is_error=bool(b.get("is_error")),
                        )
                        for b in results
                    )
                )
            )
            open_calls = {}
        bodies.extend(User(text=b["text"]) for b in blocks if b["type"] == "text")
    if open_calls:
        raise BadRequest(_unanswered(len(messages), open_calls))
    return bodies


def _unanswered(at: int, calls: dict[str, str]) -> str:
    ids = ", ".join(calls)
    return f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}"


def _check(block: dict[str, Any], at: int) -> None:
    kind = block.get("type")
    if kind == "text" and not block.get("text", "").strip():
        raise BadRequest(f"messages.{at}: text content blocks must contain non-whitespace text")
    if kind in ("thinking", "redacted_thinking") and not _signed(block):
        raise BadRequest(f"messages.{at}: Invalid `signature` in `thinking` block")
    if kind == "tool_use" and not isinstance(block.get("input"), dict):
        raise BadRequest(f"messages.{at}: tool_use.input: Input should be a valid dictionary")


def _assistant(blocks: list[dict[str, Any]]) -> Assistant:
    texts = [b["text"] for b in blocks if b["type"] == "text"]
    calls = tuple(
        ToolCall(id=b["id"], name=b["name"], arguments=msgspec.json.encode(b["input"]).decode())
        for b in blocks
        if b["type"] == "tool_use"
    )
    items = [{k: v for k, v in b.items() if k != "cache_control"} for b in blocks]
    return Assistant(wire="anthropic", items=items, text="\n\n".join(texts), calls=calls)
