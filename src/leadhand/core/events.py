"""The closed set of events that a run's journal consists of. Events carry deltas; every event names its agent.

An event is written once and never changed. Intent comes before dispatch (`AttemptStarted`, `ToolStarted`), the outcome
after, so a journal cut at any byte tells what may have been billed and done.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from leadhand.core.chain import Elided, Message, Root
from leadhand.core.errors import Fault
from leadhand.core.values import ExecResult, Grade, SandboxInfo, Usage

FORMAT = 1

AgentEnd = Literal[
    "finished",
    "gave_up",
    "out_of_budget",
    "out_of_steps",
    "out_of_time",
    "out_of_context",
    "refused",
    "failed",
    "cancelled",
]
RunEnd = Literal[
    "finished",
    "out_of_budget",
    "out_of_steps",
    "out_of_time",
    "out_of_context",
    "refused",
    "gave_up",
    "cancelled",
    "infrastructure",
]
DelegationEnd = Literal["finished", "partial", "failed", "timed_out", "cancelled", "abandoned"]
Role = Literal["solo", "lead", "worker", "peer"]


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", gc=False):
    """Base of all events; `kind` tells them apart in the journal."""


# --- the run ---------------------------------------------------------------------------------------------------


class RunStarted(Event, frozen=True, kw_only=True, tag="run_started"):
    """First event. `digest` is the run's identity; everything resolved is in `run.json`."""

    digest: str
    version: str


class SessionStarted(Event, frozen=True, kw_only=True, tag="session_started"):
    """A process began to work on this run. Monotonic times count within one session."""

    version: str


class Recovered(Event, frozen=True, kw_only=True, tag="recovered"):
    """A resumed run's journal ended in a torn line of this many bytes, which was cut off."""

    bytes_cut: int


class SandboxStarted(Event, frozen=True, kw_only=True, tag="sandbox_started"):
    info: SandboxInfo
    reattached: bool = False


class ProcessesKilled(Event, frozen=True, kw_only=True, tag="processes_killed"):
    """Leftover processes were killed: on resume and before collecting."""

    count: int
    why: str


class Warned(Event, frozen=True, kw_only=True, tag="warned"):
    text: str


class Collected(Event, frozen=True, kw_only=True, tag="collected"):
    """The submitted workspace, as a .tar.gz in `blobs/`."""

    blob: str
    bytes: int


class RunEnded(Event, frozen=True, kw_only=True, tag="run_ended"):
    status: RunEnd
    text: str = ""


class GradingStarted(Event, frozen=True, kw_only=True, tag="grading_started"):
    digest: str


class Graded(Event, frozen=True, kw_only=True, tag="graded"):
    """A grading's outcome; the newest with the current grader digest counts."""

    grade: Grade
    digest: str


class GradingFailed(Event, frozen=True, kw_only=True, tag="grading_failed"):
    digest: str
    error: str


# --- agents and conversations ----------------------------------------------------------------------------------


class AgentStarted(Event, frozen=True, kw_only=True, tag="agent_started"):
    """An agent joined. `root` is given once per distinct root; `at` is the inherited head of a forked worker."""

    role: Role
    model: str
    root_id: str
    root: Root | None = None
    reasoning: str = ""
    worker_kind: str = ""
    at: str = ""


class MessageAdded(Event, frozen=True, kw_only=True, tag="message_added"):
    """The harness added a message to the agent's conversation.

    `delivers`: delegations whose report text enters the lead's chain with it; `announces`: those told in one line;
    `mail`: messages from other agents that enter with it; `assigns`: the delegation whose assignment it is; `notes`:
    how much of the log of notes the agent has been told of. One event, so that nothing is delivered twice or lost.
    """

    message: Message
    delivers: tuple[str, ...] = ()
    announces: tuple[str, ...] = ()
    mail: tuple[str, ...] = ()
    assigns: str = ""
    notes: int = 0


