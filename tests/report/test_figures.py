"""Issue 8, point 7: every figure can be read, and shows its table's numbers."""

from __future__ import annotations

import csv
import io
import math
import re
from itertools import combinations

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from leadhand.report.drawing import log_axis
from leadhand.report.exhibit import Absent, Exhibit
from leadhand.report.images import inline, render
from leadhand.report.style import PALETTE, ink, signed, styled
from leadhand.report.tradeoff import frontier

DRAWN = """cost time totals paired frontier guidance efficiency leads families cap size marginal division recovery
synergy raster shares activity messages tiers tasks benchmarks repeats dollars minutes""".split()  # noqa: SIM905
TABLES = ["designs", "table-3", "schedules", "prices", "spent"]
PAPER = {
    "cost": "2", "time": "7", "totals": "18", "paired": "10–13", "guidance": "4", "efficiency": "14–17", "raster": "5",
    "shares": "5", "size": "8", "messages": "9, 26, table 6", "leads": "19", "repeats": "20", "table-3": "table 3",
    "activity": "21, tables 4 and 5", "tiers": "22, 23", "division": "24", "cap": "25", "families": "27",
    "submissions": "28", "tasks": "29", "benchmarks": "30", "prices": "table 2", "schedules": "table 1",
}  # fmt: skip

each = pytest.mark.parametrize("slug", DRAWN)


_DRAWN: dict[int, Figure] = {}


def drawn(x: Exhibit) -> Figure:
    """The figure of an exhibit, drawn once for all tests."""
    if id(x) not in _DRAWN:
        _DRAWN[id(x)] = draw(x)
    return _DRAWN[id(x)]


def draw(x: Exhibit) -> Figure:
    figure = Figure(figsize=x.size)
    FigureCanvasAgg(figure)
    assert x.draw is not None
    x.draw(figure, x.table)
    figure.canvas.draw()
    return figure


def test_everything_that_the_paper_shows_is_there_or_says_what_it_needs(every: list[Exhibit | Absent]) -> None:
    assert {x.slug: x.paper for x in every if x.paper} == PAPER
    assert {x.slug for x in every if isinstance(x, Exhibit)} == {*DRAWN, *TABLES}
    assert {x.slug for x in every if isinstance(x, Absent)} == {"submissions"}
    assert all(x.needs for x in every if isinstance(x, Absent))


@each
def test_labels_do_not_overlap_and_stay_inside(exhibits: dict[str, Exhibit], slug: str) -> None:
    with styled():
        figure = drawn(exhibits[slug])
        renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
        canvas = figure.bbox
        unseen = hidden(figure)
        every = figure.findobj(Text)
        texts = [t for t in every if t.get_visible() and t.get_text().strip() and t not in unseen]
        assert texts
        assert not any("without room" in t.get_text() for t in texts), "a label that belongs there was left out"
        boxes = [(t, Text.get_window_extent(t, renderer)) for t in texts]  # without the leaders of annotations
        for text, box in boxes:
            assert text.get_fontsize() >= 6, text.get_text()
            inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= canvas.x1 + 1 and box.y1 <= canvas.y1 + 1
            assert inside, f"{text.get_text()!r} leaves the figure"
        for (one, a), (two, b) in combinations(boxes, 2):
            if one.get_rotation() or two.get_rotation():
                continue  # a rotated text's box is larger than the text
            across = min(a.x1, b.x1) - max(a.x0, b.x0)
            along = min(a.y1, b.y1) - max(a.y0, b.y0)
            assert across < 1.5 or along < 1.5, f"{one.get_text()!r} overlaps {two.get_text()!r}"


def hidden(figure: Figure) -> set[Text]:
    """Labels of ticks that exist and are not drawn, since they lie outside the axis limits."""
    found: set[Text] = set()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            inside = axis._update_ticks()
            every = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            found |= {label for t in every if t not in inside for label in (t.label1, t.label2)}
            found |= {axis.offsetText} if ax.axison else set(axis.findobj(Text))
    return found


