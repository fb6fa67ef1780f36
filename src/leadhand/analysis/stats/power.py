"""What a study can see: minimum detectable effects and sample sizes."""

from __future__ import annotations

import math
from functools import lru_cache

from scipy import optimize, stats

from leadhand.analysis.stats.intervals import PAPER_Z, Method, quantile

POWER = 0.8


def mde(sd: float, n: int, method: Method = "t", power: float = POWER, level: float = 0.95) -> float:
    """The smallest true mean difference that a two-sided paired test of n tasks finds with the wished power.

    `t` solves the power of the t test (noncentral t); `paper` is (1.96 + 0.84) sd / sqrt(n). Infinite below 2 tasks.
    """
    if n < 2:
        return math.inf
    if method == "paper":
        return (quantile("paper", n - 1, level) + float(stats.norm.ppf(power))) * sd / math.sqrt(n)
    return _units(n, power, level) * sd / math.sqrt(n)


@lru_cache(maxsize=256)
def _units(n: int, power: float, level: float) -> float:
    """The noncentrality, in standard errors, at which the two-sided t test has this power."""
    df, cut = n - 1, quantile("t", n - 1, level)

    def short(shift: float) -> float:
        # The far tail adds less than 1e-5 to a power of 0.8, and scipy's is NaN for large shifts.
        return float(stats.nct.sf(cut, df, shift)) - power

    above = cut + 2.0
    while short(above) < 0:
        above *= 2
    return float(optimize.brentq(short, 1e-6, above))


def mde_of_parts(
    between: float, within_a: float, repeats_a: int, within_b: float, repeats_b: int, n: int, power: float = POWER
) -> float:
    """Miller (arXiv 2411.00640): variance of the true difference over tasks, and each side's variance within a task."""
    variance = between + within_a / repeats_a + within_b / repeats_b
    return (PAPER_Z + float(stats.norm.ppf(power))) * math.sqrt(variance / n)


def tasks_for_width(sd: float, half: float, method: Method = "t", level: float = 0.95) -> int:
    """How many tasks give an interval of at most +- `half`."""
    if not half > 0:
        raise ValueError("the half width must be above 0")
    n = max(2, math.ceil((quantile("paper", 1, level) * sd / half) ** 2))
    if method == "paper":
        return n
    while quantile("t", n - 1, level) * sd / math.sqrt(n) > half:
        n += 1
    return n


def tasks_for_effect(sd: float, effect: float, power: float = POWER, level: float = 0.95) -> int:
    """How many tasks detect a true paired difference of `effect` with the wished power."""
    if not effect > 0:
        raise ValueError("the effect must be above 0")
    z = quantile("paper", 1, level) + float(stats.norm.ppf(power))
    n = max(2, math.ceil((z * sd / effect) ** 2))
    while mde(sd, n, "t", power, level) > effect:
        n += 1
    return n
