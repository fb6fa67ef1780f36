"""One run at a glance: outcome, ledger by agent and role, delegations, where wall-clock went. A fold of its journal.

Times are seconds of *active* time from the run's start: what passed between two sessions of a resumed run is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from leadhand.analysis.delegations import Delegations, DelegationTrack
from leadhand.analysis.phases import PhaseClock
from leadhand.benchmarks.integrity import Finding, findings, is_invalid
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
    DelegationEnded,
    DelegationStarted,
    Entry,
    Graded,
    GradingFailed,
    GradingStarted,
    MailSent,
    MessageAdded,
    NoteAdded,
    ProcessesKilled,
    Recovered,
    RunEnded,
    SandboxStarted,
    Selected,
    SessionStarted,
    SlotClaimed,
    ToolEnded,
    ToolStarted,
    Warned,
)
from leadhand.core.ledger import Ledger, Spend
from leadhand.core.values import Assistant, Price, SandboxInfo, Task, Usage, Value

OUT = "out"  # between two delegations of a worker: nobody's time
# Most events by far concern their agent alone: a long journal is folded in half the time if they are known at once.
_AGENTS_OWN = frozenset({AttemptStarted, AttemptReplied, AttemptFailed, ToolStarted, ToolEnded, CommandEnded})


class AgentLine(Value, frozen=True, kw_only=True):
    """One agent's part. `doing` is what it does at the journal's end.

    Its seconds add up to the time it was at work: `model` in calls, `tool` in commands and other tools, `limited` held
    back by rate limits, budget and retries, `idle` waiting for workers, `other` the harness itself.
    """

    name: str
    role: str
    model: str
    worker_kind: str = ""
    served: tuple[str, ...] = ()
    steps: int = 0
    attempts: int = 0
    failed_attempts: int = 0
    usage: Usage = Usage()
    usd: float = 0.0
    unknown_usd: float = 0.0
    calls: dict[str, int] = {}
    rejected: int = 0
    model_s: float = 0.0
    tool_s: float = 0.0
    limited_s: float = 0.0
    idle_s: float = 0.0
    other_s: float = 0.0
    status: str = ""
    fault: str = ""
    doing: str = ""
    last_command: str = ""


class DelegationLine(Value, frozen=True, kw_only=True):
    """One delegation; times in seconds from the run's start, None where it has not come to that."""

    id: str
    worker: str
    assignment: str
    resumed: bool
    started_s: float
    ended_s: float | None = None
    delivered_s: float | None = None
    status: str = "running"
    report_chars: int = 0


class RoleLine(Value, frozen=True, kw_only=True):
    """The ledger of a role: solo, lead, or all workers together."""

    role: str
    agents: int
    steps: int
    usage: Usage
    usd: float
    unknown_usd: float


class Summary(Value, frozen=True, kw_only=True):
    """What `leadhand show` prints. `status` is "running" until the journal says how the run ended."""

    status: str
    text: str = ""
    reward: float | None = None
    passed: int | None = None
    total: int | None = None
    grading: str = ""
    valid: bool = False
    degraded: bool = False
    resumed: bool = False
    sandbox: SandboxInfo | None = None
    settled_usd: float = 0.0
    unknown_usd: float = 0.0
    reserved_usd: float = 0.0
    usage: Usage = Usage()
    steps: int = 0
    wall_s: float = 0.0
    team_s: float = 0.0
    grading_s: float = 0.0
    agents: tuple[AgentLine, ...] = ()
    roles: tuple[RoleLine, ...] = ()
    delegations: tuple[DelegationLine, ...] = ()
    messages: int = 0
    messages_delivered: int = 0
    rejected: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    submission: str = ""
    selected: Selected | None = None
    notes: int = 0
    slots: dict[str, str] = {}
    findings: tuple[Finding, ...] = ()


@dataclass(slots=True)
class _Agent(PhaseClock):
    name: str
    role: str
    model: str
    worker_kind: str
    served: dict[str, None] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    commands: dict[str, str] = field(default_factory=dict)
    rejected: int = 0
    status: str = ""
    fault: str = ""
    doing: str = "starting"
    last_command: str = ""


