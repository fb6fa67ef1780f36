"""Reasoning that must come back unchanged, and calls in odd shapes, over a real socket."""

from __future__ import annotations

from typing import Any

import pytest
from wire_talk import chat_answer, sent_back, sse, talking

from leadhand.core.values import User
from leadhand.testing.model_contract import answer_calls, ask, conversation
from leadhand.testing.provider import Raw
from leadhand.testing.scripted import Call, bash, call, do, say

pytestmark = pytest.mark.anyio


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
