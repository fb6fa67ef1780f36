"""Cheaper plans to set beside a plan: fewer tasks, fewer repeats, or without designs that are not expected to pay."""

from __future__ import annotations

import math
from collections.abc import Mapping

from leadhand.study.forecast import Forecast, Line

CHEAPER = 0.99
"""Less than this share of another's expected dollars is cheaper; the rest is rounding."""


def smaller(tasks: int, repeats: int) -> list[tuple[int, int]]:
    """Smaller plans as (tasks, repeats), the dearest first."""
    half, quarter = -(-tasks // 2), -(-tasks // 4)
    plans = {(tasks, 1), (tasks, 2), (half, repeats), (half, 1), (quarter, 1), (30, 1)}
    return sorted(
        (p for p in plans if 2 <= p[0] <= tasks and p[1] <= repeats and p[0] * p[1] < tasks * repeats),
        key=lambda p: (-p[0] * p[1], -p[0]),
    )


def dominated(f: Forecast, controls: Mapping[str, str]) -> dict[str, str]:
    """Designs that cost more than another and are not expected to earn more, each with the best of those, which itself
    is not one of them.

    Solo designs stay: the others are measured against them. Designs of which no reward is known are left alone.
    """
    known = {line.design: line for line in f.lines if line.usd is not None and line.reward is not None}
    found: dict[str, str] = {}
    for name, line in known.items():
        better = [other for other in known.values() if _beats(other, line)]
        if controls.get(name) and better:
            found[name] = max(better, key=_pays).design
    return found


def saved(f: Forecast, dropped: Mapping[str, str]) -> tuple[float, float]:
    """Expected dollars of the dropped designs, and what share of all expected dollars that is."""
    costs = {line.design: line.usd.expected for line in f.lines if line.usd is not None}
    part = math.fsum(usd for name, usd in costs.items() if name in dropped)
    whole = math.fsum(costs.values())
    return part, part / whole if whole else 0.0


def _beats(a: Line, b: Line) -> bool:
    assert a.usd is not None
    assert b.usd is not None
    return a.usd.expected < CHEAPER * b.usd.expected and _earns(a) >= _earns(b)


def _pays(line: Line) -> tuple[float, float]:
    """Reward first, then fewer dollars."""
    return _earns(line), -(line.usd.expected if line.usd is not None else math.inf)


def _earns(line: Line) -> float:
    return line.reward.expected if line.reward is not None else -math.inf
