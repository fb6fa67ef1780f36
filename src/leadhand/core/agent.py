"""The agent loop: ask, act, until the agent ends. One agent is one conversation with one model plus its tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

import anyio
import anyio.lowlevel

from leadhand.core import framing, wording
from leadhand.core.attempts import ask
from leadhand.core.errors import RunnerLost, SandboxError, SandboxLost
from leadhand.core.events import CallRejected, CommandEnded, ToolEnded, ToolStarted, command_ended, output_bytes
from leadhand.core.harness import End, Harness
from leadhand.core.schedule import Push, due
from leadhand.core.state import AgentState
from leadhand.core.tools import LEAD_ONLY, Arguments, BadCall, Bash, Finish, parse
from leadhand.core.values import Assistant, Body, ExecResult, ToolCall, ToolResult, ToolResults, User

MOST_FAULTS = 3
"""Faulty turns in a row after which an agent has given up."""


class Outcome(NamedTuple):
    """What a call gave back. `delivers`: whose reports are in the text; `notes`: how much of the log is read."""

    text: str
    is_error: bool = False
    delivers: tuple[str, ...] = ()
    notes: int = 0


class Rejected(Exception):
    """A call that the rules of the team do not allow; the text is the reason."""


Later = Callable[[], Awaitable[Outcome]]
TeamTool = Callable[[str, Arguments], Awaitable[Outcome | Later]]
"""Carries out a team tool for (call key, arguments). A `Later` is awaited after the turn's other calls were started."""

Closing = Callable[[], Awaitable[Outcome | None]]
"""Asked before an agent ends: None lets it end, an outcome is told to it instead."""


