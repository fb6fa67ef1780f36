"""When and how much the lead delegates, what a team does all day, and who writes to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl

from leadhand.analysis.factors import Factors
from leadhand.analysis.scores import common
from leadhand.analysis.stats.bootstrap import Bootstrap, bca
from leadhand.analysis.stats.intervals import paired
from leadhand.report.drawing import bars, forest, stacked
from leadhand.report.evidence import Evidence, groups_note, kind_of, mean_of, plain, triple
from leadhand.report.exhibit import Absent, Exhibit
from leadhand.report.style import STAGE, mark, percent, signed
from leadhand.report.table import Table, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN_RUNS = 40
SHOWN_DESIGNS = 6


def exhibits(e: Evidence) -> list[Exhibit | Absent]:
    if e.tables is None:
        needs = "journals (a study folder, not a CSV)"
        return [
            Absent("raster", "When the lead delegates", "5", needs),
            Absent("shares", "Delegations by phase", "5", needs),
            Absent("activity", "What a team does", "21, tables 4 and 5", needs),
            Absent("messages", "Messages", "9, 26, table 6", needs),
        ]
    return [_raster(e), _shares(e), *_activity(e), _messages(e)]


def _teams(e: Evidence) -> list[Factors]:
    """The paper's standard arms, or else all teams."""
    return e.where(lambda f: plain(f) and not f.solo) or e.where(lambda f: not f.solo)


