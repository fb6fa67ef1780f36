"""How many workers: reward and cost over size, the marginal worker, who does what in larger teams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from leadhand.analysis.factors import Factors
from leadhand.analysis.scores import common
from leadhand.analysis.stats.plateau import plateau
from leadhand.report.drawing import forest, lines, log_axis
from leadhand.report.evidence import Evidence, distinct, groups_note, mean_of, triple
from leadhand.report.exhibit import Absent, Exhibit
from leadhand.report.style import colours, mark, place_labels, signed
from leadhand.report.table import Table, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def exhibits(e: Evidence) -> list[Exhibit | Absent]:
    return [_curve(e), _marginal(e), _division(e)]


def _series(f: Factors) -> str:
    return f"{f.models}, {f.guidance}"


def _fixed(e: Evidence) -> list[Factors]:
    """Fixed teams of series with at least two sizes."""
    teams = e.where(lambda f: bool(f.workers) and _usual(f))
    many = [s for s in distinct(map(_series, teams)) if len({t.workers for t in teams if _series(t) == s}) > 1]
    return sorted((t for t in teams if _series(t) in many), key=lambda t: (_series(t), t.workers or 0))


def _dynamic(e: Evidence) -> list[Factors]:
    return e.where(lambda f: not f.solo and f.workers is None and _usual(f))


def _usual(f: Factors) -> bool:
    """Whether nothing but its models, guidance and size sets a team apart."""
    return f.messaging == "off" and f.schedule == "push" and f.context == "brief" and not f.finish_check


def _curve(e: Evidence) -> Exhibit | Absent:
    fixed = _fixed(e)
    if not fixed:
        return Absent("size", "Reward and cost over size", "8", "fixed teams of two sizes")
    rows: list[tuple[Any, ...]] = []
    for f in fixed:
        s = e.summaries[f.label]
        rows.append((f.label, _series(f), "fixed", float(f.workers or 0), *triple(s.reward), mean_of(s.cost)))
    stages = {f.guidance for f in fixed}
    for f in _dynamic(e):
        if f.guidance in stages and e.tables is not None:
            s, spawned = e.summaries[f.label], mean_of(e.activity(f.label, "workers"))
            rows.append((f.label, f"{_series(f)}, dynamic", "dynamic", spawned, *triple(s.reward), mean_of(s.cost)))
    t = table(
        [
            ("design", "Design", "text"), ("series", "Series", "text"), ("kind", "Team", "text"),
            ("workers", "Workers", "number"), ("reward", "Mean reward", "reward"), ("low", "low", "reward"),
            ("high", "high", "reward"), ("cost", "Mean cost per task ($)", "usd"),
        ],
        rows,
        "Sizes count workers, without the lead. Fixed teams: as asked for. Dynamic teams: mean of workers spawned.",
    )  # fmt: skip
    caption = "Each point carries its workers. Lines join fixed teams; open marks are dynamic ones. 95 % over tasks."
    return Exhibit("size", "Reward and cost over size", "8", caption, t, _draw_curve, (8.6, 4.6))


def _draw_curve(fig: Figure, t: Table) -> None:
    ax = fig.subplots()
    rows = [(i, r) for i, r in enumerate(t.dicts()) if r["cost"] is not None]
    colour = colours([r["series"] for _, r in rows])
    log_axis(ax, [r["cost"] for _, r in rows], money=True)
    for series, c in colour.items():
        mine = [(i, r) for i, r in rows if r["series"] == series]
        if mine[0][1]["kind"] == "fixed":
            ax.plot([r["cost"] for _, r in mine], [r["reward"] for _, r in mine], color=c, lw=1.2)
        for i, r in mine:
            made = ax.errorbar(
                r["cost"], r["reward"], yerr=[[r["reward"] - r["low"]], [r["high"] - r["reward"]]], color=c, lw=0.7,
                fmt="o" if r["kind"] == "fixed" else "D", mfc=c if r["kind"] == "fixed" else "white", ms=6,
                label=series if i == mine[0][0] else None,
            )  # fmt: skip
            mark(made[0], i)
    ax.set_xlabel(t.label("cost"))
    ax.set_ylabel(t.label("reward"))
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    place_labels(ax, [(r["cost"], r["reward"], f"{r['workers']:.1f}".removesuffix(".0")) for _, r in rows])


def _marginal(e: Evidence) -> Exhibit | Absent:
    """Reward per added worker, by series, with a plateau test."""
    fixed = _fixed(e)
    rows: list[tuple[Any, ...]] = []
    notes: list[str] = []
    for series in distinct(map(_series, fixed)):
        teams = [f for f in fixed if _series(f) == series]
        columns = [e.per_task(f.label, "reward") for f in teams]
        both = common(*columns)
        if both.sum() < 2:
            continue
        found = plateau({f.workers or 0: c[both] for f, c in zip(teams, columns, strict=True)})
        rows += [
            (f"{series}: {m.size} → {m.larger}", *triple(m.per_worker), m.per_worker.p, m.p_adjusted)
            for m in found.marginal
        ]
        most = "" if found.beaten_by_at_most is None else f"{100 * found.beaten_by_at_most:.1f}"
        if found.plateau_from is not None and most:
            notes.append(
                f"{series}: no larger team is shown to beat {found.plateau_from} workers (Holm, 5 %); "
                f"a larger one can bring at most {most} points more (upper 95 % limit)."
            )
        elif found.plateau_from is not None:
            notes.append(f"{series}: reward still rises at {found.plateau_from} workers, the largest size here.")
    if not rows:
        return Absent("marginal", "What one more worker brings", "", "fixed teams of two sizes")
    t = table(
        [
            ("design", "Step", "text"), ("gain", "Reward per added worker (points)", "points"),
            ("low", "low", "points"),
            ("high", "high", "points"), ("p", "p", "p"), ("adjusted", "p (Holm, all pairs of sizes)", "p"),
        ],
        rows,
        *notes,
    )  # fmt: skip

    def draw(fig: Figure, t: Table) -> None:
        forest(fig.subplots(), t, "gain", "low", "high", formatter=signed(factor=100))

    caption = "Paired over tasks between neighbouring sizes, divided by the workers added. 95 % intervals."
    return Exhibit("marginal", "What one more worker brings", "", caption, t, draw, (7.6, 1.0 + 0.27 * len(rows)))


PANELS: tuple[tuple[str, str, str | pl.Expr], ...] = (
    ("assignment", "Assignment length (characters)", "assignment_chars"),
    ("files", "Source files written by workers", "worker_source_files"),
    ("reference", "Reference runs by workers", "worker_reference_runs"),
    ("report", "Report text (characters per run)", "delivered_chars"),
    ("similarity", "Similarity of reports (Jaccard)", "report_similarity"),
    ("after", "Lead's reference runs after the reports", "lead_reference_after_reports"),
)


def _division(e: Evidence) -> Exhibit | Absent:
    if e.tables is None or not (fixed := _fixed(e)):
        return Absent("division", "Division of work by size", "24", "journals of fixed teams of two sizes")
    rows = []
    for f in fixed:
        values = [mean_of(e.activity(f.label, column)) for _, _, column in PANELS]
        rows.append((f.label, _series(f), float(f.workers or 0), *values))
    t = table(
        [
            ("design", "Design", "text"), ("series", "Series", "text"), ("workers", "Workers", "count"),
            *((key, label, "number") for key, label, _ in PANELS),
        ],
        rows,
        "Means per task. Files and reference runs are detected in shell commands and attributed to the agent that ran "
        "them: lower bounds.",
        groups_note(e),
    )  # fmt: skip
    caption = "How a larger team divides its work. Means per task; fixed teams."
    return Exhibit("division", "Division of work by size", "24", caption, t, _draw_division, (9.4, 5.0))


def _draw_division(fig: Figure, t: Table) -> None:
    axes = fig.subplots(2, 3)
    for ax, (key, label, _) in zip(axes.flat, PANELS, strict=True):
        lines(ax, t, "workers", key, group="series", legend=False)
        ax.set_ylabel("")
        ax.set_title(label, fontsize=8, fontweight="normal")
        ax.set_ylim(0, 1.08 * max(ax.get_ylim()[1], 1e-9))
    handles, labels = axes[0, 0].get_legend_handles_labels()
    by_series = {n: h for h, n in zip(handles, labels, strict=True) if not n.startswith("_")}
    fig.legend(by_series.values(), by_series.keys(), loc="outside lower center", ncols=3)
