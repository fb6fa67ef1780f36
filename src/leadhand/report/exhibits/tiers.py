"""Where teams help: lift by difficulty, by benchmark, task by task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from leadhand.analysis.scores import common
from leadhand.analysis.stats.intervals import Floats, mean, paired
from leadhand.report.drawing import bars
from leadhand.report.evidence import Evidence, triple
from leadhand.report.exhibit import Absent, Exhibit
from leadhand.report.style import PALETTE, mark, signed
from leadhand.report.table import Table, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TIERS = ("hard", "medium", "easy")
MOST = 10


def exhibits(e: Evidence) -> list[Exhibit | Absent]:
    return [_lift(e), _tasks(e), _benchmarks(e)]


def _pairs(e: Evidence) -> list[tuple[str, str]]:
    return [(c.design, c.base) for c in e.comparisons]


def tiers_of(e: Evidence, base: str) -> tuple[list[str], Floats, str]:
    """Each task's tier, the base's rewards to compare with, and how the tiers were made.

    The task's own labels where there are any; else thirds of the base's reward in its first repeat, compared with its
    other repeats, so that a base's bad luck does not become the team's lift.
    """
    reward = e.per_task(base, "reward")
    if e.scores.tiers:
        labels = [e.scores.tiers.get(t, "unlabelled") for t in e.scores.tasks]
        return labels, reward, "Tiers are the benchmark's own labels."
    by_repeat = e.scores.by_repeat(base)
    if by_repeat.shape[1] < 2:
        note = "Tiers are thirds of the base's own reward, with one repeat only: lift on hard tasks is overstated."
        return _thirds(reward), reward, note
    rest = by_repeat[:, 1:]
    counts = np.isfinite(rest).sum(axis=1)
    others = np.where(counts > 0, np.nansum(rest, axis=1) / np.maximum(counts, 1), np.nan)
    note = "Tiers are thirds of the base's reward in its first repeat; lift is against its other repeats."
    return _thirds(by_repeat[:, 0]), others, note


def _thirds(reward: Floats) -> list[str]:
    known = reward[np.isfinite(reward)]
    if not len(known):
        return ["" for _ in reward]
    cuts = np.quantile(known, [1 / 3, 2 / 3])
    return [TIERS[int(np.searchsorted(cuts, r, side="right"))] if np.isfinite(r) else "" for r in reward]


def _lift(e: Evidence) -> Exhibit | Absent:
    rows, notes = [], []
    for design, base in _pairs(e):
        labels, against, note = tiers_of(e, base)
        notes.append(note)
        team, tiers = e.per_task(design, "reward"), np.array(labels)
        for tier in ("easy", "medium", "hard", "unlabelled"):
            inside = common(team, against) & (tiers == tier)
            if inside.sum() >= 2:
                found = paired(team[inside], against[inside], e.method)
                rows.append((design, base, tier, *triple(found), found.n))
    if not rows:
        return Absent("tiers", "Lift by difficulty", "22, 23", "a team and its solo control")
    t = table(
        [
            ("design", "Design", "text"), ("base", "Base", "text"), ("tier", "Difficulty", "text"),
            ("lift", "Lift (reward)", "points"), ("low", "low", "points"), ("high", "high", "points"),
            ("n", "Tasks", "count"),
        ],
        rows,
        *dict.fromkeys(notes),
        _shown_first(rows),
    )  # fmt: skip

    def draw(fig: Figure, t: Table) -> None:
        ax = fig.subplots()
        bars(ax, first(t), "lift", group="design", across="tier", low="low", high="high")
        ax.yaxis.set_major_formatter(signed(factor=100))
        ax.set_ylabel("Lift (points)")

    caption = "Mean paired difference team − solo by difficulty of the task. 95 % intervals over tasks."
    return Exhibit("tiers", "Lift by difficulty", "22, 23", caption, t, draw, (9.0, 4.0))


def first(t: Table, most: int = MOST) -> Table:
    """The rows of the first designs: so many as a figure can show."""
    designs = set(list(dict.fromkeys(t.column("design")))[:most])
    return msgspec.structs.replace(t, rows=tuple(r for r in t.rows if r[t.at("design")] in designs))


def _shown_first(rows: Sequence[tuple[object, ...]]) -> str:
    designs = len({r[0] for r in rows})
    return f"The figure shows the first {MOST} of {designs} designs; this table has all." if designs > MOST else ""


def _tasks(e: Evidence) -> Exhibit | Absent:
    """Every task's difference, for the team with the largest lift."""
    real = [c for c in e.comparisons if e.factors[c.design].reachable]
    if not real:
        return Absent("tasks", "Lift task by task", "29", "a team and its solo control")
    best = max(real, key=lambda c: c.reward.value)
    a, b = e.per_task(best.design, "reward"), e.per_task(best.base, "reward")
    both = common(a, b)
    found = mean((a - b)[both], "paper")
    tasks = [t for t, inside in zip(e.scores.tasks, both, strict=True) if inside]
    pairs = sorted(zip(tasks, (a - b)[both].tolist(), b[both].tolist(), strict=True), key=lambda r: r[1])
    t = table(
        [("task", "Task", "text"), ("lift", "Lift (points)", "points"), ("base", "Base reward", "reward")],
        pairs,
        f"{best.design} − {best.base}: {100 * found.value:+.1f} points; normal 95 % interval of the {found.n} paired "
        f"differences {100 * (found.low or 0):+.1f} to {100 * (found.high or 0):+.1f}.",
        "The design with the largest lift was picked after the fact: its own lift is overstated by the choice.",
    )

    def draw(fig: Figure, t: Table) -> None:
        ax = fig.subplots()
        for i, r in enumerate(t.dicts()):
            colour = PALETTE[0] if r["lift"] >= 0 else PALETTE[1]
            mark(ax.bar(i, 100 * r["lift"], color=colour, width=0.85)[0], i)
        ax.axhline(0, color="#444444", lw=0.8)
        ax.set_ylabel(t.label("lift"))
        ax.yaxis.set_major_formatter(signed())
        ax.set_xlabel(f"{len(t.rows)} tasks, ordered by lift")
        ax.set_xticks([])

    caption = f"{best.design} against {best.base}, one bar per task."
    return Exhibit("tasks", "Lift task by task", "29", caption, t, draw, (8.2, 3.4))


