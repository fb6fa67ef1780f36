"""Where the truth is known: the public leaderboard, and synthetic worlds. benchmarks/advisor.py does it at length."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import numpy as np
import pytest

from leadhand.advisor.trials.leaderboard import BASELINES, Board, back_test, read_board
from leadhand.advisor.trials.worlds import Buyer, at_dollars, course, dollars_to, make_world, runs_to

EXCERPT = Path(__file__).parent / "data" / "leaderboard.csv"
FULL = Path(__file__).resolve().parents[3] / "shared" / "data" / "programbench" / "leaderboard.csv"


@pytest.fixture(scope="module", params=["excerpt", "full"])
def board(request: pytest.FixtureRequest) -> Board:
    if request.param == "excerpt":
        return read_board(EXCERPT)
    if not FULL.exists():
        pytest.skip("the full leaderboard is not beside the repository")
    return read_board(FULL)


def test_the_board_is_read(board: Board) -> None:
    assert len(board.designs) == 13
    assert len(board.tasks) in (60, 200)
    best = board.designs[int(np.argmax(board.reward.mean(axis=1)))]
    assert (best.lead, best.lead_reasoning) == ("gpt-5.5", "xhigh")


@pytest.mark.parametrize("per_design", [None, 10])
def test_the_back_test(board: Board, per_design: int | None) -> None:
    """20 budgets, fixed seeds: regret at most half of the best baseline's, with the whole paired interval below."""
    found = back_test(board, 6 if per_design is None else 16, per_design)
    assert found.best_baseline in BASELINES
    mean_margin, low, high = found.margin
    assert low <= mean_margin <= high < 0
    assert found.regret["advisor"] <= found.regret[found.best_baseline] / 2
    assert 0.90 <= found.coverage_reward <= 0.99


def test_dollars_are_covered_too() -> None:
    found = back_test(read_board(EXCERPT), 24, 12)
    assert 0.88 <= found.coverage_usd <= 0.99


DOLLARS = [float(d) for d in range(0, 17, 2)]
GRID_RUNS = 19 * 60


@pytest.mark.parametrize("name", ["solo wins", "cheap planners hurt", "implementers pay"])
def test_it_finds_the_right_design_where_the_figures_are_wrong(name: str) -> None:
    """From published figures that are wrong there, with far fewer runs than the full grid of designs and tasks."""
    points = list(course(make_world(name, 1), "advisor", DOLLARS[-1], 1))
    assert points[0].regret > 0.05, "the world is one where the published figures mislead"
    assert points[-1].regret <= 0.01
    assert runs_to(points, 0.01) <= GRID_RUNS / 10
    assert dollars_to(points, 0.01) <= DOLLARS[-1]


def test_where_the_figures_are_right_it_stays_with_them() -> None:
    points = list(course(make_world("teams pay", 1), "advisor", DOLLARS[-1], 1))
    assert points[0].regret <= 0.01
    assert mean(at_dollars(points, DOLLARS)) <= 0.015


@pytest.mark.parametrize("name", ["cheap planners hurt", "implementers pay"])
def test_its_own_experiments_are_worth_more_than_the_grids_order(name: str) -> None:
    """The same learner, the same money: the regret in the mean over dollars."""
    buyers: tuple[Buyer, ...] = ("advisor", "grid", "random")
    regret = {
        buyer: mean(at_dollars(list(course(make_world(name, 2), buyer, DOLLARS[-1], 2)), DOLLARS)) for buyer in buyers
    }
    assert regret["advisor"] < min(regret["grid"], regret["random"])


def test_a_world_is_what_it_says() -> None:
    """Its true rewards are the means of its runs, also where runs pass or fail and where rewards end at 0 or 1."""
    for name in ("solo wins", "pass or fail"):
        world = make_world(name, 3)
        for design in (0, 13):
            found = [world.run(design, task).reward for task in range(60) for _ in range(40)]
            assert mean(found) == pytest.approx(world.reward[design], abs=0.03)
    assert {make_world("pass or fail", 3).run(1, t).reward for t in range(60)} == {0.0, 1.0}
