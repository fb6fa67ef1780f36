"""What a study's plan is told of its designs: figures where there are some, prices where there is nothing else."""

from __future__ import annotations

from datetime import UTC, datetime

from leadhand.advisor.own import Own
from leadhand.advisor.planned import evidence_for
from leadhand.core.design import Design
from leadhand.core.values import FREE, Price

WHEN = datetime(2026, 11, 30, tzinfo=UTC)
SOL = Design(lead="openai/gpt-5.6-sol", solo=True, guidance="PIV")
CANDIDATES = Design(lead="openai/gpt-5.6-sol", strategy="best-of-k", k=3, selector="oracle", guidance="PIV")
NOBODY = Design(lead="openai-chat/nobody-knows", solo=True)


def test_a_published_design_costs_what_was_published() -> None:
    found = evidence_for({"sol": SOL}, "programbench", {}, when=WHEN)["sol"]
    assert found.kind == "published"
    assert found.usd.low < 0.38 < found.usd.high  # tables 4 and 5 of arXiv 2610.17471
    assert found.reward is not None
    assert found.reward.low < 0.577 < found.reward.high
    assert "arXiv 2610.17471" in found.notes[0]


def test_of_an_unknown_model_only_the_price_is_known() -> None:
    price = Price(input=4.0, output=20.0, cache_read=0.4)
    found = evidence_for({"it": NOBODY}, "programbench", {NOBODY.lead: price}, when=WHEN)["it"]
    assert (found.kind, found.source, found.reward) == ("prices", "price alone", None)
    assert 0 < found.usd.low < found.usd.high
    assert any("nobody-knows" in note for note in found.notes)
    # Not even that: then nothing is said. What is free costs nothing.
    assert evidence_for({"it": NOBODY}, "programbench", {}, when=WHEN) == {}
    free = evidence_for({"it": NOBODY}, "programbench", {NOBODY.lead: FREE}, when=WHEN)["it"]
    assert free.usd.high == 0


def test_own_runs_of_the_kind_are_named_and_weigh() -> None:
    runs = [
        Own(design=SOL, setting="programbench", task=f"t{n}", reward=0.2, usd=3.0 + n / 10, minutes=9.0)
        for n in range(20)
    ]
    found = evidence_for({"sol": SOL, "best": CANDIDATES}, "programbench", {}, runs, WHEN)
    assert found["sol"].source.startswith("20 own runs there")
    assert 2.0 < found["sol"].usd.expected < 6.0
    assert found["best"].source.startswith("20 own runs of others")


def test_k_candidates_cost_more_than_one_agent() -> None:
    found = evidence_for({"sol": SOL, "best": CANDIDATES}, "programbench", {}, when=WHEN)
    assert found["best"].usd.expected > 1.5 * found["sol"].usd.expected