class RunFold:
    """Folds entries one at a time; `summary()` at any moment. The live display and `show` use the same one."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self.ledger = Ledger(prices)
        self.now = 0.0
        self._agents: dict[str, _Agent] = {}
        self._delegations = Delegations(reports=False)
        self._session = (-1, 0.0)
        self._rejected: list[str] = []
        self._warnings: list[str] = []
        self._messages = [0, 0]
        self._ended: RunEnded | None = None
        self._graded: Graded | None = None
        self._grading = ""
        self._grading_at = 0.0
        self._grading_s = 0.0
        self._team_s = 0.0
        self._sessions = 0
        self._sandbox: SandboxInfo | None = None
        self._submission = ""
        self._selected: Selected | None = None
        self._notes = 0
        self._slots: dict[str, str] = {}

    def apply(self, entry: Entry) -> None:
        self._advance(entry)
        self.ledger.apply(entry)
        if type(entry.event) not in _AGENTS_OWN:
            self._of_run(entry)
        agent = self._agents.get(entry.agent)
        if isinstance(entry.event, AgentStarted):
            e = entry.event
            phase = OUT if e.role == "worker" else "other"
            self._agents[entry.agent] = _Agent(entry.agent, e.role, e.model, e.worker_kind, phase=phase, since=self.now)
        elif agent is not None:
            self._of_agent(agent, entry)

    def _advance(self, entry: Entry) -> None:
        session, last = self._session
        if entry.session == session:
            self.now += max(0.0, entry.mono - last)
        elif session >= 0:
            for agent in self._agents.values():  # what a killed session had open took no more time
                agent.open_tools.clear()
                agent.turn(OUT if agent.phase == OUT else "other", self.now)
        self._session = (entry.session, entry.mono)

    def _of_run(self, entry: Entry) -> None:
        match entry.event:
            case SessionStarted() if self._ended is None:
                self._sessions += 1
            case Recovered() as e:
                self._warnings.append(f"the journal had a torn last line of {e.bytes_cut} bytes, cut off on resume")
            case SandboxStarted() as e:
                self._sandbox = e.info
            case Warned() as e:
                self._warnings.append(e.text)
            case ProcessesKilled() as e if e.count and "before collecting" not in e.why:
                self._warnings.append(f"{e.count} processes killed: {e.why}")
            case CheckEnded(outcome="not_tried") as e:
                self._warnings.append(f"the finish check could not be carried out: {e.fault}")
            case Collected() as e:
                self._submission = e.blob
            case DelegationStarted() as e:
                self._delegations.begin(e, self.now)
                if (worker := self._agents.get(e.worker)) is not None:
                    worker.turn("other", self.now)
                    worker.status = ""
            case DelegationEnded() as e:
                self._delegations.end(e, self.now)
                if (worker := self._agents.get(e.worker)) is not None:
                    worker.turn(OUT, self.now)
            case MessageAdded() as e:
                self._messages[1] += len(e.mail)
                self._delegations.deliver(e.delivers, self.now)
            case MailSent():
                self._messages[0] += 1
            case NoteAdded():
                self._notes += 1
            case SlotClaimed() as e:
                self._slots[e.slot] = entry.agent
            case Selected() as e:
                self._selected = e
            case RunEnded() as e:
                self._ended, self._team_s = e, self.now
            case GradingStarted():
                self._grading, self._grading_at = "running", self.now
            case Graded() as e:
                self._graded, self._grading = e, "graded"
                self._grading_s = self.now - self._grading_at
            case GradingFailed() as e:
                self._grading = f"failed: {e.error}"

    def _of_agent(self, agent: _Agent, entry: Entry) -> None:
        match entry.event:
            case AttemptStarted() as e:
                held = min(e.waited_s, self.now - agent.since) if agent.phase != "limited" else 0.0
                agent.since += held
                agent.seconds["limited"] = agent.seconds.get("limited", 0.0) + held
                agent.turn("model", self.now)
                agent.doing = "thinking" if e.tries == 1 else f"thinking (try {e.tries})"
            case AttemptReplied() as e:
                agent.turn("other", self.now)
                agent.served[e.model] = None
                agent.doing = "acting"
                assert isinstance(e.message.body, Assistant)
                step = self.ledger.agents[agent.name].steps
                for i, call in enumerate(e.message.body.calls):
                    agent.commands[f"{agent.name}.{step}.{i}"] = call.arguments
            case AttemptFailed() as e:
                agent.turn("limited" if e.retry_in_s is not None else "other", self.now)
                agent.doing = f"{e.fault}, next try in {e.retry_in_s:.0f} s" if e.retry_in_s is not None else e.fault
            case ToolStarted() as e:
                agent.calls[e.tool] = agent.calls.get(e.tool, 0) + 1
                agent.open_tools[e.call] = e.tool
                agent.turn(agent.tooling(), self.now)
                agent.doing = e.tool
                if e.tool == "bash":
                    agent.last_command = agent.commands.get(e.call, "")
            case CheckStarted() as e:
                agent.open_tools[e.check] = "check"
                agent.turn(agent.tooling(), self.now)
                agent.doing = "its work is tried"
            case CheckEnded() as e:
                agent.open_tools.pop(e.check, None)
                agent.turn(agent.tooling(), self.now)
            case (ToolEnded() | CommandEnded()) as e:
                agent.open_tools.pop(e.call, None)
                agent.turn(agent.tooling(), self.now)
            case MessageAdded():
                agent.commands.clear()
                agent.doing = "ready"
            case CallRejected() as e:
                agent.rejected += 1
                self._rejected.append(f"{entry.agent}: {e.tool}: {e.reason}")
            case AgentEnded() as e:
                agent.status, agent.fault, agent.doing = e.status, e.fault or agent.fault, e.status
                agent.open_tools.clear()
                agent.turn(OUT, self.now)

    # --- the result --------------------------------------------------------------------------------------------

    def summary(self) -> Summary:
        ended, graded = self._ended, self._graded
        status = ended.status if ended else "running"
        agents = tuple(self._line(a) for a in _in_order(self._agents))
        grade = graded.grade if graded else None
        usage = sum((a.usage for a in agents), Usage())
        return Summary(
            status=status,
            text=ended.text if ended else "",
            reward=grade.reward if grade else None,
            passed=grade.passed if grade else None,
            total=grade.total if grade else None,
            grading=self._grading,
            valid=status not in ("running", "cancelled", "infrastructure"),
            degraded=any(a.fault for a in agents),
            resumed=self._sessions > 0 and status != "running",
            sandbox=self._sandbox,
            settled_usd=self.ledger.settled,
            unknown_usd=self.ledger.unknown + (self.ledger.reserved if ended else 0.0),
            reserved_usd=0.0 if ended else self.ledger.reserved,
            usage=usage,
            steps=sum(a.steps for a in agents),
            wall_s=self.now,
            team_s=self._team_s if ended else self.now,
            grading_s=self._grading_s,
            agents=agents,
            roles=_roles(agents),
            delegations=tuple(map(_delegation, self._delegations.values())),
            messages=self._messages[0],
            messages_delivered=self._messages[1],
            rejected=tuple(self._rejected),
            warnings=tuple(self._warnings),
            submission=self._submission,
            selected=self._selected,
            notes=self._notes,
            slots=dict(self._slots),
        )

    def _line(self, a: _Agent) -> AgentLine:
        spend = self.ledger.agents.get(a.name, Spend())
        seconds = dict.fromkeys(("model", "tool", "limited", "idle", "other"), 0.0) | a.seconds
        seconds[a.phase] = seconds.get(a.phase, 0.0) + self.now - a.since
        return AgentLine(
            name=a.name,
            role=a.role,
            model=a.model,
            worker_kind=a.worker_kind,
            served=tuple(m for m in a.served if m),
            steps=spend.steps,
            attempts=spend.attempts,
            failed_attempts=spend.failed,
            usage=spend.usage,
            usd=spend.settled,
            unknown_usd=spend.unknown,
            calls=dict(sorted(a.calls.items())),
            rejected=a.rejected,
            model_s=seconds["model"],
            tool_s=seconds["tool"],
            limited_s=seconds["limited"],
            idle_s=seconds["idle"],
            other_s=seconds["other"],
            status=a.status,
            fault=a.fault,
            doing=a.doing,
            last_command=a.last_command,
        )


def _delegation(d: DelegationTrack) -> DelegationLine:
    return DelegationLine(
        id=d.delegation,
        worker=d.worker,
        assignment=d.assignment,
        resumed=d.resumed,
        started_s=d.started,
        ended_s=d.ended,
        delivered_s=d.delivered,
        status=d.status or "running",
        report_chars=d.report_chars,
    )


def _in_order(agents: Mapping[str, _Agent]) -> list[_Agent]:
    """As they joined; candidates, who join as soon as their sandboxes are there, by their numbers."""
    found = list(agents.values())
    if len(found) > 1 and all(a.role == "solo" for a in found):
        found.sort(key=lambda a: (len(a.name), a.name))
    return found


def _roles(agents: Iterable[AgentLine]) -> tuple[RoleLine, ...]:
    by_role: dict[str, list[AgentLine]] = {}
    for agent in agents:
        by_role.setdefault(agent.role, []).append(agent)
    return tuple(
        RoleLine(
            role=role,
            agents=len(own),
            steps=sum(a.steps for a in own),
            usage=sum((a.usage for a in own), Usage()),
            usd=sum(a.usd for a in own),
            unknown_usd=sum(a.unknown_usd for a in own),
        )
        for role, own in by_role.items()
    )


def check_words(e: CheckEnded) -> str:
    """How a check of the work came out, in a few words."""
    match e.outcome:
        case "passed":
            return "the build works"
        case "failed":
            how = f"exit code {e.exit_code}" if e.ended == "exited" else e.ended.replace("_", " ")
            return f"the build fails ({how})"
        case "interrupted":
            return "interrupted"
    return f"could not be tried: {e.fault}"


def summarise(entries: Iterable[Entry], prices: Mapping[str, Price], task: Task | None = None) -> Summary:
    """The summary of a whole journal; with the task, also what was done that its rules forbid."""
    entries = list(entries)
    fold = RunFold(prices)
    for entry in entries:
        fold.apply(entry)
    summary = fold.summary()
    if task is None:
        return summary
    found = findings(entries, task)
    return msgspec.structs.replace(summary, findings=found, valid=summary.valid and not is_invalid(found))
