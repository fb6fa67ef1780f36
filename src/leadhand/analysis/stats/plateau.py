"""Reward over team size: what one more worker brings, and from which size on nothing is seen any more."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from leadhand.analysis.stats.hypotheses import holm
from leadhand.analysis.stats.intervals import Estimate, Floats, mean
from leadhand.core.values import Value


class Marginal(Value, frozen=True, kw_only=True):
    """From `size` to `larger` workers: reward per added worker, with its interval over tasks."""

    size: int
    larger: int
    per_worker: Estimate
    p_adjusted: float | None = None


class Plateau(Value, frozen=True, kw_only=True):
    """`plateau_from`: the smallest size that no larger one is shown to beat (paired t, one family, Holm at 5 %).

    `beaten_by_at_most`: the upper limit of what any larger size can still bring over it, so that "flat" is a bound
    and not the absence of a proof. Where that is large the study was too small to say "flat".
    """

    marginal: tuple[Marginal, ...]
    plateau_from: int | None
    beaten_by_at_most: float | None


def plateau(rewards: Mapping[int, Floats]) -> Plateau:
    """Rewards by size, one number per task in the same order for all sizes."""
    sizes = sorted(rewards)
    steps = list(itertools.pairwise(sizes))
    marginal = [Marginal(size=a, larger=b, per_worker=mean((rewards[b] - rewards[a]) / (b - a))) for a, b in steps]
    pairs = [(a, b) for i, a in enumerate(sizes) for b in sizes[i + 1 :]]
    gains = [mean(rewards[b] - rewards[a]) for a, b in pairs]
    adjusted = holm([g.p for g in gains])
    found = {
        pair
        for pair, gain, p in zip(pairs, gains, adjusted, strict=True)
        if gain.value > 0 and p is not None and p < 0.05
    }
    start = next((s for s in sizes if not any(a == s for a, _ in found)), None)
    above = [g.high for (a, _), g in zip(pairs, gains, strict=True) if a == start and g.high is not None]
    step_p = dict(zip(pairs, adjusted, strict=True))
    return Plateau(
        marginal=tuple(
            Marginal(size=m.size, larger=m.larger, per_worker=m.per_worker, p_adjusted=step_p[m.size, m.larger])
            for m in marginal
        ),
        plateau_from=start,
        beaten_by_at_most=max(above) if above else None,
    )
