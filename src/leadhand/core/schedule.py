"""Delivery: what reaches an agent on the last result of its turn. Pure functions of the state."""

from __future__ import annotations

from typing import NamedTuple

from leadhand.core import framing
from leadhand.core.design import Design
from leadhand.core.events import ToolEnded
from leadhand.core.state import Delegation, State


class Push(NamedTuple):
    """Text to append to a turn's last result, and what it delivers."""

    text: str = ""
    delivers: tuple[str, ...] = ()
    announces: tuple[str, ...] = ()
    mail: tuple[str, ...] = ()
    notes: int = 0


NOTHING = Push()


def due(state: State, design: Design, agent: str, already: frozenset[str] = frozenset()) -> Push:
    """What is pushed to `agent` now: reports or one-line notices by schedule (lead only), mail, word of new notes.

    `already`: delegations that this turn delivers by another way.
    """
    parts: list[str] = []
    delivers: tuple[str, ...] = ()
    announces: tuple[str, ...] = ()
    if state.agents[agent].role == "lead":
        ended = [d for d in state.undelivered() if d.id not in already]
        if design.schedule == "push" and ended:
            delivers = tuple(d.id for d in ended)
            parts.append(framing.merged(ended, design.report_chars, design.merged_chars))
        elif design.schedule == "notify":
            new = [d for d in ended if not d.announced]
            announces = tuple(d.id for d in new)
            parts.extend(f"[{notice(d)}; call read_report to read it]" for d in new)
    inbox = state.inbox(agent)
    if inbox:
        parts.append(framing.messages(inbox, design.report_chars, design.merged_chars))
    notes = news(state, agent)
    if notes:
        parts.append(f"[{notes} new {'note' if notes == 1 else 'notes'}: call read_notes]")
    return Push("\n\n".join(parts), delivers, announces, tuple(m.id for m in inbox), len(state.notes) if notes else 0)


def news(state: State, agent: str) -> int:
    """How many notes of others an agent has neither read nor been told of."""
    own = state.agents[agent]
    if own.role != "peer":
        return 0
    return sum(note.author != agent for note in state.notes[max(own.told, own.read) :])


def notice(delegation: Delegation) -> str:
    return f"{delegation.id} of {delegation.worker} {delegation.status}"


def pending(state: State, design: Design, agent: str) -> bool:
    """Whether a `wait` returns at once: something has arrived that the lead has not been told of.

    What an earlier call of the same turn has read counts as told.
    """
    read = {d for r in state.agents[agent].results.values() if isinstance(r, ToolEnded) for d in r.delivers}
    ended = [d for d in state.undelivered() if d.id not in read]
    if design.schedule == "notify":
        ended = [d for d in ended if not d.announced]
    return bool(ended) or bool(state.inbox(agent))


def overview(state: State) -> str:
    """One line on who is done and who still works."""
    done = ", ".join(notice(d) for d in state.undelivered())
    busy = ", ".join(f"{d.id} of {d.worker}" for d in state.running())
    return f"ended: {done or 'none'}; still running: {busy or 'none'}"


def roster(state: State, design: Design) -> str:
    """The answer of `list_workers`: a line a worker."""
    lines = []
    for worker in state.workers():
        own = [d for d in state.delegations.values() if d.worker == worker.name]
        last = own[-1] if own else None
        doing = "unused" if last is None else f"{last.id} {last.status or 'running'}"
        unread = " (report not read)" if last and last.status and not last.delivered else ""
        kind = f" [{worker.worker_kind}]" if worker.worker_kind else ""
        lines.append(f"{worker.name}{kind}: {doing}{unread}; {worker.steps} steps")
    free = design.cap - len(state.workers())
    lines.append(f"{free} more can be started" if design.workers is None else f"{free} not used yet")
    return "\n".join(lines)
