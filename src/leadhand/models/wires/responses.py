"""OpenAI's Responses API, stateless: output items go back as they came, encrypted reasoning and `phase` included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from leadhand.core.chain import Root
from leadhand.core.errors import ModelError
from leadhand.core.ports import Reply, Request
from leadhand.core.values import Assistant, Body, StopReason, ToolCall, ToolResults, Usage, User
from leadhand.models import loose_json as lj
from leadhand.models.history import EncodedHistory
from leadhand.models.openai_faults import openai_fault, stream_fault
from leadhand.models.wires.chat import inclusive_usage
from leadhand.models.wires.common import distinct_ids, expand_parallel, merge_results, must_call, tail_settings
from leadhand.models.wires.responses_stream import ResponsesAssembler

_INCOMPLETE: dict[str, StopReason] = {"max_output_tokens": "length", "content_filter": "content_filter"}


class ResponsesWire:
    name = "openai"

    def __init__(self) -> None:
        self._history = EncodedHistory(encode_body, fixed_fields)

    def path(self, request: Request, *, stream: bool) -> str:
        return "/responses"

    def encode(self, request: Request, *, stream: bool) -> bytes:
        return b"".join(
            [
                b'{"model":',
                lj.encode(request.model),
                b',"input":[',
                self._history.joined(request.conversation),
                b"]",
                self._history.fields(request.conversation),
                tail_settings(_settings(request, stream)),
            ]
        )

    def assembler(self) -> ResponsesAssembler:
        return ResponsesAssembler()

    def fault(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
        return openai_fault(status, headers, body)

    def decode(self, answer: dict[str, Any], root: Root) -> Reply:
        usage = read_usage(answer.get("usage"), lj.string(lj.obj(answer.get("prompt_cache_options")).get("ttl")))
        status = lj.string(answer.get("status"))
        if answer.get("error") or status == "failed":
            raise stream_fault(answer.get("error") or {"message": "the response failed"}, usage=usage)
        output = answer.get("output")
        if not isinstance(output, list) or status in ("queued", "in_progress", "cancelled"):
            raise ModelError("malformed", f"the response is {status or 'empty'}", maybe_billed=True, usage=usage)
        reason = lj.string(lj.obj(answer.get("incomplete_details")).get("reason"))
        stop = None if status != "incomplete" else _INCOMPLETE.get(reason, "length")
        return Reply(
            message=read_output([item for item in output if isinstance(item, dict)], stop),
            usage=usage or Usage(),
            model=lj.string(answer.get("model")),
            request_id=lj.string(answer.get("id")),
        )


def fixed_fields(root: Root) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if root.system:
        fields["instructions"] = root.system
    if root.tools:
        fields["tools"] = [
            {
                "type": "function",
                "name": t.name,
                "description": t.description,
                "parameters": t.parameters,
                "strict": False,  # strict schemas allow no optional parameters
            }
            for t in root.tools
        ]
        fields["parallel_tool_calls"] = True
    if must_call(root):
        fields["tool_choice"] = "required"
    ttl = root.settings.get("cache_ttl")
    if ttl in ("30m", "12h"):
        fields["prompt_cache_options"] = {"mode": "implicit", "ttl": ttl}
    return {**fields, "store": False, "include": ["reasoning.encrypted_content"]}


def _settings(request: Request, stream: bool) -> dict[str, Any]:
    settings: dict[str, Any] = {"max_output_tokens": request.max_output_tokens}
    if request.reasoning:
        settings["reasoning"] = {"effort": request.reasoning}
    if request.cache_key:
        settings["prompt_cache_key"] = request.cache_key
    if stream:
        settings["stream"] = True
    return settings


def encode_body(body: Body) -> bytes:
    match body:
        case User():
            return lj.encode({"role": "user", "content": body.text})
        case ToolResults():
            return b",".join(
                lj.encode({"type": "function_call_output", "call_id": r.call_id, "output": r.text})
                for r in merge_results(body.results)
            )
        case Assistant():
            return b",".join(lj.encode(item) for item in _items(body))


def _items(body: Assistant) -> list[Any]:
    """The native items, less reasoning at the very end: alone it is refused ("without its required following item")."""
    if body.wire != ResponsesWire.name:
        said = [{"role": "assistant", "content": body.text}] if body.text else []
        return said + [
            {"type": "function_call", "call_id": c.id, "name": c.name, "arguments": c.arguments} for c in body.calls
        ]
    items = list(body.items)
    while items and lj.obj(items[-1]).get("type") == "reasoning":
        items.pop()
    return items


def read_output(output: list[dict[str, Any]], stop: StopReason | None) -> Assistant:
    """The neutral view. Items stay as they came, but for call ids that are missing or repeat within the turn."""
    raw = [item for item in output if item.get("type") == "function_call"]
    calls, changed = distinct_ids([_read_call(item) for item in raw])
    if changed:
        ids = iter(calls)
        output = [{**item, "call_id": next(ids).id} if item.get("type") == "function_call" else item for item in output]
    messages = [item for item in output if item.get("type") == "message"]
    parts = [lj.obj(part) for m in messages for part in lj.items(m.get("content"))]
    refused = any(p.get("type") == "refusal" for p in parts)
    phases = {lj.string(m.get("phase")) for m in messages}
    return Assistant(
        wire=ResponsesWire.name,
        items=output,
        text="\n\n".join(t for m in messages if (t := _read_text(m))),
        calls=expand_parallel(calls),
        stop=stop or ("tool_calls" if calls else "refusal" if refused else "end"),
        commentary=not calls and "commentary" in phases and "final_answer" not in phases,
    )


def _read_call(item: dict[str, Any]) -> ToolCall:
    arguments = item.get("arguments")
    return ToolCall(
        id=lj.string(item.get("call_id")),
        name=lj.string(item.get("name")),
        arguments=arguments if isinstance(arguments, str) else "{}" if arguments is None else lj.text(arguments),
    )


def _read_text(message: dict[str, Any]) -> str:
    parts = [lj.obj(part) for part in lj.items(message.get("content"))]
    return "".join(lj.string(p.get("text")) or lj.string(p.get("refusal")) for p in parts)


def read_usage(usage: Any, cache_ttl: str = "") -> Usage | None:
    """`cache_ttl` is the lifetime that the answer says its writes have."""
    if not isinstance(usage, dict):
        return None
    details = lj.obj(usage.get("input_tokens_details"))
    counted = inclusive_usage(
        lj.count(usage.get("input_tokens")),
        lj.count(details.get("cached_tokens")),
        lj.count(details.get("cache_write_tokens")),
        lj.count(usage.get("output_tokens")),
        lj.count(lj.obj(usage.get("output_tokens_details")).get("reasoning_tokens")),
    )
    if cache_ttl != "12h":
        return counted
    return msgspec.structs.replace(counted, cache_write_30m=0, cache_write_12h=counted.cache_write_30m)
