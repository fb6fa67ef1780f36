"""One journal into rows: a single pass over its entries, then a few pure measures over what was collected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from leadhand.analysis.delegations import Delegations
from leadhand.analysis.detector import Seen
from leadhand.analysis.phases import PhaseClock
from leadhand.analysis.places import Places
from leadhand.core.events import (
    AgentEnded,
    AgentStarted,
    AttemptFailed,
    AttemptReplied,
    AttemptStarted,
    CallRejected,
    CheckEnded,
    CheckStarted,
    Collected,
    CommandEnded,
    Compacted,
    DelegationEnded,
    DelegationStarted,
    Entry,
    Graded,
    MailSent,
    MessageAdded,
    RunEnded,
    RunStarted,
    SandboxStarted,
    ToolEnded,
    ToolStarted,
)
from leadhand.core.values import Assistant, Price, Usage


class _Command(msgspec.Struct):
    command: str = ""


_arguments = msgspec.json.Decoder(_Command)


@dataclass(slots=True)
class AgentTrack(PhaseClock):
    """What is collected of one agent. `seconds` books every second once, by what it was doing."""

    name: str
    role: str
    model: str
    reasoning: str
    worker_kind: str
    started: float
    ended: float | None = None
    status: str = ""
    fault: str = ""
    steps: int = 0
    failed: int = 0
    last_prompt: int = 0
    calls: dict[str, int] = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=dict)
    commands: dict[str, str] = field(default_factory=dict)
    delegation: str = ""


@dataclass(slots=True)
class AttemptTrack:
    attempt: int
    agent: str
    role: str
    model: str
    tries: int
    waited: float
    started: float
    bound: float
    delegation: str
    ended: float | None = None
    served: str = ""
    outcome: str = "unknown"
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    unknown: float = 0.0
    cold: int = 0
    cold_cost: float = 0.0

    @property
    def uncertain(self) -> float:
        """Dollars that may have been billed beyond `cost`: all that it could cost, where its outcome is not known."""
        return self.bound if self.outcome == "unknown" else self.unknown


@dataclass(slots=True)
class CommandTrack:
    agent: str
    call: str
    started: float
    text: str
    seen: Seen
    ended: float | None = None
    seconds: float | None = None
    exit_code: int | None = None
    how: str = "unknown"
    size: int = 0
    changed: tuple[str, ...] = ()


@dataclass(slots=True)
class MailTrack:
    mail: str
    sender: str
    to: str
    text: str
    sent: float
    delivered: float | None = None


class Fold:
    """Everything collected from one journal, at the prices of its run. `reference`: paths of the reference."""

    def __init__(self, prices: Mapping[str, Price], reference: tuple[str, ...] = ()) -> None:
        self.prices = prices
        self.reference = reference
        self.places = Places()
        self.now = 0.0
        self.events = 0
        self.sessions: set[int] = set()
        self.digest = self.version = ""
        self.agents: dict[str, AgentTrack] = {}
        self.attempts: dict[int, AttemptTrack] = {}
        self.delegations = Delegations(reports=True)
        self.commands: dict[str, CommandTrack] = {}
        self.mail: dict[str, MailTrack] = {}
        self.deliveries: list[tuple[str, ...]] = []
        self.gradings: list[Graded] = []
        self.ended: RunEnded | None = None
        self.ended_s = 0.0
        self.submission = ""
        self.idle_worked = 0.0
        """Seconds in which the lead waited and some worker ran: the workers' part of the critical path."""
        self.waits: list[tuple[float, float]] = []
        """When that was: from, to."""
        self._lead: AgentTrack | None = None
        self._running = 0
        self._session, self._mono = -1, 0.0
        self._act: dict[type[Any], Callable[[str, Any], None]] = {
            RunStarted: self._run_started,
            AgentStarted: self._agent_started,
            AgentEnded: self._agent_ended,
            MessageAdded: self._message_added,
            AttemptStarted: self._attempt_started,
            AttemptReplied: self._attempt_replied,
            AttemptFailed: self._attempt_failed,
            ToolStarted: self._tool_started,
            CommandEnded: self._command_ended,
            ToolEnded: self._tool_ended,
            CallRejected: self._call_rejected,
            CheckStarted: self._check_started,
            CheckEnded: self._check_ended,
            DelegationStarted: self._delegation_started,
            DelegationEnded: self._delegation_ended,
            MailSent: self._mail_sent,
            Compacted: self._compacted,
            Graded: self._graded,
            Collected: self._collected,
            SandboxStarted: self._sandbox_started,
            RunEnded: self._run_ended,
        }

    def apply(self, entries: Iterable[Entry]) -> Fold:
        act = self._act
        count = 0
        for entry in entries:
            count += 1
            # Inline, since it is done millions of times: the clock of active time.
            if entry.session == self._session:
                passed = entry.mono - self._mono
                if passed > 0:
                    self.now += passed
                    if self._running and self._lead is not None and self._lead.phase == "idle":
                        self._waited(passed)
            else:
                self._new_session(entry.session)
            self._mono = entry.mono
            handler = act.get(type(entry.event))
            if handler is not None:
                handler(entry.agent, entry.event)
        self.events += count
        if self.ended is None:
            self.ended_s = self.now
        return self

    def _waited(self, passed: float) -> None:
        self.idle_worked += passed
        began = self.now - passed
        if self.waits and began - self.waits[-1][1] < 1e-9:
            began = self.waits.pop()[0]
        self.waits.append((began, self.now))

    def _new_session(self, session: int) -> None:
        """What a killed session had open took no more time."""
        self._session = session
        self.sessions.add(session)
        for agent in self.agents.values():
            agent.open_tools.clear()
            agent.turn("out" if agent.phase == "out" else "other", self.now)

    @property
    def lead(self) -> str:
        """The lead's or the solo agent's name; "" for a group without a lead (peers, candidates)."""
        heads = [a for a in self.agents.values() if a.role != "worker"]
        return heads[0].name if len(heads) == 1 and heads[0].role in ("lead", "solo") else ""

    @property
    def status(self) -> str:
        return self.ended.status if self.ended else "unfinished"

    @property
    def settled(self) -> float:
        """Dollars that are known to have been billed."""
        return sum(a.cost for a in self.attempts.values())

    @property
    def unknown(self) -> float:
        """Dollars that may have been billed beyond that."""
        return sum(a.uncertain for a in self.attempts.values())

    # --- the run -----------------------------------------------------------------------------------------------

    def _run_started(self, _: str, e: RunStarted) -> None:
        self.digest, self.version = e.digest, e.version

    def _collected(self, _: str, e: Collected) -> None:
        self.submission = e.blob

    def _sandbox_started(self, _: str, e: SandboxStarted) -> None:
        """A sandbox may show the reference under another path; candidates have a sandbox each."""
        self.reference = tuple(dict.fromkeys((*self.reference, *map(e.info.path, self.reference))))
        self.places.add(e.info)

    def _run_ended(self, _: str, e: RunEnded) -> None:
        self.ended, self.ended_s = e, self.now

    def _graded(self, _: str, e: Graded) -> None:
        self.gradings.append(e)

    # --- agents ------------------------------------------------------------------------------------------------

    def _agent_started(self, name: str, e: AgentStarted) -> None:
        self.agents[name] = AgentTrack(
            name=name,
            role=e.role,
            model=e.model,
            reasoning=e.reasoning,
            worker_kind=e.worker_kind,
            started=self.now,
            since=self.now,
        )
        if self._lead is None:
            self._lead = self.agents[name]

    def _agent_ended(self, name: str, e: AgentEnded) -> None:
        agent = self.agents[name]
        agent.status, agent.fault, agent.ended = e.status, e.fault or agent.fault, self.now
        agent.open_tools.clear()
        agent.turn("out", self.now)

    def _message_added(self, name: str, e: MessageAdded) -> None:
        agent = self.agents.get(name)
        if agent is not None:
            agent.commands.clear()
            if agent.phase == "out":
                agent.turn("other", self.now)
        if e.delivers:
            self.delegations.deliver(e.delivers, self.now)
            self.deliveries.append(e.delivers)
        for mail in e.mail:
            self.mail[mail].delivered = self.now

    # --- model calls -------------------------------------------------------------------------------------------

    def _attempt_started(self, name: str, e: AttemptStarted) -> None:
        agent = self.agents[name]
        self.attempts[e.attempt] = AttemptTrack(
            attempt=e.attempt,
            agent=name,
            role=agent.role,
            model=e.model,
            tries=e.tries,
            waited=e.waited_s,
            started=self.now,
            bound=self.prices[e.model].bound(e.prompt_bound, e.output_bound, e.cache_ttl),
            delegation=agent.delegation,
        )
        if agent.phase != "limited":
            held = min(e.waited_s, self.now - agent.since)
            agent.since += held
            agent.seconds["limited"] = agent.seconds.get("limited", 0.0) + held
        agent.turn("model", self.now)

    def _attempt_replied(self, name: str, e: AttemptReplied) -> None:
        agent, attempt = self.agents[name], self.attempts[e.attempt]
        agent.turn("other", self.now)
        agent.steps += 1
        attempt.outcome, attempt.served = "replied", e.model
        self._settle(attempt, agent, e.usage)
        body = e.message.body
        if isinstance(body, Assistant):
            for i, call in enumerate(body.calls):
                if call.name == "bash":
                    agent.commands[f"{name}.{agent.steps}.{i}"] = call.arguments

    def _attempt_failed(self, name: str, e: AttemptFailed) -> None:
        agent, attempt = self.agents[name], self.attempts[e.attempt]
        agent.turn("limited" if e.retry_in_s is not None else "other", self.now)
        agent.failed += 1
        attempt.outcome, attempt.ended = e.fault, self.now
        if e.usage is not None:
            self._settle(attempt, agent, e.usage)
        elif e.maybe_billed:
            attempt.unknown = attempt.bound

    def _settle(self, attempt: AttemptTrack, agent: AgentTrack, usage: Usage) -> None:
        price = self.prices[attempt.model]
        attempt.ended, attempt.usage, attempt.cost = self.now, usage, price.cost(usage)
        prompt = usage.prompt
        attempt.cold = max(0, min(agent.last_prompt, prompt) - usage.cache_read)
        if attempt.cold:
            tier = price.at(prompt)
            cheap = tier.input if tier.cache_read is None else tier.cache_read
            attempt.cold_cost = attempt.cold * max(0.0, tier.input - cheap) / 1e6
        agent.last_prompt = prompt
        if attempt.delegation:
            self.delegations[attempt.delegation].cost += attempt.cost

    def _compacted(self, name: str, _: Compacted) -> None:
        """A new chain cannot be in the cache: what it sends again is not counted as cold."""
        self.agents[name].last_prompt = 0

    # --- tools -------------------------------------------------------------------------------------------------

    def _tool_started(self, name: str, e: ToolStarted) -> None:
        agent = self.agents.get(name)
        if agent is None:  # a command of the harness's own: set-up, or what chooses a candidate
            return
        agent.calls[e.tool] = agent.calls.get(e.tool, 0) + 1
        agent.open_tools[e.call] = e.tool
        agent.turn(agent.tooling(), self.now)
        if e.tool == "bash":
            text = _command(agent.commands.get(e.call, ""))
            self.commands[e.call] = CommandTrack(
                agent=name, call=e.call, started=self.now, text=text, seen=self.places.seen(text, self.reference)
            )

    def _command_ended(self, name: str, e: CommandEnded) -> None:
        self._close(name, e.call)
        command = self.commands.get(e.call)
        if command is not None:
            command.ended, command.seconds, command.exit_code = self.now, e.seconds, e.exit_code
            command.how, command.size, command.changed = e.ended, e.size, e.changed

    def _tool_ended(self, name: str, e: ToolEnded) -> None:
        self._close(name, e.call)

    def _check_started(self, name: str, e: CheckStarted) -> None:
        """No call of the agent's own, but its time: as long as it takes, a tool is at work for it."""
        agent = self.agents[name]
        agent.open_tools[e.check] = "check"
        agent.turn(agent.tooling(), self.now)

    def _check_ended(self, name: str, e: CheckEnded) -> None:
        self._close(name, e.check)

    def _close(self, name: str, call: str) -> None:
        agent = self.agents.get(name)
        if agent is not None:
            agent.open_tools.pop(call, None)
            agent.turn(agent.tooling(), self.now)

    def _call_rejected(self, name: str, e: CallRejected) -> None:
        agent = self.agents[name]
        agent.rejected[e.tool] = agent.rejected.get(e.tool, 0) + 1

    # --- the team ----------------------------------------------------------------------------------------------

    def _delegation_started(self, _: str, e: DelegationStarted) -> None:
        self.delegations.begin(e, self.now)
        self._running += 1
        worker = self.agents.get(e.worker)
        if worker is not None:
            worker.delegation, worker.ended, worker.status = e.delegation, None, ""
            worker.turn("other", self.now)

    def _delegation_ended(self, _: str, e: DelegationEnded) -> None:
        self.delegations.end(e, self.now)
        self._running -= 1
        worker = self.agents.get(e.worker)
        if worker is not None:
            worker.delegation = ""
            worker.turn("out", self.now)

    def _mail_sent(self, name: str, e: MailSent) -> None:
        self.mail[e.mail] = MailTrack(mail=e.mail, sender=name, to=e.to, text=e.text, sent=self.now)


def _command(arguments: str) -> str:
    """The command of a bash call; "" where its arguments cannot be read (the call then never ran)."""
    try:
        return _arguments.decode(arguments).command
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return ""


def reward_of(gradings: list[Graded], digest: str) -> Graded | None:
    """The newest grading with the run's grader; where the run names no grader, the newest."""
    return next((g for g in reversed(gradings) if not digest or g.digest == digest), None)
