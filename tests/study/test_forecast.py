"""What a plan says: power, prediction intervals, evidence. Against formulas and tables, not against itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest
from scipy import stats

from leadhand.analysis.stats.power import mde
from leadhand.core.design import Design
from leadhand.core.values import Price, Task
from leadhand.study.cheaper import dominated, saved, smaller
from leadhand.study.file import load
from leadhand.study.forecast import Evidence, Forecast, Line, Range, forecast, own_evidence
from leadhand.study.known import kind_of
from leadhand.study.planning import plan_study, setting
from leadhand.study.power import (
    between_of,
    detectable,
    detected,
    half_width,
    mean_and_sd,
    published_detectable,
    sd_of_difference,
    t_95,
)
from leadhand.study.prepare import Given


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 8, 12, 29, 199])
def test_the_t_quantile(freedom: int) -> None:
    assert t_95(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=5e-3)


def test_the_papers_planning_numbers() -> None:
    """Half-widths at n = 200 of 1.2, 1.5 and 2.3 points; the detectable effect is 1.43 half-widths."""
    for kind, half in (("strong", 0.012), ("mid", 0.015), ("cheap", 0.023)):
        assert published_detectable(kind, 200, 3) == pytest.approx(1.43 * half, abs=0.0003)
    assert published_detectable("strong", 30, 3) == pytest.approx(0.044, abs=0.001)
    assert published_detectable("cheap", 30, 3) == pytest.approx(0.085, abs=0.001)


def test_the_detectable_effect_is_found_four_times_in_five() -> None:
    """By simulation: a true difference of that size, tested by a paired normal test."""
    random, tasks, sd = Random(5), 60, 0.11
    effect = detectable(sd, tasks)
    found = 0
    for _ in range(2000):
        differences = [random.gauss(effect, sd) for _ in range(tasks)]
        mean = sum(differences) / tasks
        se = math.sqrt(sum((d - mean) ** 2 for d in differences) / (tasks - 1) / tasks)
        found += abs(mean) > 1.959964 * se
    assert found / 2000 == pytest.approx(0.8, abs=0.04)


@pytest.mark.parametrize("n", [4, 6, 12, 16, 30, 200])
def test_what_was_detected_is_what_the_analysis_says(n: int) -> None:
    random = Random(n)
    values = [random.gauss(0.0, 1.0) for _ in range(n)]
    assert detected(values) == pytest.approx(mde(mean_and_sd(values)[1], n), rel=0.01)


def test_repeats_help_less_than_tasks() -> None:
    w, s = 0.07, 0.06
    assert between_of(sd_of_difference(w, s, 3, 3), s, 3) == pytest.approx(w)
    thrice = detectable(sd_of_difference(w, s, 3, 3), 50)
    assert thrice < detectable(sd_of_difference(w, s, 1, 1), 50)
    assert detectable(sd_of_difference(w, s, 1, 1), 150) < thrice


def test_half_width_is_students() -> None:
    values = [0.2, 0.5, 0.4, 0.9, 0.1]
    low, high = stats.t.interval(0.95, 4, loc=sum(values) / 5, scale=stats.sem(values))
    assert half_width(values) == pytest.approx((high - low) / 2, rel=1e-3)


def test_own_runs_predict_the_next_ones_as_often_as_they_say() -> None:
    random, hits = Random(11), 0
    for _ in range(1500):
        past = [max(0.0, random.gauss(2.0, 0.5)) for _ in range(8)]
        e = own_evidence(past, past, past, 20)
        mean = sum(max(0.0, random.gauss(2.0, 0.5)) for _ in range(20)) / 20
        hits += e.usd.low <= mean <= e.usd.high
    assert hits / 1500 == pytest.approx(0.95, abs=0.02)


def test_one_run_of_ones_own_says_little() -> None:
    e = own_evidence([3.0], [6.0], [0.4], 10)
    assert (e.usd.low, e.usd.expected, e.usd.high) == (1.0, 3.0, 9.0)
    assert e.reward == Range(expected=0.4, low=0.0, high=1.0)
    assert own_evidence([3.0], [6.0], [], 10).reward is None


def test_rewards_of_ones_own_stay_between_0_and_1() -> None:
    e = own_evidence([1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 0.9, 0.1], 2)
    assert e.reward is not None
    assert (e.reward.low, e.reward.high) == (0.0, 1.0)


def teams(*names: str, budget: float | None = 5.0) -> dict[str, Design]:
    return {name: Design(lead=f"x/{name}", budget_usd=budget) for name in names}


def span(expected: float, low: float, high: float) -> Range:
    return Range(expected=expected, low=low, high=high)


def test_sums_own_runs_in_squares_published_figures_as_they_are() -> None:
    own = Evidence(kind="own", usd=span(1.0, 0.7, 1.3), minutes=span(6, 3, 9))
    said = Evidence(kind="published", usd=span(1.0, 0.5, 2.0))
    f = forecast(teams("a", "b"), 10, {"a": own, "b": own}, slots=2)
    assert f.usd is not None
    assert (f.usd.expected, f.usd.high - 20) == (20.0, pytest.approx(3 * math.sqrt(2)))
    assert f.hours is not None
    assert f.hours.expected == pytest.approx(20 * 6 / 60 / 2)
    # A figure is for the mean over all such tasks: that these are ten of them comes on top.
    g = forecast(teams("a", "b"), 10, {"a": said, "b": said}, slots=2)
    assert g.usd is not None
    assert g.usd.high == pytest.approx(20 + 20 * math.hypot(1.0, 1.959964 / math.sqrt(10)))
    assert g.worst_usd == 100.0
    many = forecast(teams("a"), 1_000_000, {"a": said}, slots=2)
    assert many.usd is not None
    assert many.usd.high == pytest.approx(2e6, rel=1e-4)


def test_what_nothing_is_known_of_is_left_out_and_named() -> None:
    said = Evidence(kind="published", usd=span(1.0, 1.0, 1.0), minutes=span(3.0, 3.0, 3.0))
    priced = Evidence(kind="prices", usd=span(2.0, 1.0, 4.0), minutes=span(3.0, 3.0, 3.0))
    f = forecast(teams("a", "b", "c"), 10, {"a": said, "b": priced}, slots=1)
    assert f.unknown == ("b", "c")
    assert f.usd is not None
    assert f.usd.expected == 10.0
    assert f.usd_priced is not None
    assert f.usd_priced.expected == 30.0
    assert f.hours_priced is not None
    assert f.hours_priced.expected == 1.0
    assert forecast(teams("a"), 10, {"a": said}, slots=1).usd_priced is None
    assert forecast(teams("a", budget=None), 10, {}, slots=1).worst_usd is None


def test_no_run_costs_more_than_its_budget() -> None:
    said = Evidence(kind="published", usd=span(8.0, 2.0, 20.0))
    (line,) = forecast(teams("a", budget=5.0), 10, {"a": said}, slots=1).lines
    assert line.usd is not None
    assert (line.usd.expected, line.usd.high) == (50.0, 50.0)


def test_a_run_that_opens_several_sandboxes_takes_as_many_places() -> None:
    minutes = Evidence(kind="own", usd=span(1, 1, 1), minutes=span(6, 6, 6))
    best = Design(lead="x/y", strategy="best-of-k", k=4, selector="oracle", budget_usd=5.0)
    alone = Design(lead="x/y", solo=True, budget_usd=5.0)
    f = forecast({"best": best}, 10, {"best": minutes}, slots=8)
    g = forecast({"alone": alone}, 10, {"alone": minutes}, slots=8)
    assert f.hours is not None
    assert g.hours is not None
    assert f.hours.expected == pytest.approx(4 * g.hours.expected) == pytest.approx(10 * 6 * 4 / 60 / 8)


def test_the_kind_of_a_design_forgets_what_only_bounds_it() -> None:
    a, b = (Design(lead="x/y", guidance="P", budget_usd=usd) for usd in (1.0, 9.0))
    assert kind_of(a) == kind_of(b) != kind_of(Design(lead="x/y", guidance="I", budget_usd=1.0))


def test_cheaper_plans_are_cheaper() -> None:
    plans = smaller(200, 3)
    assert (200, 1) in plans
    assert (100, 3) in plans
    assert all(n * k < 600 for n, k in plans)
    assert plans == sorted(plans, key=lambda p: (-p[0] * p[1], -p[0]))
    assert smaller(2, 1) == []


def line(name: str, usd: float, reward: float | None) -> Line:
    earns = None if reward is None else span(reward, 0.0, 1.0)
    return Line(
        design=name,
        runs=10,
        usd=span(usd, usd, usd),
        minutes=None,
        reward=earns,
        worst_usd=None,
        kind="published",
        source="",
        notes=(),
    )


def test_dominated_designs_cost_more_and_are_expected_to_earn_no_more() -> None:
    lines = (line("solo", 9.0, 0.1), line("a", 1.0, 0.5), line("b", 2.0, 0.5), line("c", 3.0, 0.7), line("d", 4.0, 0.6))
    lines += (line("f", 2.5, 0.5),)
    unknown = (line("e", 9.0, None),)
    f = Forecast(
        lines=(*lines, *unknown), usd=None, hours=None, usd_priced=None, hours_priced=None, worst_usd=None, unknown=()
    )
    controls = {**dict.fromkeys("abcdef", "solo"), "solo": ""}
    found = dominated(f, controls)
    assert found == {"b": "a", "f": "a", "d": "c"}  # never the control, never what no reward is known of
    assert saved(f, found) == (8.5, pytest.approx(8.5 / 30.5))


STUDY = (
    "budget_usd = 50.0\nrepeats = 2\n[tasks]\nsource = ['a-benchmark-of-mars']\ncount = 40\n"
    "[base]\nlead = 'openai/gpt-5.6-sol'\nbudget_usd = 2.0\n[grid]\nguidance = ['minimal', 'V']\n"
)


def test_a_plan_of_a_study_whose_tasks_are_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(STUDY)
    asked: list[tuple[set[str], str]] = []

    def advise(designs: Mapping[str, Design], like: str, prices: Mapping[str, Price]) -> Mapping[str, Evidence]:
        asked.append((set(designs), like))
        found = {"minimal": (0.9, 0.4), "solo_minimal": (0.2, 0.5), "solo_PIV": (0.4, 0.6)}
        return {
            name: Evidence(kind="published", usd=span(usd, usd, usd), reward=span(earns, 0.0, 1.0), source="a book")
            for name, (usd, earns) in found.items()
        }

    plan = plan_study(path, Given(), [], advise=advise)
    assert (plan.runs, plan.tasks, len(plan.designs)) == (40 * 2 * 4, 40, 4)
    assert "not on this machine" in plan.note
    assert asked == [({"solo_minimal", "solo_PIV", "minimal", "V"}, "a-benchmark-of-mars")]
    assert plan.forecast.worst_usd == 640.0
    assert plan.forecast.unknown == ("V",)
    assert plan.forecast.usd is not None
    assert plan.forecast.usd.expected == pytest.approx(80 * (0.2 + 0.4 + 0.9))
    assert plan.budget_usd == 50.0
    half = next(s for s in plan.smaller if (s.tasks, s.repeats) == (20, 2))
    assert (half.runs, half.saves, half.saves_usd) == (160, 0.5, pytest.approx(60.0))
    assert half.detectable[0].reward > plan.detectable[0].reward
    without = plan.smaller[-1]
    assert without.without == {"minimal": "solo_PIV"}
    assert (without.runs, without.saves_usd) == (240, pytest.approx(72.0))
    assert without.detectable == plan.detectable


@pytest.mark.parametrize(
    ("benchmarks", "tiers", "like"),
    [
        (["programbench"], ["hard", "easy"], "programbench"),
        (["programbench"], ["hard"], "programbench:hard"),
        (["folder"], [""], "s"),
        (["programbench", "commit0-lite"], [""], "s"),
    ],
)
def test_what_a_studys_tasks_are_like(benchmarks: list[str], tiers: list[str], like: str, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(STUDY)
    tasks = [
        Task(id=f"{b}{t}", prompt="x", benchmark=b, labels={"difficulty": t} if t else {})
        for b in benchmarks
        for t in tiers
    ]
    assert setting(load(path), tasks) == like
