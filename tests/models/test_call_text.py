"""A call that a local server's model wrote as text: taken for one only where it can be nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from wire_talk import chat_answer, sent_back, talking

from leadhand.core.chain import Conversation, Root
from leadhand.core.values import Assistant, ToolSpec, User
from leadhand.models.wires.call_text import call_in_text
from leadhand.models.wires.chat import ChatWire
from leadhand.testing.model_contract import answer_calls, ask
from leadhand.testing.scripted import say

SCHEMA = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "timeout_s": {"type": "number"}},
    "required": ["command"],
}
TOOLS = (
    ToolSpec(name="bash", description="Run it.", parameters=SCHEMA),
    ToolSpec(name="list_workers", description="List.", parameters={"type": "object", "properties": {}}),
)
LS = {"command": "ls"}


def read(text: str, **more: Any) -> Assistant:
    return call_in_text(Assistant(wire="openai-chat", items=[], text=text, **more), TOOLS)


@pytest.mark.parametrize(
    "written",
    [
        {"name": "bash", "arguments": LS},
        {"name": "bash", "parameters": LS},
        {"name": "bash", "arguments": json.dumps(LS)},
        {"type": "function", "name": "bash", "parameters": LS},
        {"type": "function", "id": "x", "function": {"name": "bash", "arguments": LS}},
        {"function": {"name": "bash", "arguments": LS}},
    ],
)
def test_one_object_that_names_a_tool_with_its_arguments_is_a_call(written: dict[str, Any]) -> None:
    for text in (json.dumps(written), f"\n  {json.dumps(written, indent=2)}\n"):
        message = read(text)
        (made,) = message.calls
        assert (made.name, json.loads(made.arguments)) == ("bash", LS)
        assert (message.text, message.stop) == ("", "tool_calls")
    assert read('{"name": "list_workers", "arguments": {}}').calls


@pytest.mark.parametrize(
    "text",
    [
        'I call {"name": "bash", "arguments": {"command": "ls"}}',
        '{"name": "bash", "arguments": {"command": "ls"}} and then {"name": "bash", "arguments": {"command": "ls"}}',
        '{"name": "bash", "arguments": {"command": "ls"}',
        '```json\n{"name": "bash", "arguments": {"command": "ls"}}\n```',
        '[{"name": "bash", "arguments": {"command": "ls"}}]',
        '{"name": "rm", "arguments": {"command": "ls"}}',
        '{"name": "bash", "arguments": {}}',
        '{"name": "bash", "arguments": {"command": "ls", "also": 1}}',
        '{"name": "bash", "arguments": ["ls"]}',
        '{"name": "bash", "arguments": "ls"}',
        '{"name": "bash", "arguments": {"command": "ls"}, "parameters": {"command": "ls"}}',
        '{"name": "bash", "arguments": {"command": "ls"}, "result": "done"}',
        '{"name": "bash"}',
        '{"name": 1, "arguments": {"command": "ls"}}',
        '{"command": "ls"}',
        "{}",
        "",
        "{" * 5000,
    ],
)
def test_everything_else_stays_text(text: str) -> None:
    before = Assistant(wire="openai-chat", items=[], text=text)
    assert call_in_text(before, TOOLS) is before


def test_a_cut_or_refused_answer_is_no_call() -> None:
    whole = '{"name": "bash", "arguments": {"command": "ls"}}'
    assert read(whole, stop="length").calls == ()
    assert read(whole, stop="refusal").calls == ()
    assert call_in_text(Assistant(wire="openai-chat", items=[], text=whole), ()).calls == ()


@pytest.mark.anyio
async def test_it_is_carried_out_and_goes_back_as_the_call_it_was() -> None:
    """The strict fake refuses a result without a call: the history must hold one."""
    item = {"role": "assistant", "content": '{"name": "bash", "arguments": {"command": "ls"}}'}
    async with talking("openai-chat", chat_answer(item), say("done")) as (model, provider):
        talk = Conversation(Root(system="", tools=TOOLS))
        talk.append(talk.link(User(text="Begin.")))
        first = await ask(model, talk)
        assert [c.name for c in first.message.calls] == ["bash"]
        assert first.message.items == [item]  # as it came
        answer_calls(talk, first)
        assert (await ask(model, talk)).message.text == "done"
        (back,) = sent_back(provider)
        assert back["tool_calls"][0]["function"] == {"name": "bash", "arguments": '{"command":"ls"}'}


def test_openais_own_server_is_taken_at_its_word() -> None:
    text = '{"name": "bash", "arguments": {"command": "ls"}}'
    answer = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}
    root = Root(system="", tools=TOOLS)
    assert ChatWire(official=True).decode(answer, root).message.text == text
    assert ChatWire(official=False).decode(answer, root).message.calls
