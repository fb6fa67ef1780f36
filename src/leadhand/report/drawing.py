"""The few kinds of drawing that all figures are made of. Each reads a table's columns and nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.ticker import FuncFormatter

from leadhand.report.style import HATCHES, MARKERS, PALETTE, colours, ink, mark
from leadhand.report.table import Table, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def dollars(value: float, _: Any = None) -> str:
    return f"${value:,.0f}" if value >= 10 else f"${value:g}"


def log_axis(ax: Axes, values: Sequence[float], money: bool) -> None:
    """An x axis from zero; or a logarithmic one with 1-2-5 ticks, where the values span more than a factor of three."""
    known = [v for v in values if v and v > 0]
    low, high = min(known, default=1.0), max(known, default=1.0)
    if high / low <= 3:
        ax.set_xlim(0, 1.25 * high)
    else:
        ax.set_xscale("log")
        ticks = [m * 10**e for e in range(-5, 7) for m in (1, 2, 5)]
        inside = [t for t in ticks if low / 1.6 <= t <= high * 1.6]
        ax.set_xlim(low / 1.5, high * 1.7)
        ax.set_xticks(inside[:: max(1, math.ceil(len(inside) / 7))], minor=False)
        ax.minorticks_off()
    ax.xaxis.set_major_formatter(FuncFormatter(dollars if money else lambda v, _: f"{v:g}"))


def arms(value: float, low: float | None, high: float | None) -> list[list[float]] | None:
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return None
    return [[max(0.0, value - low)], [max(0.0, high - value)]]


def forest(
    ax: Axes,
    t: Table,
    value: str,
    low: str,
    high: str,
    *,
    label: str = "design",
    zero: bool = True,
    names: bool = True,
    formatter: Any = None,
    detectable: str = "",
) -> None:
    """One interval per row, the first on top. Filled where the interval leaves out zero; a band shows the MDE."""
    rows = t.dicts()
    for i, r in enumerate(rows):
        if r[value] is None:
            ax.annotate(
                "no number", (0.5, i), xycoords=("axes fraction", "data"), fontsize=6.5, color="#767676", ha="center",
                va="center",
            )  # fmt: skip
            continue
        decided = r[low] is not None and r[high] is not None and (r[low] > 0 or r[high] < 0)
        if detectable and r[detectable] is not None and math.isfinite(r[detectable]):
            ax.barh(i, 2 * r[detectable], left=-r[detectable], height=0.62, color="#EFEFEF", zorder=1)
        bars = ax.errorbar(
            r[value], i, xerr=arms(r[value], r[low], r[high]), fmt="o", ms=5, color=PALETTE[0],
            mfc=PALETTE[0] if decided else "white", elinewidth=1.2, capsize=2, zorder=3,
        )  # fmt: skip
        mark(bars[0], i)
    if zero:
        ax.axvline(0, color="#444444", lw=0.8)
    ax.set_yticks(range(len(rows)), [r[label] for r in rows] if names else [""] * len(rows))
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel(t.label(value))
    if formatter is not None:
        ax.xaxis.set_major_formatter(FuncFormatter(formatter))


def bars(
    ax: Axes,
    t: Table,
    value: str,
    *,
    group: str,
    across: str,
    low: str = "",
    high: str = "",
    legend: bool = True,
    marks: bool = True,
) -> None:
    """Grouped bars: `across` on the x axis, one colour and hatch per `group`. A missing bar says why in the table."""
    rows = t.dicts()
    places, groups = list(dict.fromkeys(r[across] for r in rows)), list(dict.fromkeys(r[group] for r in rows))
    colour, width = colours(groups), 0.8 / max(1, len(groups))
    for i, r in enumerate(rows):
        if r[value] is None:
            continue
        here = [g for g in groups if any(o[across] == r[across] and o[group] == g for o in rows)]
        at = places.index(r[across]) + (here.index(r[group]) - (len(here) - 1) / 2) * width
        ends = arms(r[value], r[low], r[high]) if low else None
        made = ax.bar(
            at, r[value], width * 0.92, yerr=ends, color=colour[r[group]], capsize=2, error_kw={"lw": 0.8},
            hatch=HATCHES[groups.index(r[group]) % len(HATCHES)], edgecolor="white", lw=0.4,
        )  # fmt: skip
        if marks:
            mark(made[0], i)
    ax.axhline(0, color="#444444", lw=0.8)
    ax.set_xticks(range(len(places)), [str(p) for p in places])
    if max(map(len, map(str, places)), default=0) > 9 and len(places) > 3:
        ax.tick_params(axis="x", rotation=25)
        for tick in ax.get_xticklabels():
            tick.set_horizontalalignment("right")
    ax.grid(axis="x", visible=False)
    ax.set_xlabel(t.label(across))
    ax.set_ylabel(t.label(value))
    if legend and len(groups) > 1:
        from matplotlib.patches import Patch

        handles = [
            Patch(facecolor=colour[g], hatch=HATCHES[i % len(HATCHES)], edgecolor="white", label=str(g))
            for i, g in enumerate(groups)
        ]
        ax.legend(handles=handles, loc="center left", bbox_to_anchor=(1.01, 0.5))


def lines(
    ax: Axes, t: Table, x: str, y: str, *, group: str, low: str = "", high: str = "", legend: bool = True
) -> None:
    """One line per `group` over a numeric x (team size, on a doubling scale where it spans more than 4)."""
    rows = [(i, r) for i, r in enumerate(t.dicts()) if r[x] is not None and r[y] is not None]
    groups = list(dict.fromkeys(r[group] for _, r in rows))
    colour, shapes = colours(groups), list(MARKERS.values())
    for g in groups:
        mine = sorted(((i, r) for i, r in rows if r[group] == g), key=lambda ir: ir[1][x])
        shape = shapes[groups.index(g) % len(shapes)]
        ax.plot(
            [r[x] for _, r in mine], [r[y] for _, r in mine], shape, ls="-", ms=5, color=colour[g], lw=1.2, label=str(g)
        )
        for i, r in mine:
            ends = arms(r[y], r[low], r[high]) if low else None
            made = ax.errorbar(
                r[x],
                r[y],
                yerr=ends,
                fmt=shape,
                color=colour[g],
                ms=5,
                capsize=2,
                lw=0.8,
            )
            mark(made[0], i)
    sizes = sorted({r[x] for _, r in rows})
    if len(sizes) > 1 and sizes[0] > 0 and sizes[-1] / sizes[0] > 4:
        ax.set_xscale("log", base=2)
    ax.set_xticks(sizes, [f"{s:g}" for s in sizes])
    ax.minorticks_off()
    ax.set_xlabel(t.label(x))
    ax.set_ylabel(t.label(y))
    if legend and len(groups) > 1:
        ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))


def stacked(
    ax: Axes, t: Table, parts: Sequence[str], *, label: str = "design", palette: Sequence[str] = PALETTE
) -> None:
    """Horizontal bars of parts that add up; each part's share is written where it fits."""
    rows = t.dicts()
    widest = max((sum(r[p] or 0 for p in parts) for r in rows), default=0) or 1
    for i, r in enumerate(rows):
        left = 0.0
        for j, part in enumerate(parts):
            width = r[part] or 0.0
            made = ax.barh(i, width, left=left, color=palette[j % len(palette)], height=0.7, edgecolor="white", lw=0.5)
            mark(made[0], i)
            if width > 0.1 * widest:
                kind = t.columns[t.at(part)].kind
                ax.text(
                    left + width / 2,
                    i,
                    shown(width, kind),
                    ha="center",
                    va="center",
                    fontsize=6.5,
                    color=ink(palette[j % len(palette)]),
                )
            left += width
    ax.set_yticks(range(len(rows)), [r[label] for r in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    from matplotlib.patches import Patch

    handles = [Patch(color=palette[j % len(palette)], label=t.label(p)) for j, p in enumerate(parts)]
    ax.figure.legend(handles=handles, loc="outside upper center", ncols=3)
