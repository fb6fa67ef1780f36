"""The official clients against our server, and our requests against their types.

Needs the dependency group `oracle`; the SDKs are never used at run time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from leadhand.core.chain import Conversation
from leadhand.core.ports import Request
from leadhand.core.values import Usage
from leadhand.models import open_model
from leadhand.testing.model_contract import answer_calls, ask, conversation
from leadhand.testing.provider import Provider, running
from leadhand.testing.scripted import bash, call, do, say

openai = pytest.importorskip("openai", reason="needs the dependency group `oracle`")
anthropic = pytest.importorskip("anthropic", reason="needs the dependency group `oracle`")
genai = pytest.importorskip("google.genai", reason="needs the dependency group `oracle`")
pydantic = pytest.importorskip("pydantic")

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

USAGE = Usage(input=100, cache_read=2000, output=60, reasoning=20)
SCRIPT = [
    do(bash("ls"), bash("pwd"), call("delegate_agent", assignment="plan"), text="Looking.", usage=USAGE),
    do(bash("make"), usage=USAGE),
    say("All done.", usage=USAGE),
]
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[str, Provider]]:
    provider = Provider({"lead": SCRIPT}, api_key="sk-test")
    provider.keep_requests = True
    async with running(provider) as base_url:
        yield base_url, provider


def check_seen(provider: Provider) -> None:
    """The third request carried both turns, with all calls and results."""
    provider.assert_consumed()
    kinds = [type(b).__name__ for b in provider.requests[-1].bodies]
    assert kinds == ["User", "Assistant", "ToolResults", "Assistant", "ToolResults"]
    assert len(provider.requests[-1].bodies[2].results) == 3  # type: ignore[union-attr]


@pytest.mark.parametrize("stream", [False, True])
async def test_openai_responses(stream: bool) -> None:
    async with serving() as (base_url, provider), openai.AsyncOpenAI(api_key="sk-test", base_url=base_url) as client:
        history: list[Any] = [{"role": "user", "content": "Begin."}]
        tools = [
            {"type": "function", "name": n, "parameters": SCHEMA, "strict": False} for n in ("bash", "delegate_agent")
        ]
        settings: dict[str, Any] = {
            "model": "m",
            "tools": tools,
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
        for _ in range(3):
            if stream:
                async with client.responses.stream(input=history, **settings) as events:
                    async for _event in events:
                        pass
                    response = await events.get_final_response()
            else:
                response = await client.responses.create(input=history, **settings)
            assert response.usage.input_tokens == USAGE.prompt
            assert response.usage.input_tokens_details.cached_tokens == USAGE.cache_read
            assert response.usage.output_tokens_details.reasoning_tokens == USAGE.reasoning
            history += [item.to_dict() for item in response.output]
            history += [
                {"type": "function_call_output", "call_id": item.call_id, "output": "ok"}
                for item in response.output
                if item.type == "function_call"
            ]
        assert response.output_text == "All done."
        check_seen(provider)


@pytest.mark.parametrize("stream", [False, True])
async def test_openai_chat(stream: bool) -> None:
    async with serving() as (base_url, provider), openai.AsyncOpenAI(api_key="sk-test", base_url=base_url) as client:
        history: list[Any] = [{"role": "system", "content": "s"}, {"role": "user", "content": "Begin."}]
        tools = [
            {"type": "function", "function": {"name": n, "parameters": SCHEMA}} for n in ("bash", "delegate_agent")
        ]
        for _ in range(3):
            if stream:
                options = {"include_usage": True}
                async with client.chat.completions.stream(
                    model="m", messages=history, tools=tools, stream_options=options
                ) as events:
                    async for _event in events:
                        pass
                    completion = await events.get_final_completion()
            else:
                completion = await client.chat.completions.create(model="m", messages=history, tools=tools)
            assert completion.usage.prompt_tokens == USAGE.prompt
            message = completion.choices[0].message
            kept = message.to_dict()
            kept.pop("parsed", None)
            history.append(kept)
            history += [{"role": "tool", "tool_call_id": c.id, "content": "ok"} for c in message.tool_calls or []]
        assert message.content == "All done."
        check_seen(provider)


@pytest.mark.parametrize("stream", [False, True])
async def test_anthropic_messages(stream: bool) -> None:
    async with serving() as (base_url, provider):
        client = anthropic.AsyncAnthropic(api_key="sk-test", base_url=base_url.removesuffix("/v1"))
        history: list[Any] = [{"role": "user", "content": "Begin."}]
        tools = [{"name": n, "input_schema": SCHEMA} for n in ("bash", "delegate_agent")]
        settings: dict[str, Any] = {"model": "claude-opus-4-8", "max_tokens": 1000, "tools": tools}
        for _ in range(3):
            if stream:
                async with client.messages.stream(messages=history, **settings) as events:
                    message = await events.get_final_message()
            else:
                message = await client.messages.create(messages=history, **settings)
            assert message.usage.input_tokens == USAGE.input
            assert message.usage.cache_read_input_tokens == USAGE.cache_read
            history.append({"role": "assistant", "content": [b.to_dict() for b in message.content]})
            results = [
                {"type": "tool_result", "tool_use_id": b.id, "content": "ok"}
                for b in message.content
                if b.type == "tool_use"
            ]
            if results:
                history.append({"role": "user", "content": results})
        assert message.content[-1].text == "All done."
        await client.close()
        check_seen(provider)


@pytest.mark.parametrize("stream", [False, True])
async def test_google_genai(stream: bool) -> None:
    types = genai.types
    async with serving() as (base_url, provider):
        options = types.HttpOptions(base_url=base_url.removesuffix("/v1"), api_version="v1beta")
        client = genai.Client(api_key="sk-test", http_options=options)
        declarations = [
            types.FunctionDeclaration(name=n, parameters_json_schema=SCHEMA) for n in ("bash", "delegate_agent")
        ]
        config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=declarations)])
        history: list[Any] = [types.Content(role="user", parts=[types.Part(text="Begin.")])]
        for _ in range(3):
            parts: list[Any] = []
            if stream:
                async for chunk in await client.aio.models.generate_content_stream(
                    model="gemini-x", contents=history, config=config
                ):
                    parts += [
                        p for p in chunk.candidates[0].content.parts if p.text or p.function_call or p.thought_signature
                    ]
                usage = chunk.usage_metadata
            else:
                answer = await client.aio.models.generate_content(model="gemini-x", contents=history, config=config)
                parts, usage = answer.candidates[0].content.parts, answer.usage_metadata
            assert usage.prompt_token_count == USAGE.prompt
            assert usage.thoughts_token_count == USAGE.reasoning
            history.append(types.Content(role="model", parts=parts))
            results = [
                types.Part(
                    function_response=types.FunctionResponse(
                        id=p.function_call.id, name=p.function_call.name, response={"output": "ok"}
                    )
                )
                for p in parts
                if p.function_call
            ]
            if results:
                history.append(types.Content(role="user", parts=results))
        assert "".join(p.text or "" for p in parts) == "All done."
        await client.aio.aclose()
        check_seen(provider)


async def test_the_clients_raise_the_right_errors() -> None:
    from leadhand.testing.scripted import Step

    faults = {
        "rate_limit": openai.RateLimitError,
        "invalid_key": openai.AuthenticationError,
        "server": openai.InternalServerError,
    }
    scripts = {f: [Step(fault=f)] for f in faults}
    async with (
        running(Provider(scripts)) as base_url,  # type: ignore[arg-type]
        openai.AsyncOpenAI(api_key="x", base_url=base_url, max_retries=0) as client,
    ):
        for fault, error in faults.items():
            with pytest.raises(error):
                await client.responses.create(model="m", input="hi", prompt_cache_key=f"run/{fault}")


# --- our requests, by their types --------------------------------------------------------------------------------


def must_call(talk: Conversation) -> Conversation:
    """The same conversation where every turn must call a tool."""
    root = msgspec.structs.replace(talk.root, settings={"tool_choice": "required"})
    again = Conversation(root)
    for message in talk.messages:
        again.append(again.link(message.body))
    return again


async def played(name: str, reasoning: str) -> tuple[Conversation, dict[str, Any]]:
    """A conversation of three turns as our adapter had it, and the body of the request that would come next."""
    async with running(Provider({"lead": SCRIPT})) as base_url:
        model = open_model(f"{name}/m", base_url=base_url, env={})
        talk = conversation()
        for _ in range(2):
            answer_calls(talk, await ask(model, talk))
        request = Request(
            model="m", agent="lead", conversation=must_call(talk), reasoning=reasoning, cache_key="run-lead"
        )
        body = model.wire.encode(request, stream=False)  # type: ignore[attr-defined]
        await model.aclose()
    return talk, msgspec.json.decode(body)


async def test_our_responses_request_is_of_their_type() -> None:
    from openai.types.responses import ResponseCreateParams

    _, body = await played("openai", "xhigh")
    check(body, ResponseCreateParams)


async def test_our_chat_request_is_of_their_type() -> None:
    from openai.types.chat import CompletionCreateParams

    _, body = await played("openai-chat", "high")
    check(body, CompletionCreateParams)


async def test_our_messages_request_is_of_their_type() -> None:
    from anthropic.types import MessageCreateParams

    _, body = await played("anthropic", "high")
    check(body, MessageCreateParams)


async def test_our_gemini_request_is_of_their_type() -> None:
    types = genai.types
    _, body = await played("gemini", "high")
    assert set(body) == {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig"}
    types.ToolConfig.model_validate(body["toolConfig"])
    for content in [*body["contents"], body["systemInstruction"]]:
        types.Content.model_validate(content)  # forbids what it does not know
    for tool in body["tools"]:
        types.Tool.model_validate(tool)
    types.GenerationConfig.model_validate(body["generationConfig"])


def check(body: dict[str, Any], params: Any) -> None:
    """Of one of the TypedDicts of `params`, with no key that none of them has."""
    adapter = pydantic.TypeAdapter(params)
    adapter.validate_python(body)
    known = {key for option in getattr(params, "__args__", (params,)) for key in option.__annotations__}
    known |= {
        key
        for option in getattr(params, "__args__", (params,))
        for b in option.__mro__
        for key in getattr(b, "__annotations__", {})
    }
    assert set(body) <= known
    with pytest.raises(pydantic.ValidationError):  # the check can fail
        adapter.validate_python({**body, "tools": 5})


async def test_our_answers_are_of_their_types() -> None:
    """Validated strictly: the clients themselves build their objects without looking."""
    from anthropic.types import Message
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response

    from leadhand.testing.provider.wires import find_wire
    from leadhand.testing.scripted import as_message

    for path, type_ in (
        ("/v1/responses", Response),
        ("/v1/chat/completions", ChatCompletion),
        ("/v1/messages", Message),
    ):
        wire = find_wire(path)
        asked = _asked(wire.name)
        for step in SCRIPT:
            for number in (1, 2):
                type_.model_validate(wire.answer(as_message(step, 0), USAGE, asked, number))
    wire = find_wire("/v1beta/models/m:generateContent")
    genai.types.GenerateContentResponse.model_validate(
        wire.answer(as_message(SCRIPT[0], 0), USAGE, _asked("gemini"), 1)
    )


def _asked(wire: str) -> Any:
    from leadhand.testing.provider import Asked

    return Asked(wire=wire, model="m", bodies=(), blocks=(), max_output_tokens=100)
