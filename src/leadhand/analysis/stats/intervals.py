"""Means, paired differences and their intervals, with and without clusters of tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

from leadhand.core.values import Value

Floats = npt.NDArray[np.float64]
Method = Literal["t", "paper"]
"""`t`: Student's t (the default). `paper`: the normal interval with 1.96, as arXiv 2610.17471 prints it."""

PAPER_Z = 1.96


class Estimate(Value, frozen=True, kw_only=True):
    """A mean with its interval. `se` is the standard error, `sd` the tasks' deviation with n - 1, `n` counts tasks.

    With fewer than two tasks (or clusters) there is no interval: `low` and `high` are None.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    sd: float
    se: float
    p: float | None = None
    method: str = "t"
    level: float = 0.95

    @property
    def half(self) -> float:
        """Half the interval's width; infinite where there is none."""
        return math.inf if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def decided(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


@lru_cache(maxsize=1024)
def quantile(method: Method, df: float, level: float = 0.95) -> float:
    """How many standard errors the interval reaches to either side."""
    if method == "paper":
        return PAPER_Z if level == 0.95 else float(stats.norm.ppf((1 + level) / 2))
    return float(stats.t.ppf((1 + level) / 2, df))


def two_sided_p(value: float, se: float, df: float, method: Method = "t") -> float | None:
    """The two-sided p value of "the mean is zero"; None where there is no spread to judge by."""
    if not se > 0 or df < 1:
        return None
    z = abs(value) / se
    return float(2 * stats.norm.sf(z)) if method == "paper" else float(2 * stats.t.sf(z, df))


def mean(values: Sequence[float] | Floats, method: Method = "t", level: float = 0.95) -> Estimate:
    """The mean of one number per task. Raises `ValueError` on no values or on NaN: leaving out is the caller's act."""
    x = _clean(values)
    n = len(x)
    value, sd = float(x.mean()), float(x.std(ddof=1)) if n > 1 else 0.0
    se = sd / math.sqrt(n)
    return _estimate(value, se, n - 1, n, sd, method, level)


def paired(
    a: Sequence[float] | Floats, b: Sequence[float] | Floats, method: Method = "t", level: float = 0.95
) -> Estimate:
    """The mean of a - b over tasks that both hold in the same order."""
    left, right = _clean(a), _clean(b)
    if len(left) != len(right):
        raise ValueError(f"paired samples of {len(left)} and {len(right)} tasks")
    return mean(left - right, method, level)


def clustered(
    values: Sequence[float] | Floats, clusters: Sequence[str], method: Method = "t", level: float = 0.95
) -> Estimate:
    """The mean with a cluster-robust standard error, where tasks of one cluster (a repository) are not independent.

    Liang-Zeger with the factor G/(G - 1), t with G - 1 degrees of freedom: what `statsmodels` gives for a constant
    (its further factor (n - 1)/(n - 1) is one).
    """
    x = _clean(values)
    names, index = np.unique(np.asarray(clusters, dtype=object).astype(str), return_inverse=True)
    if len(index) != len(x):
        raise ValueError(f"{len(x)} values with {len(index)} clusters")
    value, n, groups = float(x.mean()), len(x), len(names)
    sd = float(x.std(ddof=1)) if n > 1 else 0.0
    sums = np.bincount(index, weights=x - value, minlength=groups)
    se = math.sqrt(float((sums**2).sum()) * groups / (groups - 1)) / n if groups > 1 else 0.0
    return _estimate(value, se, groups - 1, n, sd, method, level, label="clustered")


def _estimate(
    value: float, se: float, df: int, n: int, sd: float, method: Method, level: float, label: str = ""
) -> Estimate:
    name = f"{label} {method}".strip()
    if df < 1:
        return Estimate(value=value, low=None, high=None, n=n, sd=sd, se=se, method=name, level=level)
    half = quantile(method, df, level) * se
    p = two_sided_p(value, se, df, method)
    return Estimate(value=value, low=value - half, high=value + half, n=n, sd=sd, se=se, p=p, method=name, level=level)


def _clean(values: Sequence[float] | Floats) -> Floats:
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or len(x) == 0:
        raise ValueError("no values")
    if not np.isfinite(x).all():
        raise ValueError("a value is missing or infinite")
    return x
