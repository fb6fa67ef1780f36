"""The state of a run: a fold of its journal, kept while it runs and rebuilt when it is resumed.

The team changes nothing here by hand. It appends an event, the journal hands the entry to `State.apply`: so a resumed
run starts from exactly what a running one knew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from leadhand.core.chain import Conversation, Message, Root, rechained
from leadhand.core.errors import JournalError
from leadhand.core.events import (
    AgentEnded,
    AgentStarted,
    AttemptFailed,
    AttemptReplied,
    AttemptStarted,
    CallRejected,
    CheckEnded,
    CheckStarted,
    CommandEnded,
    Compacted,
    DelegationEnd,
    DelegationEnded,
    DelegationStarted,
    Entry,
    MailSent,
    MessageAdded,
    NoteAdded,
    Role,
    RunEnded,
    Selected,
    SlotClaimed,
    ToolEnded,
    ToolStarted,
)
from leadhand.core.ledger import Ledger
from leadhand.core.values import Price


@dataclass(slots=True)
class AgentState:
    """One agent as the journal tells it. `steps` counts its own billed replies, over all its delegations.

    `briefed_at` is how long the conversation was when the latest assignment entered it; `asked` is the head of the
    latest prompt that was replied to, and its tokens. `rejected` holds the turn's calls that were refused. `told` and
    `read` are how much of the log of notes the agent has been told of, and has read. `overflowed` is the latest prompt
    that did not fit; `origins` says, for messages of a compacted chain, as which message each was first recorded.
    `checking` is the check of its work that has begun and not ended, `checked` how that of its latest turn came out.
    """

    name: str
    role: Role
    model: str
    reasoning: str
    worker_kind: str
    conversation: Conversation
    steps: int = 0
    ended: AgentEnded | None = None
    started: set[str] = field(default_factory=set)
    results: dict[str, ToolEnded | CommandEnded] = field(default_factory=dict)
    rejected: set[str] = field(default_factory=set)
    briefed_at: int = 0
    asked: tuple[str, int] = ("", 0)
    known_tokens: int = 0
    known_size: int = 0
    told: int = 0
    read: int = 0
    overflowed: str = ""
    origins: dict[str, str] = field(default_factory=dict)
    checking: str = ""
    checked: CheckEnded | None = None

    def prompt_bound(self) -> int:
        """An upper bound of the next request's prompt tokens: what is known, plus a token a byte for what is new."""
        if self.known_size == 0:
            return self.conversation.size + 512
        return self.known_tokens + (self.conversation.size - self.known_size) + 64


@dataclass(slots=True)
class Delegation:
    """One accepted `delegate_agent` call. `status` is None while it runs.

    `conventions` are those in force when it was given; `since` is the run's active time then, in seconds.
    """

    id: str
    worker: str
    call: str
    assignment: str
    resumed: bool
    conventions: str = ""
    since: float = 0.0
    status: DelegationEnd | None = None
    report: str = ""
    spill: str = ""
    briefed: bool = False
    delivered: bool = False
    announced: bool = False


@dataclass(slots=True)
class Mail:
    id: str
    sender: str
    to: str
    text: str
    delivered: bool = False


class Note(NamedTuple):
    """An entry of the log that peers share."""

    id: str
    author: str
    text: str
    call: str


class Slot(NamedTuple):
    """Who has claimed a slot, and with which call."""

    owner: str
    call: str


