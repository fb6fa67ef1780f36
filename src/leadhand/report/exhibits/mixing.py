"""Mixed teams: how much of the strong team's gain they recover, and what mixing itself adds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leadhand.analysis.factors import Factors
from leadhand.analysis.scores import common
from leadhand.analysis.stats.efficiency import above_envelope, recovery, synergy
from leadhand.report.drawing import forest
from leadhand.report.evidence import Evidence, triple
from leadhand.report.exhibit import Absent, Exhibit
from leadhand.report.style import PALETTE, mark, percent, signed
from leadhand.report.table import Table, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def exhibits(e: Evidence) -> list[Exhibit | Absent]:
    return [_recovery(e), _synergy(e)]


def _arm(f: Factors) -> tuple[object, ...]:
    return (f.guidance, f.schedule, f.workers, f.cap, f.messaging, f.context, f.finish_check)


def _like(e: Evidence, f: Factors, model: str, *, any_size: bool = False) -> Factors | None:
    """The homogeneous team of `model` with the same settings (or, of another size, the same guidance)."""
    for exact in (True, False) if any_size else (True,):
        for g in e.where(lambda g: not g.solo and g.lead == g.worker == model):
            if _arm(g) == _arm(f) if exact else (g.guidance == f.guidance and g.cap == 5 and g.messaging == "off"):
                return g
    return None


def _mixed(e: Evidence) -> list[Factors]:
    return e.where(lambda f: not f.homogeneous)


def _columns(e: Evidence, *designs: str) -> tuple[Any, Any, int]:
    """Rewards and costs of these designs, one array each, on the tasks that all have; and how many tasks these are."""
    rewards = [e.per_task(d, "reward") for d in designs]
    costs = [e.per_task(d, "cost") for d in designs]
    both = common(*rewards, *costs)
    cut = [tuple(c[both] for c in columns) for columns in (rewards, costs)]
    return cut[0], cut[1], int(both.sum())


def _recovery(e: Evidence) -> Exhibit | Absent:
    rows = []
    for f in _mixed(e):
        strong, solo = _like(e, f, f.lead, any_size=True), e.solo(f.lead)
        if strong is None or solo is None:
            continue
        rewards, costs, n = _columns(e, f.label, strong.label, solo.label)
        if n < 2:
            continue
        found = recovery(rewards, costs)
        rows.append((f.label, strong.label, *triple(found.gain), *triple(found.cost), n))
    if not rows:
        needs = "a mixed team, the all-strong team with the same guidance, and the lead's solo PIV, with costs"
        return Absent("recovery", "What a mixed team recovers", "", needs)
    t = table(
        [
            ("design", "Mixed team", "text"), ("strong", "All-strong team", "text"),
            ("gain", "Share of its gain", "percent"), ("low", "low", "percent"), ("high", "high", "percent"),
            ("cost", "Share of its added cost", "percent"), ("cost_low", "low", "percent"),
            ("cost_high", "high", "percent"), ("n", "Tasks", "count"),
        ],
        rows,
        "Both over the lead's solo PIV, ratios of means, BCa over tasks; no interval where the strong team's own gain "
        "is not above 0 in 97.5 % of draws. Published for strong lead + cheap planners: 47.5 % of the gain "
        "for 13.9 % of the added cost.",
    )  # fmt: skip
    caption = "Gain recovered (filled) and added cost (open), as shares of the all-strong team's, with 95 % intervals."
    return Exhibit("recovery", "What a mixed team recovers", "", caption, t, _draw_recovery,
                   (7.8, 1.4 + 0.3 * len(rows)))  # fmt: skip


def _draw_recovery(fig: Figure, t: Table) -> None:
    import math

    from matplotlib.lines import Line2D

    ax = fig.subplots()
    rows = t.dicts()
    for i, r in enumerate(rows):
        for key, low, high, shift, colour, fill in (
            ("gain", "low", "high", -0.14, PALETTE[0], PALETTE[0]),
            ("cost", "cost_low", "cost_high", 0.14, PALETTE[1], "white"),
        ):
            if r[key] is None:
                continue
            ends = [x for x in (r[low], r[high]) if x is not None and math.isfinite(x)]
            if len(ends) == 2:
                ax.plot(ends, [i + shift] * 2, color=colour, lw=1.2)
            mark(ax.plot(r[key], i + shift, "o", color=colour, mfc=fill, ms=5)[0], i)
    ax.axvline(0, color="#444444", lw=0.8)
    ax.axvline(1, color="#444444", lw=0.8, ls=":")
    ax.set_xlim(-1.05, 2.05)
    ax.set_yticks(range(len(rows)), [r["design"] for r in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.xaxis.set_major_formatter(percent)
    ax.set_xlabel("Share of the all-strong team's (axis cut at −100 % and 200 %)")
    looks = ((PALETTE[0], PALETTE[0], "gain"), (PALETTE[1], "white", "added cost"))
    handles = [Line2D([], [], marker="o", color=c, mfc=fill, ms=5, lw=1.2, label=name) for c, fill, name in looks]
    fig.legend(handles=handles, loc="outside upper center", ncols=2)


def _synergy(e: Evidence) -> Exhibit | Absent:
    """Against the line between the two teams of the same settings, and against all homogeneous designs of the study."""
    alike = [f for f in e.where(lambda f: f.homogeneous) if e.summaries[f.label].cost is not None]
    rows = [row for f in _mixed(e) if (row := _synergy_row(e, f, alike)) is not None]
    if not rows:
        needs = "a mixed team, and two homogeneous designs, with costs"
        return Absent("synergy", "What mixing adds", "", needs)
    t = table(
        [
            ("design", "Mixed team", "text"), ("cheap", "Cheap team", "text"), ("dear", "Dear team", "text"),
            ("weight", "Place on their line", "percent"), ("baseline", "Reward of the line there", "reward"),
            ("synergy", "Above the line (points)", "points"), ("low", "low", "points"), ("high", "high", "points"),
            ("envelope", "Best homogeneous reward at its cost", "reward"),
            ("strict", "Above the best (points)", "points"), ("strict_low", "low", "points"),
            ("strict_high", "high", "points"), ("others", "Homogeneous designs", "count"), ("n", "Tasks", "count"),
        ],
        rows,
        "The line joins the homogeneous teams of the two models with the same settings, in cost and reward; beyond its "
        "ends, its ends (AgentCARD, arXiv 2606.20629).",
        "Stricter: the upper envelope of all lines between any two homogeneous designs of the study (teams of "
        "every size and solo agents), at the mixed team's own cost. It is a best of many, so biased upwards: above "
        "it is above all that one model alone can buy here.",
    )  # fmt: skip
    caption = (
        "Reward of mixed teams above what homogeneous ones reach at the same cost. Left: the line between the two "
        "teams of the same settings. Right: the best of all homogeneous designs. 95 % intervals (BCa over tasks)."
    )
    return Exhibit("synergy", "What mixing adds", "", caption, t, _draw_synergy, (9.2, 1.1 + 0.3 * len(rows)))


def _synergy_row(e: Evidence, f: Factors, alike: list[Factors]) -> tuple[object, ...] | None:
    dear, cheap = _like(e, f, f.lead), _like(e, f, f.worker)
    line: tuple[object, ...] = (None,) * 7
    if dear is not None and cheap is not None:
        rewards, costs, n = _columns(e, f.label, cheap.label, dear.label)
        found = synergy(rewards, costs) if n >= 2 else None
        if found is not None:
            line = (cheap.label, dear.label, found.weight, found.baseline, *triple(found.synergy))
    every, prices, n = _columns(e, f.label, *(a.label for a in alike))
    if n < 2 or len(alike) < 2:
        return None
    strict = above_envelope(every[0], prices[0], np.column_stack(every[1:]), np.column_stack(prices[1:]))
    return (f.label, *line, strict.baseline, *triple(strict.synergy), len(alike), n)


def _draw_synergy(fig: Figure, t: Table) -> None:
    left, right = fig.subplots(1, 2)
    forest(left, t, "synergy", "low", "high", formatter=signed(factor=100))
    forest(right, t, "strict", "strict_low", "strict_high", names=False, formatter=signed(factor=100))
