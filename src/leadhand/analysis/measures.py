"""What is measured on one folded run: phases, replies, similarity, shares. Pure; definitions in DESIGN.md section 5."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from leadhand.analysis.delegations import DelegationTrack
from leadhand.analysis.detector import is_source
from leadhand.analysis.fold import CommandTrack, Fold, MailTrack

DUPLICATE = 0.8
"""A report whose word set overlaps an earlier one of the run by this much is counted as duplicate work."""


class Span(NamedTuple):
    """When source files were first and last written; None where they never were."""

    first: float | None
    last: float | None


def detected_span(fold: Fold) -> Span:
    """From the commands' text. A write begins when its command starts and is over when that ends."""
    return _span(c for c in fold.commands.values() if c.seen.sources)


def measured_span(fold: Fold) -> Span:
    """From the sandbox's record of changed files; (None, None) also where the sandbox keeps none."""
    return _span(c for c in fold.commands.values() if any(map(is_source, c.changed)))


def _span(writes: Iterable[CommandTrack]) -> Span:
    found = list(writes)
    if not found:
        return Span(None, None)
    return Span(min(c.started for c in found), max(c.started if c.ended is None else c.ended for c in found))


def phase(at: float, span: Span) -> str:
    """P before the first source write, V after the last, I between. A run that writes no source only plans."""
    if span.first is None or span.last is None or at < span.first:
        return "P"
    return "V" if at > span.last else "I"


class Stretch(NamedTuple):
    """A part of the critical path: seconds of active time, and whom the run waited for."""

    agent: str
    started: float
    ended: float


def critical_path(fold: Fold) -> list[Stretch]:
    """From the run's start to its end without a gap: what would have to be shorter for the run to be shorter [ours].

    The path is with the lead, but where it waits while workers run, with the one whose report ended that wait (the
    one that had run longest, where none did). The workers' part is `Fold.idle_worked`.
    """
    lead = next(iter(fold.agents), "")
    path: list[Stretch] = []
    at = 0.0
    for began, ended in fold.waits:
        if began > at:
            path.append(Stretch(lead, at, began))
        path += _waited_for(fold, lead, began, ended)
        at = ended
    if fold.ended_s > at:
        path.append(Stretch(lead, at, fold.ended_s))
    return path


def _waited_for(fold: Fold, lead: str, began: float, ended: float) -> list[Stretch]:
    """Backwards from the wait's end: each worker for as long as its delegation ran, then the one before it."""
    found: list[Stretch] = []
    running = [d for d in fold.delegations.values() if d.started < ended and (d.ended is None or d.ended > began)]
    while ended > began:
        before = [d for d in running if d.started < ended]
        done = [d for d in before if d.ended is not None and d.ended <= ended]
        chosen = max(done, key=lambda d: d.ended or 0.0) if done else min(before, key=lambda d: d.started, default=None)
        start = max(began, chosen.started) if chosen is not None else began
        found.append(Stretch(chosen.worker if chosen is not None else lead, start, ended))
        ended = start
    return found[::-1]


def replied(mail: list[MailTrack], lead: str) -> dict[str, bool]:
    """For each message of a worker to the lead: whether the lead wrote to it before it sent anything else."""
    answers: dict[str, bool] = {}
    waiting: dict[str, str] = {}
    for m in mail:
        if m.sender == lead:
            if (question := waiting.pop(m.to, None)) is not None:
                answers[question] = True
        else:
            waiting.pop(m.sender, None)
            if m.to == lead:
                answers[m.mail] = False
                waiting[m.sender] = m.mail
    return answers


def direction(m: MailTrack, lead: str) -> str:
    if m.sender == lead:
        return "lead to worker"
    return "worker to lead" if m.to == lead else "worker to worker"


def files_written(fold: Fold, agents: set[str]) -> int:
    """Distinct source files that these agents wrote. A file that two of them wrote counts for each."""
    return len({(c.agent, path) for c in fold.commands.values() if c.agent in agents for path in c.seen.sources})


def references(fold: Fold, agents: set[str], after: float = -1.0) -> int:
    """Runs of the reference executable by these agents, after a time."""
    return sum(c.seen.reference and c.agent in agents and c.started > after for c in fold.commands.values())


def calls_by_phase(delegations: Iterable[DelegationTrack], span: Span) -> Counter[str]:
    """Accepted calls at the time they were issued."""
    return Counter(phase(d.started, span) for d in delegations)


def cost_by_phase(fold: Fold, span: Span) -> dict[str, float]:
    costs = {"P": 0.0, "I": 0.0, "V": 0.0}
    for a in fold.attempts.values():
        costs[phase(a.started, span)] += a.cost
    return costs
