"""Designs against each other: what each earns and costs, and every difference with what the study could have seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from leadhand.analysis.factors import base_of
from leadhand.analysis.scores import Scores, Standing, common, standing
from leadhand.analysis.stats.bootstrap import Bootstrap, bca
from leadhand.analysis.stats.efficiency import Efficiency, efficiency
from leadhand.analysis.stats.frontier import on_frontier, probability_on_frontier
from leadhand.analysis.stats.hypotheses import holm
from leadhand.analysis.stats.intervals import Estimate, Floats, Method, clustered, mean, paired
from leadhand.analysis.stats.power import mde
from leadhand.analysis.stats.stability import RunToRun, run_to_run
from leadhand.core.values import Value


class DesignSummary(Value, frozen=True, kw_only=True):
    """One design over the benchmark. Cost in dollars and wall-clock in minutes, per task and as benchmark total.

    The total is the mean times the benchmark's tasks: what one pass costs. `reward_bounds` is where the mean over all
    tasks can lie, whatever the runs that do not count would have given. `frontier` is the share of bootstrap
    draws in which the design is on the reward-cost frontier (None without costs); `on_frontier` is the point estimate.
    A design that nobody can buy (`reachable` is False: an oracle chose) is on no frontier and keeps none from it.
    """

    design: str
    standing: Standing
    reward: Estimate | None
    reward_bounds: tuple[float, float]
    reward_clustered: Estimate | None
    cost: Estimate | None
    total_cost: float | None
    minutes: Estimate | None
    total_minutes: float | None
    stability: RunToRun
    reachable: bool = True
    on_frontier: bool | None = None
    frontier: float | None = None


class Comparison(Value, frozen=True, kw_only=True):
    """`design` against `base`, over the tasks where both have a counted run.

    `p_adjusted` is Holm's over the family of comparisons that were read together. `mde` is the true difference that
    this comparison would have found with 80 % power: a difference below it says little either way.
    `cost_ratio` is a ratio of means (BCa). `with_degraded` is the sensitivity line; None where no run is degraded.
    """

    design: str
    base: str
    reward: Estimate
    reward_clustered: Estimate | None
    mde: float
    cost: Estimate | None
    cost_ratio: Bootstrap | None
    minutes: Estimate | None
    efficiency: Efficiency | None
    tasks_left_out: int
    p_adjusted: float | None = None
    family: int = 1
    with_degraded: Estimate | None = None
    difference_bounds: tuple[float, float] | None = None


def summarise(scores: Scores, method: Method = "t") -> list[DesignSummary]:
    """Every design's row, in the study's order, with the frontier over all of them."""
    rows = [_summary(scores, design, method) for design in scores.designs]
    return _with_frontier(scores, rows)


def _summary(scores: Scores, design: str, method: Method) -> DesignSummary:
    reward, cost = scores.per_task(design, "reward"), scores.per_task(design, "cost")
    minutes = scores.per_task(design, "minutes")
    cost_mean, minutes_mean = estimate(cost, method), estimate(minutes, method)
    total = len(scores.tasks)
    return DesignSummary(
        design=design,
        standing=standing(scores, design),
        reward=estimate(reward, method),
        reward_bounds=_mean_of_limits(*scores.limits(design)),
        reward_clustered=_clustered(scores, reward, method),
        cost=cost_mean,
        total_cost=cost_mean.value * total if cost_mean else None,
        minutes=minutes_mean,
        total_minutes=minutes_mean.value * total if minutes_mean else None,
        stability=run_to_run(scores.by_repeat(design)),
        reachable=scores.factors[design].reachable,
    )


def estimate(values: Floats, method: Method = "t") -> Estimate | None:
    """The mean over tasks that have a number; None where none has."""
    known = values[np.isfinite(values)]
    return mean(known, method) if len(known) else None


def _clustered(scores: Scores, values: Floats, method: Method) -> Estimate | None:
    """The cluster-robust variant, where tasks have clusters and some cluster holds more than one."""
    if not scores.clusters:
        return None
    known = np.isfinite(values)
    names = [scores.clusters.get(t, t) for t, k in zip(scores.tasks, known, strict=True) if k]
    if len(set(names)) == len(names) or len(set(names)) < 2:
        return None
    return clustered(values[known], names, method)


def _with_frontier(scores: Scores, rows: list[DesignSummary]) -> list[DesignSummary]:
    """Frontier and its probability, over the tasks that all reachable designs with costs have in common."""
    import msgspec

    chosen = [i for i, r in enumerate(rows) if r.reward is not None and r.cost is not None and r.reachable]
    if not chosen:
        return rows
    reward = np.column_stack([scores.per_task(rows[i].design, "reward") for i in chosen])
    cost = np.column_stack([scores.per_task(rows[i].design, "cost") for i in chosen])
    whole = np.isfinite(reward).all(axis=1) & np.isfinite(cost).all(axis=1)
    if whole.sum() < 2:
        return rows
    mask = on_frontier(reward[whole].mean(axis=0), cost[whole].mean(axis=0))
    share = probability_on_frontier(reward[whole], cost[whole])
    result = list(rows)
    for i, is_on, p in zip(chosen, mask.tolist(), share.tolist(), strict=True):
        result[i] = msgspec.structs.replace(rows[i], on_frontier=bool(is_on), frontier=float(p))
    return result


def pairs(scores: Scores, base: str = "") -> list[tuple[str, str]]:
    """The family of comparisons: each against `base`; else each team or group against its own solo control; else all
    pairs.
    """
    if base:
        return [(d, base) for d in scores.designs if d != base]
    with_base = [(f.label, b.label) for f in scores.factors.values() if (b := base_of(f, scores.factors)) is not None]
    if with_base:
        return with_base
    names = scores.designs
    return [(b, a) for i, a in enumerate(names) for b in names[i + 1 :]]


def compare(scores: Scores, family: Sequence[tuple[str, str]], method: Method = "t") -> list[Comparison]:
    """All comparisons of a family; pairs without two tasks in common are left out by the caller's own check."""
    import msgspec

    made = [c for a, b in family if (c := _comparison(scores, a, b, method)) is not None]
    adjusted = holm([c.reward.p for c in made])
    return [msgspec.structs.replace(c, p_adjusted=p, family=len(made)) for c, p in zip(made, adjusted, strict=True)]


