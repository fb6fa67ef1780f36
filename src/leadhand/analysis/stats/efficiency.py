"""What added dollars bought: efficiency, recovery, synergy (DESIGN.md section 5; formulas there are ours)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from leadhand.analysis.stats.bootstrap import Bootstrap, bca, resampled
from leadhand.analysis.stats.intervals import Floats
from leadhand.core.values import Value

Quadrant = Literal["number", "dominates", "cheaper, worse", "no base"]


class Efficiency(Value, frozen=True, kw_only=True):
    """Eta = (dR/R0)/(dC/C0) against the lead's solo PIV: ratio of means over tasks.

    Where dC <= 0 there is no number, only a `quadrant`. `cheaper_draws` is the share of bootstrap draws with dC <= 0.
    `points_per_dollar` is dR/dC in points (0.01 reward) per added dollar. `no base`: R0 or C0 is zero.
    """

    quadrant: Quadrant
    eta: Bootstrap | None
    points_per_dollar: Bootstrap | None
    added_reward: float
    added_cost: float
    cheaper_draws: float
    n: int


def efficiency(reward: Floats, base_reward: Floats, cost: Floats, base_cost: Floats) -> Efficiency:
    """All four arrays hold one number per task, in the same order."""
    data = np.column_stack([reward, base_reward, cost, base_cost])
    r, r0, c, c0 = data.mean(axis=0)
    added_reward, added_cost = float(r - r0), float(c - c0)
    cheaper = float((_added(resampled(data)) <= 0).mean()) if len(data) > 1 else float(added_cost <= 0)
    quadrant = _quadrant(added_reward, added_cost, float(r0), float(c0))
    number = quadrant == "number"
    return Efficiency(
        quadrant=quadrant,
        eta=bca(data, _eta) if number else None,
        points_per_dollar=bca(data, _points_per_dollar)
        if number or (quadrant == "no base" and added_cost > 0)
        else None,
        added_reward=added_reward,
        added_cost=added_cost,
        cheaper_draws=cheaper,
        n=len(data),
    )


def _quadrant(added_reward: float, added_cost: float, r0: float, c0: float) -> Quadrant:
    if added_cost <= 0:
        return "dominates" if added_reward > 0 else "cheaper, worse"
    return "number" if r0 > 0 and c0 > 0 else "no base"


def _added(means: Floats) -> Floats:
    result: Floats = means[:, 2] - means[:, 3]
    return result


def _eta(means: Floats) -> Floats:
    r0, c0 = means[:, 1], means[:, 3]
    gain = (means[:, 0] - r0) * c0
    return _over(gain, _added(means) * r0)


def _points_per_dollar(means: Floats) -> Floats:
    return _over(100 * (means[:, 0] - means[:, 1]), _added(means))


def _over(top: Floats, bottom: Floats) -> Floats:
    """top/bottom; where bottom <= 0 the ratio has left its domain through the end that top's sign points to."""
    ok = bottom > 0
    result: Floats = np.where(ok, top / np.where(ok, bottom, 1.0), np.where(top > 0, np.inf, -np.inf))
    return result


class Recovery(Value, frozen=True, kw_only=True):
    """Shares of the strong team's gain and of its added cost that the mixed team has, both over the solo base.

    None where the strong team gains (or adds) nothing: a share of nothing does not exist.
    """

    gain: Bootstrap | None
    cost: Bootstrap | None
    n: int


def recovery(reward: tuple[Floats, Floats, Floats], cost: tuple[Floats, Floats, Floats]) -> Recovery:
    """Each triple is (mixed, strong, solo), one number per task, in the same order."""
    return Recovery(gain=_share(*reward), cost=_share(*cost), n=len(reward[0]))


def _share(mixed: Floats, strong: Floats, solo: Floats) -> Bootstrap | None:
    data = np.column_stack([mixed, strong, solo])
    if not float((strong - solo).mean()) > 0:
        return None
    return bca(data, lambda m: _over(m[:, 0] - m[:, 2], m[:, 1] - m[:, 2]))


class Above(Value, frozen=True, kw_only=True):
    """Reward of a design above the best that others reach at its own cost. `baseline` is that best."""

    baseline: float
    synergy: Bootstrap