class State:
    """All that a team needs to go on: agents, delegations, mail, notes, money."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self.ledger = Ledger(prices)
        self.agents: dict[str, AgentState] = {}
        self.delegations: dict[str, Delegation] = {}
        self.finished_order: list[str] = []
        self.mail: dict[str, Mail] = {}
        self.mail_calls: dict[str, str] = {}
        self._inbox: dict[str, list[Mail]] = {}
        self.notes: list[Note] = []
        self.slots: dict[str, Slot] = {}
        self.ends: list[str] = []
        """Agents in the order of their latest ends."""
        self.selected: Selected | None = None
        self.attempts = 0
        self.checks = 0
        self.failed_checks = 0
        self.conventions = ""
        self.run_ended: RunEnded | None = None
        self.active_s = 0.0
        self._roots: dict[str, Root] = {}
        self._session = (-1, 0.0)

    # --- questions ---------------------------------------------------------------------------------------------

    def running(self, worker: str = "") -> list[Delegation]:
        """Delegations that have not ended, of one worker or of all."""
        return [d for d in self.delegations.values() if d.status is None and worker in ("", d.worker)]

    def undelivered(self) -> list[Delegation]:
        """Ended delegations whose report the lead has not been given, in order of completion."""
        return [d for d in map(self.delegations.__getitem__, self.finished_order) if not d.delivered]

    def inbox(self, agent: str) -> list[Mail]:
        """Mail that an agent has not been given, in the order it was sent."""
        return list(self._inbox.get(agent, ()))

    def workers(self) -> list[AgentState]:
        return [a for a in self.agents.values() if a.role == "worker"]

    def has_root(self, root_id: str) -> bool:
        return root_id in self._roots

    # --- the fold ----------------------------------------------------------------------------------------------

    def apply(self, entry: Entry) -> None:
        self._time(entry)
        self.ledger.apply(entry)
        agent = self.agents.get(entry.agent)
        match entry.event:
            case AgentStarted() as e:
                self._agent_started(entry.agent, e)
            case MessageAdded() as e if agent is not None:
                self._append(agent, e.message)
                for delegation in e.delivers:
                    self.delegations[delegation].delivered = True
                for delegation in e.announces:
                    self.delegations[delegation].announced = True
                self._read_mail(entry.agent, e.mail)
                agent.told = max(agent.told, e.notes)
                if e.assigns:
                    self.delegations[e.assigns].briefed = True
                    agent.briefed_at = len(agent.conversation.messages)
            case Compacted() as e if agent is not None:
                _compact(agent, e)
            case AttemptFailed(fault="context_length") if agent is not None:
                agent.overflowed = agent.conversation.head
            case AttemptStarted() as e:
                self.attempts = max(self.attempts, e.attempt)
            case AttemptReplied() as e if agent is not None:
                self._append(agent, e.message)
                agent.steps += 1
                agent.asked = (e.message.parent, e.usage.prompt)
                agent.known_tokens, agent.known_size = e.usage.prompt + e.usage.output, agent.conversation.size
            case ToolStarted() as e if agent is not None:
                agent.started.add(e.call)
            case (ToolEnded() | CommandEnded()) as e if agent is not None:
                agent.results[e.call] = e
                agent.read = max(agent.read, e.notes if isinstance(e, ToolEnded) else 0)
            case CallRejected() as e if agent is not None:
                agent.rejected.add(e.call)
            case CheckStarted() as e if agent is not None:
                agent.checking = e.check
                self.checks += 1
            case CheckEnded() as e if agent is not None:
                agent.checking = ""
                agent.checked = None if e.outcome == "interrupted" else e
                self.failed_checks += e.outcome == "failed"
            case AgentEnded() as e if agent is not None:
                agent.ended = e
                self.ends = [*(name for name in self.ends if name != entry.agent), entry.agent]
            case DelegationStarted() as e:
                self._delegation_started(e)
            case DelegationEnded() as e:
                d = self.delegations[e.delegation]
                d.status, d.report, d.spill = e.status, e.report, e.spill
                self.finished_order.append(e.delegation)
            case MailSent() as e:
                self.mail[e.mail] = Mail(id=e.mail, sender=entry.agent, to=e.to, text=e.text)
                self.mail_calls[e.call] = e.mail
                self._inbox.setdefault(e.to, []).append(self.mail[e.mail])
            case NoteAdded() as e:
                self.notes.append(Note(e.note, entry.agent, e.text, e.call))
            case SlotClaimed() as e:
                self.slots[e.slot] = Slot(entry.agent, e.call)
            case Selected() as e:
                self.selected = e
            case RunEnded() as e:
                self.run_ended = e

    def _time(self, entry: Entry) -> None:
        session, last = self._session
        if entry.session == session:
            self.active_s += max(0.0, entry.mono - last)
        self._session = (entry.session, entry.mono)

    def _agent_started(self, name: str, e: AgentStarted) -> None:
        if e.root is not None:
            self._roots[e.root_id] = e.root
        inherited = self._prefix(e.at) if e.at else []
        agent = self.agents[name] = AgentState(
            name=name,
            role=e.role,
            model=e.model,
            reasoning=e.reasoning,
            worker_kind=e.worker_kind,
            conversation=Conversation(self._roots[e.root_id], inherited),
        )
        if agent.conversation.root_id != e.root_id:
            raise JournalError(f"root {e.root_id} does not match its content: the journal was changed")
        if e.at:
            for other in self.agents.values():
                agent.origins |= other.origins
        # A forked worker's prompt is one that the lead was billed for: its tokens are known.
        known = [a.asked[1] for a in self.agents.values() if e.at and a.asked[0] == e.at]
        if known:
            agent.known_tokens, agent.known_size = known[0], agent.conversation.size

    def _read_mail(self, agent: str, read: tuple[str, ...]) -> None:
        for mail in read:
            self.mail[mail].delivered = True
        if read:
            self._inbox[agent] = [m for m in self._inbox.get(agent, ()) if not m.delivered]

    def _prefix(self, head: str) -> list[Message]:
        """The messages of whichever conversation holds `head`, up to it."""
        for agent in self.agents.values():
            if head == agent.conversation.root_id:
                return []
            for i, message in enumerate(agent.conversation.messages):
                if message.id == head:
                    return agent.conversation.messages[: i + 1]
        raise KeyError(f"no conversation holds message {head}")

    def _append(self, agent: AgentState, message: Message) -> None:
        agent.conversation.append(message)
        agent.started.clear()
        agent.results.clear()
        agent.rejected.clear()
        agent.checked = None

    def _delegation_started(self, e: DelegationStarted) -> None:
        if e.conventions:
            self.conventions = e.conventions
        self.delegations[e.delegation] = Delegation(
            id=e.delegation,
            worker=e.worker,
            call=e.call,
            assignment=e.assignment,
            resumed=e.resumed,
            conventions=self.conventions,
            since=self.active_s,
        )
        if e.worker in self.agents:
            self.agents[e.worker].ended = None


def _compact(agent: AgentState, e: Compacted) -> None:
    """Go on in the new chain. What is known of the prompt's tokens stays an upper bound: what went counts as kept."""
    old = agent.conversation
    new = Conversation(old.root, rechained(old.messages, e.elided))
    if new.head != e.head:
        raise JournalError(f"the compacted chain of {agent.name} ends in {new.head}, not {e.head}")
    for before, after in zip(old.messages, new.messages, strict=True):
        if before.id != after.id:
            agent.origins[after.id] = agent.origins.pop(before.id, before.id)
    agent.conversation = new
    if agent.known_size:
        agent.known_size += new.size - old.size
        agent.known_tokens += sum(len(x.text.encode()) for x in e.elided)


def state_of(entries: list[Entry], prices: Mapping[str, Price]) -> State:
    """The state after a whole journal."""
    state = State(prices)
    for entry in entries:
        state.apply(entry)
    return state
