"""Gemini's generateContent: parts go back as they came, thought signatures on the very part that carried them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from leadhand.core.chain import Root
from leadhand.core.errors import ModelError
from leadhand.core.ports import Reply, Request
from leadhand.core.values import Assistant, Body, StopReason, ToolCall, ToolResult, ToolResults, Usage, User
from leadhand.models import loose_json as lj
from leadhand.models.gemini_faults import gemini_fault, stream_fault
from leadhand.models.history import EncodedHistory
from leadhand.models.wires.common import expand_parallel, looks_ours, merge_results, must_call, tail_settings
from leadhand.models.wires.gemini_stream import GeminiAssembler

FILTERED = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY")
BY_ORDER = "by-order-"
"""Ids that we give to calls which came without: their results are sent without an id too, and matched by order."""


class GeminiWire:
    name = "gemini"

    def __init__(self) -> None:
        self._history = EncodedHistory(encode_body, fixed_fields)

    def path(self, request: Request, *, stream: bool) -> str:
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return f"/v1beta/models/{quote(request.model, safe='')}:{method}"

    def encode(self, request: Request, *, stream: bool) -> bytes:
        history = self._history.joined(request.conversation)
        fields = self._history.fields(request.conversation)
        return b'{"contents":[' + history + b"]" + fields + tail_settings(_settings(request))

    def assembler(self) -> GeminiAssembler:
        return GeminiAssembler()

    def fault(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
        return gemini_fault(status, headers, body)

    def decode(self, answer: dict[str, Any], root: Root) -> Reply:
        if answer.get("error"):
            raise stream_fault(answer["error"])
        usage = read_usage(answer.get("usageMetadata"))
        candidates = lj.items(answer.get("candidates"))
        if not candidates:
            reason = lj.string(lj.obj(answer.get("promptFeedback")).get("blockReason"))
            if reason:
                raise ModelError("content_filter", f"the prompt was blocked: {reason[:60]}", usage=usage)
            raise ModelError("malformed", "the answer has no candidates", maybe_billed=True, usage=usage)
        candidate = lj.obj(candidates[0])
        parts = [p for p in lj.items(lj.obj(candidate.get("content")).get("parts")) if isinstance(p, dict)]
        return Reply(
            message=read_parts(parts, lj.string(candidate.get("finishReason"))),
            usage=usage or Usage(),
            model=lj.string(answer.get("modelVersion")),
            request_id=lj.string(answer.get("responseId")),
        )


def fixed_fields(root: Root) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if root.system:
        fields["systemInstruction"] = {"parts": [{"text": root.system}]}
    if root.tools:
        declarations = [
            {"name": t.name, "description": t.description, "parametersJsonSchema": t.parameters} for t in root.tools
        ]
        fields["tools"] = [{"functionDeclarations": declarations}]
    if must_call(root):
        fields["toolConfig"] = {"functionCallingConfig": {"mode": "ANY"}}
    return fields


def _settings(request: Request) -> dict[str, Any]:
    generation: dict[str, Any] = {"maxOutputTokens": request.max_output_tokens}
    if request.reasoning:
        generation["thinkingConfig"] = thinking(request.reasoning)
    return {"generationConfig": generation}


def thinking(reasoning: str) -> dict[str, Any]:
    """A level, or a budget (`budget:N`; `none` is a budget of 0): both together are refused."""
    kind, _, budget = reasoning.partition(":")
    if kind == "budget":
        return {"thinkingBudget": int(budget)}
    return {"thinkingBudget": 0} if kind == "none" else {"thinkingLevel": reasoning.upper()}


def encode_body(body: Body) -> bytes:
    match body:
        case User():
            return lj.encode({"role": "user", "parts": [{"text": body.text}]})
        case ToolResults():
            return lj.encode({"role": "user", "parts": [_response(r) for r in merge_results(body.results)]})
        case Assistant():
            parts = body.items if body.wire == GeminiWire.name else _foreign(body)
            parts = [p for p in parts if p != {"text": ""}]
            return lj.encode({"role": "model", "parts": parts}) if parts else b""


def _response(result: ToolResult) -> dict[str, Any]:
    given = {} if result.call_id.startswith(BY_ORDER) else {"id": result.call_id}
    key = "error" if result.is_error else "output"
    return {"functionResponse": {**given, "name": result.name, "response": {key: result.text}}}


def _foreign(body: Assistant) -> list[Any]:
    """A turn of another model. Its calls have no signature, and this is the documented way to say so."""
    parts: list[Any] = [{"text": body.text}] if body.text else []
    for n, call in enumerate(body.calls):
        try:
            arguments = lj.obj(lj.decode(call.arguments))
        except ValueError:
            arguments = {}
        part: dict[str, Any] = {"functionCall": {"id": call.id, "name": call.name, "args": arguments}}
        parts.append({**part, "thoughtSignature": "skip_thought_signature_validator"} if n == 0 else part)
    return parts


def read_parts(parts: list[dict[str, Any]], finish: str) -> Assistant:
    """The neutral view. Parts stay as they came, but for call ids that repeat within the turn.

    `finishReason` is STOP for calls as well. A call that the model wrote badly (MALFORMED_FUNCTION_CALL) comes as an
    answer without parts: an empty reply.
    """
    calls: list[ToolCall] = []
    seen: set[str] = set()
    items: list[Any] = []
    for part in parts:
        function = part.get("functionCall")
        if isinstance(function, dict):
            id = lj.string(function.get("id"))
            if id in seen or looks_ours(id):
                id = f"call_{len(calls)}_{len(id)}"
                part = {**part, "functionCall": {**function, "id": id}}
            seen |= {id} - {""}
            arguments = lj.text(lj.obj(function.get("args")))
            calls.append(
                ToolCall(id=id or f"{BY_ORDER}{len(calls)}", name=lj.string(function.get("name")), arguments=arguments)
            )
        items.append(part)
    stop: StopReason = "tool_calls" if calls else "end"
    if finish == "MAX_TOKENS":
        stop = "length"
    elif finish in FILTERED:
        stop = "content_filter"
    text = "".join(lj.string(p.get("text")) for p in parts if not p.get("thought"))
    return Assistant(wire=GeminiWire.name, items=items, text=text, calls=expand_parallel(calls), stop=stop)


def read_usage(usage: Any) -> Usage | None:
    """The prompt includes what was cached; thoughts are not in the candidates' count."""
    if not isinstance(usage, dict):
        return None
    prompt = lj.count(usage.get("promptTokenCount")) + lj.count(usage.get("toolUsePromptTokenCount"))
    cached = min(lj.count(usage.get("cachedContentTokenCount")), prompt)
    thoughts = lj.count(usage.get("thoughtsTokenCount"))
    return Usage(
        input=prompt - cached,
        cache_read=cached,
        output=lj.count(usage.get("candidatesTokenCount")) + thoughts,
        reasoning=thoughts,
    )
