"""Repeat against repeat: how much of a difference is chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leadhand.analysis.scores import common
from leadhand.analysis.stats.stability import correlation
from leadhand.report.evidence import Evidence
from leadhand.report.exhibit import Absent, Exhibit
from leadhand.report.style import PALETTE, mark
from leadhand.report.table import Table, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def exhibits(e: Evidence) -> list[Exhibit | Absent]:
    return [_scatter(e), _run_to_run(e)]


def _scatter(e: Evidence) -> Exhibit | Absent:
    """The first two repeats of the design with the most tasks in both."""
    best, most = "", 0
    for design in e.factors:
        rewards = e.scores.by_repeat(design)
        count = int(np.isfinite(rewards[:, :2]).all(axis=1).sum()) if rewards.shape[1] > 1 else 0
        best, most = (design, count) if count > most else (best, most)
    if most < 2:
        return Absent("repeats", "Repeat against repeat", "20", "two repeats of one design")
    rewards = e.scores.by_repeat(best)
    whole = common(rewards[:, 0], rewards[:, 1])
    a, b = rewards[whole, 0], rewards[whole, 1]
    tasks = [t for t, inside in zip(e.scores.tasks, whole, strict=True) if inside]
    r = correlation(a, b)
    means = ", ".join(f"{m:.3f}" for m in np.nanmean(rewards, axis=0))
    t = table(
        [("task", "Task", "text"), ("first", "Reward, repeat 1", "reward"), ("second", "Reward, repeat 2", "reward")],
        zip(tasks, a.tolist(), b.tolist(), strict=True),
        f"{best}: r = {r:.2f}, mean |Δ| = {np.abs(a - b).mean():.3f}; means of the repeats: {means}."
        if r is not None
        else f"{best}: rewards do not vary.",
    )

    def draw(fig: Figure, t: Table) -> None:
        ax = fig.subplots()
        ax.plot([0, 1], [0, 1], color="#888888", lw=0.8, ls="--")
        for i, r in enumerate(t.dicts()):
            mark(ax.plot(r["first"], r["second"], "o", ms=4, color=PALETTE[0], alpha=0.6, mew=0)[0], i)
        ax.set_xlim(-0.03, 1.03)
        ax.set_ylim(-0.03, 1.03)
        ax.set_aspect("equal")
        ax.set_xlabel(t.label("first"))
        ax.set_ylabel(t.label("second"))
        ax.set_title(t.notes[0].replace("; ", "\n"), fontsize=8, fontweight="normal")

    caption = f"The same design ({best}) on the same tasks, twice. Off the diagonal is chance."
    return Exhibit("repeats", "Repeat against repeat", "20", caption, t, draw, (4.6, 4.6))


def _run_to_run(e: Evidence) -> Exhibit | Absent:
    rows = []
    for s in e.summaries.values():
        v = s.stability
        if len(v.means) < 2 or s.reward is None:
            continue
        rows.append(
            (s.design, len(v.means), float(np.mean(v.means)), v.sd, v.spread, v.task_difference, v.correlation,
             v.within, v.tasks, v.left_out)
        )  # fmt: skip
    if not rows:
        return Absent("table-3", "Run-to-run variation", "table 3", "two repeats of one design")
    t = table(
        [
            ("design", "Design", "text"), ("repeats", "Repeats", "count"), ("mean", "Mean reward", "reward"),
            ("sd", "SD of repeats (n − 1)", "reward"), ("range", "Range", "reward"),
            ("difference", "Task |Δ|", "reward"), ("correlation", "Task correlation", "number"),
            ("within", "SD within a task", "reward"), ("tasks", "Tasks", "count"), ("out", "Left out", "count"),
        ],
        rows,
        "Task |Δ| and correlation: means over all pairs of repeats. Tasks with a repeat missing are left out.",
    )  # fmt: skip
    return Exhibit("table-3", "Run-to-run variation", "table 3", "How far repeats of one design lie apart.", t)
