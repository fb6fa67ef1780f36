"""Reward against cost and wall-clock; each team against its solo control; the frontier; the table of designs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadhand.analysis.compare import Comparison, DesignSummary
from leadhand.analysis.stats.power import tasks_for_width
from leadhand.report.drawing import dollars, forest
from leadhand.report.evidence import Evidence, bounds_note, kind_of, limits, mean_of, size_of, triple
from leadhand.report.exhibit import Absent, Exhibit
from leadhand.report.style import PALETTE, mark, percent, signed
from leadhand.report.table import Kind, Table, table
from leadhand.report.tradeoff import name_designs, tradeoff

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 0.02
"""The wished half-width of a mean's 95 % interval."""


def exhibits(e: Evidence) -> list[Exhibit | Absent]:
    made: list[Exhibit | Absent] = [_designs(e)]
    costed = any(s.cost is not None for s in e.summaries.values())
    timed = any(s.minutes is not None for s in e.summaries.values())
    made.append(_against_cost(e) if costed else Absent("cost", "Reward against cost", "2", "costs"))
    made.append(_against_time(e) if timed else Absent("time", "Reward against wall-clock", "7", "minutes"))
    made.append(_totals(e) if costed else Absent("totals", "Benchmark totals", "18", "costs"))
    made.append(_paired(e) if e.comparisons else Absent("paired", "Paired differences", "10–13", "two designs"))
    made.append(_frontier(e) if costed else Absent("frontier", "The frontier", "", "costs"))
    return made


def _counts(e: Evidence) -> tuple[str, ...]:
    """What was left out, in words."""
    left = [s.standing for s in e.summaries.values() if s.standing.left_out]
    if not left:
        return ("Every expected run counts.",)
    total = sum(s.expected for s in left)
    kinds = [
        f"{sum(getattr(s, k) for s in left)} {words}"
        for k, words in (("never_run", "never run"), ("no_reward", "without reward"), ("invalid", "invalid"),
                         ("degraded", "degraded"))
        if sum(getattr(s, k) for s in left)
    ]  # fmt: skip
    many = f"{sum(s.left_out for s in left)} of {total} runs of {len(left)} designs are left out: {', '.join(kinds)}."
    return (many, "Bounds: where the mean can lie, whatever the runs left out would have given.")


def _designs(e: Evidence) -> Exhibit:
    rows = []
    for s in e.summaries.values():
        f = e.factors[s.design]
        rows.append(
            (
                s.design, f.guidance or None, size_of(f) if f.known else None,
                s.standing.counted, s.standing.left_out, *triple(s.reward), *s.reward_bounds,
                s.reward_clustered.half if s.reward_clustered else None,
                *triple(s.cost), s.total_cost, mean_of(s.minutes),
                s.total_minutes / 60 if s.total_minutes is not None else None,
                s.on_frontier, s.frontier, _wanted(e, s),
            )
        )  # fmt: skip
    made = table(
        [
            ("design", "Design", "text"), ("guidance", "Guidance", "text"), ("size", "Size", "text"),
            ("runs", "Runs", "count"), ("left_out", "Left out", "count"),
            ("reward", "Reward", "reward"), ("low", "low", "reward"), ("high", "high", "reward"),
            ("bound_low", "bounds from", "reward"), ("bound_high", "to", "reward"),
            ("clustered", "± clustered", "reward"),
            ("cost", "Cost per task ($)", "usd"), ("cost_low", "low", "usd"), ("cost_high", "high", "usd"),
            ("total", "Benchmark total ($)", "usd"), ("minutes", "Minutes per task", "minutes"),
            ("hours", "Benchmark hours", "hours"),
            ("on", "On frontier", "yes"), ("chance", "Probability", "percent"),
            ("wanted", f"Tasks for ± {100 * WIDTH:.0f} points", "count"),
        ],
        rows,
        *_counts(e),
        bounds_note(e),
        "Cost: settled dollars of the runs that count, with those of their earlier attempts that failed.",
        "Intervals: 95 % over tasks, repeats averaged first."
        + (" 1.96 standard errors, as in the paper." if e.method == "paper" else " Student t."),
    )  # fmt: skip
    return Exhibit("designs", "All designs", "", "What each design earns and costs.", made)