def pairwise_p(scores: Scores, designs: Sequence[str], method: Method = "t") -> dict[tuple[str, str], float | None]:
    """Holm's adjusted p of the paired difference in reward, over every pair of these designs; both ways round.

    Which design is the best is seen in the data, so a statement about it is about all pairs, not only about its own.
    """
    pairs = list(combinations(designs, 2))
    found: list[float | None] = []
    for a, b in pairs:
        ra, rb = scores.per_task(a, "reward"), scores.per_task(b, "reward")
        both = common(ra, rb)
        found.append(paired(ra[both], rb[both], method).p if both.any() else None)
    adjusted = dict(zip(pairs, holm(found), strict=True))
    return adjusted | {(b, a): p for (a, b), p in adjusted.items()}


def _comparison(scores: Scores, a: str, b: str, method: Method) -> Comparison | None:
    ra, rb = scores.per_task(a, "reward"), scores.per_task(b, "reward")
    both = common(ra, rb)
    if not both.any():
        return None
    difference = paired(ra[both], rb[both], method)
    ca, cb = scores.per_task(a, "cost"), scores.per_task(b, "cost")
    costed = both & common(ca, cb)
    return Comparison(
        design=a,
        base=b,
        reward=difference,
        reward_clustered=_clustered(scores, np.where(both, ra - rb, np.nan), method),
        mde=mde(difference.sd, difference.n, method),
        cost=paired(ca[costed], cb[costed], method) if costed.any() else None,
        cost_ratio=_ratio(ca[costed], cb[costed]) if costed.any() else None,
        minutes=_difference(scores.per_task(a, "minutes"), scores.per_task(b, "minutes"), method),
        efficiency=efficiency(ra[costed], rb[costed], ca[costed], cb[costed]) if costed.any() else None,
        tasks_left_out=int((~both).sum()),
        with_degraded=_sensitivity(scores, a, b, method),
        difference_bounds=_difference_bounds(scores.limits(a), scores.limits(b)),
    )


def _difference(a: Floats, b: Floats, method: Method) -> Estimate | None:
    both = common(a, b)
    return paired(a[both], b[both], method) if both.any() else None


def _ratio(top: Floats, bottom: Floats) -> Bootstrap | None:
    if not bottom.mean() > 0:
        return None
    return bca(np.column_stack([top, bottom]), lambda m: m[:, 0] / np.where(m[:, 1] > 0, m[:, 1], np.nan))


def _sensitivity(scores: Scores, a: str, b: str, method: Method) -> Estimate | None:
    """The difference with degraded runs counted, where there are any."""
    from dataclasses import replace

    rows = scores.frame
    if scores.with_degraded or not rows.filter(rows["design"].is_in([a, b]) & rows["degraded"]).height:
        return None
    wider = replace(scores, with_degraded=True)
    return _difference(wider.per_task(a, "reward"), wider.per_task(b, "reward"), method)


def _mean_of_limits(low: Floats, high: Floats) -> tuple[float, float]:
    return float(low.mean()), float(high.mean())


def _difference_bounds(a: tuple[Floats, Floats], b: tuple[Floats, Floats]) -> tuple[float, float] | None:
    """Where the mean difference over all tasks can lie, whatever is left out; None if nothing is."""
    low, high = _mean_of_limits(a[0] - b[1], a[1] - b[0])
    return (low, high) if high > low else None


def by_tier(scores: Scores, design: str, method: Method = "t") -> dict[str, Estimate]:
    """Mean reward by the tasks' own tier label; tasks without one are under "unlabelled"."""
    reward = scores.per_task(design, "reward")
    tiers = np.array([scores.tiers.get(t, "unlabelled") for t in scores.tasks])
    found: Iterable[str] = dict.fromkeys(sorted(tiers.tolist(), key=_tier_order))
    return {t: e for t in found if (e := estimate(reward[tiers == t], method)) is not None}


def _tier_order(tier: str) -> tuple[int, str]:
    order = {"easy": 0, "medium": 1, "hard": 2, "unlabelled": 9}
    return order.get(tier, 5), tier
