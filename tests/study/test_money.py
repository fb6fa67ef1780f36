"""The purse: whatever starts and stops in whatever order, what may be owed never exceeds the study's budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.core.errors import UsageError
from leadhand.study.purse import Purse

moves = st.lists(st.tuples(st.integers(0, 9), st.floats(0, 1), st.booleans()), max_size=80)


@given(st.floats(1, 50), st.floats(0.01, 8), moves)
def test_what_may_be_owed_never_exceeds_the_limit(
    limit: float, budget: float, moves: list[tuple[int, float, bool]]
) -> None:
    purse = Purse(limit, {})
    owed = {f"r{i}": 0.0 for i in range(10)}
    running: set[str] = set()
    archived = 0
    for number, share, fails in moves:
        run = f"r{number}"
        if run in running:
            owed[run] += share * (budget - owed[run])  # a run may spend all that is left of its budget, no more
            purse.settle(run, owed[run])
            running.discard(run)
            if fails:
                archived += 1
                purse.rename(run, f"{run}.attempt-{archived}")
                owed[f"{run}.attempt-{archived}"] = owed.pop(run)
                owed[run] = 0.0
        elif purse.fits(run, budget):
            purse.hold(run, budget)
            running.add(run)
        worst = sum(budget if r in running else usd for r, usd in owed.items())
        assert worst <= limit * (1 + 1e-12)
        assert purse.spent + purse.held == pytest.approx(worst)


def test_money_spent_before_counts_and_a_resumed_run_is_not_counted_twice() -> None:
    purse = Purse(10.0, {"half": 3.0, "old.attempt-1": 4.0})
    assert purse.spent == 7.0
    assert purse.fits("half", 6.0)  # 4 spent elsewhere, 6 for it in all
    assert not purse.fits("half", 6.01)
    assert purse.fits("new", 3.0)
    assert not purse.fits("new", 3.01)
    purse.hold("half", 6.0)
    assert (purse.spent, purse.held) == (4.0, 6.0)
    assert not purse.fits("new", 0.01)
    purse.settle("half", 3.5)
    assert purse.fits("new", 2.5)


def test_a_run_that_was_given_less_since_counts_what_it_has_spent() -> None:
    purse = Purse(10.0, {"r": 6.0})
    purse.hold("r", 2.0)
    assert purse.held == 6.0


def test_without_a_limit_everything_fits_and_is_still_counted() -> None:
    purse = Purse(None, {"a": 5.0})
    assert purse.fits("b", None)
    purse.hold("b", None)
    purse.settle("b", 2.0)
    assert purse.spent == 7.0


def test_a_limit_needs_budgets() -> None:
    with pytest.raises(UsageError, match="max-usd none"):
        Purse(10.0, {}).fits("a", None)
