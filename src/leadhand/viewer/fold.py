"""One run as its pages need it: a fold of the journal that keeps no body, only what is drawn and where it lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from leadhand.analysis.summary import WAITING, RunFold
from leadhand.core.events import (
    AgentEnded,
    AgentStarted,
    AttemptFailed,
    AttemptReplied,
    AttemptStarted,
    CallRejected,
    CommandEnded,
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
from leadhand.core.values import Assistant, Price, ToolCall, ToolResults
from leadhand.viewer.columns import CODE, Columns
from leadhand.viewer.labels import arguments, call_label, label, line
from leadhand.viewer.money import Split, split
from leadhand.viewer.plain import full
from leadhand.viewer.writes import written


@dataclass(slots=True)
class _Agent:
    index: int
    model: str
    reply: int = -1
    calls: tuple[ToolCall, ...] = ()
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

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self.columns = Columns()
        self.run = RunFold(prices)
        self._prices = prices
        self._agents: dict[str, _Agent] = {}
        self._messages: dict[str, int] = {}
        self._attempts: dict[int, tuple[int, str]] = {}
        self._delegations: dict[str, _Delegation] = {}
        self._mail: dict[str, tuple[int, int]] = {}
        self._paths: dict[str, int] = {}
        self._commands: dict[int, str] = {}
        self._workspace = "/workspace"
        self._kinds: dict[type, int] = {}
        self.session = -1
        self.first_write = -1
        self.last_write = -1
        self.ended = -1

    def apply(self, entry: Entry) -> None:
        self.run.apply(entry)
        if entry.session != self.session:
            self._new_session(entry.session)
        seq, now = entry.seq, round(self.run.now * 1000)
        agent = self._agents.get(entry.agent)
        if isinstance(entry.event, AgentStarted):
            agent = self._joined(entry.agent, entry.event)
        c = self.columns
        c.t.append(now)
        c.agent.append(agent.index if agent else -1)
        c.kind.append(self._code(entry))
        c.bad.append(0)
        c.of.append(-1)
        c.labels.append("")
        if agent is None:
            self._of_run(seq, entry)
        else:
            self._of_agent(seq, now, agent, entry)
        if not c.labels[seq]:
            c.labels[seq] = label(entry.event)

    def _code(self, entry: Entry) -> int:
        e = entry.event
        if isinstance(e, ToolStarted):
            return CODE["command" if e.tool == "bash" else "wait" if e.tool in WAITING else "tool"]
        if isinstance(e, MessageAdded):
            if e.assigns:
                return CODE["assignment"]
            if e.delivers or e.announces or e.mail:
                return CODE["delivery"]
            return CODE["results" if isinstance(e.message.body, ToolResults) else "message_added"]
        kind = type(e)
        if kind not in self._kinds:
            self._kinds[kind] = CODE[str(kind.__struct_config__.tag)]
        return self._kinds[kind]

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
                self._workspace = e.info.workspace
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

    def _of_agent(self, seq: int, now: int, agent: _Agent, entry: Entry) -> None:
        c = self.columns
        match entry.event:
            case AgentStarted() as e:
                c.of[seq] = self._messages.get(e.at or e.root_id, -1)
                self._messages.setdefault(e.root_id, seq)
                agent.joined, agent.root, agent.head = seq, e.root_id, e.at or e.root_id
            case MessageAdded() as e:
                self._linked(seq, agent, e.message.id, e.message.parent)
                self._delivered(seq, agent, e)
            case AttemptStarted() as e:
                c.of[seq] = self._place(agent, e.head)
                agent.open_attempt = seq
                self._attempts[e.attempt] = (seq, e.model)
                if e.waited_s >= 0.05:
                    c.waits.append((agent.index, max(0, now - round(e.waited_s * 1000)), now, seq))
            case AttemptReplied() as e:
                self._linked(seq, agent, e.message.id, e.message.parent)
                self._replied(seq, agent, e)
            case AttemptFailed() as e:
                self._failed(seq, now, agent, e)
            case ToolStarted() | CommandEnded() | ToolEnded() | CallRejected():
                self._of_call(seq, agent, entry.event)
            case AgentEnded() as e:
                agent.open_tools.clear()
                if e.status != "finished" or e.fault:
                    level = "error" if e.fault or e.status == "failed" else "warning"
                    self._mark(seq, level, f"{entry.agent} {e.status}", e.fault or e.text)
            case DelegationStarted() as e:
                self._delegations[e.delegation] = _Delegation(started=seq)
                c.of[seq] = agent.reply
            case DelegationEnded() | MailSent():
                self._team(seq, agent, entry.event)

    def _linked(self, seq: int, agent: _Agent, message: str, parent: str) -> None:
        """A message joins the agent's conversation; one that does not follow its head is a damaged journal."""
        self.columns.of[seq] = self._place(agent, parent)
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

    def _replied(self, seq: int, agent: _Agent, e: AttemptReplied) -> None:
        body = e.message.body
        assert isinstance(body, Assistant)
        start, model = self._attempts.pop(e.attempt, (-1, agent.model))
        self._closed(start, seq)
        agent.open_attempt, agent.reply, agent.calls = -1, seq, body.calls
        parts = split(self._prices[model], e.usage)
        agent.split.add(parts)
        self.columns.spends.append((seq, round(parts.usd * 1e6), e.usage.total))
        agent.dearest.append((parts.usd, e.usage.total, seq))
        if len(agent.dearest) > 64:
            agent.dearest = sorted(agent.dearest, reverse=True)[:10]

    def _failed(self, seq: int, now: int, agent: _Agent, e: AttemptFailed) -> None:
        c = self.columns
        start, model = self._attempts.pop(e.attempt, (-1, agent.model))
        c.of[seq] = start
        self._closed(start, seq)
        agent.open_attempt = -1
        if e.usage is not None:
            parts = split(self._prices[model], e.usage)
            agent.split.add(parts)
            c.spends.append((seq, round(parts.usd * 1e6), e.usage.total))
        if e.retry_in_s:
            c.waits.append((agent.index, now, now + round(e.retry_in_s * 1000), seq))
        unknown = "; it may have been billed" if e.maybe_billed else ""
        self._mark(seq, "warning" if e.retry_in_s is not None else "error", "failed call", label(e) + unknown)

    def _of_call(self, seq: int, agent: _Agent, e: ToolStarted | CommandEnded | ToolEnded | CallRejected) -> None:
        c = self.columns
        if isinstance(e, ToolStarted):
            index = int(e.call.rpartition(".")[2])
            made = agent.calls[index] if index < len(agent.calls) else None
            found = arguments(made) if made else {}
            c.of[seq] = agent.reply
            c.labels[seq] = call_label(e.tool, found, made.arguments if made else "")
            agent.open_tools[e.call] = seq
            if e.tool == "bash":
                agent.commands += 1
                self._commands[seq] = str(found.get("command", ""))
            return
        start = agent.open_tools.pop(e.call, -1)
        if isinstance(e, CallRejected):
            c.of[seq] = start if start >= 0 else agent.reply
            self._mark(seq, "warning", "rejected call", f"{e.tool}: {e.reason}")
            return
        c.of[seq] = start
        self._closed(start, seq)
        if isinstance(e, CommandEnded):
            self._command_ended(seq, start, agent, e)
        elif e.is_error:
            c.bad[seq] = 1

    def _command_ended(self, seq: int, start: int, agent: _Agent, e: CommandEnded) -> None:
        c = self.columns
        if e.ended != "exited":
            self._mark(seq, "warning", f"command {e.ended.replace('_', ' ')}", c.labels[start] if start >= 0 else "")
        if e.exit_code:
            agent.failed_commands += 1
            c.bad[seq] = 1
        command = self._commands.pop(start, "")
        for path in e.changed or written(command, self._workspace):
            if path not in self._paths:
                self._paths[path] = len(c.paths)
                c.paths.append(path)
            c.writes.append((start, agent.index, self._paths[path]))
            self.first_write = start if self.first_write < 0 else self.first_write
            self.last_write = start

    # --- what passes between agents ----------------------------------------------------------------------------

    def _team(self, seq: int, agent: _Agent, e: DelegationEnded | MailSent) -> None:
        c = self.columns
        if isinstance(e, MailSent):
            self._mail[e.mail] = (seq, agent.index)
            c.of[seq] = agent.reply
            return
        found = self._delegations.get(e.delegation)
        if found:
            found.ended = seq
            c.of[seq] = found.started
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
        """What is not append-only, as plain data: summary, open spans, delegations, where the money went."""
        return {
            "now": round(self.run.now * 1000),
            "session": self.session,
            "summary": full(self.run.summary()),
            "open": [s for a in self._agents.values() for s in (a.open_attempt, *a.open_tools.values()) if s >= 0],
            "delegations": {n: [d.started, d.ended, d.delivered] for n, d in self._delegations.items()},
            "money": {name: a.split.as_dict() for name, a in self._agents.items()},
            "dearest": self._dearest(),
            "commands": {name: [a.commands, a.failed_commands] for name, a in self._agents.items()},
            "phases": [self.first_write, self.last_write, self.ended],
        }

    def _dearest(self) -> list[tuple[float, int, int]]:
        """The ten dearest model calls: dollars, tokens, event."""
        return sorted((d for a in self._agents.values() for d in a.dearest), reverse=True)[:10]
