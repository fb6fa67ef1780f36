"""The pieces of the statistics: against scipy and statsmodels, against published figures, and at their edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from leadhand.analysis.stats.bootstrap import bca
from leadhand.analysis.stats.frontier import on_frontier, probability_on_frontier
from leadhand.analysis.stats.hypotheses import holm, non_inferior
from leadhand.analysis.stats.intervals import Estimate, clustered, mean, paired
from leadhand.analysis.stats.plateau import plateau
from leadhand.analysis.stats.power import mde, mde_of_parts, tasks_for_effect, tasks_for_width
from leadhand.analysis.stats.stability import run_to_run


def test_one_task_has_a_mean_and_no_interval() -> None:
    found = mean([0.4])
    assert (found.value, found.low, found.high, found.p) == (0.4, None, None, None)
    assert found.half == math.inf
    assert not found.decided


@pytest.mark.parametrize("bad", [[], [0.1, math.nan], [math.inf]])
def test_a_missing_value_is_an_error_not_a_smaller_sample(bad: list[float]) -> None:
    with pytest.raises(ValueError, match=r"no values|missing"):
        mean(bad)


def test_paired_samples_must_match() -> None:
    with pytest.raises(ValueError, match="2 and 3"):
        paired([1, 2], [1, 2, 3])


def test_identical_designs_differ_by_zero_without_a_p_value() -> None:
    found = paired([0.1, 0.9, 0.5], [0.1, 0.9, 0.5])
    assert (found.value, found.low, found.high, found.p) == (0.0, 0.0, 0.0, None)


def test_clusters_of_one_task_are_the_plain_interval() -> None:
    values = [0.1, 0.5, 0.9, 0.3]
    assert clustered(values, ["a", "b", "c", "d"]).se == pytest.approx(mean(values).se)
    assert clustered(values, ["a"] * 4).low is None


@pytest.mark.parametrize(
    ("points", "half", "excludes"),
    [(0.4, 1.2, False), (-1.3, 1.2, True), (-1.4, 1.5, False), (-3.5, 1.5, True), (-7.1, 2.3, True)],
    ids=["strong", "strong + cheap", "mid", "mid + cheap", "cheap"],
)
def test_table_6_excludes_zero_in_the_mixed_and_the_cheap_rows(points: float, half: float, excludes: bool) -> None:
    """Paired differences with the published mean and half-width; the detectable effect is 1.43 half-widths."""
    sd = half / 100 * math.sqrt(200) / 1.96
    spread = sd * math.sqrt(199 / 200) * np.array([1.0, -1.0] * 100)
    found = paired(points / 100 + spread, np.zeros(200), "paper")
    assert found.half == pytest.approx(half / 100)
    assert found.decided is excludes
    assert mde(found.sd, 200, "paper") == pytest.approx(1.43 * half / 100, rel=2e-3)


def test_the_published_half_width_implies_the_published_deviation() -> None:
    """+-0.030 at n = 200 means a task SD of 0.217, by 1.96 standard errors."""
    assert 0.030 * math.sqrt(200) / 1.96 == pytest.approx(0.2165, abs=5e-4)
    values = np.array([0.5 + 0.2165, 0.5 - 0.2165] * 100) * 1.0
    found = mean(values, "paper")
    assert found.half == pytest.approx(0.030, abs=1e-4)


def test_table_3_fits_a_deviation_with_n_minus_1_only() -> None:
    """Range 0.015 with SD 0.008, and range 0.011 with SD 0.006, of three means: whatever the middle one is."""
    for spread, printed in ((0.015, 0.008), (0.011, 0.006)):
        ours, other = [], []
        for middle in np.linspace(0, spread, 51):
            rewards = np.array([[0.5, 0.5 + middle, 0.5 + spread]] * 2)
            found = run_to_run(rewards)
            assert found.spread == pytest.approx(spread)
            ours.append(round(float(found.sd or 0), 3))
            other.append(round(float(rewards[0].std(ddof=0)), 3))
        assert printed in ours
        assert spread != 0.015 or printed not in other


def test_table_6_excludes_zero_in_the_mixed_and_luna_rows() -> None:
    rows = {"Sol": (0.4, 1.2), "Sol + Luna": (-1.3, 1.2), "Terra + Luna": (-3.5, 1.5), "Luna": (-7.1, 2.3)}
    decided = {}
    for name, (delta, half) in rows.items():
        sd = half / 1.96 * math.sqrt(200)
        z = np.array([1.0, -1.0] * 100) * math.sqrt(199 / 200)
        decided[name] = mean(delta + sd * z, "paper").decided
    assert decided == {"Sol": False, "Sol + Luna": True, "Terra + Luna": True, "Luna": True}


def test_the_planning_table() -> None:
    """Facts, 1.6: SD 8.7 points gives +-1.2 at 200, +-3.1 at 30; the detectable effect is 1.43 half widths."""
    half_200, half_30 = (1.96 * 8.7 / math.sqrt(n) for n in (200, 30))
    assert (round(half_200, 1), round(half_30, 1)) == (1.2, 3.1)
    assert mde(8.7, 200, "paper") / half_200 == pytest.approx(1.43, abs=0.005)
    assert tasks_for_width(8.7, 1.2, "paper") == pytest.approx(200, abs=3)


def test_run_to_run_leaves_out_and_counts_unfinished_tasks() -> None:
    rewards = np.array([[0.1, 0.3], [0.5, 0.5], [np.nan, 0.9]])
    found = run_to_run(rewards)
    assert (found.tasks, found.left_out) == (2, 1)
    assert found.means == pytest.approx((0.3, 0.4))
    assert found.task_difference == pytest.approx(0.1)
    assert found.correlation == pytest.approx(1.0)
    assert run_to_run(rewards[:, :1]).sd is None
    assert run_to_run(np.full((3, 2), 0.5)).correlation is None


@pytest.mark.parametrize("n", [5, 16, 200])
def test_the_detectable_effect_is_statsmodels(n: int) -> None:
    expected = TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8)
    assert mde(1.0, n) == pytest.approx(expected, rel=1e-4)
    assert tasks_for_effect(1.0, float(expected) * 1.0001) == n


def test_repeats_lower_the_detectable_effect_less_than_tasks_do() -> None:
    one = mde_of_parts(0.04, 0.01, 1, 0.01, 1, 100)
    assert one == pytest.approx(2.8016 * math.sqrt(0.06 / 100), rel=1e-4)
    assert mde_of_parts(0.04, 0.01, 2, 0.01, 2, 100) > mde_of_parts(0.04, 0.01, 1, 0.01, 1, 200)


def test_holm_is_statsmodels_and_skips_what_has_no_p() -> None:
    p = [0.04, 0.001, 0.03, 0.2]
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1].tolist())
    assert holm([0.04, None, 0.01]) == [0.04, None, 0.02]
    assert holm([]) == []


def test_bca_agrees_with_scipy() -> None:
    random = np.random.default_rng(5)
    gain, cost = random.beta(2, 5, 60), random.lognormal(0, 0.5, 60)
    ours = bca(np.column_stack([gain, cost]), lambda m: m[:, 0] / m[:, 1])
    theirs = stats.bootstrap(
        (gain, cost),
        lambda g, c, axis: g.mean(axis=axis) / c.mean(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=9_999,
        method="BCa",
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert ours.low == pytest.approx(theirs.low, rel=0.01)
    assert ours.high == pytest.approx(theirs.high, rel=0.01)


def test_a_bootstrap_is_the_same_each_time() -> None:
    data = np.random.default_rng(0).random((30, 2))
    assert bca(data, lambda m: m[:, 0] / m[:, 1]) == bca(data, lambda m: m[:, 0] / m[:, 1])


def test_a_bootstrap_of_equal_tasks_is_a_point() -> None:
    found = bca(np.full((5, 1), 0.3), lambda m: m[:, 0])
    assert (found.low, found.high) == pytest.approx((0.3, 0.3))


def test_solo_piv_dominates_team_minimal() -> None:
    """The paper's numbers: (0.577, $0.38) against (0.559, $0.91), and (0.521, $0.24) for solo minimal."""
    mask = on_frontier(np.array([0.577, 0.559, 0.521]), np.array([0.38, 0.91, 0.24]))
    assert mask.tolist() == [True, False, True]