def _wanted(e: Evidence, s: DesignSummary) -> int | None:
    """How many tasks of this spread the mean would need for the wished precision."""
    return tasks_for_width(s.reward.sd, WIDTH, e.method) if s.reward is not None and s.reward.sd > 0 else None


def _points(e: Evidence, *columns: tuple[str, str, Kind]) -> Table:
    rows = []
    for s in e.summaries.values():
        f = e.factors[s.design]
        x = {
            "cost": mean_of(s.cost), "minutes": mean_of(s.minutes), "total": s.total_cost,
            "hours": s.total_minutes / 60 if s.total_minutes is not None else None,
        }  # fmt: skip
        rows.append((s.design, f.models, f.guidance, kind_of(f), *(x[c[0]] for c in columns), *triple(s.reward)))
    return table(
        [
            ("design", "Design", "text"), ("models", "Models", "text"), ("guidance", "Guidance", "text"),
            ("kind", "Kind", "text"), *columns, ("reward", "Mean reward", "reward"),
            ("low", "low", "reward"), ("high", "high", "reward"),
        ],
        rows,
        bounds_note(e),
    )  # fmt: skip


_BARS = (
    "Bars: 95 % intervals over tasks. Dashed: the frontier of these means; its designs are labelled. Open marks "
    "are solo agents."
)


def _against_cost(e: Evidence) -> Exhibit:
    t = _points(e, ("cost", "Mean cost per task ($)", "usd"))
    return Exhibit(
        "cost", "Reward against cost", "2", f"Mean reward and mean dollars per task of every design. {_BARS}", t,
        _draw_cost, (8.2, 4.6),
    )  # fmt: skip


def _against_time(e: Evidence) -> Exhibit:
    t = _points(e, ("minutes", "Mean wall-clock per task (minutes)", "minutes"))
    caption = f"Mean reward and mean minutes of active time per task; resumed runs are left out of the time. {_BARS}"
    return Exhibit(
        "time", "Reward against wall-clock", "7", caption, t,
        _draw_time, (8.2, 4.6),
    )  # fmt: skip


def _draw_cost(fig: Figure, t: Table) -> None:
    ax = fig.subplots()
    tradeoff(ax, t, "cost")
    name_designs(ax, t, "cost")


def _draw_time(fig: Figure, t: Table) -> None:
    ax = fig.subplots()
    tradeoff(ax, t, "minutes", money=False)
    name_designs(ax, t, "minutes")


def _totals(e: Evidence) -> Exhibit:
    timed = any(s.total_minutes is not None for s in e.summaries.values())
    hours: list[tuple[str, str, Kind]] = [("hours", "Wall-clock of one pass (hours)", "hours")] if timed else []
    t = _points(e, ("total", "Cost of one pass over the benchmark ($)", "usd"), *hours)
    caption = (
        f"Mean reward and what one pass over all {len(e.scores.tasks)} tasks costs"
        + (", in dollars and in hours, one run after the other. " if timed else ". ")
        + _BARS
    )
    return Exhibit(
        "totals", "Reward against the benchmark's totals", "18", caption, t, _draw_totals, (13.2 if timed else 8.2, 4.9)
    )


def _draw_totals(fig: Figure, t: Table) -> None:
    if not any(c.key == "hours" for c in t.columns):
        left = fig.subplots()
        tradeoff(left, t, "total")
        name_designs(left, t, "total")
        return
    left, right = fig.subplots(1, 2, sharey=True)
    tradeoff(left, t, "total", keys=False)
    tradeoff(right, t, "hours", money=False)
    right.set_ylabel("")
    name_designs(left, t, "total")
    name_designs(right, t, "hours")