class Compacted(Event, frozen=True, kw_only=True, tag="compacted"):
    """The agent's conversation did not fit and goes on in a new chain: the old one, some tool results replaced.

    `head` is the new chain's. The old chain with all its text stays in the journal; `elided` is all that differs.
    """

    head: str
    elided: tuple[Elided, ...]


class CheckStarted(Event, frozen=True, kw_only=True, tag="check_started"):
    """What the agent would hand in is about to be tried, since it wants to finish: checks are c1, c2, ..."""

    check: str


class CheckEnded(Event, frozen=True, kw_only=True, tag="check_ended"):
    """How a check came out. Only after `failed` is the agent told (`text`) and goes on.

    `not_tried`: the check could not be carried out (`fault`), which is held against nobody. `interrupted`: the harness
    was stopped meanwhile; a resumed run begins another one.
    """

    check: str
    outcome: Literal["passed", "failed", "not_tried", "interrupted"]
    text: str = ""
    exit_code: int = 0
    ended: Literal["exited", "timed_out", "killed", "flooded", "runner_lost"] = "exited"
    seconds: float = 0.0
    fault: str = ""


class AgentEnded(Event, frozen=True, kw_only=True, tag="agent_ended"):
    """The agent came to an end (a worker: of its delegation). `fault`: the provider or sandbox fault that did it."""

    status: AgentEnd
    text: str = ""
    fault: str = ""


# --- model calls -----------------------------------------------------------------------------------------------


class AttemptStarted(Event, frozen=True, kw_only=True, tag="attempt_started"):
    """An attempt is about to be sent; its worst case in tokens is what the budget reserved.

    `cache_ttl` is the lifetime that was asked for of the provider's prompt cache ("": the provider's default).
    """

    attempt: int
    head: str
    model: str
    prompt_bound: int
    output_bound: int
    tries: int = 1
    waited_s: float = 0.0
    cache_ttl: str = ""


class AttemptReplied(Event, frozen=True, kw_only=True, tag="attempt_replied"):
    """One billed model response: one step. The reply itself enters the conversation with it."""

    attempt: int
    message: Message
    usage: Usage
    model: str = ""
    request_id: str = ""


class AttemptFailed(Event, frozen=True, kw_only=True, tag="attempt_failed"):
    """The attempt failed, or was cut by us ("cut"). Where it may have been billed, its bound stays unknown spend."""

    attempt: int
    fault: Fault | Literal["cut"]
    error: str
    maybe_billed: bool = False
    usage: Usage | None = None
    retry_in_s: float | None = None
    request_id: str = ""


# --- tools -----------------------------------------------------------------------------------------------------


class ToolStarted(Event, frozen=True, kw_only=True, tag="tool_started"):
    """`call` is unique in the run: agent.step.index. The arguments are in the message that made the call."""

    call: str
    tool: str


class CommandEnded(Event, frozen=True, kw_only=True, tag="command_ended"):
    """A shell command's outcome. `head` and `tail` are exact: UTF-8 text, or base64 where `encoding` says so."""

    call: str
    exit_code: int
    head: str = ""
    tail: str = ""
    encoding: Literal["utf-8", "base64"] = "utf-8"
    size: int = 0
    spill: str = ""
    seconds: float = 0.0
    ended: Literal["exited", "timed_out", "killed", "flooded", "runner_lost"] = "exited"
    changed: tuple[str, ...] = ()


class ToolEnded(Event, frozen=True, kw_only=True, tag="tool_ended"):
    """Outcome of every other tool, and of calls that could not be carried out at all.

    `delivers`: delegations whose reports are in `text`; `notes`: how much of the log of notes has been read with it.
    """

    call: str
    text: str
    is_error: bool = False
    delivers: tuple[str, ...] = ()
    notes: int = 0


class CallRejected(Event, frozen=True, kw_only=True, tag="call_rejected"):
    """A call that the rules do not allow (over the cap, unknown worker, ...): explained, counted, harmless."""

    call: str
    tool: str
    reason: str


# --- the team --------------------------------------------------------------------------------------------------