def above_envelope(reward: Floats, cost: Floats, others_reward: Floats, others_cost: Floats) -> Above:
    """One design, of shape (tasks,), against others, of shape (tasks, designs), on the same tasks.

    The baseline at cost c is the upper envelope of all lines between two of the others, and of each of them at any
    higher cost: with mean rewards R and mean costs C,

        B(c) = max(R_i for C_i <= c;  R_i + (c - C_i) / (C_j - C_i) * (R_j - R_i) for C_i <= c < C_j)

    and, below the cheapest of them, its own reward. A point on a line is what the two teams reach together, on a part
    of the tasks each. The best of many means is biased upwards, so this is the stricter test.
    """
    m = others_reward.shape[1]
    data = np.column_stack([reward, cost, others_reward, others_cost])

    def above(means: Floats) -> Floats:
        return means[:, 0] - _envelope(means[:, 1], means[:, 2 : 2 + m], means[:, 2 + m :])

    baseline = float(data.mean(axis=0)[0] - above(data.mean(axis=0)[None, :])[0])
    return Above(baseline=baseline, synergy=bca(data, above))


def _envelope(at: Floats, reward: Floats, cost: Floats) -> Floats:
    """The upper envelope at costs of shape (draws,), of designs of shape (draws, designs).

    In each draw a line from a left end (no dearer than `at`) to a right one (dearer) is raised until no design is above
    it: the design farthest above takes the place of the end on its side.
    """
    draws = np.arange(len(at))
    within = cost <= at[:, None]
    best: Floats = np.where(within, reward, -np.inf).max(axis=1)
    left, right = np.where(within, reward, -np.inf).argmax(axis=1), reward.argmax(axis=1)
    rising = within.any(axis=1) & (cost[draws, right] > at)
    for _ in range(2 * reward.shape[1]):
        rows = draws[rising]
        if not len(rows):
            break
        i, j, r, c = left[rows], right[rows], reward[rows], cost[rows]
        here = np.arange(len(rows))
        slope = (r[here, j] - r[here, i]) / (c[here, j] - c[here, i])
        best[rows] = r[here, i] + (at[rows] - c[here, i]) * slope
        height = r - slope[:, None] * c
        top = height.argmax(axis=1)
        higher = height[here, top] > np.maximum(height[here, i], height[here, j])
        to_left = within[rows, top]
        left[rows] = np.where(higher & to_left, top, i)
        right[rows] = np.where(higher & ~to_left, top, j)
        rising[rows] = higher
    # Below the cheapest design: of equally cheap ones the best.
    cheapest = np.where(cost == cost.min(axis=1, keepdims=True), reward, -np.inf).max(axis=1)
    return np.where(within.any(axis=1), best, cheapest)


class Synergy(Value, frozen=True, kw_only=True):
    """Reward of a mixed team above the line between two homogeneous teams at its own cost (AgentCARD, 2606.20629).

    `weight` is how far along the line, in cost, clipped to [0, 1]. None where the two homogeneous teams cost the same.
    """

    weight: float
    baseline: float
    synergy: Bootstrap


def synergy(reward: tuple[Floats, Floats, Floats], cost: tuple[Floats, Floats, Floats]) -> Synergy | None:
    """Each triple is (mixed, cheap homogeneous, dear homogeneous)."""
    data = np.column_stack([*reward, *cost])
    means = data.mean(axis=0)[None, :]
    if means[0, 5] == means[0, 4]:
        return None
    weight = float(_weight(means)[0])
    baseline = float((1 - weight) * means[0, 1] + weight * means[0, 2])
    return Synergy(weight=weight, baseline=baseline, synergy=bca(data, _above_line))


def _weight(means: Floats) -> Floats:
    span = means[:, 5] - means[:, 4]
    result: Floats = np.clip((means[:, 3] - means[:, 4]) / np.where(span == 0, np.nan, span), 0.0, 1.0)
    return result


def _above_line(means: Floats) -> Floats:
    w = _weight(means)
    result: Floats = means[:, 0] - ((1 - w) * means[:, 1] + w * means[:, 2])
    return result
