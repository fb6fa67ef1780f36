"""Tests beyond one comparison: several at once, and "not worse by more than a margin, at a fraction of the cost"."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from leadhand.analysis.stats.intervals import Floats
from leadhand.core.values import Value


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p values, in the order given; None stays None and does not count."""
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, i) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        adjusted[i] = highest
    return adjusted


class NonInferiority(Value, frozen=True, kw_only=True):
    """ "Within `margin` reward at `saving` lower cost", as an intersection-union test: both halves must hold.

    `p` is the larger of the two one-sided p values; `reward_low` is the one-sided lower limit of the reward
    difference, `saving_low` that of the share saved (by inverting the test: Fieller). `holds` at level `alpha`.
    """

    margin: float
    saving: float
    difference: float
    reward_low: float
    saved: float
    saving_low: float | None
    p_reward: float
    p_cost: float
    p: float
    n: int
    holds: bool
    alpha: float = 0.05


def non_inferior(
    reward: Floats,
    base_reward: Floats,
    cost: Floats,
    base_cost: Floats,
    *,
    margin: float,
    saving: float,
    alpha: float = 0.05,
) -> NonInferiority:
    """Test that the new design's reward is above the base's minus `margin`, and its cost below (1 - saving) of it.

    The cost half is a test of the mean of cost - (1 - saving) x base cost: linear in the data, so no ratio is needed.
    """
    n = len(reward)
    if n < 2:
        raise ValueError("a test needs at least two tasks")
    gain = reward - base_reward
    p_reward = _above(gain + margin)
    p_cost = _above((1 - saving) * base_cost - cost)
    t = float(stats.t.ppf(1 - alpha, n - 1))
    low = float(gain.mean()) - t * float(gain.std(ddof=1)) / math.sqrt(n)
    p = max(p_reward, p_cost)
    return NonInferiority(
        margin=margin,
        saving=saving,
        difference=float(gain.mean()),
        reward_low=low,
        saved=1 - float(cost.mean() / base_cost.mean()),
        saving_low=_saving_low(cost, base_cost, t),
        p_reward=p_reward,
        p_cost=p_cost,
        p=p,
        n=n,
        holds=p < alpha,
        alpha=alpha,
    )


def _above(values: Floats) -> float:
    """One-sided p of "the mean is not above zero"."""
    spread = float(values.std(ddof=1))
    if spread == 0:
        return 0.0 if values.mean() > 0 else 1.0
    return float(stats.t.sf(values.mean() / (spread / math.sqrt(len(values))), len(values) - 1))


def _saving_low(cost: Floats, base: Floats, t: float) -> float | None:
    """The largest saving that the one-sided test still supports; None where the base's cost is not surely above 0."""
    n = len(cost)
    c, b = float(cost.mean()), float(base.mean())
    covariance = np.cov(cost, base, ddof=1) / n
    # (c - k b)^2 = t^2 (Vc - 2 k Vcb + k^2 Vb): a quadratic in the ratio k; its upper root is the ratio's limit.
    a2 = b * b - t * t * covariance[1, 1]
    a1 = -2 * (c * b - t * t * covariance[0, 1])
    a0 = c * c - t * t * covariance[0, 0]
    under = a1 * a1 - 4 * a2 * a0
    if a2 <= 0 or under < 0:
        return None
    return 1 - float((-a1 + math.sqrt(under)) / (2 * a2))