class DelegationStarted(Event, frozen=True, kw_only=True, tag="delegation_started"):
    """An accepted `delegate_agent` call. The event's agent is the lead."""

    delegation: str
    worker: str
    call: str
    assignment: str
    resumed: bool = False
    worker_kind: str = ""
    conventions: str = ""


class DelegationEnded(Event, frozen=True, kw_only=True, tag="delegation_ended"):
    """Exactly one per delegation. `spill`: path in the sandbox of a report too long to be shown whole."""

    delegation: str
    worker: str
    status: DelegationEnd
    report: str
    spill: str = ""


class MailSent(Event, frozen=True, kw_only=True, tag="mail_sent"):
    """An accepted `send_message`; it is delivered with the `MessageAdded` that lists it."""

    mail: str
    to: str
    text: str
    call: str


# --- without a lead --------------------------------------------------------------------------------------------


class NoteAdded(Event, frozen=True, kw_only=True, tag="note_added"):
    """A peer wrote into the shared log: notes are n1, n2, ... in the order of the journal, and none ever changes."""

    note: str
    text: str
    call: str


class SlotClaimed(Event, frozen=True, kw_only=True, tag="slot_claimed"):
    """A peer has a slot for itself, as long as it has not ended without finishing."""

    slot: str
    call: str


class CandidateKept(Event, frozen=True, kw_only=True, tag="candidate_kept"):
    """What a candidate (the entry's agent) has made, as a .tar.gz in `blobs/`."""

    blob: str
    bytes: int


class CandidateGraded(Event, frozen=True, kw_only=True, tag="candidate_graded"):
    """What the task's grader says of a candidate (the entry's agent): for choosing by oracle, never the run's grade.

    `error` says why there is no grade.
    """

    grade: Grade | None = None
    error: str = ""


class Selected(Event, frozen=True, kw_only=True, tag="selected"):
    """Whose work is the run's result, and by what: `first`, `last` (peers); `tests`, `majority`, `oracle` (candidates).

    `scores` are the selector's, by agent; None where it has none. By `oracle` the result is an upper bound.
    """

    chosen: str
    selector: str
    scores: dict[str, float | None] = {}


AnyEvent = (
    RunStarted
    | SessionStarted
    | Recovered
    | SandboxStarted
    | ProcessesKilled
    | Warned
    | Collected
    | RunEnded
    | GradingStarted
    | Graded
    | GradingFailed
    | AgentStarted
    | MessageAdded
    | Compacted
    | CheckStarted
    | CheckEnded
    | AgentEnded
    | AttemptStarted
    | AttemptReplied
    | AttemptFailed
    | ToolStarted
    | CommandEnded
    | ToolEnded
    | CallRejected
    | DelegationStarted
    | DelegationEnded
    | MailSent
    | NoteAdded
    | SlotClaimed
    | CandidateKept
    | CandidateGraded
    | Selected
)


class Entry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One line of a journal. `seq` is dense per run; `mono` is seconds on the session's monotonic clock."""

    v: int
    seq: int
    at: str
    session: int
    mono: float
    agent: str
    event: AnyEvent


def command_ended(call: str, result: ExecResult) -> CommandEnded:
    """A command's result as an event: text where it is UTF-8, base64 where it is not."""
    encoding: Literal["utf-8", "base64"] = "utf-8"
    try:
        head, tail = result.head.decode(), result.tail.decode()
    except UnicodeDecodeError:
        import base64

        encoding = "base64"
        head, tail = base64.b64encode(result.head).decode(), base64.b64encode(result.tail).decode()
    return CommandEnded(
        call=call,
        exit_code=result.exit_code,
        head=head,
        tail=tail,
        encoding=encoding,
        size=result.size,
        spill=result.spill,
        seconds=round(result.seconds, 6),
        ended=result.ended,
        changed=result.changed,
    )


def output_bytes(event: CommandEnded) -> tuple[bytes, bytes]:
    """Head and tail of a command's output, exact."""
    if event.encoding == "base64":
        import base64

        return base64.b64decode(event.head), base64.b64decode(event.tail)
    return event.head.encode(), event.tail.encode()
