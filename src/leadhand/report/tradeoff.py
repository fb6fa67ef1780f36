"""Reward against cost or time, with the frontier."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from leadhand.report.drawing import arms, log_axis
from leadhand.report.style import MARKERS, colours, mark, place_labels
from leadhand.report.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BOUND = "upper bound"
_GROUPS = ("peers", "best of k")


Point = tuple[float, float]


def tradeoff(ax: Axes, t: Table, x: str, *, money: bool = True, keys: bool = True) -> None:
    """Colour by models, shape by guidance, open for solo, half open for groups without a lead; the frontier as a line.

    What is an upper bound only is a cross, and on no frontier. Names come last (`name_designs`), when everything else
    of the figure has its place.
    """
    rows = _known(t, x)
    colour = colours([r["models"] for _, r in rows])
    for i, r in rows:
        bars = ax.errorbar(
            r[x], r["reward"], yerr=arms(r["reward"], r["low"], r["high"]), ms=6, mec=colour[r["models"]],
            ecolor=colour[r["models"]] + "70", elinewidth=0.8, zorder=3,
            **_mark_of(r["kind"], r["guidance"], colour[r["models"]]),
        )  # fmt: skip
        mark(bars[0], i)
    log_axis(ax, [r[x] for _, r in rows], money)
    best = frontier([(r[x], r["reward"]) for _, r in rows if r["kind"] != BOUND])
    ax.step([b[0] for b in best], [b[1] for b in best], where="post", color="#555555", lw=1.0, ls="--", zorder=2)
    ax.set_xlabel(t.label(x))
    ax.set_ylabel(t.label("reward"))
    if keys:
        _keys(ax, colour, [r for _, r in rows])


def name_designs(ax: Axes, t: Table, x: str) -> None:
    """Name the designs on the frontier, and upper bounds."""
    rows = [r for _, r in _known(t, x)]
    best = frontier([(r[x], r["reward"]) for r in rows if r["kind"] != BOUND])
    named = [(r[x], r["reward"], r["design"]) for r in rows if r["kind"] == BOUND or (r[x], r["reward"]) in best]
    named.sort(key=lambda p: (p[:2] in best, p[0]))  # an upper bound is named first: no line leads to it
    corners = [(b[0], a[1]) for a, b in pairwise(best)]
    steps = [*zip(best, corners, strict=False), *zip(corners, best[1:], strict=False)]
    place_labels(ax, named, [(r[x], r["reward"]) for r in rows], steps)


def _known(t: Table, x: str) -> list[tuple[int, dict[str, Any]]]:
    """The rows that have a place in the figure, with their numbers."""
    return [(i, r) for i, r in enumerate(t.dicts()) if r[x] is not None and r["reward"] is not None]


def _mark_of(kind: str, guidance: str, colour: str) -> dict[str, Any]:
    """How a mark looks, in `errorbar`'s words."""
    if kind == BOUND:
        return {"fmt": "x", "mew": 1.6}
    shape = MARKERS.get(guidance, "o")
    if kind in _GROUPS:
        return {"fmt": shape, "color": colour, "fillstyle": "left", "markerfacecoloralt": "white"}
    return {"fmt": shape, "mfc": "white" if kind == "solo" else colour}


def frontier(points: Sequence[Point]) -> list[Point]:
    """The points that nobody beats, from cheap to dear."""
    best: list[Point] = []
    for x, y in sorted(points, key=lambda p: (p[0], -p[1])):
        if not best or y > best[-1][1]:
            best.append((x, y))
    return best


def _keys(ax: Axes, colour: dict[str, str], rows: list[dict[str, Any]]) -> None:
    from matplotlib.lines import Line2D

    by_models = [Line2D([], [], marker="s", ls="", color=c, label=m or "designs") for m, c in colour.items()]
    shapes = dict.fromkeys(r["guidance"] for r in rows)
    by_guidance = [
        Line2D([], [], marker=MARKERS.get(g, "o"), ls="", color="#444444", label=f"guidance {g}") for g in shapes if g
    ]
    kinds = {r["kind"] for r in rows}
    grey: dict[str, Any] = {"ls": "", "color": "#444444"}
    by_kind = [
        Line2D([], [], **grey, **look, label=text)
        for there, look, text in (
            ("solo" in kinds, {"marker": "o", "mfc": "white"}, "open: solo"),
            (bool(kinds & set(_GROUPS)), {"marker": "o", "fillstyle": "left", "markerfacecoloralt": "white"},
             "half: peers, best of k"),
            (BOUND in kinds, {"marker": "x", "mew": 1.6}, "cross: upper bound"),
        )
        if there
    ]  # fmt: skip
    handles = [*by_models, *by_guidance, *by_kind]
    ax.legend(handles=handles, loc="center left", bbox_to_anchor=(1.01, 0.5))
