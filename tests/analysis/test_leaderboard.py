"""Issue 8, point 1: the public leaderboard, against an independent computation with pandas and statsmodels (1e-9)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.stats.multitest import multipletests

from leadhand.analysis.compare import by_tier, compare, estimate, summarise
from leadhand.analysis.scores import Scores
from leadhand.analysis.stats.intervals import clustered, mean
from leadhand.analysis.tidy import read_scores

DATA = Path(__file__).parent / "data"
FULL = Path(__file__).resolve().parents[3] / "shared" / "data" / "programbench"
DEFAULT, HIGH, XHIGH = (
    "20260507_mini-v2.2.6_gpt-5-5",
    "20260507_mini-v2.2.6_gpt-5-5-high",
    "20260508_mini-v2.2.6_gpt-5-5-xhigh",
)
PAIRS = [(HIGH, DEFAULT), (XHIGH, HIGH), (XHIGH, DEFAULT)]


@pytest.fixture(scope="module", params=["excerpt", "full"])
def files(request: pytest.FixtureRequest) -> tuple[Path, Path]:
    if request.param == "excerpt":
        return DATA / "gpt-5-5.csv", DATA / "tasks.csv"
    if not FULL.exists():
        pytest.skip("the full leaderboard is not beside the repository")
    return FULL / "leaderboard.csv", FULL / "tasks.csv"


@pytest.fixture(scope="module")
def scores(files: tuple[Path, Path]) -> Scores:
    return read_scores(files[0], tasks=files[1], missing="zero")


@pytest.fixture(scope="module")
def oracle(files: tuple[Path, Path]) -> pd.DataFrame:
    """Tasks x (score, cost) x submission, by pandas alone: missing scores are 0."""
    rows, tasks = pd.read_csv(files[0]), pd.read_csv(files[1])
    wide = rows.pivot(index="task", columns="submission", values=["score", "cost_usd"]).reindex(tasks["task"])
    wide["score"] = wide["score"].fillna(0.0)
    return wide.join(pd.concat({"tier": tasks.set_index("task")[["difficulty"]]}, axis=1))


def ols_mean(values: pd.Series) -> tuple[float, float, float]:
    """The mean and its t interval, as a regression on a constant."""
    fit = sm.OLS(values.to_numpy(), np.ones(len(values))).fit()
    low, high = fit.conf_int()[0]
    return float(fit.params[0]), float(low), float(high)


@pytest.mark.parametrize("submission", [DEFAULT, HIGH, XHIGH])
def test_mean_scores_and_costs(scores: Scores, oracle: pd.DataFrame, submission: str) -> None:
    row = next(r for r in summarise(scores.only([submission])) if r.design == submission)
    assert row.reward is not None
    assert row.cost is not None
    assert row.reward.n == 200
    assert (row.reward.value, row.reward.low, row.reward.high) == pytest.approx(
        ols_mean(oracle["score"][submission]), abs=1e-9
    )
    costs = oracle["cost_usd"][submission].dropna()
    assert (row.cost.value, row.cost.low, row.cost.high) == pytest.approx(ols_mean(costs), abs=1e-9)


def test_the_published_aggregates(scores: Scores) -> None:
    """Means over 200 and mean costs as the leaderboard's own summary prints them."""
    published = {DEFAULT: (0.565, 1.2061), HIGH: (0.6574, 3.653), XHIGH: (0.6914, 8.848)}
    for row in summarise(scores.only(list(published))):
        assert row.reward is not None
        assert row.cost is not None
        reward, cost = published[row.design]
        assert row.reward.value == pytest.approx(reward, abs=5.1e-5)
        assert row.cost.value == pytest.approx(cost, abs=5.1e-5)


def test_paired_differences(scores: Scores, oracle: pd.DataFrame) -> None:
    found = compare(scores, PAIRS)
    p_values = []
    for c, (a, b) in zip(found, PAIRS, strict=True):
        difference = oracle["score"][a] - oracle["score"][b]
        assert (c.reward.value, c.reward.low, c.reward.high) == pytest.approx(ols_mean(difference), abs=1e-9)
        fit = sm.OLS(difference.to_numpy(), np.ones(200)).fit()
        assert c.reward.p == pytest.approx(float(fit.pvalues[0]), rel=1e-6)
        p_values.append(float(fit.pvalues[0]))
        costs = (oracle["cost_usd"][a] - oracle["cost_usd"][b]).dropna()
        assert c.cost is not None
        assert (c.cost.value, c.cost.low, c.cost.high) == pytest.approx(ols_mean(costs), abs=1e-9)
    assert [c.p_adjusted for c in found] == pytest.approx(multipletests(p_values, method="holm")[1].tolist(), rel=1e-6)


def test_the_papers_interval(scores: Scores, oracle: pd.DataFrame) -> None:
    """--paper: 1.96 standard errors with n - 1 in the deviation, by pandas' own `sem`."""
    (found,) = compare(scores, [(HIGH, DEFAULT)], "paper")
    difference = oracle["score"][HIGH] - oracle["score"][DEFAULT]
    assert found.reward.low == pytest.approx(float(difference.mean() - 1.96 * difference.sem()), abs=1e-12)
    assert found.reward.high == pytest.approx(float(difference.mean() + 1.96 * difference.sem()), abs=1e-12)


@pytest.mark.parametrize("submission", [DEFAULT, HIGH, XHIGH])
def test_scores_by_difficulty(scores: Scores, oracle: pd.DataFrame, submission: str) -> None:
    tiers = oracle["tier"]["difficulty"].fillna("unlabelled")
    found = by_tier(scores, submission)
    assert list(found) == ["easy", "medium", "hard", "unlabelled"]
    for tier, estimate_ in found.items():
        expected = ols_mean(oracle["score"][submission][tiers == tier])
        assert (estimate_.value, estimate_.low, estimate_.high) == pytest.approx(expected, abs=1e-9)
    assert {t: e.n for t, e in found.items()} == {"easy": 27, "medium": 120, "hard": 18, "unlabelled": 35}


def test_a_cluster_robust_mean_is_statsmodels(oracle: pd.DataFrame) -> None:
    languages = pd.read_csv(DATA / "tasks.csv").set_index("task")["language"].reindex(oracle.index)
    values = oracle["score"][HIGH]
    fit = sm.OLS(values.to_numpy(), np.ones(200)).fit(
        cov_type="cluster", cov_kwds={"groups": pd.factorize(languages)[0]}, use_t=True
    )
    found = clustered(values.to_numpy(), languages.tolist())
    assert found.se == pytest.approx(float(fit.bse[0]), abs=1e-9)
    assert (found.low, found.high) == pytest.approx(tuple(fit.conf_int()[0]), abs=1e-9)
    assert found.se > mean(values.to_numpy()).se, "languages differ, so pooling tasks understates the error"


def test_omitting_missing_scores_is_another_mean_and_says_so(files: tuple[Path, Path]) -> None:
    omitted = read_scores(files[0], tasks=files[1])
    row = next(r for r in summarise(omitted.only([HIGH])) if r.design == HIGH)
    assert row.reward is not None
    assert row.reward.n == 196
    assert row.reward.value == pytest.approx(0.6709, abs=5e-5)
    assert row.standing.left_out == 4
    low, high = row.reward_bounds
    assert (low, high) == pytest.approx((0.6574, 0.6574 + 4 / 200), abs=5e-5)


def test_a_mean_of_nothing_is_no_number() -> None:
    assert estimate(np.array([np.nan, np.nan])) is None
