"""Which tasks a study takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadhand.core.errors import UsageError
from leadhand.core.values import Task
from leadhand.study.file import Selection
from leadhand.study.select import select
from leadhand.study.sources import tasks_of

TASKS = [
    Task(id=f"t{n:02d}", prompt="x", labels={"tier": ("easy", "hard")[n % 2], "language": ("rs", "go", "c")[n % 3]})
    for n in range(24)
]


def chosen(seed: int = 0, **more: object) -> list[str]:
    return [t.id for t in select(TASKS, Selection(source=("x",), **more), seed)]  # type: ignore[arg-type]


def test_all_in_their_order_by_default() -> None:
    assert chosen() == [t.id for t in TASKS]


def test_by_name_and_label() -> None:
    assert chosen(ids=("t0*",), without=("t00",)) == [f"t{n:02d}" for n in range(1, 10)]
    assert chosen(where={"tier": "hard", "language": ("rs", "go")}) == [
        t.id for t in TASKS if t.labels["tier"] == "hard" and t.labels["language"] != "c"
    ]


@given(st.integers(), st.integers(1, 12))
def test_a_balanced_sample_is_balanced_and_goes_by_the_seed(seed: int, each: int) -> None:
    sample = chosen(seed, shuffle=True, per="tier", each=each)
    tiers = [t.labels["tier"] for t in TASKS if t.id in sample]
    assert (tiers.count("easy"), tiers.count("hard")) == (each, each)
    assert sample == chosen(seed, shuffle=True, per="tier", each=each)


@given(st.integers(), st.integers(0, 20), st.integers(1, 24))
def test_slices_of_one_shuffle_do_not_overlap(seed: int, skip: int, first: int) -> None:
    whole = chosen(seed, shuffle=True)
    assert chosen(seed, shuffle=True, skip=skip, first=first) == whole[skip : skip + first]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"ids": ("nothing",)}, "nothing is left"),
        ({"count": 23}, "there are 24 and not 23"),
        ({"per": "tier", "each": 13}, "only 12 have tier"),
    ],
)
def test_a_selection_that_does_not_fit_is_refused(more: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        chosen(**more)  # type: ignore[arg-type]


def test_an_id_that_is_there_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="two tasks are called"):
        select([*TASKS, TASKS[3]], Selection(source=("x",)), 0)


def test_sources(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "task.toml").write_text('prompt = "x"\nlabels = { tier = "easy" }')
    found = tasks_of(["*", "numerus"], tmp_path)
    assert [t.id for t in found] == ["one", "two", "numerus"]
    assert found[0].labels == {"tier": "easy"}
    assert [t.id for t in tasks_of(["shipped"], tmp_path)] == ["gridline", "numerus", "satchel"]
    assert [t.id for t in tasks_of(["test_select:Few"], tmp_path)] == ["t00", "t01", "t02"]
    with pytest.raises(UsageError, match="no-such"):
        tasks_of(["no-such"], tmp_path)
    with pytest.raises(UsageError, match="no benchmark at"):
        tasks_of(["no_such_module:thing"], tmp_path)


class Few:
    """A benchmark of somebody's own."""

    def tasks(self) -> list[Task]:
        return TASKS[:3]