class Agent:
    """Runs one agent from whatever its conversation holds to its end."""

    def __init__(
        self,
        harness: Harness,
        state: AgentState,
        *,
        tools: Mapping[str, TeamTool],
        closing: Closing | None = None,
        cache_key: str = "",
        deadline: float = float("inf"),
        note: str = "",
        cwd: str = "",
    ) -> None:
        """`deadline`: when the agent's time is over. `note`: what it is told once, with the first thing it is told.
        `cwd`: where its commands start, if not in the workspace.
        """
        self.h = harness
        self.state = state
        self._tools = tools
        self._closing = closing
        self._cache_key = cache_key
        self._deadline = deadline
        self._span = deadline - anyio.current_time()
        self._note = note
        self._cwd = cwd
        self._allowed = tuple(t.name for t in state.conversation.root.tools)

    async def run(self) -> End:
        """Ask and act until the agent ends."""
        if self._note and not isinstance(self._last(), Assistant):
            self._tell(self._note_once())
        while True:
            # Adapters that never wait must not keep a stopped agent going.
            await anyio.lowlevel.checkpoint_if_cancelled()
            last = self._last()
            if isinstance(last, Assistant) and not (last.stop == "pause" and not last.calls):
                end = await self.act(last)
            else:
                end = await ask(self.h, self.state, self._cache_key)
            if end is not None:
                return end

    async def act(self, turn: Assistant) -> End | None:
        """Carry out a model's turn."""
        if turn.stop in ("refusal", "content_filter") and not turn.calls:
            return End("refused", turn.text)
        if not turn.calls:
            return await self._spoken(turn)
        if len(turn.calls) == 1 and turn.calls[0].name == "finish":
            return await self._finish(turn.calls[0])
        keys = [self._key(i) for i in range(len(turn.calls))]
        started = [await self._start(key, call) for key, call in zip(keys, turn.calls, strict=True)]
        outcomes = [await self._settled(key, o) for key, o in zip(keys, started, strict=True)]
        self._answer(turn.calls, outcomes)
        return self._given_up()

    # --- ends of a turn ----------------------------------------------------------------------------------------

    async def _spoken(self, turn: Assistant) -> End | None:
        """A reply without calls: the end if it is a complete answer, else a corrective message."""
        if faulty(turn):
            if self._faults() >= MOST_FAULTS:
                return End("gave_up", turn.text)
            self._tell(wording.CUT if turn.stop == "length" else wording.EMPTY)
            return None
        instead = await self._closing() if self._closing else None
        if instead is None:
            return End("finished", turn.text)
        self._tell(instead.text, instead.delivers)
        return None

    async def _finish(self, call: ToolCall) -> End | None:
        """`finish` alone in its turn."""
        key = self._key(0)
        outcome = self._recorded(key)
        if outcome is None:
            self._intend(key, call)
            try:
                arguments = parse(call, self._allowed)
            except BadCall as bad:
                outcome = self._record(key, Outcome(str(bad), is_error=True))
            else:
                instead = await self._closing() if self._closing else None
                if instead is None:
                    assert isinstance(arguments, Finish)
                    return End("finished", arguments.text)
                outcome = self._record(key, instead)
        self._answer((call,), [outcome])
        return self._given_up()

    def interrupt(self) -> None:
        """Close a turn that was broken off: its calls get the results they have, or are told to be interrupted."""
        turn = self._last()
        if isinstance(turn, Assistant) and turn.calls:
            self._answer(turn.calls, [self._broken_off(i, call) for i, call in enumerate(turn.calls)])

    def _broken_off(self, index: int, call: ToolCall) -> Outcome:
        key = self._key(index)
        if call.name == "finish":
            return self._recorded(key) or Outcome(wording.RETURNED)
        return self._recorded(key) or Outcome(wording.INTERRUPTED if key in self.state.started else wording.NOT_BEGUN)

    def _last(self) -> Body | None:
        messages = self.state.conversation.messages
        return messages[-1].body if messages else None

    def _given_up(self) -> End | None:
        return End("gave_up") if self._faults() >= MOST_FAULTS else None

    def _faults(self) -> int:
        """Faulty turns in a row at the end of the conversation, since the latest assignment."""
        count = 0
        for message in reversed(self.state.conversation.messages[self.state.briefed_at :]):
            if isinstance(message.body, Assistant):
                if not faulty(message.body, self._allowed):
                    break
                count += 1
        return count

    def _tell(self, text: str, delivers: tuple[str, ...] = ()) -> None:
        push = self._push(delivers)
        text = "\n\n".join(p for p in (text, push.text, self._footer()) if p)
        self.h.add(self.state, User(text=text), push)

    def _answer(self, calls: tuple[ToolCall, ...], outcomes: list[Outcome]) -> None:
        """Give the results back in call order; what is pushed goes on the last one."""
        push = self._push(tuple(d for o in outcomes for d in o.delivers))
        texts = [o.text for o in outcomes]
        texts[-1] = "\n\n".join(p for p in (texts[-1], push.text, self._footer()) if p)
        results = tuple(
            ToolResult(call_id=c.id, name=c.name, text=text, is_error=o.is_error)
            for c, o, text in zip(calls, outcomes, texts, strict=True)
        )
        self.h.add(self.state, ToolResults(results=results), push)

    def _push(self, delivers: tuple[str, ...]) -> Push:
        """What is pushed now, and all that is delivered: each report once, when the lead is first given it."""
        push = due(self.h.state, self.h.design, self.state.name, frozenset(delivers))
        first = (d for d in dict.fromkeys(delivers) if not self.h.state.delegations[d].delivered)
        return push._replace(delivers=(*first, *push.delivers))

    def _footer(self) -> str:
        left = self._deadline - anyio.current_time()
        lines = wording.footer(self.h.state, self.h.design, self.state.name, left, self._span)
        return "\n".join(line for line in (self._note_once(), lines) if line)

    def _note_once(self) -> str:
        note, self._note = self._note, ""
        return note

    # --- calls -------------------------------------------------------------------------------------------------

    def _key(self, index: int) -> str:
        return f"{self.state.name}.{self.state.steps}.{index}"

    async def _start(self, key: str, call: ToolCall) -> Outcome | Later:
        """Carry out one call, or start it. What the journal already knows of it is not done again."""
        recorded = self.state.results.get(key)
        if isinstance(recorded, CommandEnded):
            return await self._shown(key, recorded)
        if isinstance(recorded, ToolEnded):
            return Outcome(recorded.text, recorded.is_error, recorded.delivers)
        interrupted = self._intend(key, call)
        try:
            return await self._carry_out(key, call, interrupted)
        except BadCall as bad:
            return self._record(key, Outcome(str(bad), is_error=True))
        except Rejected as rejected:
            if key not in self.state.rejected:
                event = CallRejected(call=key, tool=call.name[:80], reason=str(rejected))
                self.h.record(self.state.name, event)
            return self._record(key, Outcome(f"Rejected: {rejected}", is_error=True))

    def _intend(self, key: str, call: ToolCall) -> bool:
        """Record that a call is about to be carried out; whether an earlier session had already begun it."""
        if key in self.state.started:
            return True
        self.h.record(self.state.name, ToolStarted(call=key, tool=call.name[:80]))
        return False

    def _recorded(self, key: str) -> Outcome | None:
        """What the journal says a call gave back; a command's output as it would be shown, without its file."""
        recorded = self.state.results.get(key)
        if isinstance(recorded, CommandEnded):
            return Outcome(framing.command(recorded, self.h.design.limits.output_chars).text)
        return Outcome(recorded.text, recorded.is_error, recorded.delivers) if recorded else None

    async def _carry_out(self, key: str, call: ToolCall, interrupted: bool) -> Outcome | Later:
        arguments = parse(call, self._allowed)
        match arguments:
            case Bash():
                if interrupted:
                    return self._record(key, Outcome(wording.INTERRUPTED, is_error=True))
                return await self._bash(key, arguments)
            case Finish():
                raise Rejected(wording.FINISH_ALONE)
        if call.name in LEAD_ONLY and self.state.role != "lead":
            raise Rejected(wording.LEAD_ONLY.format(tool=call.name))
        outcome = await self._tools[call.name](key, arguments)
        return self._record(key, outcome) if isinstance(outcome, Outcome) else outcome

    async def _settled(self, key: str, outcome: Outcome | Later) -> Outcome:
        return outcome if isinstance(outcome, Outcome) else self._record(key, await outcome())

    def _record(self, key: str, outcome: Outcome) -> Outcome:
        event = ToolEnded(
            call=key, text=outcome.text, is_error=outcome.is_error, delivers=outcome.delivers, notes=outcome.notes
        )
        self.h.record(self.state.name, event)
        return outcome

    async def _bash(self, key: str, arguments: Bash) -> Outcome:
        limit = self.h.design.limits.command_s
        timeout = min(arguments.timeout_s or limit, limit)
        if not timeout > 0:
            raise BadCall("timeout_s must be above 0")
        if "\0" in arguments.command:
            raise BadCall("a command cannot hold a NUL byte; write it as \\0 and let printf make it")
        began = anyio.current_time()
        try:
            result = await self.h.sandbox.exec(
                arguments.command, agent=self.state.name, timeout_s=timeout, cwd=self._cwd
            )
        except RunnerLost:
            # Its agent is told; the sandbox lives on.
            result = ExecResult(exit_code=137, head=b"", seconds=anyio.current_time() - began, ended="runner_lost")
        except BaseException:
            # Cancelled (the sandbox has killed the command) or lost: the record says that it did not finish.
            seconds = anyio.current_time() - began
            killed = ExecResult(exit_code=137, head=b"", seconds=seconds, ended="killed")
            self.h.record(self.state.name, command_ended(key, killed))
            raise
        event = command_ended(key, result)
        self.h.record(self.state.name, event)
        return await self._shown(key, event)

    async def _shown(self, key: str, event: CommandEnded) -> Outcome:
        """A command's outcome as the model sees it; what is clipped can be read from a file in the sandbox."""
        limit = self.h.design.limits.output_chars
        shown = framing.command(event, limit)
        if shown.clipped and not event.spill:
            path = f"{self.h.sandbox.info.scratch}/outputs/{key}.txt"
            try:
                await self.h.sandbox.write(path, b"".join(output_bytes(event)))
            except SandboxLost:
                raise
            except (SandboxError, OSError):
                return Outcome(shown.text)
            shown = framing.command(event, limit, path)
        return Outcome(shown.text)


def faulty(turn: Assistant, allowed: tuple[str, ...] = ()) -> bool:
    """A turn that did nothing: empty, cut or commentary without a call, or with calls that cannot be read at all."""
    if not turn.calls:
        return turn.stop == "length" or turn.commentary or not turn.text.strip()

    def unreadable(call: ToolCall) -> bool:
        try:
            parse(call, allowed)
        except BadCall:
            return True
        return False

    return bool(allowed) and all(unreadable(c) for c in turn.calls)
