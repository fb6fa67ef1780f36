"""Anthropic's Messages API: thinking kept with its signatures, cache breakpoints that move with the conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leadhand.core.chain import Message, Root
from leadhand.core.errors import ModelError
from leadhand.core.ports import Reply, Request
from leadhand.core.values import Assistant, Body, StopReason, ToolCall, ToolResults, Usage, User
from leadhand.models import loose_json as lj
from leadhand.models.anthropic_faults import anthropic_fault, stream_fault
from leadhand.models.history import EncodedHistory
from leadhand.models.wires.common import distinct_ids, expand_parallel, merge_results, must_call, tail_settings
from leadhand.models.wires.messages_stream import MessagesAssembler

STOPS: dict[str, StopReason] = {
    "max_tokens": "length",
    "refusal": "refusal",
    "pause_turn": "pause",
}
BREAKPOINTS = 3
"""In the messages; a fourth, the most there may be, stands after tools and system prompt."""


class MessagesWire:
    name = "anthropic"

    def __init__(self) -> None:
        self._history = EncodedHistory(encode_body, fixed_fields)

    def path(self, request: Request, *, stream: bool) -> str:
        return "/v1/messages"

    def encode(self, request: Request, *, stream: bool) -> bytes:
        return self.body(request, {"model": request.model, **({"stream": True} if stream else {})})

    def body(self, request: Request, first: dict[str, Any]) -> bytes:
        """The request as JSON, with the settings `first` that differ between Anthropic's own server and Bedrock."""
        ttl = cache_ttl(request.conversation.root)
        parts = list(self._history.parts(request.conversation))
        for at in breakpoints(request.conversation.messages):
            parts[at] = with_breakpoint(parts[at], ttl)
        messages = b",".join(part for part in parts if part)
        settings = {**first, "max_tokens": request.max_output_tokens, **thinking(request.reasoning)}
        fields = self._history.fields(request.conversation)
        return b'{"messages":[' + messages + b"]" + fields + tail_settings(settings)

    def assembler(self) -> MessagesAssembler:
        return MessagesAssembler()

    def fault(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
        return anthropic_fault(status, headers, body)

    def decode(self, answer: dict[str, Any], root: Root) -> Reply:
        if answer.get("type") == "error" or answer.get("error"):
            raise stream_fault(answer.get("error"))
        usage = read_usage(answer.get("usage"))
        content = answer.get("content")
        if not isinstance(content, list):
            raise ModelError("malformed", "the answer has no content", maybe_billed=True, usage=usage)
        if answer.get("stop_reason") == "model_context_window_exceeded":
            raise ModelError("context_length", "the answer reached the end of the context window", usage=usage)
        return Reply(
            message=read_content([b for b in content if isinstance(b, dict)], answer),
            usage=usage or Usage(),
            model=lj.string(answer.get("model")),
            request_id=lj.string(answer.get("id")),
        )


def breakpoints(messages: Sequence[Message]) -> list[int]:
    """Indices of the messages that end a cached prefix: the last one, and those that ended the previous requests.

    A look-back reaches 20 blocks only, and sixteen parallel calls with their results are 32: so the breakpoint of the
    request before stays where it was, and the read does not depend on any look-back.
    """
    found: list[int] = []
    candidate = len(messages) - 1
    for at in range(len(messages) - 1, -1, -1):
        if isinstance(messages[at].body, Assistant):
            candidate = at - 1
        elif at == candidate:
            found.append(at)
            if len(found) == BREAKPOINTS:
                break
    return found


def with_breakpoint(part: bytes, ttl: str) -> bytes:
    """An encoded user message with a breakpoint on its last block. `}]}` ends block, content and message."""
    return part[:-3] + b',"cache_control":' + lj.encode(cache_control(ttl)) + b"}]}"


def cache_control(ttl: str) -> dict[str, str]:
    return {"type": "ephemeral", "ttl": ttl}


def cache_ttl(root: Root) -> str:
    """How long this conversation's prefix is kept: five minutes, or an hour where its settings say so."""
    return "1h" if root.settings.get("cache_ttl") == "1h" else "5m"


def fixed_fields(root: Root) -> dict[str, Any]:
    control = cache_control(cache_ttl(root))
    fields: dict[str, Any] = {}
    if root.system:
        fields["system"] = [{"type": "text", "text": root.system, "cache_control": control}]
    if root.tools:
        fields["tools"] = [
            {"name": t.name, "description": t.description, "input_schema": t.parameters} for t in root.tools
        ]
        if not root.system:
            fields["tools"][-1]["cache_control"] = control
    if must_call(root):
        fields["tool_choice"] = {"type": "any"}
    return fields


def thinking(reasoning: str) -> dict[str, Any]:
    """`low` to `max`: adaptive thinking with that effort; `budget:N` tokens; `none`: off; "": the model's default."""
    if not reasoning:
        return {}
    if reasoning == "none":
        return {"thinking": {"type": "disabled"}}
    kind, _, budget = reasoning.partition(":")
    if kind == "budget":
        return {"thinking": {"type": "enabled", "budget_tokens": int(budget)}}
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": reasoning}}


def encode_body(body: Body) -> bytes:
    match body:
        case User():  # blank text blocks are refused
            return _message("user", [{"type": "text", "text": body.text if body.text.strip() else "(empty)"}])
        case ToolResults():
            return _message(
                "user",
                [
                    {"type": "tool_result", "tool_use_id": r.call_id, "content": r.text}
                    | ({"is_error": True} if r.is_error else {})
                    for r in merge_results(body.results)
                ],
            )
        case Assistant():
            blocks = [_sendable(b) for b in _blocks(body) if _may_go_back(b)]
            return _message("assistant", blocks) if blocks else b""


def _message(role: str, content: list[Any]) -> bytes:
    return lj.encode({"role": role, "content": content})


def _blocks(body: Assistant) -> list[Any]:
    if body.wire == MessagesWire.name:
        return body.items
    said = [{"type": "text", "text": body.text}] if body.text else []
    return said + [{"type": "tool_use", "id": c.id, "name": c.name, "input": _input(c.arguments)} for c in body.calls]


def _input(arguments: str) -> dict[str, Any]:
    try:
        return lj.obj(lj.decode(arguments))
    except ValueError:
        return {}


def _sendable(block: dict[str, Any]) -> dict[str, Any]:
    """A call whose input was cut has no object as its input; it goes back with an empty one."""
    if block.get("type") == "tool_use" and not isinstance(block.get("input"), dict):
        return {**block, "input": {}}
    return block


def _may_go_back(block: dict[str, Any]) -> bool:
    """Blank text, and thinking that was cut before its signature, are refused when sent back. Everything else goes."""
    if block.get("type") == "text":
        return bool(lj.string(block.get("text")).strip())
    if block.get("type") == "thinking":
        return bool(block.get("signature"))
    return True


def read_content(content: list[dict[str, Any]], answer: dict[str, Any]) -> Assistant:
    """The neutral view. `answer["partial_inputs"]` holds arguments that a stream cut inside their JSON, by block."""
    partial = lj.obj(answer.get("partial_inputs"))
    uses = [(n, b) for n, b in enumerate(content) if b.get("type") == "tool_use"]
    calls, changed = distinct_ids([_read_call(b, partial.get(str(n))) for n, b in uses])
    if changed:
        fixed = {n: call.id for (n, _), call in zip(uses, calls, strict=True)}
        content = [{**b, "id": fixed[n]} if n in fixed else b for n, b in enumerate(content)]
    stop = STOPS.get(lj.string(answer.get("stop_reason"))) or ("tool_calls" if calls else "end")
    text = "\n\n".join(t for b in content if b.get("type") == "text" and (t := lj.string(b.get("text"))))
    if not text and stop == "refusal":
        text = lj.string(lj.obj(answer.get("stop_details")).get("explanation"))
    return Assistant(wire=MessagesWire.name, items=content, text=text, calls=expand_parallel(calls), stop=stop)


def _read_call(block: dict[str, Any], partial: Any) -> ToolCall:
    given = block.get("input")
    written = partial if isinstance(partial, str) else given if isinstance(given, str) else None
    arguments = lj.text(lj.obj(given)) if written is None else written
    return ToolCall(id=lj.string(block.get("id")), name=lj.string(block.get("name")), arguments=arguments)


def read_usage(usage: Any) -> Usage | None:
    """Exclusive counts already. Writes without a lifetime are the default's: five minutes."""
    if not isinstance(usage, dict):
        return None
    lifetimes = lj.obj(usage.get("cache_creation"))
    hour = lj.count(lifetimes.get("ephemeral_1h_input_tokens"))
    short = lj.count(lifetimes.get("ephemeral_5m_input_tokens"))
    written = lj.count(usage.get("cache_creation_input_tokens"))
    output = lj.count(usage.get("output_tokens"))
    reasoning = lj.count(lj.obj(usage.get("output_tokens_details")).get("thinking_tokens"))
    return Usage(
        input=lj.count(usage.get("input_tokens")),
        cache_read=lj.count(usage.get("cache_read_input_tokens")),
        cache_write_5m=max(short, written - hour),
        cache_write_1h=hour,
        output=output,
        reasoning=min(reasoning, output),
    )
