"""A choice by the grader itself is shown, marked, and never called what one could buy."""

from __future__ import annotations

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from leadhand.report.answer import answer
from leadhand.report.catalog import all_exhibits
from leadhand.report.evidence import Evidence
from leadhand.report.exhibit import Exhibit
from leadhand.report.load import load
from leadhand.report.style import styled
from leadhand.report.summary import as_text

HEAD = "task,design,reward,cost,lead,worker,solo,guidance,strategy,k,selector\n"
ARMS = (
    ("alone", 0.3, 1.0, "True", "team", "", ""),
    ("pair", 0.4, 3.0, "False", "best-of-k", "2", "tests"),
    ("perfect", 0.8, 3.0, "False", "best-of-k", "2", "oracle"),
    ("crew", 0.5, 4.0, "False", "team", "", ""),
)


@pytest.fixture(scope="module")
def e(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    path = tmp_path_factory.mktemp("bounds") / "x.csv"
    rows = [
        f"t{i},{d},{r + i / 100 + (i % 3) / 90},{c},m,m,{solo},PIV,{strategy},{k},{selector}\n"
        for i in range(9)
        for d, r, c, solo, strategy, k, selector in ARMS
    ]
    path.write_text(HEAD + "".join(rows))
    return load(path)


def exhibit(e: Evidence, slug: str) -> Exhibit:
    return next(x for x in all_exhibits(e) if isinstance(x, Exhibit) and x.slug == slug)


def test_the_answer_is_something_that_can_be_bought(e: Evidence) -> None:
    text = answer(e)
    assert "The highest mean reward is that of crew" in text
    assert "It is better than each of the other 2 designs" in text
    assert "Out of reach, as upper bounds (the grader chose the best candidate): perfect 0.8" in text
    assert "nobody beats these by their means: alone (100 %); pair (100 %); crew (100 %)" in text


def test_the_line_of_the_frontier_passes_below_it(e: Evidence) -> None:
    x = exhibit(e, "cost")
    figure = Figure(figsize=x.size)
    FigureCanvasAgg(figure)
    assert x.draw is not None
    with styled():
        x.draw(figure, x.table)
    (steps,) = (line for line in figure.axes[0].lines if line.get_linestyle() == "--")
    assert list(steps.get_xdata()) == pytest.approx([1.0, 3.0, 4.0])  # type: ignore[arg-type]
    assert max(steps.get_ydata()) < 0.6  # type: ignore[arg-type]
    marks = {line.get_gid(): line.get_marker() for line in figure.axes[0].lines if line.get_gid()}
    kinds = dict(enumerate(x.table.column("kind")))
    assert {kinds[int(gid.removeprefix("row"))]: marker for gid, marker in marks.items()}["upper bound"] == "x"
    assert kinds == {0: "solo", 1: "best of k", 2: "upper bound", 3: "team"}


def test_it_is_named_where_it_is_left_out(e: Evidence) -> None:
    frontier = exhibit(e, "frontier").table
    assert frontier.column("design") == ["alone", "pair", "crew"]
    assert any("perfect" in n and "on no frontier" in n for n in frontier.notes)
    rows = {r["design"]: r for r in exhibit(e, "designs").table.dicts()}
    assert (rows["perfect"]["on"], rows["perfect"]["chance"]) == (None, None)
    assert (rows["crew"]["on"], rows["crew"]["chance"]) == (True, 1.0)
    assert "perfect (upper bound) − alone" in exhibit(e, "paired").table.column("design")
    assert "perfect (upper bound) − alone" in as_text(e, base="", designs=(), margin=0.014, saving=None)


def test_exhibits_of_delegation_count_who_is_left_out(exhibits: dict[str, Exhibit]) -> None:
    for slug in ("raster", "shares", "division", "minutes"):
        (said,) = (n for n in exhibits[slug].table.notes if "without a lead" in n)
        assert said.startswith("3 designs without a lead are left out (")
        assert not any("best of" in str(d) or "peers" in str(d) for d in exhibits[slug].table.column("design"))
    rows = {r["kind"]: r for r in exhibits["activity"].table.dicts()}
    assert rows["peers"]["workers"] is None
    assert rows["peers"]["tool_calls"] > 0
    assert rows["solo"]["workers"] == 0
    dollars = {r["design"]: r for r in exhibits["dollars"].table.dicts()}
    peers = dollars["strong · 3 peers PIV"]
    assert peers["group"] + peers["earlier"] == pytest.approx(peers["cost"])
    assert peers["lead_P"] == 0.0


def test_dollars_are_the_designs_own_costs(exhibits: dict[str, Exhibit]) -> None:
    """The parts of each bar add up to the cost in the table of designs, earlier attempts included."""
    costs = {r["design"]: r["cost"] for r in exhibits["designs"].table.dicts()}
    parts = ("lead_P", "lead_I", "lead_V", "worker_P", "worker_I", "worker_V", "group", "earlier")
    for row in exhibits["dollars"].table.dicts():
        assert sum(row[p] for p in parts) == pytest.approx(costs[row["design"]])
