"""Empty, refused and blocked answers, errors where none are expected, over a real socket."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from wire_talk import chat_answer, gemini_answer, messages_answer, sent_back, sse, talking

from leadhand.core.chain import Conversation
from leadhand.core.errors import ModelError
from leadhand.core.values import Assistant, ToolCall, ToolResult, ToolResults, Usage, User
from leadhand.testing.model_contract import answer_calls, ask, conversation
from leadhand.testing.provider import Raw
from leadhand.testing.scripted import say

pytestmark = pytest.mark.anyio


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
