"""What a study will cost, how long it will take and what it may earn, with intervals, and on what that rests. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from leadhand.core.design import Design
from leadhand.core.values import Price, Value
from leadhand.study.power import Z_95, mean_and_sd, t_95

RUN_CV = 1.0
"""SD of a single run's dollars or minutes, in units of their mean over tasks, where no run of the kind is known [ours:
tasks of one benchmark differ as much]."""

Kind = Literal["own", "published", "prices", ""]
"""Past runs of the very design; figures about designs like it (and own runs of those); a model of which nothing but its
price is known; nothing at all."""


class Range(Value, frozen=True, kw_only=True):
    """An expected value and its 95 % interval."""

    expected: float
    low: float
    high: float


class Evidence(Value, frozen=True, kw_only=True):
    """What one run of a design costs (dollars), takes (minutes) and earns (reward), each a mean over tasks.

    `own` ranges are for the mean of the very number of runs that is planned, the others for the mean over all such
    tasks. `source` is short; `notes` are whole sentences about it.
    """

    kind: Kind
    usd: Range
    minutes: Range | None = None
    reward: Range | None = None
    source: str = ""
    notes: tuple[str, ...] = ()


Advise = Callable[[Mapping[str, Design], str, Mapping[str, Price]], Mapping[str, Evidence]]
"""What is known of designs on tasks like `like`, at prices by model. A design of which nothing is known is left out."""


class Line(Value, frozen=True, kw_only=True):
    """One design: so many runs of it, what they cost and take in all, and what a run earns. None: not known."""

    design: str
    runs: int
    usd: Range | None
    minutes: Range | None
    reward: Range | None
    worst_usd: float | None
    kind: Kind
    source: str
    notes: tuple[str, ...]


class Forecast(Value, frozen=True, kw_only=True):
    """The whole study. `usd` and `hours` go over the designs that runs or figures are known of, `unknown` names the
    others; `usd_priced` and `hours_priced` also hold those placed by their prices alone (None where there are none).

    `worst_usd` is the sum of the runs' budgets, None where one has none.
    """

    lines: tuple[Line, ...]
    usd: Range | None
    hours: Range | None
    usd_priced: Range | None
    hours_priced: Range | None
    worst_usd: float | None
    unknown: tuple[str, ...]


def own_evidence(
    usd: Sequence[float], minutes: Sequence[float], rewards: Sequence[float], runs_wanted: int
) -> Evidence:
    """From past runs of the kind: ranges are prediction intervals for the mean of `runs_wanted` new ones.

    From a single run nothing is known of the spread: a factor of 3 to both sides, and any reward.
    """
    reward = predicted(rewards, runs_wanted) if rewards else None
    if reward is not None:
        wide = len(rewards) < 2
        reward = Range(
            expected=reward.expected, low=0.0 if wide else reward.low, high=1.0 if wide else min(1.0, reward.high)
        )
    return Evidence(
        kind="own",
        usd=predicted(usd, runs_wanted),
        minutes=predicted(minutes, runs_wanted),
        reward=reward,
        source=f"{len(usd)} run{'s' if len(usd) != 1 else ''} of your own",
    )


def predicted(values: Sequence[float], wanted: int) -> Range:
    """A prediction interval for the mean of `wanted` further values; never below 0."""
    mean, sd = mean_and_sd(list(values))
    if math.isnan(sd):
        return Range(expected=mean, low=mean / 3, high=mean * 3)
    half = t_95(len(values) - 1) * sd * math.sqrt(1 / wanted + 1 / len(values))
    return Range(expected=mean, low=max(0.0, mean - half), high=mean + half)


def forecast(
    designs: Mapping[str, Design], runs_each: int, known: Mapping[str, Evidence | None], slots: int
) -> Forecast:
    """What is known of each design, `runs_each` times. `slots` sandboxes are open at once.

    What is known from own runs deviates by chance, so those deviations add up in squares; figures are off for one
    reason (other prices, limits, wording), so theirs add up as they are. No run costs more than its budget.
    """
    lines = tuple(_line(name, runs_each, d.budget_usd, known.get(name)) for name, d in designs.items())
    budgeted = [line.worst_usd for line in lines]
    sure = [line for line in lines if line.kind in ("own", "published")]
    priced = [line for line in lines if line.kind]

    def hours(of: Sequence[Line]) -> Range | None:
        # A run that opens several sandboxes takes as many slots.
        parts = [(line.kind, _scaled(line.minutes, designs[line.design].sandboxes)) for line in of if line.minutes]
        total = _sum(parts)
        return None if total is None else _scaled(total, 1 / 60 / slots)

    def usd(of: Sequence[Line]) -> Range | None:
        return _sum([(line.kind, line.usd) for line in of if line.usd])

    more = len(priced) > len(sure)
    return Forecast(
        lines=lines,
        usd=usd(sure),
        hours=hours(sure),
        usd_priced=usd(priced) if more else None,
        hours_priced=hours(priced) if more else None,
        worst_usd=None if None in budgeted else math.fsum(b for b in budgeted if b is not None),
        unknown=tuple(line.design for line in lines if line.kind in ("prices", "")),
    )


def _line(name: str, runs: int, budget: float | None, e: Evidence | None) -> Line:
    worst = None if budget is None else budget * runs
    if e is None:
        return Line(
            design=name, runs=runs, usd=None, minutes=None, reward=None, worst_usd=worst, kind="", source="", notes=()
        )
    usd, minutes = (e.usd, e.minutes) if e.kind == "own" else (_of_runs(e.usd, runs), _of_runs(e.minutes, runs))
    assert usd is not None
    if budget is not None:
        usd = Range(expected=min(usd.expected, budget), low=min(usd.low, budget), high=min(usd.high, budget))
    return Line(
        design=name,
        runs=runs,
        usd=_scaled(usd, runs),
        minutes=None if minutes is None else _scaled(minutes, runs),
        reward=e.reward,
        worst_usd=worst,
        kind=e.kind,
        source=e.source,
        notes=e.notes,
    )


def _of_runs(r: Range | None, runs: int) -> Range | None:
    """The range of a mean over all such tasks, as one for the mean of so many runs."""
    if r is None:
        return None
    chance = Z_95 * RUN_CV * r.expected / math.sqrt(runs)
    down, up = math.hypot(r.expected - r.low, chance), math.hypot(r.high - r.expected, chance)
    return Range(expected=r.expected, low=max(0.0, r.expected - down), high=r.expected + up)


def _scaled(r: Range, by: float) -> Range:
    return Range(expected=r.expected * by, low=r.low * by, high=r.high * by)


def _sum(known: Sequence[tuple[Kind, Range]]) -> Range | None:
    if not known:
        return None
    expected = math.fsum(r.expected for _, r in known)
    down = _deviation([(kind, r.expected - r.low) for kind, r in known])
    up = _deviation([(kind, r.high - r.expected) for kind, r in known])
    return Range(expected=expected, low=max(0.0, expected - down), high=expected + up)


def _deviation(parts: Sequence[tuple[Kind, float]]) -> float:
    chance = math.sqrt(math.fsum(d**2 for kind, d in parts if kind == "own"))
    common = math.fsum(d for kind, d in parts if kind != "own")
    return math.hypot(chance, common)