def _benchmarks(e: Evidence) -> Exhibit | Absent:
    if e.tables is None or not e.comparisons:
        return Absent("benchmarks", "Lift by benchmark", "30", "journals of a team and its solo control")
    of_task = dict(e.tables["runs"].select("task", "benchmark").unique("task").iter_rows())
    where = np.array([of_task.get(t, "") for t in e.scores.tasks])
    rows = []
    for design, base in _pairs(e):
        a, b, cost = e.per_task(design, "reward"), e.per_task(base, "reward"), e.per_task(design, "cost")
        for name in sorted(set(of_task.values())):
            inside = common(a, b) & (where == name)
            if inside.any():
                found, spent = paired(a[inside], b[inside], "paper"), cost[inside & np.isfinite(cost)]
                rows.append((design, name, *triple(found), found.n, float(spent.mean()) if len(spent) else None))
    if not rows:
        return Absent("benchmarks", "Lift by benchmark", "30", "tasks that a team and its solo control have in common")
    t = table(
        [
            ("design", "Design", "text"), ("benchmark", "Benchmark", "text"), ("lift", "Lift (reward)", "points"),
            ("low", "low", "points"), ("high", "high", "points"), ("n", "Tasks", "count"),
            ("cost", "Cost per task ($)", "usd"),
        ],
        rows,
        "95 % normal intervals of the paired per-task differences, as the paper has them for Commit0-Lite.",
        _shown_first(rows),
    )  # fmt: skip

    def draw(fig: Figure, t: Table) -> None:
        ax = fig.subplots()
        bars(ax, first(t), "lift", group="benchmark", across="design", low="low", high="high")
        ax.yaxis.set_major_formatter(signed(factor=100))
        ax.set_ylabel("Lift (points)")

    caption = "Mean paired difference team − solo on each benchmark."
    return Exhibit("benchmarks", "Lift by benchmark", "30", caption, t, draw, (8.6, 3.8))
