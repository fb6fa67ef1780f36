"""Issue 8, point 3: eta in all four quadrants and at zero denominators, recovery, synergy: computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from leadhand.analysis.stats.efficiency import _envelope, above_envelope, efficiency, recovery, synergy
from leadhand.analysis.stats.intervals import Floats


def flat(value: float, n: int = 4) -> Floats:
    return np.full(n, value)


def around(value: float, spread: float, n: int = 4) -> Floats:
    return value + spread * np.array([1.0, -1.0] * (n // 2))


def test_better_and_dearer_is_a_number() -> None:
    # dR/R0 = 0.1/0.5 = 0.2; dC/C0 = 1.0/0.5 = 2: eta 0.1; 10 points for 1 dollar.
    found = efficiency(around(0.6, 0.02), flat(0.5), around(1.5, 0.1), flat(0.5))
    assert found.quadrant == "number"
    assert found.eta is not None
    assert found.points_per_dollar is not None
    assert found.eta.value == pytest.approx(0.1)
    assert found.points_per_dollar.value == pytest.approx(10.0)
    assert found.cheaper_draws == 0.0
    assert found.eta.low is not None
    assert found.eta.low < 0.1 < found.eta.high


def test_worse_and_dearer_is_a_negative_number() -> None:
    found = efficiency(flat(0.4), flat(0.5), flat(1.0), flat(0.5))
    assert found.quadrant == "number"
    assert found.eta is not None
    assert found.eta.value == pytest.approx(-0.2)


def test_better_and_cheaper_dominates_and_has_no_number() -> None:
    found = efficiency(flat(0.6), flat(0.5), flat(0.4), flat(0.5))
    assert (found.quadrant, found.eta, found.points_per_dollar) == ("dominates", None, None)
    assert found.cheaper_draws == 1.0


def test_worse_and_cheaper_has_no_number() -> None:
    found = efficiency(flat(0.4), flat(0.5), flat(0.4), flat(0.5))
    assert (found.quadrant, found.eta) == ("cheaper, worse", None)


def test_at_equal_cost_there_is_no_number() -> None:
    assert efficiency(flat(0.6), flat(0.5), flat(0.5), flat(0.5)).quadrant == "dominates"
    assert efficiency(flat(0.5), flat(0.5), flat(0.5), flat(0.5)).quadrant == "cheaper, worse"


def test_a_base_of_zero_reward_has_points_per_dollar_only() -> None:
    found = efficiency(flat(0.1), flat(0.0), flat(1.0), flat(0.5))
    assert (found.quadrant, found.eta) == ("no base", None)
    assert found.points_per_dollar is not None
    assert found.points_per_dollar.value == pytest.approx(20.0)


def test_an_interval_is_withheld_where_the_added_cost_may_be_nothing() -> None:
    """The point estimate has dC > 0, but in far more than 2.5 % of draws dC <= 0."""
    cost = np.array([1.0, 0.0, 1.2, 0.1, 0.9, 0.0])
    found = efficiency(flat(0.6, 6), flat(0.5, 6), cost, flat(0.5, 6))
    assert found.added_cost > 0
    assert found.cheaper_draws > 0.025
    assert found.eta is not None
    assert found.eta.value is not None
    assert (found.eta.low, found.eta.high) == (None, None)
    assert found.eta.defined == pytest.approx(1 - found.cheaper_draws)


def test_eta_is_a_ratio_of_means_not_a_mean_of_ratios() -> None:
    reward, base = np.array([0.9, 0.2]), np.array([0.6, 0.1])
    cost, base_cost = np.array([2.0, 1.0]), np.array([1.0, 0.2])
    found = efficiency(reward, base, cost, base_cost)
    assert found.eta is not None
    expected = ((0.55 - 0.35) / 0.35) / ((1.5 - 0.6) / 0.6)
    assert found.eta.value == pytest.approx(expected)


def test_recovery_and_the_published_ratio_of_efficiencies() -> None:
    """47.5 % of the gain for 13.9 % of the added cost: so eta(mixed)/eta(strong) = 47.5/13.9, whatever the scale."""
    solo_r, strong_r = flat(0.577), flat(0.677)
    solo_c, strong_c = flat(0.38), flat(2.38)
    mixed_r, mixed_c = flat(0.577 + 0.475 * 0.1), flat(0.38 + 0.139 * 2.0)
    found = recovery((mixed_r, strong_r, solo_r), (mixed_c, strong_c, solo_c))
    assert found.gain is not None
    assert found.cost is not None
    assert found.gain.value == pytest.approx(0.475)
    assert found.cost.value == pytest.approx(0.139)
    mixed = efficiency(mixed_r, solo_r, mixed_c, solo_c).eta
    strong = efficiency(strong_r, solo_r, strong_c, solo_c).eta
    assert mixed is not None
    assert strong is not None
    assert mixed.value is not None
    assert strong.value is not None
    assert mixed.value / strong.value == pytest.approx(47.5 / 13.9)


def test_recovery_of_no_gain_does_not_exist() -> None:
    found = recovery((flat(0.6), flat(0.5), flat(0.5)), (flat(1.0), flat(2.0), flat(0.5)))
    assert found.gain is None
    assert found.cost is not None
    assert found.cost.value == pytest.approx(1 / 3)


def test_synergy_against_the_cost_matched_line() -> None:
    # Cost 1 lies a third of the way from 0.5 to 2: line at 0.4 + (0.7 - 0.4)/3 = 0.5; the mixed team has 0.6.
    found = synergy((flat(0.6), flat(0.4), flat(0.7)), (flat(1.0), flat(0.5), flat(2.0)))
    assert found is not None
    assert found.weight == pytest.approx(1 / 3)
    assert found.baseline == pytest.approx(0.5)
    assert found.synergy.value == pytest.approx(0.1)


@pytest.mark.parametrize(("cost", "weight", "value"), [(0.1, 0.0, 0.2), (9.0, 1.0, -0.1)])
def test_synergy_beyond_the_line_is_measured_from_its_end(cost: float, weight: float, value: float) -> None:
    found = synergy((flat(0.6), flat(0.4), flat(0.7)), (flat(cost), flat(0.5), flat(2.0)))
    assert found is not None
    assert found.weight == weight
    assert found.synergy.value == pytest.approx(value)


def test_synergy_needs_two_costs() -> None:
    assert synergy((flat(0.6), flat(0.4), flat(0.7)), (flat(1.0), flat(0.5), flat(0.5))) is None


def test_a_limit_may_be_infinite_but_never_nan() -> None:
    random = np.random.default_rng(3)
    cost = 0.5 + random.normal(0.11, 0.4, 60)
    found = efficiency(flat(0.6, 60), flat(0.5, 60), np.maximum(cost, 0.0), flat(0.5, 60))
    assert found.eta is not None
    for limit in (found.eta.low, found.eta.high):
        assert limit is None or not math.isnan(limit)


OTHERS = ((0.4, 1.0), (0.6, 2.0), (0.7, 4.0), (0.62, 3.0))
"""Homogeneous designs as (reward, cost). The last lies below the line between the second and the third."""


@pytest.mark.parametrize(
    ("cost", "best"),
    [
        (
            3.0,
            0.65,
        ),  # halfway between (0.6, $2) and (0.7, $4); the line from (0.4, $1) has 0.6, the one at $3 itself 0.62
        (1.5, 0.5),  # halfway between (0.4, $1) and (0.6, $2)
        (2.0, 0.6),
        (9.0, 0.7),  # nobody needs to spend more than the best costs
        (0.5, 0.4),  # cheaper than all: the cheapest's reward
    ],
)
def test_the_best_that_homogeneous_designs_reach_at_a_cost(cost: float, best: float) -> None:
    rewards, costs = (np.tile([o[i] for o in OTHERS], (4, 1)) for i in (0, 1))
    found = above_envelope(flat(0.68), flat(cost), rewards, costs)
    assert found.baseline == pytest.approx(best)
    assert found.synergy.value == pytest.approx(0.68 - best)


def test_the_envelope_is_the_best_of_all_pairs_in_every_draw() -> None:
    """Against a plain search over all pairs of lines, at costs that are often equal."""
    random = np.random.default_rng(7)
    rewards, costs = random.random((400, 6)), np.round(random.random((400, 6)) * 5, 1)
    at = np.round(random.random(400) * 6, 1)

    def searched(c: float, r: Floats, k: Floats) -> float:
        within = [j for j in range(6) if k[j] <= c]
        if not within:
            return max(r[j] for j in range(6) if k[j] == k.min())
        lines = [r[i] + (c - k[i]) / (k[j] - k[i]) * (r[j] - r[i]) for i in within for j in range(6) if k[j] > c]
        return max([*(r[j] for j in within), *lines])

    expected = [searched(c, r, k) for c, r, k in zip(at, rewards, costs, strict=True)]
    assert _envelope(at, rewards, costs) == pytest.approx(expected, abs=1e-12)


def test_an_envelope_of_two_is_the_line_between_them() -> None:
    mixed, cheap, dear = around(0.6, 0.05), around(0.4, 0.1), around(0.7, 0.02)
    costs = (around(1.0, 0.2), flat(0.5), around(2.0, 0.1))
    line = synergy((mixed, cheap, dear), costs)
    strict = above_envelope(mixed, costs[0], np.column_stack([cheap, dear]), np.column_stack(costs[1:]))
    assert line is not None
    assert (strict.baseline, strict.synergy.value) == (pytest.approx(line.baseline), pytest.approx(line.synergy.value))
