"""Where each dollar and each minute went, and what the whole study cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from leadhand.analysis.spent import Spent, together
from leadhand.report.drawing import stacked
from leadhand.report.evidence import Evidence, groups_note
from leadhand.report.exhibit import Absent, Exhibit
from leadhand.report.style import PALETTE
from leadhand.report.table import Table, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PARTS = ("lead_P", "lead_I", "lead_V", "worker_P", "worker_I", "worker_V", "group", "earlier")
SHADES = ("#0B4F79", "#0072B2", "#5AA9D6", "#8A3E00", "#D55E00", "#F0A36B", "#009E73", "#B5B5B5")


def exhibits(e: Evidence) -> list[Exhibit | Absent]:
    if e.tables is None:
        needs = "journals (a study folder, not a CSV)"
        return [
            Absent("dollars", "Where the dollars went", "", needs),
            Absent("minutes", "Where the minutes went", "", needs),
            Absent("spent", "What the study cost", "", needs),
        ]
    return [_dollars(e), _minutes(e), _spent(e)]


def _per_task(runs: pl.DataFrame, values: list[str]) -> dict[str, float]:
    """Means over tasks of means over repeats."""
    row = runs.group_by("task").agg(pl.col(values).cast(pl.Float64).mean()).select(pl.col(values).mean())
    return {k: float(v or 0.0) for k, v in row.row(0, named=True).items()}


def _dollars(e: Evidence) -> Exhibit | Absent:
    assert e.tables is not None
    role = pl.col("role")
    side = pl.when(role == "worker").then(pl.lit("worker_")).otherwise(pl.lit("lead_")) + pl.col("phase")
    groups = [f.label for f in e.factors.values() if f.group]
    of_groups = e.runs.filter(pl.col("design").is_in(groups))["run"].implode()
    spent = (
        e.tables["attempts"]
        .with_columns(pl.when(pl.col("run").is_in(of_groups)).then(pl.lit("group")).otherwise(side).alias("part"))
        .group_by("run", "part")
        .agg(pl.col("cost").sum())
        .pivot("part", index="run", values="cost")
    )
    for part in PARTS[:-1]:
        if part not in spent.columns:
            spent = spent.with_columns(pl.lit(0.0).alias(part))
    wasted = ["cold_cost", "unread_cost", "duplicate_cost", "unknown_cost"]
    rows = []
    for f in e.factors.values():
        runs = e.of(f.label).join(spent, on="run", how="left").with_columns(pl.col(list(PARTS)).fill_null(0.0))
        if len(runs):
            means = _per_task(runs, [*PARTS, "cost", *wasted])
            rows.append((f.label, *(means[p] for p in PARTS), means["cost"], *(means[w] for w in wasted)))
    if not rows:
        return Absent("dollars", "Where the dollars went", "", "runs that count")
    t = table(
        [
            ("design", "Design", "text"), *((p, _part(p), "usd") for p in PARTS),
            ("cost", "Cost per task ($)", "usd"), ("cold", "cold cache", "usd"),
            ("unread", "reports never read", "usd"), ("duplicate", "duplicate reports", "usd"),
            ("unknown", "unknown spend", "usd"),
        ],
        rows,
        "Phases by the run's source writes; lead: the solo agent in solo runs; a group: peers or candidates, who "
        "have no common phases. Earlier attempts failed or were lost and were paid too. Of the cost: cold cache, "
        "prompt tokens sent before and billed as fresh; reports never read, delegations whose report never entered "
        "the lead's chain; duplicate, reports whose words overlap an earlier one by 80 %. Unknown: attempts whose "
        "billing was never learnt, at their worst case.",
    )  # fmt: skip

    def draw(fig: Figure, t: Table) -> None:
        parts = [p for p in PARTS if any(t.column(p))]
        stacked(fig.subplots(), t, parts, palette=[SHADES[PARTS.index(p)] for p in parts])
        fig.axes[0].set_xlabel("Dollars per task")

    caption = "Mean dollars per task by role and by the phase in which the call was made."
    return Exhibit("dollars", "Where the dollars went", "", caption, t, draw, (8.6, 1.4 + 0.25 * len(rows)))


def _part(part: str) -> str:
    names = {"P": "planning", "I": "implementation", "V": "verification"}
    who, _, phase = part.partition("_")
    return f"{who}, {names[phase]}" if phase else {"group": "agents of a group", "earlier": "earlier attempts"}[who]


MINUTES = (
    ("model", "lead: model"), ("tool", "lead: commands"), ("workers", "lead waits, workers work"),
    ("waits", "lead waits, nobody works"), ("limits", "lead: rate limits"), ("rest", "rest"),
)  # fmt: skip


def _minutes(e: Evidence) -> Exhibit | Absent:
    columns = {
        "model": pl.col("lead_model_s") / 60,
        "tool": pl.col("lead_tool_s") / 60,
        "workers": pl.col("critical_worker_s") / 60,
        "waits": (pl.col("lead_idle_s") - pl.col("critical_worker_s")) / 60,
        "limits": pl.col("lead_limited_s") / 60,
    }
    rows = []
    for f in e.factors.values():
        runs = e.of(f.label).filter(~pl.col("resumed"))
        if not len(runs) or f.group:
            continue
        runs = runs.with_columns(**{k: v.clip(lower_bound=0.0) for k, v in columns.items()})
        runs = runs.with_columns(rest=(pl.col("minutes") - pl.sum_horizontal(*columns)).clip(lower_bound=0.0))
        runs = runs.with_columns(
            worker_minutes=(pl.col("worker_model_s") + pl.col("worker_tool_s") + pl.col("worker_limited_s")) / 60
        )
        means = _per_task(runs, [*columns, "rest", "minutes", "worker_minutes"])
        rows.append((f.label, *(means[k] for k, _ in MINUTES), means["minutes"], means["worker_minutes"]))
    if not rows:
        return Absent("minutes", "Where the minutes went", "", "runs that count and were not resumed")
    t = table(
        [
            ("design", "Design", "text"), *((k, label, "minutes") for k, label in MINUTES),
            ("minutes", "Minutes per task", "minutes"), ("worker", "Workers' own minutes", "minutes"),
        ],
        rows,
        "The lead's time is the critical path: where it waits while workers work, they are on it. Workers' own minutes "
        "are summed over workers that ran at once.",
        groups_note(e),
    )  # fmt: skip

    def draw(fig: Figure, t: Table) -> None:
        palette = (PALETTE[0], PALETTE[4], PALETTE[1], PALETTE[5], PALETTE[3], PALETTE[7])
        stacked(fig.subplots(), t, [k for k, _ in MINUTES], palette=palette)
        fig.axes[0].set_xlabel("Minutes per task")

    caption = "Mean minutes of active time per task, from the lead's point of view. Resumed runs are left out."
    return Exhibit("minutes", "Where the minutes went", "", caption, t, draw, (8.6, 1.4 + 0.25 * len(rows)))


def _spent(e: Evidence) -> Exhibit:
    """Every dollar of the study, also of what no statistic counts."""
    every = e.spending
    rows = [_spent_row(s) for s in [*every, *([together(every)] if len(every) > 1 else [])]]
    t = table(
        [
            ("design", "Design", "text"), ("runs", "Runs that count", "count"), ("counted", "their dollars", "usd"),
            ("out_runs", "Runs left out", "count"), ("left_out", "their dollars", "usd"),
            ("attempts", "Archived attempts", "count"), ("attempts_usd", "their dollars", "usd"),
            ("attempts_unknown", "of unknown billing", "usd"), ("dropped", "Runs no longer asked for", "count"),
            ("dropped_usd", "their dollars", "usd"), ("total", "Total settled ($)", "usd"),
            ("unknown", "Unknown, at most ($)", "usd"),
        ],
        rows,
        "An archived attempt failed, or was lost with its session, and was tried again. It has no result, but its "
        "settled dollars are part of the cost of the run that replaced it, in every mean and comparison here; its "
        "minutes are not. The provider's bill lies between the total and the total with what is unknown (calls "
        "whose outcome was never learnt, at their worst case).",
    )  # fmt: skip
    return Exhibit("spent", "What the study cost", "", "Every dollar by design, also of what no statistic counts.", t)


def _spent_row(s: Spent) -> tuple[object, ...]:
    return (
        s.design, s.counted_runs, s.counted, s.left_out_runs, s.left_out, s.attempts_made, s.attempts,
        s.attempts_unknown, s.dropped_runs, s.dropped, s.total, s.unknown,
    )  # fmt: skip
