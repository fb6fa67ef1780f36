"""One run as its pages need it: a fold of the journal that keeps no body, only what is drawn and where it lies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from leadhand.analysis.phases import WAITING
from leadhand.analysis.summary import RunFold
from leadhand.core.events import (
    AgentEnded,
    AgentStarted,
    AnyEvent,
    AttemptFailed,
    AttemptReplied,
    AttemptStarted,
    CallRejected,
    CheckEnded,
    CheckStarted,
    CommandEnded,
    Compacted,
    DelegationEnded,
    DelegationStarted,
    Entry,
    Graded,
    GradingFailed,
    MailSent,
    MessageAdded,
    ProcessesKilled,
    Recovered,
    RunEnded,
    SandboxStarted,
    SessionStarted,
    ToolEnded,
    ToolStarted,
    Warned,
)
from leadhand.core.values import Price, ToolResults, Usage
from leadhand.viewer.columns import CODE, Columns
from leadhand.viewer.labels import label, line
from leadhand.viewer.money import Split

_CODES = {
    kind: CODE[str(kind.__struct_config__.tag)]
    for kind in get_args(AnyEvent)
    if kind not in (ToolStarted, MessageAdded)
}
_TOOLS = {"bash": CODE["command"], "finish": CODE["finish"]}


@dataclass(slots=True)
class _Agent:
    index: int
    model: str
    reply: int = -1
    open_attempt: int = -1
    open_tools: dict[str, int] = field(default_factory=dict)
    split: Split = field(default_factory=Split)
    commands: int = 0
    failed_commands: int = 0
    joined: int = -1
    root: str = ""
    head: str = ""
    dearest: list[tuple[float, int, int]] = field(default_factory=list)


@dataclass(slots=True)
class _Delegation:
    started: int
    ended: int = -1
    delivered: int = -1


class ViewFold:
    """Folds entries one at a time into `columns`; `now()` gives the small rest."""

    def __init__(self, prices: Mapping[str, Price], *, blocking: bool = False) -> None:
        self.columns = Columns()
        # Only under this schedule does the lead wait in the call that delegates.
        self._waiting = WAITING if blocking else WAITING - {"delegate_agent"}
        self.run = RunFold(prices)
        self._prices = prices
        self._agents: dict[str, _Agent] = {}
        self._messages: dict[str, int] = {}
        self._attempts: dict[int, tuple[int, str]] = {}
        self._delegations: dict[str, _Delegation] = {}
        self._mail: dict[str, tuple[int, int]] = {}
        self._folds: dict[type, Callable[[int, int, _Agent, Any], None]] = {
            AgentStarted: self._agent_started,
            AgentEnded: self._agent_ended,
            MessageAdded: self._message_added,
            Compacted: self._compacted,
            AttemptStarted: self._attempt_started,
            AttemptReplied: self._replied,
            AttemptFailed: self._failed,
            ToolStarted: self._tool_started,
            CommandEnded: self._command_ended,
            ToolEnded: self._tool_ended,
            CallRejected: self._rejected,
            CheckStarted: self._check_started,
            CheckEnded: self._check_ended,
            DelegationStarted: self._delegation_started,
            DelegationEnded: self._delegation_ended,
            MailSent: self._mail_sent,
        }
        self.session = -1
        self.ended = -1

    def apply(self, entry: Entry) -> None:
        self.run.apply(entry)
        if entry.session != self.session:
            self._new_session(entry.session)
        event: Any = entry.event
        kind = type(event)
        agent = self._agents.get(entry.agent)
        if kind is AgentStarted:
            agent = self._joined(entry.agent, event)
        now = round(self.run.now * 1000)
        code = _CODES.get(kind)
        c = self.columns
        c.t.append(now)
        c.agent.append(agent.index if agent else -1)
        c.kind.append(self._code(event) if code is None else code)
        c.bad.append(0)
        c.of.append(-1)
        if agent is None:
            self._of_run(entry.seq, entry)
        elif (fold := self._folds.get(kind)) is not None:
            fold(entry.seq, now, agent, event)

    def _code(self, e: ToolStarted | MessageAdded) -> int:
        """The kind of a row whose event alone does not say it."""
        if isinstance(e, ToolStarted):
            return _TOOLS.get(e.tool) or CODE["wait" if e.tool in self._waiting else "tool"]
        if e.assigns:
            return CODE["assignment"]
        if e.delivers or e.announces or e.mail or e.notes:
            return CODE["delivery"]
        return CODE["results" if isinstance(e.message.body, ToolResults) else "message_added"]

    def _new_session(self, session: int) -> None:
        """What a killed session had open has no outcome."""
        self.session = session
        for agent in self._agents.values():
            agent.open_attempt = -1
            agent.open_tools.clear()

    def _joined(self, name: str, e: AgentStarted) -> _Agent:
        known = self._agents.get(name)
        if known is None:
            known = self._agents[name] = _Agent(index=len(self._agents), model=e.model)
            joined = {"name": name, "role": e.role, "model": e.model, "kind": e.worker_kind, "reasoning": e.reasoning}
            self.columns.agents.append(joined)
        return known

    def _mark(self, seq: int, level: str, what: str, text: str) -> None:
        """`level`: "error", "warning" or "note". The event's row is flagged too, unless it is only a note."""
        if level != "note":
            self.columns.bad[seq] = 1
        self.columns.marks.append((seq, level, what, line(text, 240)))

    # --- the run -----------------------------------------------------------------------------------------------

    def _of_run(self, seq: int, entry: Entry) -> None:
        match entry.event:
            case SessionStarted():
                self._mark(seq, "warning", "resumed", "the run was interrupted and resumed")
            case Recovered() as e:
                self._mark(seq, "warning", "torn journal", f"a torn last line of {e.bytes_cut} bytes was cut off")
            case SandboxStarted() as e:
                if e.info.not_enforced:
                    self._mark(seq, "note", "not enforced", f"{e.info.kind}: {', '.join(e.info.not_enforced)}")
                for text in e.info.warnings:
                    self._mark(seq, "warning", "sandbox", text)
            case ProcessesKilled() as e if e.count and "before collecting" not in e.why:
                self._mark(seq, "warning", "killed", f"{e.count} processes killed: {e.why}")
            case Warned() as e:
                self._mark(seq, "warning", "warning", e.text)
            case RunEnded() as e:
                self.ended = seq
                if e.status != "finished":
                    level = "error" if e.status in ("infrastructure", "cancelled") else "warning"
                    self._mark(seq, level, f"run {e.status}", e.text)
            case Graded() as e if e.grade.total is not None and e.grade.passed != e.grade.total:
                self._mark(seq, "note", "grade", label(e))
            case GradingFailed() as e:
                self._mark(seq, "error", "grading failed", e.error)

    # --- agents ------------------------------------------------------------------------------------------------

    def _agent_started(self, seq: int, now: int, agent: _Agent, e: AgentStarted) -> None:
        self.columns.of[seq] = self._messages.get(e.at or e.root_id, -1)
        self._messages.setdefault(e.root_id, seq)
        agent.joined, agent.root, agent.head = seq, e.root_id, e.at or e.root_id

    def _agent_ended(self, seq: int, now: int, agent: _Agent, e: AgentEnded) -> None:
        # What it had open ends with it: the outcome will not come.
        for start in (agent.open_attempt, *agent.open_tools.values()):
            self._closed(start, seq)
        agent.open_attempt = -1
        agent.open_tools.clear()
        if e.status != "finished" or e.fault:
            level = "error" if e.fault or e.status == "failed" else "warning"
            name = self.columns.agents[agent.index]["name"]
            self._mark(seq, level, f"{name} {e.status}", e.fault or e.text)

    def _message_added(self, seq: int, now: int, agent: _Agent, e: MessageAdded) -> None:
        self._linked(seq, agent, e.message.id, e.message.parent)
        if e.delivers or e.mail or e.assigns:
            self._delivered(seq, agent, e)

    def _compacted(self, seq: int, now: int, agent: _Agent, e: Compacted) -> None:
        """The conversation goes on in a shorter chain: this event stands for what it was until here."""
        self.columns.of[seq] = self._place(agent, agent.head)
        self._messages[e.head] = seq
        agent.head = e.head
        self._mark(seq, "note", "compacted", label(e))

    def _attempt_started(self, seq: int, now: int, agent: _Agent, e: AttemptStarted) -> None:
        self.columns.of[seq] = self._place(agent, e.head)
        agent.open_attempt = seq
        self._attempts[e.attempt] = (seq, e.model)
        if e.waited_s >= 0.05:
            self.columns.waits.append((agent.index, max(0, now - round(e.waited_s * 1000)), now, seq))

    def _delegation_started(self, seq: int, now: int, agent: _Agent, e: DelegationStarted) -> None:
        self._delegations[e.delegation] = _Delegation(started=seq)
        self.columns.of[seq] = agent.reply

    def _linked(self, seq: int, agent: _Agent, message: str, parent: str) -> None:
        """A message joins the agent's conversation; one that does not follow its head is a damaged journal."""
        # `_place`, without a call: this is done for every second event of a long journal.
        self.columns.of[seq] = agent.joined if parent == agent.root else self._messages.get(parent, -1)
        if parent != agent.head:
            self._mark(seq, "error", "broken chain", "this message does not follow the one before it")
        self._messages[message] = seq
        agent.head = message

    def _place(self, agent: _Agent, message: str) -> int:
        """The event that brought a message; a root, which agents share, is the agent's own joining."""
        return agent.joined if message == agent.root else self._messages.get(message, -1)

    def _closed(self, start: int, end: int) -> None:
        if start >= 0:
            self.columns.start.append(start)
            self.columns.end.append(end)

    def _replied(self, seq: int, now: int, agent: _Agent, e: AttemptReplied) -> None:
        self._linked(seq, agent, e.message.id, e.message.parent)
        start, model = self._attempts.pop(e.attempt, (-1, agent.model))
        self._closed(start, seq)
        agent.open_attempt, agent.reply = -1, seq
        usd, tokens = self._spent(seq, agent, model, e.usage)
        agent.dearest.append((usd, tokens, seq))
        if len(agent.dearest) > 64:
            agent.dearest = sorted(agent.dearest, reverse=True)[:10]

    def _spent(self, seq: int, agent: _Agent, model: str, usage: Usage) -> tuple[float, int]:
        """Dollars and tokens of an attempt, booked."""
        usd, tokens = agent.split.spend(self._prices[model], usage), usage.total
        self.columns.spends.append((seq, round(usd * 1e6), tokens))
        return usd, tokens

    def _failed(self, seq: int, now: int, agent: _Agent, e: AttemptFailed) -> None:
        c = self.columns
        start, model = self._attempts.pop(e.attempt, (-1, agent.model))
        c.of[seq] = start
        self._closed(start, seq)
        agent.open_attempt = -1
        if e.usage is not None:
            self._spent(seq, agent, model, e.usage)
        if e.retry_in_s:
            c.waits.append((agent.index, now, now + round(e.retry_in_s * 1000), seq))
        unknown = "; it may have been billed" if e.maybe_billed else ""
        self._mark(seq, "warning" if e.retry_in_s is not None else "error", "failed call", label(e) + unknown)

    def _tool_started(self, seq: int, now: int, agent: _Agent, e: ToolStarted) -> None:
        self.columns.of[seq] = agent.reply
        agent.open_tools[e.call] = seq
        agent.commands += e.tool == "bash"

    def _rejected(self, seq: int, now: int, agent: _Agent, e: CallRejected) -> None:
        start = agent.open_tools.pop(e.call, -1)
        self.columns.of[seq] = start if start >= 0 else agent.reply
        self._mark(seq, "warning", "rejected call", f"{e.tool}: {e.reason}")

    def _tool_ended(self, seq: int, now: int, agent: _Agent, e: ToolEnded) -> None:
        self._outcome(seq, agent, e.call)
        if e.is_error:
            self.columns.bad[seq] = 1

    def _check_started(self, seq: int, now: int, agent: _Agent, e: CheckStarted) -> None:
        self.columns.of[seq] = agent.reply
        agent.open_tools[e.check] = seq

    def _check_ended(self, seq: int, now: int, agent: _Agent, e: CheckEnded) -> None:
        self._outcome(seq, agent, e.check)
        if e.outcome in ("failed", "not_tried"):
            self._mark(seq, "warning", "check failed" if e.outcome == "failed" else "not tried", label(e))

    def _outcome(self, seq: int, agent: _Agent, call: str) -> None:
        start = agent.open_tools.pop(call, -1)
        self.columns.of[seq] = start
        self._closed(start, seq)

    def _command_ended(self, seq: int, now: int, agent: _Agent, e: CommandEnded) -> None:
        self._outcome(seq, agent, e.call)
        if e.ended != "exited":
            self._mark(seq, "warning", f"command {e.ended.replace('_', ' ')}", f"after {e.seconds:.1f} s")
        if e.exit_code:
            agent.failed_commands += 1
            self.columns.bad[seq] = 1

    # --- what passes between agents ----------------------------------------------------------------------------

    def _mail_sent(self, seq: int, now: int, agent: _Agent, e: MailSent) -> None:
        self._mail[e.mail] = (seq, agent.index)
        self.columns.of[seq] = agent.reply

    def _delegation_ended(self, seq: int, now: int, agent: _Agent, e: DelegationEnded) -> None:
        found = self._delegations.get(e.delegation)
        if found:
            found.ended = seq
            self.columns.of[seq] = found.started
        if e.status != "finished":
            self._mark(seq, "warning", f"{e.delegation} {e.status}", f"{e.worker}: {e.report}")

    def _delivered(self, seq: int, agent: _Agent, e: MessageAdded) -> None:
        """Arrows: from the event that sent it to the event that brought it into a conversation."""
        arrows = self.columns.arrows
        for name in e.delivers:
            found = self._delegations.get(name)
            if found and found.delivered < 0:
                found.delivered = seq
                worker = self.columns.agent[found.ended] if found.ended >= 0 else -1
                arrows.append(("report", found.ended, worker, seq, agent.index, found.ended, name))
        for mail in e.mail:
            sent, sender = self._mail.get(mail, (-1, -1))
            arrows.append(("mail", sent, sender, seq, agent.index, sent, mail))
        if e.assigns and (found := self._delegations.get(e.assigns)):
            lead = self.columns.agent[found.started]
            arrows.append(("assignment", found.started, lead, seq, agent.index, found.started, e.assigns))

    # --- the small rest ----------------------------------------------------------------------------------------

    def now(self) -> dict[str, Any]:
        """What is not append-only, as plain data: open spans, delegations, where the money went."""
        return {
            "now": round(self.run.now * 1000),
            "session": self.session,
            "open": [s for a in self._agents.values() for s in (a.open_attempt, *a.open_tools.values()) if s >= 0],
            "delegations": {n: [d.started, d.ended, d.delivered] for n, d in self._delegations.items()},
            "money": {name: a.split.as_dict() for name, a in self._agents.items()},
            "dearest": self._dearest(),
            "commands": {name: [a.commands, a.failed_commands] for name, a in self._agents.items()},
            "ended": self.ended,
        }

    def _dearest(self) -> list[tuple[float, int, int]]:
        """The ten dearest model calls: dollars, tokens, event."""
        return sorted((d for a in self._agents.values() for d in a.dearest), reverse=True)[:10]
