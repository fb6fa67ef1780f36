"""Which stages to delegate, to whom: guidance and efficiency, leads, model families, the cap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from leadhand.analysis.factors import Factors
from leadhand.analysis.scores import common
from leadhand.analysis.stats.bootstrap import bca
from leadhand.report.drawing import bars, forest, log_axis
from leadhand.report.evidence import Evidence, distinct, mean_of, plain, triple
from leadhand.report.exhibit import Absent, Exhibit
from leadhand.report.style import MARKERS, colours, mark, signed
from leadhand.report.table import Table, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ORDER = ("minimal", "P", "I", "V", "PI", "PV", "IV", "PIV")


def exhibits(e: Evidence) -> list[Exhibit | Absent]:
    return [_rewards(e), _efficiency(e), _leads(e), _families(e), _cap(e)]


def _ordered(designs: list[Factors]) -> list[Factors]:
    models = distinct(f.models for f in designs)
    return sorted(designs, key=lambda f: (models.index(f.models), not f.solo, ORDER.index(f.guidance)))


def _rewards(e: Evidence) -> Exhibit | Absent:
    chosen = _ordered(e.where(plain))
    if len({f.guidance for f in chosen if not f.solo}) < 2:
        return Absent("guidance", "Which stages to delegate", "4", "teams with at least two kinds of guidance")
    rows = []
    for f in chosen:
        s = e.summaries[f.label]
        where = f"solo {f.guidance}" if f.solo else f"team {f.guidance}"
        rows.append((f.label, f.models, where, *triple(s.reward), mean_of(s.cost)))
    t = table(
        [
            ("design", "Design", "text"), ("models", "Models", "text"), ("guidance", "Guidance", "text"),
            ("reward", "Mean reward", "reward"), ("low", "low", "reward"), ("high", "high", "reward"),
            ("cost", "Cost per task ($)", "usd"),
        ],
        rows,
    )  # fmt: skip

    def draw(fig: Figure, t: Table) -> None:
        bars(fig.subplots(), t, "reward", group="models", across="guidance", low="low", high="high")

    caption = "Mean reward by the stages whose delegation the lead was told of, and by models. 95 % over tasks."
    return Exhibit("guidance", "Which stages to delegate", "4", caption, t, draw, (8.6, 3.8))


def _efficiency(e: Evidence) -> Exhibit | Absent:
    rows = []
    for f in _ordered(e.where(lambda f: plain(f) and not f.solo)):
        base = e.solo(f.lead)
        found = e.efficiency(f.label, base.label) if base else None
        if base is None or found is None:
            continue
        rows.append(
            (
                f.label, f.models, f.guidance, *triple(found.eta), found.quadrant, *triple(found.points_per_dollar),
                found.added_reward, found.added_cost, found.cheaper_draws, found.n,
            )
        )  # fmt: skip
    if not rows:
        needs = "teams, and the solo PIV control of their lead, both with costs"
        return Absent("efficiency", "What an added dollar buys", "14–17", needs)
    t = table(
        [
            ("design", "Design", "text"), ("models", "Models", "text"), ("guidance", "Guidance", "text"),
            ("eta", "η = (ΔR/R₀)/(ΔC/C₀)", "number"), ("low", "low", "number"), ("high", "high", "number"),
            ("quadrant", "Quadrant", "text"), ("points", "Points per added $", "number"),
            ("points_low", "low", "number"),
            ("points_high", "high", "number"), ("gain", "ΔR (points)", "points"), ("added", "ΔC ($ per task)", "usd"),
            ("cheaper", "Draws with ΔC ≤ 0", "percent"), ("n", "Tasks", "count"),
        ],
        rows,
        "Against the lead's solo PIV, ratio of means. Where the team is not dearer there is no number, only a label. "
        "Intervals: BCa bootstrap over tasks, given only where ΔC > 0 in at least 97.5 % of draws.",
    )  # fmt: skip

    def draw(fig: Figure, t: Table) -> None:
        ax = fig.subplots()
        bars(ax, t, "eta", group="models", across="guidance", low="low", high="high")

    caption = "Relative gain over relative added cost (dimensionless; our formula, the paper's text is not at hand)."
    return Exhibit("efficiency", "What an added dollar buys", "14–17", caption, t, draw, (8.6, 3.8))


def _leads(e: Evidence) -> Exhibit | Absent:
    """The lead varied, the workers' model fixed."""
    teams = e.where(lambda f: plain(f) and not f.solo and f.guidance != "minimal")
    workers = [w for w in distinct(f.worker for f in teams) if len({f.lead for f in teams if f.worker == w}) > 1]
    rows = []
    for w in workers:
        for f in _ordered([t for t in teams if t.worker == w]):
            s, solo = e.summaries[f.label], e.solo(f.lead)
            base = mean_of(e.summaries[solo.label].reward) if solo else None
            rows.append((f.label, w, f.lead, f.guidance, *triple(s.reward), mean_of(s.cost), base))
    if not rows:
        return Absent("leads", "The lead varied, the workers fixed", "19", "two leads with the same workers")
    t = table(
        [
            ("design", "Design", "text"), ("worker", "Workers", "text"), ("lead", "Lead", "text"),
            ("guidance", "Guidance", "text"), ("reward", "Mean reward", "reward"), ("low", "low", "reward"),
            ("high", "high", "reward"), ("cost", "Cost per task ($)", "usd"), ("solo", "The lead's solo PIV", "reward"),
        ],
        rows,
    )  # fmt: skip
    caption = "Teams with the same workers under different leads. Dashed: what that lead reaches alone (solo PIV)."
    return Exhibit("leads", "The lead varied, the workers fixed", "19", caption, t, _draw_leads,
                   (4.2 * max(2, len(workers)) - 0.6, 3.8))  # fmt: skip


