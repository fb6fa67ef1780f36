"""The bootstrap over tasks for functions of means: ratios, shares, the frontier.

Everything that is bootstrapped here is a function of column means over tasks. A draw is then a vector of counts, and
all draws together are one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy import stats

from leadhand.analysis.stats.intervals import Floats
from leadhand.core.values import Value

DRAWS = 9_999
SEED = 20_261_012
ENOUGH = 0.975
"""The share of draws in which a ratio must exist for its interval to be printed."""

OfMeans = Callable[[Floats], Floats]
"""From means of shape (draws, columns) to one number per draw; infinite where the ratio has left its domain."""


class Bootstrap(Value, frozen=True, kw_only=True):
    """A bootstrapped number. `low` and `high` are None where an interval would claim too much (see `defined`).

    `defined` is the share of draws with a finite number; `n` counts tasks.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    defined: float = 1.0
    draws: int = DRAWS
    method: str = "BCa"
    level: float = 0.95


@lru_cache(maxsize=4)
def weights(n: int, draws: int = DRAWS, seed: int = SEED) -> Floats:
    """Resampling weights of shape (draws, n): how often each task was drawn, over n. The same for the same seed."""
    random = np.random.default_rng(seed)
    picks = random.integers(0, n, size=(draws, n))
    rows = np.arange(draws)[:, None] * n
    counts = np.bincount((picks + rows).ravel(), minlength=draws * n).reshape(draws, n)
    result: Floats = counts / n
    result.setflags(write=False)
    return result


def resampled(data: Floats, draws: int = DRAWS, seed: int = SEED) -> Floats:
    """Column means of each draw: (draws, columns) from (tasks, columns)."""
    result: Floats = weights(len(data), draws, seed) @ data
    return result


def bca(data: Floats, statistic: OfMeans, *, level: float = 0.95, draws: int = DRAWS, seed: int = SEED) -> Bootstrap:
    """The bias-corrected and accelerated interval (Efron 1987) of `statistic` of the column means of `data`.

    `data` has one row per task. Draws where the statistic is infinite count at their end of the order, so a limit can
    be infinite; where fewer than 97.5 % of draws are finite, or n < 2, no interval is given.
    """
    data = np.atleast_2d(np.asarray(data, dtype=np.float64))
    n = len(data)
    if n == 0 or not np.isfinite(data).all():
        raise ValueError("no tasks, or a value is missing")
    value = float(statistic(data.mean(axis=0)[None, :])[0])
    if n < 2:
        return Bootstrap(value=_finite(value), low=None, high=None, n=n, level=level, draws=0)
    drawn = statistic(resampled(data, draws, seed))
    defined = float(np.isfinite(drawn).mean())
    if not np.isfinite(value) or defined < ENOUGH:
        return Bootstrap(value=_finite(value), low=None, high=None, n=n, defined=defined, draws=draws, level=level)
    left_out = (data.sum(axis=0)[None, :] - data) / (n - 1)
    low, high = _limits(value, drawn, statistic(left_out), level)
    return Bootstrap(value=value, low=low, high=high, n=n, defined=defined, draws=draws, level=level)


def _limits(value: float, drawn: Floats, jackknife: Floats, level: float) -> tuple[float, float]:
    ordered = np.sort(drawn)
    if ordered[0] == ordered[-1]:
        return float(ordered[0]), float(ordered[-1])
    # Ties count half: a statistic on a grid would otherwise look biased.
    below = (float((drawn < value).sum()) + 0.5 * float((drawn == value).sum())) / len(drawn)
    bias = float(stats.norm.ppf(np.clip(below, 1 / len(drawn), 1 - 1 / len(drawn))))
    acceleration = _acceleration(jackknife)
    tail = (1 - level) / 2
    z = stats.norm.ppf([tail, 1 - tail])
    at = stats.norm.cdf(bias + (bias + z) / (1 - acceleration * (bias + z)))
    low, high = (_quantile(ordered, float(q)) for q in at)
    return low, high


def _acceleration(jackknife: Floats) -> float:
    if not np.isfinite(jackknife).all():
        return 0.0
    away = jackknife.mean() - jackknife
    spread = float((away**2).sum())
    return float((away**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0


def _quantile(ordered: Floats, q: float) -> float:
    """Linear interpolation that does not turn infinite neighbours into NaN."""
    at = min(max(q, 0.0), 1.0) * (len(ordered) - 1)
    below = int(at)
    low, high = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    return low if low == high or at == below else low + (high - low) * (at - below)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
