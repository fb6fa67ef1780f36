"""The answer in a paragraph: what to buy, how sure it is, and what the study cannot say."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from leadhand.analysis.compare import pairwise_p
from leadhand.report.evidence import Evidence, mean_of

NAMED = 6
"""So many designs of the frontier are named; the table has them all."""


def answer(e: Evidence) -> str:
    """A few sentences from the numbers alone."""
    known = [s for s in e.summaries.values() if s.reward is not None and s.reachable]
    if not known:
        return "No design has a graded run that counts, so nothing can be said."
    best = max(known, key=lambda s: mean_of(s.reward) or 0.0)
    parts = [_best(e, best.design)]
    if len(known) > 1:
        parts.append(_rivals(e, best.design, [s.design for s in known]))
    frontier = [s for s in known if s.on_frontier]
    if frontier:
        surest = sorted(frontier, key=lambda s: -(s.frontier or 0.0))[:NAMED]
        surest.sort(key=lambda s: mean_of(s.cost) or 0.0)
        names = "; ".join(f"{s.design} ({100 * (s.frontier or 0):.0f} %)" for s in surest)
        more = f"; and, less sure, {len(frontier) - NAMED} more" if len(frontier) > NAMED else ""
        parts.append(
            f"From cheap to dear, nobody beats these by their means: {names}{more}; in brackets, how sure that is."
        )
    parts.append(_bounds(e))
    parts.append(_sight(e))
    return " ".join(p for p in parts if p)


def _best(e: Evidence, design: str) -> str:
    s = e.summaries[design]
    assert s.reward is not None
    cost = f" for ${s.cost.value:.2f} a task" if s.cost is not None else ""
    spread = f" ± {s.reward.half:.3f}" if s.reward.low is not None else ""
    return f"The highest mean reward is that of {design}: {s.reward.value:.3f}{spread}{cost}."


def _rivals(e: Evidence, best: str, known: Sequence[str]) -> str:
    """Which designs are not shown to be worse, and the cheapest of them."""
    p = pairwise_p(e.scores, known, e.method)
    others = [d for d in known if d != best]
    alike = [d for d in others if (found := p[best, d]) is None or found >= 0.05]
    how = f"paired over tasks, Holm over all {comb(len(known), 2)} pairs, 5 %"
    if not alike:
        all_others = "the other" if len(others) == 1 else f"each of the other {len(others)} designs"
        return f"It is better than {all_others} ({how})."
    costed = [d for d in (*alike, best) if e.summaries[d].cost is not None]
    cheapest = min(costed, key=lambda d: mean_of(e.summaries[d].cost) or 0.0) if costed else ""
    cheap = ""
    if cheapest and cheapest != best:
        cheap = f"; the cheapest of these is {cheapest} at ${mean_of(e.summaries[cheapest].cost):.2f} a task"
    few = "; ".join(alike[:3]) + (f"; and {len(alike) - 3} more" if len(alike) > 3 else "")
    return f"Not shown to be worse ({how}): {few}{cheap}."


def _bounds(e: Evidence) -> str:
    """What a perfect choice among candidates would bring, which nobody can buy."""
    bounds = [s for s in e.summaries.values() if s.reward is not None and not s.reachable]
    told = "; ".join(f"{s.design} {mean_of(s.reward):.3f}" for s in bounds)
    return f"Out of reach, as upper bounds (the grader chose the best candidate): {told}." if told else ""


def _sight(e: Evidence) -> str:
    """What this study could see."""
    if not e.comparisons:
        return ""
    detectable = sorted(c.mde for c in e.comparisons)
    middle = detectable[len(detectable) // 2]
    repeats = f"{e.scores.repeats} repeat{'s' if e.scores.repeats != 1 else ''}"
    return (
        f"With {len(e.scores.tasks)} tasks and {repeats}, a typical comparison "
        f"finds a true difference of {100 * middle:.1f} points with 80 % power; smaller ones may be missed."
    )