def test_equal_designs_are_both_on_the_frontier() -> None:
    assert on_frontier(np.array([0.5, 0.5, 0.5]), np.array([1.0, 1.0, 2.0])).tolist() == [True, True, False]


def test_the_frontier_probability_of_a_clear_case_is_one_or_zero() -> None:
    reward = np.column_stack([np.full(20, 0.6), np.full(20, 0.5)])
    cost = np.column_stack([np.full(20, 1.0), np.full(20, 2.0)])
    assert probability_on_frontier(reward, cost).tolist() == [1.0, 0.0]


def test_within_1_4_points_at_70_percent_lower_cost() -> None:
    random = np.random.default_rng(7)
    base_cost = random.lognormal(0.5, 0.3, 200)
    base = np.clip(random.normal(0.6, 0.2, 200), 0, 1)
    close = base - 0.002 + random.normal(0, 0.03, 200)
    found = non_inferior(close, base, base_cost * 0.2, base_cost, margin=0.014, saving=0.7)
    assert found.holds
    assert found.saved == pytest.approx(0.8)
    assert found.saving_low == pytest.approx(0.8)
    dear = non_inferior(close, base, base_cost * 0.35, base_cost, margin=0.014, saving=0.7)
    assert not dear.holds
    assert dear.p_reward < 0.05 < dear.p_cost
    worse = non_inferior(base - 0.02, base, base_cost * 0.2, base_cost, margin=0.014, saving=0.7)
    assert not worse.holds


def test_the_saving_limit_inverts_the_cost_test() -> None:
    random = np.random.default_rng(9)
    base = random.lognormal(0.5, 0.4, 40)
    cost = base * random.uniform(0.2, 0.4, 40)
    low = non_inferior(base, base, cost, base, margin=1, saving=0.5).saving_low
    assert low is not None
    at_limit = non_inferior(base, base, cost, base, margin=1, saving=low)
    assert at_limit.p_cost == pytest.approx(0.05, abs=1e-9)


def test_a_plateau_is_bounded_not_assumed() -> None:
    random = np.random.default_rng(2)
    noise = lambda: random.normal(0, 0.03, 200)  # noqa: E731
    base = random.uniform(0.3, 0.8, 200)
    rewards = {2: base + noise(), 4: base + 0.05 + noise(), 8: base + 0.05 + noise(), 16: base + 0.05 + noise()}
    found = plateau(rewards)
    assert found.plateau_from == 4
    assert found.beaten_by_at_most is not None
    assert 0 < found.beaten_by_at_most < 0.015
    assert [(m.size, m.larger) for m in found.marginal] == [(2, 4), (4, 8), (8, 16)]
    assert found.marginal[0].per_worker.value == pytest.approx(0.025, abs=0.005)


def test_an_estimate_says_whether_zero_is_left_out() -> None:
    def at(low: float, high: float) -> bool:
        return Estimate(value=0, low=low, high=high, n=3, sd=1, se=1).decided

    assert (at(0.1, 0.2), at(-0.2, -0.1), at(-0.1, 0.1)) == (True, True, False)