def _draw_leads(fig: Figure, t: Table) -> None:
    workers = distinct(t.column("worker"))
    axes = fig.subplots(1, len(workers), sharey=True, squeeze=False)[0]
    colour = colours(t.column("lead"))
    for ax, worker in zip(axes, workers, strict=True):
        rows = [(i, r) for i, r in enumerate(t.dicts()) if r["worker"] == worker]
        log_axis(ax, [r["cost"] for _, r in rows if r["cost"]], money=True)
        for i, r in rows:
            made = ax.errorbar(
                r["cost"], r["reward"], yerr=[[r["reward"] - r["low"]], [r["high"] - r["reward"]]],
                fmt=MARKERS[r["guidance"]], color=colour[r["lead"]], ms=6, capsize=2, lw=0.8,
                label=f"{r['lead']}, {r['guidance']}",
            )  # fmt: skip
            mark(made[0], i)
            if r["solo"] is not None:
                ax.axhline(r["solo"], color=colour[r["lead"]], ls="--", lw=0.9)
        ax.set_title(f"workers: {worker}")
        ax.set_xlabel(t.label("cost"))
    axes[0].set_ylabel(t.label("reward"))
    known = {n: h for ax in axes for h, n in zip(*ax.get_legend_handles_labels(), strict=True)}
    fig.legend(known.values(), known.keys(), loc="outside right center")


def _families(e: Evidence) -> Exhibit | Absent:
    """Each lead's solo and team arms side by side."""
    chosen = e.where(lambda f: plain(f) and f.homogeneous)
    families = [m for m in distinct(f.lead for f in chosen) if len({f.solo for f in chosen if f.lead == m}) > 1]
    rows = []
    for m in families:
        for f in _ordered([c for c in chosen if c.lead == m]):
            s = e.summaries[f.label]
            delegated = e.activity(f.label, "delegations") if e.tables is not None and not f.solo else None
            arm = f"solo {f.guidance}" if f.solo else f"team {f.guidance}"
            rows.append((f.label, m, arm, *triple(s.reward), mean_of(s.cost), mean_of(s.minutes), mean_of(delegated)))
    if len(families) < 2:
        return Absent("families", "Model families", "27", "homogeneous teams and solo agents of two models")
    t = table(
        [
            ("design", "Design", "text"), ("model", "Model", "text"), ("arm", "Arm", "text"),
            ("reward", "Mean reward", "reward"), ("low", "low", "reward"), ("high", "high", "reward"),
            ("cost", "Cost per task ($)", "usd"), ("minutes", "Minutes per task", "minutes"),
            ("delegations", "Delegations per task", "number"),
        ],
        rows,
    )  # fmt: skip

    def draw(fig: Figure, t: Table) -> None:
        bars(fig.subplots(), t, "reward", group="arm", across="model", low="low", high="high")

    caption = "Whether guidance and teams help depends on the model. 95 % intervals over tasks."
    return Exhibit("families", "Model families", "27", caption, t, draw, (8.6, 3.8))


def _cap(e: Evidence) -> Exhibit | Absent:
    """Dynamic teams that differ in nothing but the cap on unique workers."""
    teams = e.where(lambda f: not f.solo and f.workers is None)
    rows = []
    for f in teams:
        for g in teams:
            if _but_cap(f) != _but_cap(g) or (f.cap or 0) >= (g.cap or 0):
                continue
            rows.append(_cap_row(e, f, g))
    if not rows:
        return Absent("cap", "A higher cap on workers", "25", "two dynamic teams that differ only in their cap")
    t = table(
        [
            ("design", "Change of the cap", "text"), ("reward", "Reward (points)", "points"), ("low", "low", "points"),
            ("high", "high", "points"), ("cost", "Cost (change)", "percent"), ("cost_low", "low", "percent"),
            ("cost_high", "high", "percent"), ("before", "Workers before", "number"), ("after", "after", "number"),
        ],
        rows,
        "Paired over tasks; the change of cost is a ratio of means (BCa).",
    )  # fmt: skip
    caption = "What a higher cap changes, paired over tasks. 95 % intervals."
    return Exhibit("cap", "A higher cap on workers", "25", caption, t, _draw_cap, (8.2, 1.4 + 0.4 * len(rows)))


def _but_cap(f: Factors) -> Factors:
    return msgspec.structs.replace(f, cap=None, label="")


def _cap_row(e: Evidence, f: Factors, g: Factors) -> tuple[object, ...]:
    from leadhand.analysis.stats.intervals import paired

    a, b = e.per_task(g.label, "reward"), e.per_task(f.label, "reward")
    both = common(a, b)
    reward = paired(a[both], b[both], e.method)
    ca, cb = e.per_task(g.label, "cost"), e.per_task(f.label, "cost")
    costed = common(ca, cb)
    import numpy as np

    change = bca(np.column_stack([ca[costed], cb[costed]]), lambda m: m[:, 0] / m[:, 1] - 1) if costed.any() else None
    before, after = (e.activity(d.label, "workers") if e.tables is not None else None for d in (f, g))
    name = f"{f.models} {f.guidance}: {f.cap} → {g.cap}"
    return (name, *triple(reward), *triple(change), mean_of(before), mean_of(after))


def _draw_cap(fig: Figure, t: Table) -> None:
    left, right = fig.subplots(1, 2)
    forest(left, t, "reward", "low", "high", formatter=signed(factor=100))
    forest(right, t, "cost", "cost_low", "cost_high", names=False, formatter=signed(factor=100, unit=" %"))
