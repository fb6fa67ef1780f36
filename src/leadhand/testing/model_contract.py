"""What every `Model` must do, as checks that any adapter can be put through.

    @pytest.mark.anyio
    @pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
    async def test_contract(check): await check(setup)

`setup(scripts)` is an async context manager that gives a model which answers by those scripts: for an HTTP adapter it
starts the fake provider.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, get_args

import anyio

from leadhand.core.chain import Conversation, Root
from leadhand.core.errors import Fault, ModelError
from leadhand.core.ports import Model, Reply, Request
from leadhand.core.values import StopReason, ToolResult, ToolResults, ToolSpec, Usage, User
from leadhand.testing.scripted import Call, Script, Seen, Step, bash, call, do, finish, say

Setup = Callable[[Mapping[str, Script]], AbstractAsyncContextManager[Model]]

TOOLS = tuple(
    ToolSpec(name=name, description=f"The tool {name}.", parameters={"type": "object", "properties": {}})
    for name in ("bash", "delegate_agent", "finish")
)
UNSEEN: tuple[Fault, ...] = ("timeout", "connection", "malformed")
"""Faults of the way, not of the provider: an adapter cannot be told in words that they happened."""

ODD = 'p\u00e4th "quoted" \\ \u2028 </tool> \U0001f9f0 ' + chr(7) + chr(27) + "[31m"


def conversation(text: str = "Begin.", *, system: str = "You are an agent.") -> Conversation:
    started = Conversation(Root(system=system, tools=TOOLS))
    started.append(started.link(User(text=text)))
    return started


async def ask(model: Model, talk: Conversation, agent: str = "lead", **more: Any) -> Reply:
    """One call; the reply is appended."""
    settings: dict[str, Any] = {"model": "some-model", "cache_key": f"run/{agent}", "timeout_s": 20.0, **more}
    reply = await model.complete(Request(agent=agent, conversation=talk, **settings))
    talk.append(talk.link(reply.message))
    return reply


def answer_calls(talk: Conversation, reply: Reply) -> None:
    """Results for all calls of a reply, in order."""
    results = tuple(
        ToolResult(call_id=c.id, name=c.name, text=f"[exit 0]\nresult {i} of {c.name}")
        for i, c in enumerate(reply.message.calls)
    )
    talk.append(talk.link(ToolResults(results=results)))


async def three_turns_with_parallel_calls(setup: Setup) -> None:
    """Text, calls and their order arrive; results find their calls; the next request is understood."""
    script = [
        do(bash("ls"), bash("cat a.txt", timeout_s=5), call("delegate_agent", assignment="plan it")),
        do(bash("make"), text="Building."),
        finish("All done."),
    ]
    async with setup({"lead": script}) as model:
        talk = conversation()
        first = await ask(model, talk)
        assert [c.name for c in first.message.calls] == ["bash", "bash", "delegate_agent"]
        assert len({c.id for c in first.message.calls}) == 3
        assert first.message.stop == "tool_calls"
        answer_calls(talk, first)
        second = await ask(model, talk)
        assert second.message.text == "Building."
        assert '"make"' in second.message.calls[0].arguments
        answer_calls(talk, second)
        third = await ask(model, talk)
        assert [c.name for c in third.message.calls] == ["finish"]


async def the_script_sees_what_was_sent(setup: Setup) -> None:
    """Prompt and results reach the other side unchanged, whatever characters are in them."""
    seen: list[tuple[str, tuple[str, ...]]] = []

    def script(what: Seen) -> Step:
        seen.append((what.prompt, what.results))
        return do(bash("ls"), bash("pwd")) if len(seen) == 1 else say(ODD)

    async with setup({"lead": script}) as model:
        talk = conversation(ODD)
        reply = await ask(model, talk)
        results = tuple(ToolResult(call_id=c.id, name=c.name, text=ODD + c.id) for c in reply.message.calls)
        talk.append(talk.link(ToolResults(results=results)))
        last = await ask(model, talk)
        assert seen == [(ODD, ()), (ODD, tuple(r.text for r in results))]
        assert last.message.text == ODD
        assert last.message.stop == "end"


async def broken_arguments_arrive_as_they_are(setup: Setup) -> None:
    """A reply that was cut inside its arguments is a reply like any other, and can be answered."""
    script = [do(Call(name="bash", raw='{"command": "echo hi'), stop="length"), say("ok")]
    async with setup({"lead": script}) as model:
        talk = conversation()
        reply = await ask(model, talk)
        assert reply.message.calls[0].name == "bash"
        assert reply.message.stop == "length"
        answer_calls(talk, reply)
        assert (await ask(model, talk)).message.text == "ok"


async def stops_are_told_apart(setup: Setup) -> None:
    stops: tuple[StopReason, ...] = ("end", "length", "refusal")
    async with setup({s: [say("words", stop=s)] for s in stops}) as model:
        for stop in stops:
            try:
                reply = await ask(model, conversation(), agent=stop)
            except ModelError as error:  # Gemini has no refusing answer: it blocks
                assert (stop, error.fault) == ("refusal", "content_filter")  # noqa: PT017
                continue
            assert (reply.message.stop, reply.message.text) == (stop, "words")


async def usage_arrives_split(setup: Setup) -> None:
    usage = Usage(input=11, cache_read=700, output=300, reasoning=40)
    async with setup({"lead": [say("hi", usage=usage)]}) as model:
        assert (await ask(model, conversation())).usage == usage


async def faults_are_classified(setup: Setup) -> None:
    """Each class of fault arrives as itself, after one attempt."""
    told: list[Fault] = [f for f in get_args(Fault) if f not in UNSEEN]
    async with setup({f: [Step(fault=f), say("ok")] for f in told}) as model:
        for fault in told:
            talk = conversation()
            error = await failure(model, talk, fault)
            assert error.fault == fault, (fault, str(error))
            assert not error.maybe_billed
            assert (await ask(model, talk, agent=fault)).message.text == "ok"


async def retry_after_is_read(setup: Setup) -> None:
    async with setup({"lead": [Step(fault="rate_limit", retry_after_s=7.0)]}) as model:
        error = await failure(model, conversation(), "lead")
        assert error.retry_after_s is not None
        assert abs(error.retry_after_s - 7.0) < 0.5


async def faults_of_the_way_may_have_been_billed(setup: Setup) -> None:
    async with setup({f: [Step(fault=f, maybe_billed=True), say("ok")] for f in UNSEEN}) as model:
        for fault in UNSEEN:
            talk = conversation()
            error = await failure(model, talk, fault, timeout_s=1.0)
            assert error.fault == fault, (fault, str(error))
            assert error.maybe_billed
            assert (await ask(model, talk, agent=fault)).message.text == "ok"


async def cancellation_is_prompt(setup: Setup) -> None:
    async with setup({"lead": [say("late", delay_s=3600.0)]}) as model:
        with anyio.fail_after(20):
            with anyio.move_on_after(0.2) as scope:
                await ask(model, conversation(), timeout_s=3600.0)
            assert scope.cancelled_caught


async def calls_run_at_the_same_time(setup: Setup) -> None:
    """Sixteen agents, each with its own script, do not wait for each other nor mix."""
    agents = [f"w{i}" for i in range(1, 17)]
    async with setup({a: [say(f"I am {a}", delay_s=0.5)] for a in agents}) as model:
        got: dict[str, str] = {}

        async def one(agent: str) -> None:
            got[agent] = (await ask(model, conversation(), agent=agent)).message.text

        with anyio.fail_after(7.5):  # one after the other would take 8 s
            async with anyio.create_task_group() as group:
                for agent in agents:
                    group.start_soon(one, agent)
        assert got == {a: f"I am {a}" for a in agents}


async def a_copied_conversation_goes_on(setup: Setup) -> None:
    """What another process appended is as good as what this one did: nothing is kept but the conversation."""
    async with setup({"lead": [do(bash("ls")), do(bash("pwd")), say("end")]}) as model:
        talk = conversation()
        answer_calls(talk, await ask(model, talk))
        again = Conversation(talk.root, talk.messages)
        reply = await ask(model, again)
        assert '"pwd"' in reply.message.calls[0].arguments
        answer_calls(again, reply)
        assert (await ask(model, again)).message.text == "end"


async def failure(model: Model, talk: Conversation, agent: str, **more: Any) -> ModelError:
    """The error of a call that must fail."""
    try:
        await ask(model, talk, agent=agent, **more)
    except ModelError as error:
        return error
    raise AssertionError("the call did not fail")


CHECKS: tuple[Callable[[Setup], Awaitable[None]], ...] = (
    three_turns_with_parallel_calls,
    the_script_sees_what_was_sent,
    broken_arguments_arrive_as_they_are,
    stops_are_told_apart,
    usage_arrives_split,
    faults_are_classified,
    retry_after_is_read,
    faults_of_the_way_may_have_been_billed,
    cancellation_is_prompt,
    calls_run_at_the_same_time,
    a_copied_conversation_goes_on,
)
