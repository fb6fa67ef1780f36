"""A model that plays a script: replies per agent, as data or as a function of what the agent has seen.

Strict: a call beyond a script's end fails, and `assert_consumed()` fails on steps that nobody asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import anyio
import msgspec

from leadhand.core.clean import encoded
from leadhand.core.errors import Fault, ModelError, UsageError
from leadhand.core.ports import Reply, Request
from leadhand.core.values import Assistant, Body, StopReason, ToolCall, ToolResults, Usage, User, Value


class Call(Value, frozen=True, kw_only=True):
    """One tool call of a scripted reply. `raw` replaces the encoded arguments (for broken JSON)."""

    name: str
    arguments: dict[str, Any] = {}
    raw: str | None = None


class Step(Value, frozen=True, kw_only=True):
    """One scripted reply, or one fault where `fault` is set (the attempt then fails in that way)."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    delay_s: float = 0.0
    usage: Usage | None = None
    stop: StopReason | None = None
    commentary: bool = False
    fault: Fault | None = None
    retry_after_s: float | None = None
    maybe_billed: bool = False


class Seen(Value, frozen=True, kw_only=True):
    """What an agent has seen when it is asked for its next step. `turn` counts its own replies so far."""

    agent: str
    turn: int
    bodies: tuple[Body, ...]

    @property
    def prompt(self) -> str:
        """The first user text."""
        return next((b.text for b in self.bodies if isinstance(b, User)), "")

    @property
    def results(self) -> tuple[str, ...]:
        """The texts of the latest turn's tool results, in call order."""
        last = self.bodies[-1] if self.bodies else None
        return tuple(r.text for r in last.results) if isinstance(last, ToolResults) else ()

    @property
    def text(self) -> str:
        """Everything that harness and tools ever told this agent, joined."""
        parts: list[str] = []
        for body in self.bodies:
            if isinstance(body, User):
                parts.append(body.text)
            elif isinstance(body, ToolResults):
                parts.extend(r.text for r in body.results)
        return "\n".join(parts)


Script = Sequence[Step] | Callable[[Seen], Step]


def call(name: str, /, **arguments: Any) -> Call:
    return Call(name=name, arguments=arguments)


def bash(command: str, **more: Any) -> Call:
    return call("bash", command=command, **more)


def say(text: str, **more: Any) -> Step:
    """A plain text reply: it ends the agent."""
    return Step(text=text, **more)


def do(*calls: Call, **more: Any) -> Step:
    """A reply that calls tools."""
    return Step(calls=calls, **more)


def finish(text: str, **more: Any) -> Step:
    return do(call("finish", text=text), **more)


class ScriptError(ModelError):
    """The script does not fit what was asked."""

    def __init__(self, message: str) -> None:
        super().__init__("bad_request", message)


def step_for(script: Script, seen: Seen) -> Step:
    """The step that answers what was seen; raises `ScriptError` beyond a script's end."""
    if callable(script):
        return script(seen)
    if seen.turn >= len(script):
        raise ScriptError(f"the script of {seen.agent!r} has {len(script)} steps; a step beyond them was asked for")
    return script[seen.turn]


def hurried(script: Script) -> Script:
    """The same script without the delays of a model."""
    return lambda seen: msgspec.structs.replace(step_for(script, seen), delay_s=0.0)


def rough_tokens(size: int) -> int:
    """Bytes to tokens, four to one: what doubles bill where a step names no usage."""
    return (size + 3) // 4


class ScriptedModel:
    """A `Model` that answers from scripts by agent name. Turns are counted by the assistant messages in the request,
    so that a resumed agent goes on where its journal ends. Faults count as steps of their own (by attempt).
    """

    def __init__(self, scripts: Mapping[str, Script], *, name: str = "scripted") -> None:
        self.scripts = dict(scripts)
        self.name = name
        self.requests: list[tuple[str, str]] = []  # (agent, head) of each attempt, in order
        self._faults: dict[str, int] = {}
        self._asked: dict[str, int] = {}

    async def complete(self, request: Request) -> Reply:
        agent = request.agent
        self.requests.append((agent, request.conversation.head))
        script = self.scripts.get(agent)
        if script is None:
            raise ScriptError(f"no script for agent {agent!r}; scripts: {', '.join(sorted(self.scripts))}")
        bodies = tuple(m.body for m in request.conversation.messages)
        turn = sum(isinstance(b, Assistant) for b in bodies) + self._faults.get(agent, 0)
        step = step_for(script, Seen(agent=agent, turn=turn, bodies=bodies))
        self._asked[agent] = max(self._asked.get(agent, 0), turn + 1)
        if step.delay_s:
            await anyio.sleep(step.delay_s)
        if step.fault is not None:
            self._faults[agent] = self._faults.get(agent, 0) + 1
            raise ModelError(
                step.fault,
                f"scripted fault: {step.fault}",
                maybe_billed=step.maybe_billed,
                retry_after_s=step.retry_after_s,
            )
        message = as_message(step, turn)
        prompt = rough_tokens(request.conversation.size)
        usage = step.usage or Usage(input=prompt, output=rough_tokens(len(encoded(message, Assistant)[1])))
        return Reply(message=message, usage=usage, model=self.name, request_id=f"{agent}-{turn}")

    async def aclose(self) -> None:
        pass

    def assert_consumed(self) -> None:
        """Fail if a script given as data has steps that were never asked for."""
        for agent, script in self.scripts.items():
            if not callable(script) and self._asked.get(agent, 0) < len(script):
                raise AssertionError(
                    f"the script of {agent!r} has {len(script)} steps, only {self._asked.get(agent, 0)} were asked for"
                )


def as_message(step: Step, turn: int) -> Assistant:
    """A step as an assistant message; call ids are unique within the agent."""
    calls = tuple(
        ToolCall(
            id=f"call_{turn}_{i}",
            name=c.name,
            arguments=c.raw if c.raw is not None else _written(c.arguments),
        )
        for i, c in enumerate(step.calls)
    )
    stop: StopReason = step.stop or ("tool_calls" if calls else "end")
    return Assistant(wire="scripted", items=[], text=step.text, calls=calls, stop=stop, commentary=step.commentary)


def load_scripts(dotted: str) -> ScriptedModel:
    """The scripts at `module:attribute` (a mapping by agent, or a function that gives one), as a model."""
    module, _, attribute = dotted.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"no scripts at {dotted!r}: {error}; name them scripted/MODULE:ATTRIBUTE") from None
    return ScriptedModel(found() if callable(found) else found)


def _written(arguments: dict[str, Any]) -> str:
    """Arguments as a model writes them; what UTF-8 cannot hold is escaped, as providers do."""
    try:
        return msgspec.json.encode(arguments).decode()
    except UnicodeEncodeError:
        return json.dumps(arguments)


REPORT = re.compile(r'<leadhand-report worker="(?P<worker>[^"]*)"[^>]*>\n(?P<text>.*?)\n</leadhand-report>', re.DOTALL)


def reports(seen: Seen) -> dict[str, str]:
    """The reports an agent has been given so far, by worker id (the latest of each)."""
    return {m["worker"]: m["text"] for m in REPORT.finditer(seen.text)}
