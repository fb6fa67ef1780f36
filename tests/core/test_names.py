"""A model's short name: one way for every command, table and page."""

from __future__ import annotations

import pytest

from leadhand.analysis.factors import factors_of
from leadhand.core.design import Design
from leadhand.core.names import short_model

REHEARSED = "scripted/leadhand.benchmarks.rehearsal:rehearsal"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("anthropic/claude-x", "claude-x"),
        ("openai-chat/org/model:free", "model:free"),
        ("bare", "bare"),
        (REHEARSED, "scripted"),
        ("scripted/my.scripts:TEAM", "scripted TEAM"),
        ("scripted/demo", "scripted demo"),
    ],
)
def test_a_models_short_name(name: str, short: str) -> None:
    assert short_model(name) == short


def test_tables_say_it_as_show_does() -> None:
    assert factors_of(Design(lead=REHEARSED, solo=True)).label == "scripted · solo minimal"
    assert factors_of(Design(lead=REHEARSED, lead_reasoning="low", solo=True)).lead == "scripted (low)"
    # Two scripts are two models: neither is the other's control.
    assert factors_of(Design(lead="scripted/a:ONE", worker="scripted/a:TWO")).homogeneous is False
