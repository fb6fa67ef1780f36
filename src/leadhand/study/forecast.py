"""What a study will cost and how long it will take, with an interval, and on what evidence that rests. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from leadhand.core.values import Value
from leadhand.study.power import mean_and_sd, t_95


class Evidence(Value, frozen=True, kw_only=True):
    """What one run of a kind of design costs (dollars) and takes (minutes), with a 95 % range for the mean of many.

    `spread` is the SD between runs, `runs` how many it is known from; both None for a published figure.
    """

    kind: Literal["own", "published"]
    usd: float
    usd_low: float
    usd_high: float
    minutes: float | None = None
    minutes_low: float | None = None
    minutes_high: float | None = None
    runs: int = 0
    source: str = ""


class Range(Value, frozen=True, kw_only=True):
    """An expected value and its 95 % interval."""

    expected: float
    low: float
    high: float


class Line(Value, frozen=True, kw_only=True):
    """One design: so many runs of it, what they cost, and how it is known. None: nothing is known."""

    design: str
    runs: int
    usd: Range | None
    minutes: Range | None
    worst_usd: float | None
    kind: Literal["own", "published", ""]
    source: str


class Forecast(Value, frozen=True, kw_only=True):
    """The whole study. Sums go over the designs that something is known of; `unknown` names the others.

    `worst_usd` is the sum of the runs' budgets, None where one has none.
    """

    lines: tuple[Line, ...]
    usd: Range | None
    hours: Range | None
    worst_usd: float | None
    unknown: tuple[str, ...]


def own_evidence(usd: Sequence[float], minutes: Sequence[float], runs_wanted: int) -> Evidence:
    """From past runs of the kind: the range is a prediction interval for the mean of `runs_wanted` new ones.

    From a single run nothing is known of the spread: a factor of 3 to both sides.
    """
    low_usd, mean_usd, high_usd = _predicted(list(usd), runs_wanted)
    low, mean, high = _predicted(list(minutes), runs_wanted)
    return Evidence(
        kind="own",
        usd=mean_usd,
        usd_low=low_usd,
        usd_high=high_usd,
        minutes=mean,
        minutes_low=low,
        minutes_high=high,
        runs=len(usd),
        source=f"{len(usd)} run{'s' if len(usd) != 1 else ''} of your own",
    )


def _predicted(values: list[float], wanted: int) -> tuple[float, float, float]:
    mean, sd = mean_and_sd(values)
    if math.isnan(sd):
        return mean / 3, mean, mean * 3
    half = t_95(len(values) - 1) * sd * math.sqrt(1 / wanted + 1 / len(values))
    return max(0.0, mean - half), mean, mean + half


def forecast(
    runs: Mapping[str, int], budgets: Mapping[str, float | None], known: Mapping[str, Evidence | None], slots: int
) -> Forecast:
    """`runs` by design, each run's budget, and what is known of each design. `slots` runs go on at once.

    What is known from own runs deviates by chance, so those deviations add up in squares; published figures are off
    for one reason (other prices, limits, wording), so theirs add up as they are.
    """
    lines = tuple(_line(name, n, budgets[name], known.get(name)) for name, n in runs.items())
    budgeted = [line.worst_usd for line in lines]
    minutes = _sum([(line.kind, line.minutes) for line in lines])
    return Forecast(
        lines=lines,
        usd=_sum([(line.kind, line.usd) for line in lines]),
        hours=None if minutes is None else _scaled(minutes, 1 / 60 / slots),
        worst_usd=None if None in budgeted else math.fsum(b for b in budgeted if b is not None),
        unknown=tuple(line.design for line in lines if line.usd is None),
    )


def _line(name: str, runs: int, budget: float | None, e: Evidence | None) -> Line:
    usd = minutes = None
    if e is not None:
        usd = _scaled(Range(expected=e.usd, low=e.usd_low, high=e.usd_high), runs)
        if e.minutes is not None and e.minutes_low is not None and e.minutes_high is not None:
            minutes = _scaled(Range(expected=e.minutes, low=e.minutes_low, high=e.minutes_high), runs)
    worst = None if budget is None else budget * runs
    return Line(
        design=name,
        runs=runs,
        usd=usd,
        minutes=minutes,
        worst_usd=worst,
        kind=e.kind if e else "",
        source=e.source if e else "",
    )


def _scaled(r: Range, by: float) -> Range:
    return Range(expected=r.expected * by, low=r.low * by, high=r.high * by)


def _sum(ranges: Sequence[tuple[str, Range | None]]) -> Range | None:
    known = [(kind, r) for kind, r in ranges if r is not None]
    if not known:
        return None
    expected = math.fsum(r.expected for _, r in known)
    down = _deviation([(kind, r.expected - r.low) for kind, r in known])
    up = _deviation([(kind, r.high - r.expected) for kind, r in known])
    return Range(expected=expected, low=max(0.0, expected - down), high=expected + up)


def _deviation(parts: Sequence[tuple[str, float]]) -> float:
    chance = math.sqrt(math.fsum(d**2 for kind, d in parts if kind == "own"))
    common = math.fsum(d for kind, d in parts if kind != "own")
    return math.hypot(chance, common)


def cheaper(tasks: int, repeats: int) -> list[tuple[int, int]]:
    """Smaller plans to set beside a plan, as (tasks, repeats), the dearest first."""
    plans = {(tasks, 1), (tasks, 2), (-(-tasks // 2), repeats), (-(-tasks // 2), 1), (-(-tasks // 4), 1), (30, 1)}
    return sorted(
        (p for p in plans if 2 <= p[0] <= tasks and p[1] <= repeats and p[0] * p[1] < tasks * repeats),
        key=lambda p: (-p[0] * p[1], -p[0]),
    )
