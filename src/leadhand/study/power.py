"""What a number of tasks and repeats can tell apart. Closed forms after Miller (arXiv 2411.00640); pure functions."""

from __future__ import annotations

import math

Z_95 = 1.959963985
Z_POWER = 0.841621234
"""Normal quantiles of a two-sided 5 % test and of 80 % power; their sum is the 2.80 of the paper's planning numbers."""

WITHIN = 0.06
"""SD of one task's reward from run to run [D, from the published run-to-run differences]."""

PUBLISHED_SD = {"strong": 0.087, "mid": 0.108, "cheap": 0.166}
"""SD over tasks of a paired difference of 3-run means, by the leads' strength [D, from the published half-widths at
n = 200: +-1.2, +-1.5 and +-2.3 points]."""


def sd_of_difference(between: float, within: float, repeats_a: int, repeats_b: int) -> float:
    """SD over tasks of the paired difference of two designs' means, each over its repeats.

    `between`: SD over tasks of the true difference; `within`: SD of one run of a task. Rewards in [0, 1].
    """
    return math.sqrt(between**2 + within**2 / repeats_a + within**2 / repeats_b)


def between_of(sd: float, within: float, repeats: int) -> float:
    """The SD of the true difference that is left of an observed one of means over so many repeats on both sides."""
    return math.sqrt(max(0.0, sd**2 - 2 * within**2 / repeats))


def detectable(sd: float, tasks: int) -> float:
    """The smallest true mean difference that is found with 80 % power at 5 %: (1.96 + 0.84) sd / sqrt(n)."""
    return (Z_95 + Z_POWER) * sd / math.sqrt(tasks) if tasks > 1 else math.inf


def detected(values: list[float]) -> float:
    """The smallest true mean difference that a t test of such differences finds with 80 % power at 5 %: within 1 % of
    the noncentral t's, from four tasks on.
    """
    if len(values) < 2:
        return math.inf
    t, freedom = t_95(len(values) - 1), len(values) - 1
    shift = t * (1 - 1 / (4 * freedom)) + Z_POWER * math.sqrt(1 + t**2 / (2 * freedom))
    return shift * mean_and_sd(values)[1] / math.sqrt(len(values))


def published_detectable(kind: str, tasks: int, repeats: int) -> float:
    """`detectable` for a kind of lead ("strong", "mid", "cheap") from the published spreads."""
    between = between_of(PUBLISHED_SD[kind], WITHIN, 3)
    return detectable(sd_of_difference(between, WITHIN, repeats, repeats), tasks)


def t_95(freedom: int) -> float:
    """The 97.5 % quantile of Student's t: exact for 1 and 2 degrees, an expansion within 0.5 % above."""
    if freedom < 1:
        return math.inf
    if freedom == 1:
        return 12.706205
    if freedom == 2:
        return 4.302653
    z, n = Z_95, freedom
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * n**4)
    )


def mean_and_sd(values: list[float]) -> tuple[float, float]:
    """Mean and SD (n - 1; NaN for one value)."""
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, math.nan
    return mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))


def half_width(values: list[float]) -> float:
    """Half of the 95 % interval of a mean over tasks (Student t)."""
    if len(values) < 2:
        return math.inf
    return t_95(len(values) - 1) * mean_and_sd(values)[1] / math.sqrt(len(values))
