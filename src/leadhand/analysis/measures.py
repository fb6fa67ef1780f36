"""What is measured on one folded run: phases, replies, similarity, shares. Pure; definitions in DESIGN.md section 5."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from leadhand.analysis.detector import is_source
from leadhand.analysis.fold import CommandTrack, DelegationTrack, Fold, MailTrack

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


class Files(NamedTuple):
    """Distinct source files written, by lead and by workers, as their commands name them."""

    lead: int
    workers: int


def files_written(fold: Fold, lead: str) -> Files:
    mine = {p for c in fold.commands.values() if c.agent == lead for p in c.seen.sources}
    theirs = {(c.agent, p) for c in fold.commands.values() if c.agent != lead for p in c.seen.sources}
    return Files(len(mine), len(theirs))


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
