"""Prices, schedules with what was measured of them, and what submissions are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from leadhand.report.drawing import stacked
from leadhand.report.evidence import Evidence
from leadhand.report.exhibit import Absent, Exhibit
from leadhand.report.table import Table, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEDULES = {
    "blocking": ("paper", "the lead waits until the worker is done", "simple; nothing to overlook", "the lead is idle"),
    "push": ("paper", "the whole report on the lead's next tool result", "no call to fetch it; hard to overlook",
             "may interrupt, eats context; several reports can overload one result"),
    "notify": ("ours", "one line on the next tool result; the lead then reads", "context only for what is wanted",
               "one more call per report"),
    "pull": ("ours", "only when the lead asks", "the lead is never interrupted", "reports can be overlooked"),
}  # fmt: skip


def exhibits(e: Evidence) -> list[Exhibit | Absent]:
    return [_schedules(e), _prices(e), _submissions(e)]


def _schedules(e: Evidence) -> Exhibit:
    """Table 1 as text with a measured companion: means over the designs of that schedule in this study."""
    rows = []
    for name, (source, delivery, good, bad) in SCHEDULES.items():
        measured: tuple[float | None, ...] = (None, None, None)
        designs = [f.label for f in e.where(lambda f, n=name: f.schedule == n)] if e.tables is not None else []  # type: ignore[misc]
        runs = e.runs.filter(pl.col("design").is_in(designs)) if designs else None
        if runs is not None and len(runs):
            results = runs.filter(pl.col("deliveries") > 0)
            measured = (
                _mean(runs, pl.col("lead_idle_s") / 60),
                _ratio(results, "merged_deliveries"),
                (_ratio(results, "delivered_chars") or 0.0) / 4 if len(results) else None,
            )
        rows.append((name, source, delivery, good, bad, *measured))
    t = table(
        [
            ("schedule", "Schedule", "text"), ("source", "Row", "text"), ("delivery", "How a report arrives", "text"),
            ("good", "For it", "text"), ("bad", "Against it", "text"), ("idle", "Lead waits (minutes)", "minutes"),
            ("merged", "Results with several reports", "percent"), ("tokens", "Report tokens per result", "count"),
        ],
        rows,
        "Rows marked ours are not in what we have of the paper. Tokens: characters over four.",
    )  # fmt: skip
    return Exhibit("schedules", "How work is scheduled", "table 1", "Schedules, and what was measured of them here.", t)


def _mean(runs: pl.DataFrame, expression: pl.Expr) -> float | None:
    value = runs.select(expression.mean()).item()
    return float(value) if value is not None else None


def _ratio(runs: pl.DataFrame, top: str) -> float | None:
    whole = float(runs["deliveries"].sum())
    return float(runs[top].sum()) / whole if whole else None


def _prices(e: Evidence) -> Exhibit | Absent:
    if not e.prices:
        return Absent("prices", "Prices", "table 2", "journals (their pinned prices)")
    rows = [
        (name, p.input, p.output, p.cache_read, p.cache_write_5m, p.cache_write_1h, p.source)
        for name, p in sorted(e.prices.items())
    ]
    t = table(
        [
            ("model", "Model", "text"), ("input", "Input", "usd"), ("output", "Output", "usd"),
            ("read", "Cache read", "usd"), ("write", "Cache write (5 min)", "usd"),
            ("hour", "Cache write (1 h)", "usd"), ("source", "Source", "text"),
        ],
        rows,
        "Dollars per million tokens, as pinned in the runs. A dash: billed as fresh input.",
    )  # fmt: skip
    return Exhibit("prices", "Prices", "table 2", "What tokens cost in this study.", t)


def _submissions(e: Evidence) -> Exhibit | Absent:
    found = e.tables["submissions"] if e.tables is not None else None
    if found is None or not len(found):
        return Absent("submissions", "What was handed in", "28", "submissions stored with their runs")
    rows = []
    for f in e.factors.values():
        mine = e.of(f.label).select("run").join(found, on="run")
        if not len(mine):
            continue
        python = float((mine["language"] == "Python").mean() or 0.0)  # type: ignore[arg-type]
        none = float((mine["language"] == "").mean() or 0.0)  # type: ignore[arg-type]
        top = mine.filter(pl.col("language") != "")["language"].mode().sort()
        files = mine["source_files"].median()
        rows.append(
            (f.label, python, 1 - python - none, none, top[0] if len(top) else None, float(files or 0), len(mine))  # type: ignore[arg-type]
        )
    if not rows:
        return Absent("submissions", "What was handed in", "28", "submissions of runs that count")
    t = table(
        [
            ("design", "Design", "text"), ("python", "Python", "percent"), ("other", "another language", "percent"),
            ("none", "no source file", "percent"), ("top", "Most often", "text"),
            ("files", "Source files (median)", "number"), ("n", "Submissions", "count"),
        ],
        rows,
        "The dominant language of a submission has the most bytes among its source files, without the files that the "
        "benchmark asks for (compile.sh).",
    )  # fmt: skip

    def draw(fig: Figure, t: Table) -> None:
        stacked(fig.subplots(), t, ("python", "other", "none"), palette=("#0072B2", "#D55E00", "#B5B5B5"))
        fig.axes[0].set_xlabel("Share of submissions")

    caption = "The language that most of a submission's bytes are in."
    return Exhibit("submissions", "What was handed in", "28", caption, t, draw, (7.4, 1.3 + 0.27 * len(rows)))
