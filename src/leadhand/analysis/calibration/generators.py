"""The fixed list of generators. Each gives scores in [0, 1] and knows its true mean and skewness exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from leadhand.analysis.stats.intervals import Floats


class Generator(NamedTuple):
    """`draw(random, shape)` gives independent scores; `mean`, `sd` and `skew` are of the population."""

    name: str
    draw: Callable[[np.random.Generator, tuple[int, ...]], Floats]
    mean: float
    sd: float
    skew: float


def _truncated_normal(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Normal around 0.5 with deviation 0.16; beyond [0, 1] drawn again, which keeps it symmetric."""
    x = random.normal(0.5, 0.16, shape)
    while (outside := (x < 0) | (x > 1)).any():
        x[outside] = random.normal(0.5, 0.16, int(outside.sum()))
    return x


def _beta(a: float, b: float) -> Generator:
    total = a + b
    sd = (a * b / (total**2 * (total + 1))) ** 0.5
    skew = 2 * (b - a) * (total + 1) ** 0.5 / ((total + 2) * (a * b) ** 0.5)
    return Generator(f"beta({a:g}, {b:g})", lambda r, s: r.beta(a, b, s), a / total, sd, skew)


def _jumps(share: float) -> Generator:
    """Mostly zero; with probability `share` a jump, uniform in [0.2, 1]."""
    m1, m2 = share * 0.6, share * (1 - 0.2**3) / (3 * 0.8)
    m3 = share * (1 - 0.2**4) / (4 * 0.8)
    variance = m2 - m1**2

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        result: Floats = np.where(random.random(shape) < share, random.uniform(0.2, 1.0, shape), 0.0)
        return result

    skew = (m3 - 3 * m1 * variance - m1**3) / variance**1.5
    return Generator(f"jumps({share:g})", draw, m1, variance**0.5, skew)


def _grid(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    result: Floats = random.binomial(4, 0.5, shape) / 4
    return result


GENERATORS = (
    Generator("normal", _truncated_normal, 0.5, 0.158, 0.0),
    Generator("grid of 5", _grid, 0.5, 0.25, 0.0),
    _beta(2, 5),
    _beta(1, 4),
    _beta(0.6, 2.4),
    _jumps(0.3),
    _jumps(0.1),
)
