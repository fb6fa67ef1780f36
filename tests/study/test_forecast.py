"""What a plan says: power, prediction intervals, evidence. Against formulas and tables, not against itself."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

import pytest
from scipy import stats

from leadhand.core.design import Design
from leadhand.study.forecast import Evidence, cheaper, forecast, own_evidence
from leadhand.study.known import figures, kind_of, published
from leadhand.study.planning import plan_study
from leadhand.study.power import (
    between_of,
    detectable,
    half_width,
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
        e = own_evidence(past, past, 20)
        mean = sum(max(0.0, random.gauss(2.0, 0.5)) for _ in range(20)) / 20
        hits += e.usd_low <= mean <= e.usd_high
    assert hits / 1500 == pytest.approx(0.95, abs=0.02)


def test_one_run_of_ones_own_says_little() -> None:
    e = own_evidence([3.0], [6.0], 10)
    assert (e.usd_low, e.usd, e.usd_high) == (1.0, 3.0, 9.0)


def test_sums_own_runs_in_squares_published_figures_as_they_are() -> None:
    own = Evidence(kind="own", usd=1.0, usd_low=0.7, usd_high=1.3, minutes=6, minutes_low=3, minutes_high=9)
    said = Evidence(kind="published", usd=1.0, usd_low=0.5, usd_high=2.0)
    f = forecast({"a": 10, "b": 10}, {"a": 5.0, "b": 5.0}, {"a": own, "b": own}, slots=2)
    assert f.usd is not None
    assert (f.usd.expected, f.usd.high - 20) == (20.0, pytest.approx(3 * math.sqrt(2)))
    assert f.hours is not None
    assert f.hours.expected == pytest.approx(20 * 6 / 60 / 2)
    g = forecast({"a": 10, "b": 10}, {"a": 5.0, "b": 5.0}, {"a": said, "b": said}, slots=2)
    assert g.usd is not None
    assert (g.usd.low, g.usd.high) == (10.0, 40.0)
    assert g.worst_usd == 100.0
    h = forecast({"a": 10, "b": 10}, {"a": 5.0, "b": None}, {"a": own}, slots=1)
    assert (h.unknown, h.worst_usd) == (("b",), None)


def test_published_figures_are_found_by_model_guidance_and_size() -> None:
    solo = Design(lead="openai/gpt-5.6-sol", solo=True, guidance="PIV", budget_usd=1.0)
    found = published(solo)
    assert found is not None
    assert (found.usd, found.minutes) == (0.38, 2.5)
    team = Design(lead="openai/gpt-5.6-sol", guidance="minimal", budget_usd=1.0)
    assert published(team) is not None
    sixteen = Design(lead="openai/gpt-5.6-sol", worker="openai/gpt-5.6-luna", workers=16, guidance="P", budget_usd=1.0)
    assert published(sixteen) is not None
    assert published(Design(lead="openai/gpt-5.6-sol", worker="openai/gpt-5.6-luna", workers=4, guidance="P")) is None
    assert published(Design(lead="openai/other", solo=True)) is None
    assert all(f.source for f in figures())


def test_the_kind_of_a_design_forgets_what_only_bounds_it() -> None:
    a, b = (Design(lead="x/y", guidance="P", budget_usd=usd) for usd in (1.0, 9.0))
    assert kind_of(a) == kind_of(b) != kind_of(Design(lead="x/y", guidance="I", budget_usd=1.0))


def test_cheaper_plans_are_cheaper() -> None:
    plans = cheaper(200, 3)
    assert (200, 1) in plans
    assert (100, 3) in plans
    assert all(n * k < 600 for n, k in plans)
    assert plans == sorted(plans, key=lambda p: (-p[0] * p[1], -p[0]))
    assert cheaper(2, 1) == []


def test_a_plan_of_a_study_whose_tasks_are_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        "budget_usd = 50.0\nrepeats = 2\n[tasks]\nsource = ['a-benchmark-of-mars']\ncount = 40\n"
        "[base]\nlead = 'openai/gpt-5.6-sol'\nbudget_usd = 2.0\n[grid]\nguidance = ['minimal', 'V']\n"
    )
    plan = plan_study(path, Given(), [])
    assert (plan.runs, plan.tasks, len(plan.designs)) == (40 * 2 * 4, 40, 4)
    assert "not on this machine" in plan.note
    assert plan.forecast.worst_usd == 640.0
    assert plan.forecast.unknown == ("V",)
    assert plan.forecast.usd is not None
    assert plan.forecast.usd.expected == pytest.approx(80 * (0.24 + 0.38 + 0.91))
    assert plan.budget_usd == 50.0
