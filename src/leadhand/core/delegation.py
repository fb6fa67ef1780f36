"""Which `delegate_agent` calls are accepted, and which worker they go to. Pure functions of the state."""

from __future__ import annotations

from typing import NamedTuple

from leadhand.core.agent import Rejected
from leadhand.core.design import Design, Kind
from leadhand.core.events import AgentEnded, DelegationEnd
from leadhand.core.state import AgentState, State
from leadhand.core.tools import Delegate
from leadhand.core.values import Assistant


class Choice(NamedTuple):
    """The worker that a delegation goes to. `resumed`: it has worked before and remembers."""

    worker: str
    kind: Kind
    resumed: bool


def choose(state: State, design: Design, arguments: Delegate) -> Choice:
    """The worker for an assignment; raises `Rejected` with the reason."""
    if not arguments.assignment.strip():
        raise Rejected("the assignment is empty; say what the worker is to do and report")
    if arguments.worker:
        known = state.agents.get(arguments.worker)
        if known is not None and known.role == "worker" and _has_worked(state, known.name):
            return _resume(state, design, known, arguments.kind)
        if arguments.worker not in unused(state, design):
            raise Rejected(_unknown(state, design, arguments.worker))
        return Choice(arguments.worker, _kind(state, design, arguments.kind), resumed=False)
    free = unused(state, design)
    if not free:
        raise Rejected(
            f"all {design.cap} workers of the team are in use; give the assignment to one of them with worker=..."
        )
    return Choice(free[0], _kind(state, design, arguments.kind), resumed=False)


def _has_worked(state: State, worker: str) -> bool:
    return any(d.worker == worker for d in state.delegations.values())


def unused(state: State, design: Design) -> list[str]:
    """Ids that a new worker can take, lowest first. A dynamic team hands them out in order, one at a time."""
    free = [w for w in (f"w{i}" for i in range(1, design.cap + 1)) if not _has_worked(state, w)]
    return free if design.workers is not None else free[:1]


def _unknown(state: State, design: Design, name: str) -> str:
    workers = ", ".join(w.name for w in state.workers()) or "none yet"
    return f"there is no worker {name[:40]!r}; your workers: {workers}. Leave worker out for a new one"


def _resume(state: State, design: Design, worker: AgentState, kind: str | None) -> Choice:
    if state.running(worker.name):
        raise Rejected(f"{worker.name} is busy; wait for it, or give this to another worker")
    last = [d for d in state.delegations.values() if d.worker == worker.name][-1]
    ended = worker.ended.status if worker.ended else ""
    if last.status == "abandoned" or ended in ("out_of_context", "refused") or worker.steps >= design.limits.steps:
        raise Rejected(f"{worker.name} cannot go on ({ended or last.status}); give this to another worker")
    if kind and kind != worker.worker_kind:
        raise Rejected(f"{worker.name} is of kind {worker.worker_kind!r}, not {kind!r}")
    return Choice(worker.name, next(k for k in design.worker_kinds if k.name == worker.worker_kind), resumed=True)


def _kind(state: State, design: Design, wanted: str | None) -> Kind:
    used = [w.worker_kind for w in state.workers() if _has_worked(state, w.name)]
    room = [k for k in design.worker_kinds if k.count is None or used.count(k.name) < k.count]
    if wanted:
        if wanted not in [k.name for k in design.worker_kinds]:
            names = ", ".join(repr(k.name) for k in design.worker_kinds if k.name) or "only one, leave kind out"
            raise Rejected(f"there is no kind {wanted[:40]!r} of worker; kinds: {names}")
        room = [k for k in room if k.name == wanted]
    if not room:
        raise Rejected("no worker of that kind is left; resume one with worker=..., or take another kind")
    return room[0]


def outcome(agent: AgentState, end: AgentEnded) -> tuple[DelegationEnd, str]:
    """How a worker's end looks to the lead: the delegation's status and the report text."""
    match end.status:
        case "finished":
            return "finished", end.text.strip() or "(the worker finished without a word)"
        case "failed":
            fault = end.fault or end.text or "unknown fault"
            return "failed", f"(the worker failed: {fault})\n{_last_words(agent)}"
        case "cancelled":
            return "cancelled", broken_off(agent, end.text)
        case "out_of_time":
            return "timed_out", broken_off(agent, end.text)
        case _:
            return "partial", f"(the worker ended early: {end.status})\n{_last_words(agent)}"


def _last_words(agent: AgentState) -> str:
    """The last text that a worker wrote, for a report that it could not write itself. Only its own words count."""
    own = agent.conversation.messages[agent.briefed_at :]
    for message in reversed(own):
        if isinstance(message.body, Assistant) and message.body.text.strip():
            return f"Its last words:\n{message.body.text.strip()}"
    return "It had said nothing."


def broken_off(agent: AgentState, why: str) -> str:
    """The report of a worker that was stopped from outside."""
    return f"(the worker was stopped: {why}. Files it was editing may be half done)\n{_last_words(agent)}"
