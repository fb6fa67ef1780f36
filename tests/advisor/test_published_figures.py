"""The published figures: complete, sourced, and what the model makes of them."""

from __future__ import annotations

import math

import pytest
from advisor_evidence import LUNA, PRICES, SOL

from leadhand.advisor.advise import fit_all
from leadhand.advisor.figures import METRICS, disputes, figures, listed_prices, sources
from leadhand.advisor.model import Fitted
from leadhand.core.design import Design


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    return fit_all([], PRICES.__getitem__)


def sol(**settings: object) -> Design:
    return Design(lead=SOL, **settings)  # type: ignore[arg-type]


def test_every_figure_has_a_source_a_place_and_a_spread() -> None:
    used = {f.source.key for f in figures()}
    assert used | {"agentcard", "cursor"} == set(sources()), "the other two stand in the dispute"
    for f in figures():
        assert f.where
        assert f.text
        assert f.source.scope
        assert f.source.date >= "2025"
        assert f.sd > 0
        assert {m for t in f.terms for m in t.design.models} <= set(listed_prices())
    assert {m: sum(f.metric == m for f in figures()) > 20 for m in METRICS} == dict.fromkeys(METRICS, True)


def test_what_is_derived_says_so() -> None:
    """Numbers that no source prints are marked where they stand."""
    guessed = [f for f in figures() if f.text.startswith(("a team that delegates everything", "cheap implementers"))]
    assert len(guessed) == 2
    assert all("derived" in f.where for f in guessed)


@pytest.mark.parametrize(
    ("design", "metric", "value"),
    [
        (sol(solo=True), "reward", 0.521),
        (sol(solo=True, guidance="PIV"), "reward", 0.577),
        (sol(), "reward", 0.559),
        (sol(solo=True), "usd", 0.24),
        (sol(solo=True, guidance="PIV"), "usd", 0.38),
        (sol(), "usd", 0.91),
        (sol(solo=True), "minutes", 1.9),
    ],
)
def test_printed_points_lie_in_their_predictions(fitted: Fitted, design: Design, metric: str, value: float) -> None:
    joint = fitted.predict(metric, [design], "programbench")  # type: ignore[arg-type]
    truth = value if metric == "reward" else math.log(value)
    assert abs(truth - joint.mean[0]) < 1.96 * joint.sd[0]
    assert joint.sd[0] < (0.03 if metric == "reward" else 0.2)


def test_printed_relations_hold_in_the_predictions(fitted: Fitted) -> None:
    planning, everything = sol(guidance="P"), sol(guidance="PIV")
    cheap, alone = sol(worker=LUNA, guidance="P", workers=16), sol(solo=True, guidance="PIV")
    designs = [planning, everything, cheap, alone]
    reward = fitted.predict("reward", designs, "programbench").mean
    usd = [math.exp(v) for v in fitted.predict("usd", designs, "programbench").mean]
    assert reward[0] == pytest.approx(reward[1], abs=0.005), "planning only earns what everything earns"
    assert usd[0] / usd[1] == pytest.approx(0.5, abs=0.08), "at half the cost"
    assert reward[2] - reward[1] == pytest.approx(-0.014, abs=0.005), "16 cheap planners: 1.4 points less"
    assert usd[2] / usd[1] == pytest.approx(0.30, abs=0.05), "at 30 % of the cost"
    assert usd[1] / usd[3] == pytest.approx(4.5, rel=0.35), "teams cost 3 to 7 times"
    assert reward[3] < reward[2] < reward[1]


def test_teams_lift_hard_tasks_and_not_easy_ones(fitted: Fitted) -> None:
    pair = [sol(guidance="P"), sol(solo=True, guidance="PIV")]
    lifts = {}
    for tier in ("easy", "medium", "hard"):
        mean = fitted.predict("reward", pair, f"programbench:{tier}").mean
        lifts[tier] = mean[0] - mean[1]
    assert lifts["easy"] < 0.01 < lifts["medium"] < lifts["hard"]


def test_what_was_never_seen_is_known_less(fitted: Fitted) -> None:
    design = sol(guidance="P")
    for metric in METRICS:
        at_home = fitted.predict(metric, [design], "programbench").sd[0]
        elsewhere = fitted.predict(metric, [design], "somewhere").sd[0]
        assert elsewhere > 1.5 * at_home


def test_the_dispute_names_both_sides() -> None:
    (text,) = [d.text for d in disputes() if d.when == "cheap planners"]
    assert "pay when the strong lead still decides and writes (Cohere" in text
    assert "costs more than it saves" in text
