"""Issue 8, point 2: a short form with fixed seeds of what `python -m benchmarks.analysis --calibrate` measures."""

from __future__ import annotations

import numpy as np
import pytest

from leadhand.analysis.calibration.checks import (
    coverage_of_mean,
    coverage_of_paired,
    coverage_of_ratio,
    detectable_effect,
    frontier_calibration,
)
from leadhand.analysis.calibration.generators import GENERATORS, Generator

each = pytest.mark.parametrize("generator", GENERATORS, ids=lambda g: g.name)


@each
def test_generators_know_themselves(generator: Generator) -> None:
    x = generator.draw(np.random.default_rng(1), (400_000,))
    assert x.min() >= 0
    assert x.max() <= 1
    assert x.mean() == pytest.approx(generator.mean, abs=2e-3)
    assert x.std() == pytest.approx(generator.sd, abs=2e-3)
    assert ((x - x.mean()) ** 3).mean() / x.std() ** 3 == pytest.approx(generator.skew, abs=0.05)


@each
def test_intervals_of_means_and_differences_hold_what_they_promise(generator: Generator) -> None:
    for n in (16, 200):
        assert coverage_of_mean(generator, n, 1500).promised
        assert coverage_of_paired(generator, n, 1500).promised


@pytest.mark.parametrize("generator", [GENERATORS[0], GENERATORS[2]], ids=lambda g: g.name)
def test_ratio_intervals_hold_what_they_promise(generator: Generator) -> None:
    assert coverage_of_ratio(generator, 200, 400, 999).covered == pytest.approx(0.95, abs=0.03)


@each
def test_the_detectable_effect_is_right_to_a_tenth(generator: Generator) -> None:
    for n in (16, 200):
        assert detectable_effect(generator, n, 1500).error < 0.1


def test_the_frontier_probability_is_calibrated() -> None:
    deciles = frontier_calibration(studies=800, draws=399)
    assert len(deciles) == 10
    for d in deciles:
        # Within 5 points, plus what counting this many designs cannot tell.
        assert abs(d.stated - d.true) < 0.05 + 2 * (0.25 / d.designs) ** 0.5
