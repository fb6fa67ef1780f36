"""Run-to-run variation: how far repeats of one design lie apart (the paper's table 3 and figure 20)."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from leadhand.analysis.stats.intervals import Floats
from leadhand.core.values import Value


class RunToRun(Value, frozen=True, kw_only=True):
    """`sd` and `spread` (largest - smallest) are of the repeats' means; `task_difference` and `correlation` are means
    over all pairs of repeats. `sd` has n - 1 below (three means with range 0.015 and SD 0.008 fit nothing else).
    None where a number does not exist: one repeat, or rewards that do not vary.
    """

    means: tuple[float, ...]
    sd: float | None
    spread: float | None
    task_difference: float | None
    correlation: float | None
    within: float | None
    tasks: int
    left_out: int = 0


def run_to_run(rewards: Floats) -> RunToRun:
    """From rewards of shape (tasks, repeats). Tasks with a NaN in any repeat are left out and counted."""
    whole = rewards[~np.isnan(rewards).any(axis=1)]
    left_out = len(rewards) - len(whole)
    repeats = rewards.shape[1]
    if len(whole) == 0:
        return RunToRun(
            means=(),
            sd=None,
            spread=None,
            task_difference=None,
            correlation=None,
            within=None,
            tasks=0,
            left_out=left_out,
        )
    means = whole.mean(axis=0)
    if repeats < 2:
        return RunToRun(
            means=tuple(means.tolist()),
            sd=None,
            spread=None,
            task_difference=None,
            correlation=None,
            within=None,
            tasks=len(whole),
            left_out=left_out,
        )
    pairs = list(combinations(range(repeats), 2))
    differences = [float(np.abs(whole[:, i] - whole[:, j]).mean()) for i, j in pairs]
    correlations = [r for i, j in pairs if (r := correlation(whole[:, i], whole[:, j])) is not None]
    return RunToRun(
        means=tuple(means.tolist()),
        sd=float(means.std(ddof=1)),
        spread=float(means.max() - means.min()),
        task_difference=float(np.mean(differences)),
        correlation=float(np.mean(correlations)) if correlations else None,
        within=float(np.sqrt(whole.var(axis=1, ddof=1).mean())),
        tasks=len(whole),
        left_out=left_out,
    )


def correlation(a: Floats, b: Floats) -> float | None:
    """Pearson's r; None where one side does not vary or fewer than two tasks are given."""
    if len(a) < 2 or float(np.ptp(a)) == 0 or float(np.ptp(b)) == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])
