"""Prices, schedules with what was measured of them, and what submissions are made of."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from leadhand.analysis.submission import language_of
from leadhand.report.drawing import stacked
from leadhand.report.evidence import Evidence
from leadhand.report.exhibit import Absent, Exhibit
from leadhand.report.style import percent
from leadhand.report.table import Table, counted, table

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
    rows = [row for f in e.factors.values() if (row := _submitted(e, f.label, found)) is not None]
    if not rows:
        return Absent("submissions", "What was handed in", "28", "submissions of runs that count")
    unknown = sum(task not in e.scores.languages for task in e.scores.tasks)
    note = (
        f"Of {counted(unknown, 'task')} the original's language is not known; it counts as another." if unknown else ""
    )
    t = table(
        [
            ("design", "Design", "text"), ("original", "the original's language", "percent"),
            ("python", "Python", "percent"), ("other", "another language", "percent"),
            ("none", "no source file", "percent"), ("top", "Most often", "text"),
            ("files", "Source files (median)", "number"), ("n", "Submissions", "count"),
        ],
        rows,
        "The dominant language of a submission has the most bytes among its source files, without the files that the "
        "benchmark asks for (compile.sh). Python: where the original is in another language.",
        note,
    )  # fmt: skip

    def draw(fig: Figure, t: Table) -> None:
        parts = ("original", "python", "other", "none")
        stacked(fig.subplots(), t, parts, palette=("#009E73", "#0072B2", "#D55E00", "#B5B5B5"))
        fig.axes[0].set_xlabel("Share of submissions")
        fig.axes[0].xaxis.set_major_formatter(percent)

    caption = "The language that most of a submission's bytes are in."
    return Exhibit("submissions", "What was handed in", "28", caption, t, draw, (7.4, 1.3 + 0.27 * len(rows)))


def _submitted(e: Evidence, design: str, found: pl.DataFrame) -> tuple[object, ...] | None:
    """One design's submissions by their dominant language; None where none is stored."""
    mine = e.of(design).select("run", "task").join(found, on="run")
    if not len(mine):
        return None
    kinds = [
        _kind(language, e.scores.languages.get(task, "")) for task, language in mine.select("task", "language").rows()
    ]
    shares = [kinds.count(k) / len(kinds) for k in ("original", "python", "other", "none")]
    top = Counter(language for language in mine["language"].to_list() if language).most_common(1)
    files = float(np.median(mine["source_files"].to_numpy()))
    return (design, *shares, top[0][0] if top else None, files, len(mine))


def _kind(language: str, original: str) -> str:
    if not language:
        return "none"
    if original and language == language_of(original):
        return "original"
    return "python" if language == "Python" else "other"
