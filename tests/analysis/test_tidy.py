"""Somebody's CSV: what it may look like, and what is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadhand.analysis.compare import compare, pairs, summarise
from leadhand.analysis.scores import Scores, standing
from leadhand.analysis.tidy import read_scores
from leadhand.core.errors import UsageError


def scores(tmp_path: Path, text: str, **more: object) -> Scores:
    path = tmp_path / "x.csv"
    path.write_text(text)
    return read_scores(path, **more)  # type: ignore[arg-type]


def test_repeats_are_averaged_within_a_task(tmp_path: Path) -> None:
    s = scores(tmp_path, "task,design,repeat,reward,cost,minutes\na,x,1,0.2,1,5\na,x,2,0.6,3,7\nb,x,1,1,2,1\n")
    (row,) = summarise(s)
    assert row.reward is not None
    assert row.cost is not None
    assert (row.reward.n, row.reward.value, row.cost.value) == (2, pytest.approx(0.7), pytest.approx(2.0))
    assert (row.total_cost, row.standing.expected, row.standing.never_run) == (pytest.approx(4.0), 4, 1)


def test_a_late_decimal_does_not_change_a_type(tmp_path: Path) -> None:
    rows = "".join(f"t{i},x,1,0,1\n" for i in range(1500)) + "last,x,1,0.125,1.5\n"
    s = scores(tmp_path, "task,design,repeat,reward,cost\n" + rows)
    assert s.per_task("x", "reward")[list(s.tasks).index("last")] == 0.125


def test_invalid_degraded_and_missing_runs_are_stated(tmp_path: Path) -> None:
    s = scores(
        tmp_path,
        "task,design,reward,status,degraded\na,x,0.5,finished,0\nb,x,0.9,cancelled,0\nc,x,,infrastructure,0\n"
        "d,x,0.1,finished,1\na,y,0.5,finished,0\nb,y,0.5,finished,0\nc,y,0.5,finished,0\nd,y,0.5,finished,0\n",
    )
    found = standing(s, "x")
    assert (found.counted, found.degraded, found.invalid, found.no_reward, found.left_out) == (1, 1, 1, 1, 3)
    x = next(r for r in summarise(s) if r.design == "x")
    assert x.reward_bounds == (0.125, 0.875)
    (c,) = compare(s, [("x", "y")])
    assert (c.reward.n, c.tasks_left_out) == (1, 3)
    assert c.with_degraded is not None
    assert c.with_degraded.n == 2
    assert c.difference_bounds == (pytest.approx((0 - 0.5 * 3) / 4), pytest.approx((0 + 0.5 * 3) / 4))


def test_a_repeat_that_is_left_out_is_bounded_too(tmp_path: Path) -> None:
    """x: `a` counts once of twice, `b` twice, `c` never ran: (0.6 + {0, 1})/2, 0.5, {0, 1}; y has all."""
    s = scores(
        tmp_path,
        "task,design,repeat,reward,degraded\na,x,1,0.6,0\na,x,2,0.9,1\nb,x,1,0.4,0\nb,x,2,0.6,0\n"
        + "".join(f"{t},y,{r},0.5,0\n" for t in "abc" for r in (1, 2)),
    )
    x, y = summarise(s)
    assert x.reward_bounds == (pytest.approx((0.3 + 0.5 + 0) / 3), pytest.approx((0.8 + 0.5 + 1) / 3))
    assert y.reward_bounds == (0.5, 0.5)
    (c,) = compare(s, [("x", "y")])
    assert c.difference_bounds == (pytest.approx(0.8 / 3 - 0.5), pytest.approx(2.3 / 3 - 0.5))
    zero = scores(tmp_path, (tmp_path / "x.csv").read_text(), missing="zero")
    assert summarise(zero)[0].reward_bounds[0] == summarise(zero)[0].reward_bounds[1]


def test_resumed_runs_do_not_count_for_wall_clock(tmp_path: Path) -> None:
    s = scores(tmp_path, "task,design,reward,minutes,resumed\na,x,0.5,10,0\nb,x,0.5,900,1\n")
    (row,) = summarise(s)
    assert row.minutes is not None
    assert (row.minutes.value, row.minutes.n) == (10.0, 1)


def test_columns_can_be_named(tmp_path: Path) -> None:
    s = scores(tmp_path, "case,arm,points\na,x,0.5\n", names={"task": "case", "design": "arm", "reward": "points"})
    assert s.designs == ("x",)


def test_factors_in_columns_give_bases(tmp_path: Path) -> None:
    s = scores(
        tmp_path,
        "task,design,reward,lead,worker,guidance,workers\na,solo,0.5,m,,PIV,0\nb,solo,0.5,m,,PIV,0\n"
        "a,team,0.6,m,c,P,4\nb,team,0.8,m,c,P,4\n",
    )
    assert pairs(s) == [("team", "solo")]
    assert s.factors["team"].workers == 4
    assert s.factors["solo"].solo


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("task,design\na,x\n", "no column for reward"),
        ("task,design,reward\na,x,55\n", "divide percentages by 100"),
        ("task,design,reward\na,x,abc\n", "a number cannot be read"),
        ("task,design,reward\na,x,0.1\na,x,0.2\n", "more than once"),
        ("task,design,reward,cost\na,x,0.1,-1\n", "below 0"),
        ("task,design,reward\n,x,0.1\n", "lack their task"),
        ("task,design,reward\na,x,nan\n", "not in"),
        ("", "cannot read"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as error:
        scores(tmp_path, text)
    assert "\n" not in str(error.value)


def test_an_unknown_column_name_lists_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="it has task, design, reward"):
        scores(tmp_path, "task,design,reward\na,x,1\n", names={"cost": "price"})
