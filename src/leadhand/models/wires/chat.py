"""Chat Completions: OpenAI's older wire, spoken by vLLM, llama.cpp, Ollama, OpenRouter and most local servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leadhand.core.chain import Root
from leadhand.core.errors import ModelError
from leadhand.core.ports import Reply, Request
from leadhand.core.values import Assistant, Body, StopReason, ToolCall, ToolResults, Usage, User
from leadhand.models import loose_json as lj
from leadhand.models.history import EncodedHistory
from leadhand.models.openai_faults import openai_fault, stream_fault
from leadhand.models.wires.call_text import call_in_text
from leadhand.models.wires.chat_stream import ChatAssembler
from leadhand.models.wires.common import distinct_ids, expand_parallel, merge_results, must_call, tail_settings

STOPS: dict[str, StopReason] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "refusal": "refusal",
}


class ChatWire:
    """`official` is True for OpenAI's own server, which takes fields that other servers may refuse.

    Other servers may write a call as text: what is one beyond doubt is taken as one.
    """

    name = "openai-chat"

    def __init__(self, *, official: bool = False) -> None:
        self._official = official
        self._history = EncodedHistory(encode_body, fixed_fields)

    def path(self, request: Request, *, stream: bool) -> str:
        return "/chat/completions"

    def encode(self, request: Request, *, stream: bool) -> bytes:
        root = request.conversation.root
        system = lj.encode({"role": "system", "content": root.system}) if root.system else b""
        parts = [part for part in self._history.parts(request.conversation) if part]
        if system:
            parts = [system, *parts]
        return b"".join(
            [
                b'{"model":',
                lj.encode(request.model),
                b',"messages":[',
                b",".join(parts),
                b"]",
                self._history.fields(request.conversation),
                tail_settings(self._settings(request, stream)),
            ]
        )

    def _settings(self, request: Request, stream: bool) -> dict[str, Any]:
        settings: dict[str, Any] = {}
        settings["max_completion_tokens" if self._official else "max_tokens"] = request.max_output_tokens
        if request.reasoning:
            settings["reasoning_effort"] = request.reasoning
        if self._official and request.cache_key:
            settings["prompt_cache_key"] = request.cache_key
        if stream:
            settings["stream"] = True
            settings["stream_options"] = {"include_usage": True}
        return settings

    def assembler(self) -> ChatAssembler:
        return ChatAssembler()

    def fault(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
        return openai_fault(status, headers, body)

    def decode(self, answer: dict[str, Any], root: Root) -> Reply:
        if answer.get("error"):
            raise stream_fault(answer["error"], usage=read_usage(answer.get("usage")))
        choices = lj.items(answer.get("choices"))
        message = choices[0].get("message") if choices and isinstance(choices[0], dict) else None
        usage = read_usage(answer.get("usage"))
        if not isinstance(message, dict):
            raise ModelError("malformed", "the answer has no message", maybe_billed=True, usage=usage)
        read = read_message(message, lj.string(choices[0].get("finish_reason")))
        return Reply(
            message=read if self._official else call_in_text(read, root.tools),
            usage=usage or Usage(),
            model=lj.string(answer.get("model")),
            request_id=lj.string(answer.get("id")),
        )


def fixed_fields(root: Root) -> dict[str, Any]:
    if not root.tools:
        return {}
    tools = [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
        for t in root.tools
    ]
    fields = {"tools": tools, "parallel_tool_calls": True}  # llama.cpp's default is off
    return {**fields, "tool_choice": "required"} if must_call(root) else fields


def encode_body(body: Body) -> bytes:
    match body:
        case User():
            return lj.encode({"role": "user", "content": body.text})
        case ToolResults():
            return b",".join(
                lj.encode({"role": "tool", "tool_call_id": r.call_id, "content": r.text})
                for r in merge_results(body.results)
            )
        case Assistant():
            return _encode_assistant(body)


def _encode_assistant(body: Assistant) -> bytes:
    if body.wire == ChatWire.name and body.items:
        item = lj.obj(body.items[0])
        if body.calls and not item.get("tool_calls"):  # the call was written as text; its result needs a call
            item = {**item, "content": None, "tool_calls": [_call_item(c) for c in body.calls]}
        if item.get("tool_calls") or item.get("content") or item.get("refusal"):
            return lj.encode(item)
        return lj.encode({**item, "content": ""})  # null is refused when sent back
    calls = [_call_item(c) for c in body.calls]
    item = {"role": "assistant", "content": body.text or (None if calls else "")}
    return lj.encode({**item, "tool_calls": calls} if calls else item)


def _call_item(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def read_message(message: dict[str, Any], finish: str) -> Assistant:
    """The neutral view. The item stays as it came, but for call ids that are missing or repeat within the turn."""
    item = message if message.get("role") == "assistant" else {**message, "role": "assistant"}
    raw = [c for c in lj.items(item.get("tool_calls")) if isinstance(c, dict)]
    calls, changed = distinct_ids([_read_call(c) for c in raw])
    if changed or len(raw) != len(lj.items(item.get("tool_calls"))):
        item = {**item, "tool_calls": [{**c, "id": n.id} for c, n in zip(raw, calls, strict=True)]}
    refusal = lj.string(item.get("refusal"))
    stop: StopReason = STOPS.get(finish) or ("tool_calls" if calls else "refusal" if refusal else "end")
    return Assistant(
        wire=ChatWire.name,
        items=[item],
        text=_read_text(item.get("content")) or refusal,
        calls=expand_parallel(calls),
        stop=stop,
    )


def _read_call(call: dict[str, Any]) -> ToolCall:
    function = lj.obj(call.get("function"))
    arguments = function.get("arguments")
    return ToolCall(
        id=lj.string(call.get("id")),
        name=lj.string(function.get("name")),
        # Some local servers send the object itself, or nothing for no arguments.
        arguments=arguments if isinstance(arguments, str) else "{}" if arguments is None else lj.text(arguments),
    )


def _read_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(lj.string(lj.obj(part).get("text")) for part in lj.items(content))


def read_usage(usage: Any) -> Usage | None:
    """Inclusive counts made exclusive. None where the server sent no usage at all."""
    if not isinstance(usage, dict):
        return None
    prompt = lj.obj(usage.get("prompt_tokens_details"))
    completion = lj.obj(usage.get("completion_tokens_details"))
    return inclusive_usage(
        lj.count(usage.get("prompt_tokens")),
        lj.count(prompt.get("cached_tokens")),
        lj.count(prompt.get("cache_write_tokens")),
        lj.count(usage.get("completion_tokens")),
        lj.count(completion.get("reasoning_tokens")),
    )


def inclusive_usage(prompt: int, read: int, write: int, output: int, reasoning: int) -> Usage:
    """OpenAI's counts: the prompt includes what was read from and written to the cache (kept 30 minutes)."""
    read = min(read, prompt)
    write = min(write, prompt - read)
    return Usage(
        input=prompt - read - write,
        cache_read=read,
        cache_write_30m=write,
        output=output,
        reasoning=min(reasoning, output),
    )
