"""Shapes that real servers send and that adapters are known to stumble over, each sent over a real socket."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from leadhand.core.chain import Conversation
from leadhand.core.errors import ModelError
from leadhand.core.ports import Model
from leadhand.core.values import Assistant, ToolCall, ToolResult, ToolResults, Usage, User
from leadhand.models import open_model
from leadhand.testing.model_contract import answer_calls, ask, conversation
from leadhand.testing.provider import Provider, Raw, running
from leadhand.testing.scripted import Call, Step, bash, call, do, say

pytestmark = pytest.mark.anyio


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


# --- reasoning kept -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
async def test_thinking_that_is_only_a_signature_comes_back_unchanged(stream: bool) -> None:
    async with talking("anthropic", do(bash("a")), do(bash("b")), say("end"), stream=stream) as (model, provider):
        talk = conversation()
        for _ in range(2):
            answer_calls(talk, await ask(model, talk))
        await ask(model, talk)
        first, second = sent_back(provider, 0), sent_back(provider, 1)
        assert [b["type"] for b in first] == ["thinking", "tool_use"]
        assert first[0]["thinking"] == ""
        assert first[0]["signature"]
        assert [b["type"] for b in second] == ["thinking", "redacted_thinking", "tool_use"]


@pytest.mark.parametrize("stream", [False, True])
async def test_encrypted_reasoning_and_phase_come_back_unchanged(stream: bool) -> None:
    step = do(bash("a"), text="Looking first.")
    async with talking("openai", step, say("end"), stream=stream) as (model, provider):
        talk = conversation()
        reply = await ask(model, talk)
        answer_calls(talk, reply)
        await ask(model, talk)
        items = sent_back(provider)
        assert items == reply.message.items
        assert [i["type"] for i in items] == ["reasoning", "message", "function_call"]
        assert items[0]["encrypted_content"]
        assert items[1]["phase"] == "commentary"


async def test_a_commentary_is_no_final_answer() -> None:
    async with talking("openai", say("Let me think.", commentary=True), say("4")) as (model, _):
        talk = conversation()
        assert (await ask(model, talk)).message.commentary
        talk.append(talk.link(User(text="Go on.")))
        assert not (await ask(model, talk)).message.commentary


async def test_reasoning_without_a_following_item_is_not_sent_back() -> None:
    """A response that ran out of tokens while it reasoned: sent back alone, the reasoning is refused."""
    async with talking("openai", say("", stop="length"), say("end")) as (model, _):
        talk = conversation()
        reply = await ask(model, talk)
        assert (reply.message.stop, reply.message.text) == ("length", "")
        assert [i["type"] for i in reply.message.items] == ["reasoning"]
        talk.append(talk.link(User(text="Go on.")))
        assert (await ask(model, talk)).message.text == "end"


async def test_thinking_cut_before_its_signature_is_not_sent_back() -> None:
    events = sse(
        {"type": "message_start", "message": {"type": "message", "content": [], "usage": {"input_tokens": 5}}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    )
    cut = Raw(body=events, content_type="text/event-stream")
    async with talking("anthropic", cut, say("end")) as (model, _):
        talk = conversation()
        assert (await ask(model, talk)).message.stop == "length"
        talk.append(talk.link(User(text="Go on.")))
        assert (await ask(model, talk)).message.text == "end"


@pytest.mark.parametrize("stream", [False, True])
async def test_the_signature_stays_on_the_first_of_parallel_calls(stream: bool) -> None:
    async with talking("gemini", do(bash("a"), bash("b")), say("end"), stream=stream) as (model, provider):
        talk = conversation()
        reply = await ask(model, talk)
        assert reply.message.stop == "tool_calls"  # though finishReason is STOP
        answer_calls(talk, reply)
        assert (await ask(model, talk)).message.text == "end"
        assert ["thoughtSignature" in p for p in sent_back(provider)] == [True, False]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_signed_text_of_gemini_comes_back_signed(stream: bool) -> None:
    async with talking("gemini", say("four" * 30), say("end"), stream=stream) as (model, provider):
        talk = conversation()
        assert (await ask(model, talk)).message.text == "four" * 30
        talk.append(talk.link(User(text="Sure?")))
        await ask(model, talk)
        parts = sent_back(provider)
        assert "".join(p["text"] for p in parts) == "four" * 30
        assert [p for p in parts if "thoughtSignature" in p] == [parts[-1]]
        assert len(parts) == (2 if stream else 1)  # pieces of plain text are joined, the signed part stays alone


async def test_calls_of_gemini_without_ids_are_matched_by_order() -> None:
    async with talking("gemini", do(bash("a")), do(bash("b"), bash("c")), say("end")) as (model, _):
        talk = conversation()
        answer_calls(talk, await ask(model, talk))
        reply = await ask(model, talk)  # the fake provider leaves ids out of every other reply
        assert len({c.id for c in reply.message.calls}) == 2
        assert "id" not in reply.message.items[0]["functionCall"]
        answer_calls(talk, reply)
        assert (await ask(model, talk)).message.text == "end"


# --- calls --------------------------------------------------------------------------------------------------------


def chat_call(id: str | None, arguments: Any = '{"command":"ls"}', name: str = "bash") -> dict[str, Any]:
    call = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return call if id is None else {"id": id, **call}


@pytest.mark.parametrize("stream", [False, True])
async def test_call_ids_that_repeat_across_turns(stream: bool) -> None:
    again = chat_answer({"role": "assistant", "content": None, "tool_calls": [chat_call("call_0")]})
    async with talking("openai-chat", again, again, say("end"), stream=stream) as (model, _):
        talk = conversation()
        for _ in range(2):
            reply = await ask(model, talk)
            assert [c.id for c in reply.message.calls] == ["call_0"]
            answer_calls(talk, reply)
        assert (await ask(model, talk)).message.text == "end"


@pytest.mark.parametrize("ids", [("call_0", "call_0"), (None, None), ("", "x"), ("call_1", None)])
async def test_call_ids_that_are_missing_or_repeat_within_a_turn(ids: tuple[str | None, ...]) -> None:
    twice = chat_answer({"role": "assistant", "content": None, "tool_calls": [chat_call(i) for i in ids]}, "tool_calls")
    async with talking("openai-chat", twice, say("end")) as (model, _):
        talk = conversation()
        reply = await ask(model, talk)
        assert len({c.id for c in reply.message.calls}) == 2
        answer_calls(talk, reply)
        assert (await ask(model, talk)).message.text == "end"


@pytest.mark.parametrize("name", ["parallel", "multi_tool_use.parallel"])
@pytest.mark.parametrize("wire", ["openai-chat", "openai"])
async def test_the_made_up_parallel_tool_is_taken_apart(wire: str, name: str) -> None:
    uses = [{"recipient_name": f"functions.{n}", "parameters": {"command": n}} for n in ("bash", "finish")]
    async with talking(wire, do(bash("x"), call(name, tool_uses=uses)), say("end")) as (model, provider):
        talk = conversation()
        reply = await ask(model, talk)
        assert [(c.name, c.arguments) for c in reply.message.calls] == [
            ("bash", '{"command":"x"}'),
            ("bash", '{"command":"bash"}'),
            ("finish", '{"command":"finish"}'),
        ]
        answer_calls(talk, reply)
        await ask(model, talk)
        results = provider.requests[-1].bodies[-1].results  # type: ignore[union-attr]
        assert len(results) == 2  # one for each call that the model really made
        assert "result 1 of bash" in results[1].text
        assert "result 2 of finish" in results[1].text


@pytest.mark.parametrize(
    "raw", ['{"tool_uses": [{"recipient_name', '{"tool_uses": []}', '{"tool_uses": 5}', "[]", '{"command": "ls"}']
)
async def test_a_broken_parallel_call_stays_one_call(raw: str) -> None:

    async with talking("openai-chat", do(Call(name="parallel", raw=raw)), say("end")) as (model, _):
        talk = conversation()
        reply = await ask(model, talk)
        assert [(c.name, c.arguments) for c in reply.message.calls] == [("parallel", raw)]
        answer_calls(talk, reply)
        assert (await ask(model, talk)).message.text == "end"


async def test_stop_with_tool_calls_means_tool_calls() -> None:
    message = {"role": "assistant", "content": "", "tool_calls": [chat_call("a")]}
    async with talking("openai-chat", chat_answer(message, "stop")) as (model, _):
        assert (await ask(model, conversation())).message.stop == "tool_calls"


async def test_truncated_arguments_arrive_raw_from_every_stream() -> None:
    for name in ("openai-chat", "openai", "anthropic"):
        step = do(Call(name="bash", raw='{"command": "ls -'), stop="length")
        async with talking(name, step, say("end"), stream=True) as (model, _):
            talk = conversation()
            reply = await ask(model, talk)
            assert (reply.message.calls[0].arguments, reply.message.stop) == ('{"command": "ls -', "length"), name
            answer_calls(talk, reply)
            assert (await ask(model, talk)).message.text == "end"


@pytest.mark.parametrize(
    ("given", "arguments"), [({"command": "ls"}, '{"command":"ls"}'), (None, "{}"), ("", ""), ([1], "[1]")]
)
async def test_arguments_that_are_not_text(given: Any, arguments: str) -> None:
    message = {"role": "assistant", "tool_calls": [chat_call("a", given)]}
    async with talking("openai-chat", chat_answer(message)) as (model, _):
        assert (await ask(model, conversation())).message.calls[0].arguments == arguments


async def test_a_call_without_arguments_in_a_stream_has_empty_ones() -> None:
    async with talking("anthropic", do(Call(name="bash")), stream=True) as (model, _):
        assert (await ask(model, conversation())).message.calls[0].arguments == "{}"


async def test_the_number_of_calls_is_bounded() -> None:
    message = {"role": "assistant", "tool_calls": [chat_call(f"c{i}") for i in range(5000)]}
    async with talking("openai-chat", chat_answer(message)) as (model, _):
        assert len((await ask(model, conversation())).message.calls) == 128


# --- empty, refused, blocked --------------------------------------------------------------------------------------


async def test_a_refusal_with_empty_content() -> None:
    refusal = messages_answer(stop="refusal", stop_details={"type": "refusal", "explanation": "Not this."})
    async with talking("anthropic", refusal, say("end")) as (model, provider):
        talk = conversation()
        reply = await ask(model, talk)
        assert (reply.message.stop, reply.message.text, reply.message.items) == ("refusal", "Not this.", [])
        talk.append(talk.link(User(text="Something else.")))
        assert (await ask(model, talk)).message.text == "end"
        assert not any(isinstance(b, Assistant) for b in provider.requests[-1].bodies)  # nothing to send back


async def test_blank_text_is_not_sent_back() -> None:
    blank = messages_answer(
        {"type": "text", "text": "\n\n"}, {"type": "tool_use", "id": "t", "name": "bash", "input": {}}
    )
    async with talking("anthropic", blank, say("end")) as (model, provider):
        talk = conversation()
        answer_calls(talk, await ask(model, talk))
        assert (await ask(model, talk)).message.text == "end"
        assert [b["type"] for b in sent_back(provider)] == ["tool_use"]


@pytest.mark.parametrize("name", ["openai-chat", "openai", "anthropic", "gemini"])
async def test_an_empty_reply_can_be_followed(name: str) -> None:
    async with talking(name, say(""), say("end")) as (model, _):
        talk = conversation()
        assert (await ask(model, talk)).message.text == ""
        talk.append(talk.link(User(text="Your reply was empty.")))
        assert (await ask(model, talk)).message.text == "end"


@pytest.mark.parametrize("body", [{"content": {}}, {"content": {"role": "model"}}, {}, {"content": None}])
async def test_a_candidate_without_parts_is_an_empty_reply(body: dict[str, Any]) -> None:
    usage = {"promptTokenCount": 10, "thoughtsTokenCount": 400}
    raw = Raw(body={"candidates": [{**body, "finishReason": "MAX_TOKENS"}], "usageMetadata": usage})
    async with talking("gemini", raw, say("end")) as (model, _):
        talk = conversation()
        reply = await ask(model, talk)
        assert (reply.message.stop, reply.message.text) == ("length", "")
        assert reply.usage == Usage(input=10, output=400, reasoning=400)
        talk.append(talk.link(User(text="Go on.")))
        assert (await ask(model, talk)).message.text == "end"


@pytest.mark.parametrize("stream", [False, True])
async def test_a_blocked_prompt_is_a_fault_that_was_counted(stream: bool) -> None:
    body = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 9}}
    raw = Raw(body=sse(body), content_type="text/event-stream") if stream else Raw(body=body)
    async with talking("gemini", raw, stream=stream) as (model, _):
        with pytest.raises(ModelError) as caught:
            await ask(model, conversation())
        assert (caught.value.fault, caught.value.usage) == ("content_filter", Usage(input=9))


async def test_a_malformed_call_of_gemini_is_an_empty_reply() -> None:
    async with talking("gemini", gemini_answer(finish="MALFORMED_FUNCTION_CALL")) as (model, _):
        reply = await ask(model, conversation())
        assert (reply.message.text, reply.message.calls) == ("", ())


async def test_an_answer_that_reached_the_end_of_the_window() -> None:
    end = messages_answer({"type": "text", "text": "and then"}, stop="model_context_window_exceeded")
    async with talking("anthropic", end) as (model, _):
        with pytest.raises(ModelError) as caught:
            await ask(model, conversation())
        assert caught.value.fault == "context_length"
        assert caught.value.usage == Usage(input=5, output=7)


# --- errors where none are expected ---------------------------------------------------------------------------------

_ERRORS: list[tuple[str, Callable[[], list[dict[str, Any]]], str]] = [
    ("openai", lambda: [{"type": "error", "error": {"code": "server_error", "message": "x"}}], "server"),
    (
        "openai",
        lambda: [
            {"type": "response.failed", "response": {"status": "failed", "error": {"code": "rate_limit_exceeded"}}}
        ],
        "rate_limit",
    ),
    (
        "openai",
        lambda: [
            {"type": "error", "code": "context_length_exceeded", "message": "Your input exceeds the context window"}
        ],
        "context_length",
    ),
    (
        "anthropic",
        lambda: [{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}],
        "overload",
    ),
    ("anthropic", lambda: [{"type": "error", "error": {"type": "api_error", "message": "Overloaded"}}], "overload"),
    ("openai-chat", lambda: [{"error": {"message": "boom", "code": 502}}], "server"),
    ("openai-chat", lambda: [{"error": "boom"}], "server"),
    ("gemini", lambda: [{"error": {"code": 503, "status": "UNAVAILABLE", "message": "x"}}], "overload"),
]


@pytest.mark.parametrize(("name", "events", "fault"), _ERRORS)
async def test_an_error_inside_a_stream_is_an_error(name: str, events: Any, fault: str) -> None:
    raw = Raw(body=sse(*events()), content_type="text/event-stream")
    async with talking(name, raw, stream=True) as (model, _):
        with pytest.raises(ModelError) as caught:
            await ask(model, conversation())
        assert caught.value.fault == fault
        assert caught.value.maybe_billed


@pytest.mark.parametrize("name", ["openai-chat", "openai", "anthropic", "gemini"])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"<html>",
        b'{"choices": [], "content": 5, "output": {}, "candidates": {}}',
        b"{" * 10_000,
        b'{"a":' * 10_000,
        b'{"choices": [{"message": 5}], "content": "x", "output": "x", "candidates": "x"}',
        b"\xff\xfe\x00",
    ],
)
@pytest.mark.parametrize("type", ["application/json", "text/html", "text/event-stream"])
async def test_answers_that_are_no_answers_are_malformed(name: str, body: bytes, type: str) -> None:
    async with talking(name, Raw(body=body, content_type=type)) as (model, _):
        with pytest.raises(ModelError) as caught:
            await ask(model, conversation())
        assert caught.value.fault == "malformed"
        assert caught.value.maybe_billed


async def test_an_error_object_with_status_200_is_an_error() -> None:
    async with talking("openai-chat", Raw(body={"error": {"message": "no", "code": "insufficient_quota"}})) as (
        model,
        _,
    ):
        with pytest.raises(ModelError) as caught:
            await ask(model, conversation())
        assert caught.value.fault == "quota"


async def test_usage_that_is_missing_or_absurd() -> None:
    for usage in (None, {}, {"prompt_tokens": -5, "completion_tokens": "7"}, {"prompt_tokens": True}, 5):
        async with talking("openai-chat", chat_answer({"content": "hi"}, usage=usage)) as (model, _):
            assert (await ask(model, conversation())).usage == Usage()


async def test_half_a_character_does_not_break_a_reply() -> None:
    """A lone surrogate is legal JSON and no legal text; it must not fail when the history is encoded again."""
    body = b'{"choices":[{"message":{"content":"a\\ud83d b","x":[1e999,{"\\udc00":1}]},"finish_reason":"stop"}]}'
    async with talking("openai-chat", Raw(body=body), say("end")) as (model, _):
        talk = conversation()
        assert (await ask(model, talk)).message.text == "a\ufffd b"
        talk.append(talk.link(User(text="Go on.")))
        assert (await ask(model, talk)).message.text == "end"


# --- a team of several providers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["openai-chat", "openai", "anthropic", "gemini"])
async def test_turns_of_another_wire_are_told_in_this_one(name: str) -> None:
    talk: Conversation = conversation()
    calls = (
        ToolCall(id="a", name="bash", arguments='{"command":"ls"}'),
        ToolCall(id="b", name="bash", arguments="{bro"),
    )
    talk.append(talk.link(Assistant(wire="scripted", items=[], text="Looking.", calls=calls, stop="tool_calls")))
    results = tuple(ToolResult(call_id=c.id, name=c.name, text="out") for c in calls)
    talk.append(talk.link(ToolResults(results=results)))
    async with talking(name, say("unused"), say("end")) as (model, provider):
        assert (await ask(model, talk)).message.text == "end"
        seen = next(b for b in provider.requests[-1].bodies if isinstance(b, Assistant))
        assert (seen.text, [c.name for c in seen.calls]) == ("Looking.", ["bash", "bash"])