def _raster(e: Evidence) -> Exhibit | Absent:
    """Accepted calls of some runs over the run's time; rows by the run's first source write."""
    assert e.tables is not None
    rows = []
    phases, calls = e.tables["phases"], e.tables["delegations"]
    teams = _teams(e)
    for f in teams[:SHOWN_DESIGNS]:
        mine = e.of(f.label).select("run").join(phases, on="run").filter(pl.col("ended_s") > 0)
        step = max(1, len(mine) // SHOWN_RUNS)
        some = mine.sort("first_write_s", "run", nulls_last=True)[::step]
        for place, run in enumerate(some.iter_rows(named=True)):
            minutes = (run["first_write_s"] or 0) / 60 if run["first_write_s"] is not None else None
            last = run["last_write_s"] / 60 if run["last_write_s"] is not None else None
            rows.append((f.label, place, run["run"], None, None, minutes, last, run["ended_s"] / 60))
            rows += [
                (f.label, place, run["run"], at / 60, stage, minutes, last, run["ended_s"] / 60)
                for at, stage in calls.filter(pl.col("run") == run["run"]).select("started_s", "phase").iter_rows()
            ]
    if not any(r[3] is not None for r in rows):
        return Absent("raster", "When the lead delegates", "5", "teams that delegated")
    t = table(
        [
            ("design", "Design", "text"), ("row", "Row", "count"), ("run", "Run", "text"),
            ("at", "Minutes into the run", "minutes"), ("phase", "Phase", "text"),
            ("first", "First source write", "minutes"), ("last", "Last source write", "minutes"),
            ("end", "End of the run", "minutes"),
        ],
        rows,
        f"At most about {SHOWN_RUNS} runs of each design, evenly picked in the order of their first source write"
        + (f"; the first {SHOWN_DESIGNS} of {len(teams)} designs." if len(teams) > SHOWN_DESIGNS else "."),
        groups_note(e),
    )  # fmt: skip
    caption = (
        "One row per run, ordered by its first source write (black line); ticks are accepted delegate calls, "
        "coloured by phase: before the first source write, up to the last, after it. Grey: how long the run lasted."
    )
    designs = len({r[0] for r in rows})
    return Exhibit("raster", "When the lead delegates", "5", caption, t, _draw_raster,
                   (9.4, 0.6 + 2.5 * ((designs + 1) // 2)))  # fmt: skip


def _draw_raster(fig: Figure, t: Table) -> None:
    from matplotlib.lines import Line2D

    rows = t.dicts()
    designs = list(dict.fromkeys(r["design"] for r in rows))
    axes = fig.subplots((len(designs) + 1) // 2, 2, squeeze=False)
    for ax in axes.flat[len(designs) :]:
        ax.set_axis_off()
    for ax, design in zip(axes.flat, designs, strict=False):
        mine = [(i, r) for i, r in enumerate(rows) if r["design"] == design]
        lengths = [r for _, r in mine if r["at"] is None]
        for i, r in mine:
            if r["at"] is None:
                mark(ax.plot([0, r["end"]], [r["row"]] * 2, color="#E3E3E3", lw=1.5, zorder=1)[0], i)
        for stage, colour in STAGE.items():
            calls = [(r["at"], r["row"]) for _, r in mine if r["phase"] == stage]
            ax.plot([c[0] for c in calls], [c[1] for c in calls], "|", color=colour, ms=5, mew=1.4, zorder=3)
        known = [(r["first"], r["row"]) for r in lengths if r["first"] is not None]
        ax.plot([k[0] for k in known], [k[1] for k in known], color="black", lw=1.0, zorder=2)
        ax.set_ylim(max(r["row"] for r in lengths) + 1, -1)
        ax.set_xlim(left=0)
        ax.set_yticks([])
        ax.set_ylabel("Runs")
        ax.set_title(design)
        ax.set_xlabel(t.label("at"))
    names = {"P": "planning", "I": "implementation", "V": "verification"}
    handles = [
        Line2D([], [], marker="|", ls="", mew=1.6, color=c, label=f"call in {names[s]}") for s, c in STAGE.items()
    ]
    handles.append(Line2D([], [], color="black", label="first source write"))
    fig.legend(handles=handles, loc="outside lower center", ncols=4)


def _shares(e: Evidence) -> Exhibit | Absent:
    assert e.tables is not None
    rows = []
    for f in _teams(e):
        runs = e.of(f.label).select("run", "task", "repeat").join(e.tables["phases"], on="run")
        total = pl.col("calls_P") + pl.col("calls_I") + pl.col("calls_V")
        called = runs.with_columns(total.alias("calls")).filter(pl.col("calls") > 0)
        if not len(called):
            continue
        shares = [(pl.col(f"calls_{s}") / pl.col("calls")).mean().alias(s) for s in "PIV"]
        data = called.group_by("task", maintain_order=True).agg(shares).select("P", "I", "V").to_numpy()
        found = [bca(data, lambda m, i=i: m[:, i]) for i in range(3)]  # type: ignore[misc]
        by_repeat = runs.with_columns(total.alias("calls")).group_by("repeat").agg(pl.col("calls").mean())["calls"]
        mean = float(np.mean(by_repeat.to_numpy()))
        spread = float(np.ptp(by_repeat.to_numpy())) / mean if mean and len(by_repeat) > 1 else None
        rows.append(
            (f.label, *(b.value for b in found), *(x for b in found for x in (b.low, b.high)), mean, spread,
             len(called), len(runs) - len(called))
        )  # fmt: skip
    if not rows:
        return Absent("shares", "Delegations by phase", "5", "teams that delegated")
    t = table(
        [
            ("design", "Design", "text"), ("P", "planning", "percent"), ("I", "implementation", "percent"),
            ("V", "verification", "percent"), ("P_low", "P low", "percent"), ("P_high", "P high", "percent"),
            ("I_low", "I low", "percent"), ("I_high", "I high", "percent"), ("V_low", "V low", "percent"),
            ("V_high", "V high", "percent"), ("calls", "Accepted calls per run", "number"),
            ("spread", "Spread over repeats", "percent"), ("runs", "Runs with calls", "count"),
            ("out", "Runs without", "count"),
        ],
        rows,
        "Mean of per-run shares over runs with at least one call; BCa over tasks. Spread: range of the repeats' mean "
        "call counts over their mean. Verification after the last source write is our definition.",
        groups_note(e),
    )  # fmt: skip

    def draw(fig: Figure, t: Table) -> None:
        stacked(fig.subplots(), t, ("P", "I", "V"), palette=tuple(STAGE.values()))
        fig.axes[0].set_xlabel("Share of accepted calls")
        fig.axes[0].xaxis.set_major_formatter(percent)

    caption = "In which phase of the run calls were issued, whatever guidance named."
    return Exhibit("shares", "Delegations by phase", "5", caption, t, draw, (7.4, 1.3 + 0.27 * len(rows)))


ACTIVITY: tuple[tuple[str, str, str], ...] = (
    ("cost", "Cost ($)", "cost"), ("minutes", "Minutes", "minutes"), ("tool_calls", "Tool calls", "tool_calls"),
    ("bash", "of these bash", "bash_calls"), ("workers", "Workers", "workers"),
    ("delegations", "Delegations", "delegations"), ("rejected", "Rejected calls", "rejected_calls"),
    ("assignment", "Assignment (characters)", "assignment_chars"), ("report", "Report (characters)", "report_chars"),
)  # fmt: skip


_OF_TEAMS = ("workers", "delegations", "assignment", "report")
"""What only a team can have."""


def _activity(e: Evidence) -> list[Exhibit | Absent]:
    rows = [_activity_row(e, f) for f in e.factors.values() if len(e.of(f.label))]
    t = table(
        [
            ("design", "Design", "text"), ("kind", "Kind", "text"), ("reward", "Reward", "reward"),
            *((key, label, "usd" if key == "cost" else "number") for key, label, _ in ACTIVITY),
            ("resumed", "Resumed", "percent"), ("output", "Workers' output tokens (totals)", "percent"),
            ("per_run", "same, mean of runs", "percent"), ("tokens", "Workers' tokens, all (totals)", "percent"),
        ],
        rows,
        "Means per task; runs without delegations count. `wait` and `finish` are tool calls too. In designs without a "
        "lead the calls are those of all agents together, and nobody delegates.",
    )  # fmt: skip
    teams = sum(not (f.solo or f.group) for f in e.factors.values() if len(e.of(f.label)))
    caption = "What each team does per task."
    return [
        Exhibit("activity", "What a team does", "21, tables 4 and 5", caption, t,
                _draw_activity if teams else None, (9.4, 1.4 + 0.24 * teams))
    ]  # fmt: skip


def _activity_row(e: Evidence, f: Factors) -> tuple[object, ...]:
    values = {key: mean_of(e.activity(f.label, column)) for key, _, column in ACTIVITY}
    if f.group:
        values |= dict.fromkeys(_OF_TEAMS)
    shares: tuple[float | None, ...] = (None,) * 4
    if not f.group:
        resumed = e.ratio(f.label, "resumed_delegations", "delegations")
        output = e.ratio(f.label, "worker_output_tokens", "output_tokens")
        tokens = e.ratio(f.label, "worker_all_tokens", "all_tokens")
        per_run = e.activity(f.label, pl.col("worker_output_tokens") / pl.col("output_tokens"))
        shares = (_value(resumed), _value(output), mean_of(per_run), _value(tokens))
    return (f.label, kind_of(f), mean_of(e.summaries[f.label].reward), *values.values(), *shares)


def _value(b: Bootstrap | None) -> float | None:
    return None if b is None else b.value


def _draw_activity(fig: Figure, t: Table) -> None:
    """Five panels of bars with one row per team."""
    from matplotlib.ticker import MaxNLocator

    panels = ("tool_calls", "workers", "delegations", "resumed", "output")
    axes = fig.subplots(1, len(panels), sharey=True)
    rows = [(i, r) for i, r in enumerate(t.dicts()) if r["kind"] in ("team", "")]
    for ax, key in zip(axes, panels, strict=True):
        share = t.columns[t.at(key)].kind == "percent"
        for at, (i, r) in enumerate(rows):
            if r[key] is not None:
                mark(ax.barh(at, r[key], color="#0072B2", height=0.65)[0], i)
        label = {"resumed": "Resumed share", "output": "Workers' share of\noutput tokens"}.get(key, t.label(key))
        ax.set_xlabel(label)
        ax.grid(axis="y", visible=False)
        ax.set_xlim(0, max(ax.get_xlim()[1], 0.01))
        ax.xaxis.set_major_locator(MaxNLocator(3))
        if share:
            ax.xaxis.set_major_formatter(percent)
    axes[0].set_yticks(range(len(rows)), [r["design"] for _, r in rows])
    axes[0].set_ylim(len(rows) - 0.5, -0.5)


def _messages(e: Evidence) -> Exhibit | Absent:
    assert e.tables is not None
    sent = e.tables["messages"].group_by("run").agg(pl.len().alias("sent"))
    rows = []
    for f in e.where(lambda f: f.messaging != "off"):
        runs = e.of(f.label).join(sent, on="run", how="left").with_columns(pl.col("sent").fill_null(0))
        if not len(runs):
            continue
        off = next(
            (g for g in e.factors.values() if _but_messages(g) == _but_messages(f) and g.messaging == "off"), None
        )
        delta = None
        if off is not None:
            a, b = e.per_task(f.label, "reward"), e.per_task(off.label, "reward")
            both = common(a, b)
            delta = paired(a[both], b[both], e.method) if both.any() else None
        attempted = float(runs["sent"].sum()) + float(runs["messages_rejected"].sum())
        rows.append(
            (
                f"{f.models}, {f.messaging}", f.label,
                *(mean_of(e.activity(f.label, c)) for c in ("worker_to_lead", "lead_to_worker", "worker_to_worker")),
                _share(runs, "questions_replied", "questions"), _share(runs, "messages_replied", "worker_to_lead"),
                float(runs["messages_rejected"].sum()) / attempted if attempted else None, *triple(delta),
            )
        )  # fmt: skip
    if not rows:
        return Absent("messages", "Messages", "9, 26, table 6", "designs with messaging on")
    t = table(
        [
            ("setup", "Setup", "text"), ("design", "Design", "text"), ("wl", "worker → lead", "number"),
            ("lw", "lead → worker", "number"), ("ww", "worker → worker", "number"),
            ("replied", "Questions replied", "percent"), ("answered", "Messages replied", "percent"),
            ("failed", "Failed", "percent"), ("delta", "Reward (points)", "points"), ("low", "low", "points"),
            ("high", "high", "points"),
        ],
        rows,
        "Delivered messages per task. A question is a worker's message to the lead with a question mark [ours]; "
        "replied: the lead writes to that worker before it sends anything else. Failed: rejected over attempted. "
        "Reward: paired with the same design without messages.",
    )  # fmt: skip

    def draw(fig: Figure, t: Table) -> None:
        left, right = fig.subplots(1, 2, width_ratios=(1.3, 1))
        long = [(r["setup"], t.label(k), r[k]) for r in t.dicts() for k in ("wl", "lw", "ww")]
        counted = table(
            [("setup", "Setup", "text"), ("way", "Way", "text"), ("n", "Messages per task", "number")], long
        )
        bars(left, counted, "n", group="way", across="setup", legend=False, marks=False)
        left.set_xlabel("")
        from matplotlib.patches import Patch

        from leadhand.report.style import HATCHES, PALETTE

        ways = list(dict.fromkeys(w for _, w, _ in long))
        handles = [
            Patch(facecolor=PALETTE[i], hatch=HATCHES[i], edgecolor="white", label=w) for i, w in enumerate(ways)
        ]
        left.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
        forest(right, t, "delta", "low", "high", label="setup", formatter=signed(factor=100))

    caption = "Left: delivered messages per task by direction. Right: what messaging changes in reward, paired, 95 %."
    return Exhibit("messages", "Messages", "9, 26, table 6", caption, t, draw, (9.4, 3.6))


def _share(runs: pl.DataFrame, top: str, bottom: str) -> float | None:
    whole = float(runs[bottom].sum())
    return float(runs[top].sum()) / whole if whole else None


def _but_messages(f: Factors) -> Factors:
    return msgspec.structs.replace(f, messaging="off", label="")