@each
def test_axes_carry_labels(exhibits: dict[str, Exhibit], slug: str) -> None:
    with styled():
        figure = drawn(exhibits[slug])
    visible = [ax for ax in figure.axes if ax.axison]
    assert visible
    for ax in visible:
        assert ax.get_xlabel() or ax.get_ylabel() or ax.get_title()


@each
def test_marks_are_rows_of_the_table(exhibits: dict[str, Exhibit], slug: str) -> None:
    x = exhibits[slug]
    with styled():
        out = io.BytesIO()
        drawn(x).savefig(out, format="svg")
        svg = out.getvalue().decode()
    rows = {int(n) for n in re.findall(r'id="row(\d+)"', svg)}
    assert rows <= set(range(len(x.table.rows)))
    if slug != "messages":
        assert rows, "nothing to point at"
    ids = re.findall(r'\bid="([^"]+)"', inline(x, svg.encode()))
    assert all(i.startswith(f"{slug}-") for i in ids), "ids of two figures in one page would clash"


def test_the_same_table_gives_the_same_bytes(exhibits: dict[str, Exhibit]) -> None:
    x = exhibits["guidance"]
    assert render(x, "svg") == render(x, "svg")
    assert render(x, "png") == render(x, "png")


@each
def test_tables_hold_full_precision_and_no_nan(exhibits: dict[str, Exhibit], slug: str) -> None:
    from leadhand.report.table import as_csv

    t = exhibits[slug].table
    rows = list(csv.reader(io.StringIO(as_csv(t))))
    assert rows[0] == [c.key for c in t.columns]
    for written, row in zip(rows[1:], t.rows, strict=True):
        for text, value in zip(written, row, strict=True):
            assert not (isinstance(value, float) and math.isnan(value))
            if isinstance(value, float):
                assert float(text) == value


def test_bars_start_where_the_table_says(exhibits: dict[str, Exhibit]) -> None:
    x = exhibits["guidance"]
    with styled():
        figure = drawn(x)
    heights = {p.get_gid(): p.get_height() for p in figure.axes[0].patches if p.get_gid()}  # type: ignore[attr-defined]
    for i, reward in enumerate(x.table.column("reward")):
        assert heights[f"row{i}"] == pytest.approx(reward)


def test_colours_can_be_told_apart_without_red_and_green() -> None:
    """Under simulated deuteranopia and protanopia (Vienot 1999) no two of the palette are closer than 0.08 in RGB."""
    deutan = ((0.29275, 0.70725, -0.02234), (0.29275, 0.70725, -0.02234), (-0.02234, 0.02234, 1.0))
    protan = ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0))
    for matrix in (deutan, protan):
        seen = []
        for colour in PALETTE:
            rgb = [(int(colour[i : i + 2], 16) / 255) ** 2.2 for i in (1, 3, 5)]
            seen.append([max(0.0, sum(m * c for m, c in zip(row, rgb, strict=True))) ** (1 / 2.2) for row in matrix])
        for a, b in combinations(seen, 2):
            assert math.dist(a, b) > 0.08


def test_ink_and_signs() -> None:
    assert (ink("#E69F00"), ink("#0072B2")) == ("black", "white")
    assert [signed(1, 100)(v) for v in (-0.012, 0.0, 0.0004, 0.5)] == ["−1.2", "0.0", "0.0", "+50.0"]


def test_the_frontier_line() -> None:
    assert frontier([(1, 0.5), (2, 0.4), (2, 0.6), (3, 0.6), (0.5, 0.1)]) == [(0.5, 0.1), (1, 0.5), (2, 0.6)]


def test_a_narrow_range_keeps_a_linear_axis() -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    log_axis(left, [1.0, 1.5], money=True)
    log_axis(right, [0.1, 5.0], money=True)
    assert (left.get_xscale(), right.get_xscale()) == ("linear", "log")
