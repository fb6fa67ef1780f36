"""Gemini's generateContent as a server."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

import msgspec

from leadhand.core.errors import Fault
from leadhand.core.values import Assistant, Body, StopReason, ToolCall, ToolResult, ToolResults, Usage, User
from leadhand.testing.provider.asked import Asked, BadRequest, Block
from leadhand.testing.provider.chat import event, pieces
from leadhand.testing.provider.wire import Failure

FINISH: dict[StopReason, str] = {
    "tool_calls": "STOP",
    "end": "STOP",
    "length": "MAX_TOKENS",
    "refusal": "STOP",
    "content_filter": "SAFETY",
    "pause": "STOP",
}
FAILURES: dict[Fault, tuple[int, str, str]] = {
    "rate_limit": (429, "RESOURCE_EXHAUSTED", ""),
    "quota": (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota."),
    "overload": (503, "UNAVAILABLE", "The model is overloaded."),
    "server": (500, "INTERNAL", ""),
    "timeout": (504, "DEADLINE_EXCEEDED", ""),
    "connection": (502, "UNAVAILABLE", ""),
    "malformed": (500, "INTERNAL", ""),
    "context_length": (400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens"),
    "invalid_key": (400, "INVALID_ARGUMENT", "API key not valid."),
    "bad_request": (400, "INVALID_ARGUMENT", ""),
}
SKIP = "skip_thought_signature_validator"


class GeminiServer:
    """Signs the first of parallel calls, or the text, and refuses a call that comes back without it. Calls of every
    other reply have no ids, as AI Studio's had; `finishReason` is STOP for calls too.
    """

    name = "gemini"

    def read(self, body: Any, path: str) -> Asked:
        contents = body.get("contents")
        if not isinstance(contents, list) or not contents:
            raise BadRequest("contents is not specified")
        config = body.get("generationConfig") or {}
        if {"thinkingLevel", "thinkingBudget"} <= set(config.get("thinkingConfig") or {}):
            raise BadRequest("You can only set only one of thinking budget and thinking level.")
        front = [body.get("systemInstruction") or {}, *(body.get("tools") or [])]
        model, _, method = path.rpartition("/")[2].partition(":")
        return Asked(
            wire=self.name,
            model=unquote(model),
            bodies=tuple(read_contents(contents)),
            blocks=tuple(Block(data=msgspec.json.encode(b)) for b in [*front, *contents]),
            max_output_tokens=int(config.get("maxOutputTokens") or 16_000),
            stream=method.startswith("stream"),
        )

    def answer(self, message: Assistant, usage: Usage, asked: Asked, number: int) -> dict[str, Any]:
        base: dict[str, Any] = {
            "usageMetadata": {
                "promptTokenCount": usage.prompt,
                "cachedContentTokenCount": usage.cache_read,
                "candidatesTokenCount": usage.output - usage.reasoning,
                "thoughtsTokenCount": usage.reasoning,
                "totalTokenCount": usage.total,
            },
            "modelVersion": asked.model,
            "responseId": f"resp-{number}",
        }
        if message.stop == "refusal":
            return {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, **base}
        content = {"role": "model", "parts": list(parts(message, number))}
        candidate = {"content": content, "finishReason": FINISH[message.stop], "index": 0}
        return {"candidates": [candidate], **base}

    def events(self, answer: dict[str, Any]) -> Iterable[bytes]:
        base = {k: v for k, v in answer.items() if k != "candidates"}
        if "candidates" not in answer:
            yield event(answer)
            return
        candidate = answer["candidates"][0]
        for part in _streamed(candidate["content"]["parts"]):
            yield event({"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}], **base})
        last = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": candidate["finishReason"]}
        yield event({"candidates": [{**last, "index": 0}], **base})

    def failure(self, fault: Fault, message: str, retry_after_s: float | None) -> Failure:
        if fault == "content_filter":
            body = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 0}}
            return Failure(200, body, {})
        status, name, words = FAILURES[fault]
        details: list[dict[str, Any]] = []
        google = "type.googleapis.com/google.rpc."
        if fault == "invalid_key":
            details.append({"@type": google + "ErrorInfo", "reason": "API_KEY_INVALID"})
        if fault == "quota":
            violations = [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]
            details.append({"@type": google + "QuotaFailure", "violations": violations})
        if retry_after_s is not None:
            details.append({"@type": google + "RetryInfo", "retryDelay": f"{retry_after_s:g}s"})
        error = {"code": status, "message": words or message, "status": name, "details": details}
        return Failure(status, {"error": error}, {})

    def stream_error(self, fault: Fault, message: str) -> bytes:
        return event([self.failure(fault, message, None).body])


def parts(message: Assistant, number: int) -> Iterable[dict[str, Any]]:
    signed = False
    if message.text:
        signed = not message.calls
        yield {"text": message.text} | ({"thoughtSignature": signature(number)} if signed else {})
    for index, call in enumerate(message.calls):
        try:
            arguments = msgspec.json.decode(call.arguments)
        except msgspec.DecodeError:
            arguments = {}
        id = {"id": call.id} if number % 2 else {}
        function = {"functionCall": {**id, "name": call.name, "args": arguments}}
        yield function | ({"thoughtSignature": signature(number)} if index == 0 else {})


def signature(number: int) -> str:
    """Base64, as all signatures are; made from the number of the reply, so that any change shows."""
    return base64.b64encode(f"sig-{number}-{number * 2654435761 % 2**32:08x}".encode()).decode()


def _genuine(proof: str) -> bool:
    try:
        number = base64.b64decode(proof + "==").decode().split("-")[1]
    except (ValueError, IndexError):
        return False
    return number.isdigit() and proof == signature(int(number))


def _streamed(given: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """Text in pieces; the signature of a text comes at its end, on an empty part."""
    for part in given:
        if "text" not in part:
            yield part
            continue
        for piece in pieces(part["text"]):
            yield {"text": piece}
        if "thoughtSignature" in part:
            yield {"text": "", "thoughtSignature": part["thoughtSignature"]}


def read_contents(contents: list[Any]) -> list[Body]:
    """Bodies in order. Enforces what Gemini does: signatures returned, as many responses as calls."""
    bodies: list[Body] = []
    calls: list[ToolCall] = []
    for at, content in enumerate(contents):
        given = content.get("parts") or []
        if not given:
            raise BadRequest(f"contents[{at}].parts must not be empty.")
        responses = [p["functionResponse"] for p in given if "functionResponse" in p]
        if len(responses) != len(calls):
            raise BadRequest(
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )
        if content.get("role") == "model":
            calls = _calls(given, at)
            text = "".join(p.get("text", "") for p in given if not p.get("thought"))
            bodies.append(Assistant(wire="gemini", items=given, text=text, calls=tuple(calls)))
            continue
        if responses:
            bodies.append(ToolResults(results=tuple(_result(r, c) for r, c in zip(responses, calls, strict=True))))
            calls = []
        bodies.extend(User(text=p["text"]) for p in given if "text" in p)
    if calls:
        raise BadRequest("Please ensure that function call turns are followed by function response turns.")
    return bodies


def _calls(given: list[dict[str, Any]], at: int) -> list[ToolCall]:
    found = [p for p in given if "functionCall" in p]
    if found and not found[0].get("thoughtSignature"):
        raise BadRequest(f"Function call is missing a thought_signature in functionCall parts: contents[{at}]")
    for part in given:
        proof = part.get("thoughtSignature", SKIP)
        if proof != SKIP and not _genuine(proof):
            raise BadRequest(f"Thought signature is not valid: contents[{at}]")
    return [
        ToolCall(
            id=p["functionCall"].get("id") or f"at-{n}",
            name=p["functionCall"]["name"],
            arguments=msgspec.json.encode(p["functionCall"].get("args") or {}).decode(),
        )
        for n, p in enumerate(found)
    ]


def _result(response: dict[str, Any], call: ToolCall) -> ToolResult:
    given = response.get("id")
    if response.get("name") != call.name or (given or call.id) != call.id:
        raise BadRequest(f"the response to {call.name} ({call.id}) is for {response.get('name')} ({given})")
    content = response.get("response") or {}
    text = str(content.get("output", content.get("error", "")))
    return ToolResult(call_id=call.id, name=call.name, text=text, is_error="error" in content)