def comparison_row(c: Comparison, *, reachable: bool = True) -> tuple[object, ...]:
    bound = "" if reachable or "upper bound" in c.design else " (upper bound)"
    return (
        f"{c.design}{bound} − {c.base}", *triple(c.reward), c.reward.p, c.p_adjusted, c.mde, c.reward.n,
        c.tasks_left_out, mean_of(c.with_degraded), *triple(c.cost), mean_of(c.minutes), *limits(c.minutes),
    )  # fmt: skip


def _paired(e: Evidence) -> Exhibit:
    many = e.comparisons
    rows = [comparison_row(c, reachable=e.factors[c.design].reachable) for c in many]
    t = table(
        [
            ("design", "Comparison", "text"), ("reward", "Reward (points)", "points"), ("low", "low", "points"),
            ("high", "high", "points"), ("p", "p", "p"), ("adjusted", "p (Holm)", "p"),
            ("mde", "Detectable (80 %)", "points"), ("n", "Tasks", "count"), ("out", "Left out", "count"),
            ("degraded", "with degraded", "points"), ("cost", "Cost ($ per task)", "usd"),
            ("cost_low", "low", "usd"), ("cost_high", "high", "usd"),
            ("minutes", "Wall-clock (minutes)", "minutes"), ("minutes_low", "low", "minutes"),
            ("minutes_high", "high", "minutes"),
        ],
        rows,
        f"Holm's correction is over the {len(many)} comparisons read together here.",
        "Detectable: the true difference that this comparison finds with 80 % power. Below it, no difference seen is "
        "no difference shown.",
    )  # fmt: skip
    caption = (
        "Each team against its solo control (minimal teams: solo minimal; guided teams: solo PIV), or all pairs where "
        "there is none. 95 % intervals over tasks of the paired difference; filled: leaves out zero (uncorrected). "
        "Grey: differences too small to be found with 80 % power."
    )
    return Exhibit("paired", "Paired differences", "10–13", caption, t, _draw_paired, (9.6, 1.4 + 0.27 * len(rows)))


def _draw_paired(fig: Figure, t: Table) -> None:
    left, middle, right = fig.subplots(1, 3)
    forest(left, t, "reward", "low", "high", formatter=signed(factor=100), detectable="mde")
    forest(middle, t, "cost", "cost_low", "cost_high", names=False, formatter=dollars)
    forest(right, t, "minutes", "minutes_low", "minutes_high", names=False)


def _frontier(e: Evidence) -> Exhibit | Absent:
    found = [s for s in e.summaries.values() if s.frontier is not None and s.frontier >= 0.005]
    if not found:
        return Absent("frontier", "The frontier", "", "two tasks with reward and cost that all designs have in common")
    found.sort(key=lambda s: mean_of(s.cost) or 0.0)
    rows = [(s.design, s.frontier, s.on_frontier, mean_of(s.cost), mean_of(s.reward)) for s in found]
    t = table(
        [
            ("design", "Design", "text"), ("chance", "Probability of being on the frontier", "percent"),
            ("on", "On it by the means", "yes"), ("cost", "Cost per task ($)", "usd"), ("reward", "Reward", "reward"),
        ],
        rows,
        "Designs below 0.5 % are not listed. Share of bootstrap draws over tasks in which no design is both as good "
        "and as cheap. In simulations with known truth it is calibrated within 5 points per decile.",
        bounds_note(e),
    )  # fmt: skip
    caption = "From cheap to dear: how sure it is that nobody beats the design. Filled: on the frontier by the means."
    return Exhibit("frontier", "The frontier, and how sure it is", "", caption, t, _draw_frontier,
                   (7.2, 1.0 + 0.26 * len(rows)))  # fmt: skip


def _draw_frontier(fig: Figure, t: Table) -> None:
    ax = fig.subplots()
    rows = t.dicts()
    for i, r in enumerate(rows):
        made = ax.barh(
            i, r["chance"], color=PALETTE[0] if r["on"] else "white", edgecolor=PALETTE[0], height=0.6, lw=1.0
        )
        mark(made[0], i)
    ax.set_yticks(range(len(rows)), [r["design"] for r in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(percent)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel(t.label("chance"))
