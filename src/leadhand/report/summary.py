"""What `leadhand analyse` prints: designs, comparisons, run-to-run variation; as text or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np

from leadhand.analysis.compare import Comparison, by_tier, compare, pairs
from leadhand.analysis.scores import common
from leadhand.analysis.stats.hypotheses import NonInferiority, non_inferior
from leadhand.core.errors import UsageError
from leadhand.report import table as tables
from leadhand.report.evidence import Evidence, mean_of, triple
from leadhand.report.exhibits.overview import comparison_row
from leadhand.report.table import Table, table

MOST_PAIRS = 15
"""Of more comparisons of all with all, only those with the best design are printed."""

NAMED = 3
"""So many designs without a run that counts are named."""


def as_text(e: Evidence, *, base: str, designs: Sequence[str], margin: float, saving: float | None) -> str:
    """Aligned tables with their notes."""
    e = chosen(e, designs, base)
    parts = [("Designs", _designs(e)), ("Differences (paired over tasks)", _differences(e, base))]
    if e.scores.tiers:
        parts.append(("Mean reward by difficulty", _tiers(e)))
    if saving is not None:
        parts.append(
            (
                f"At least {saving:g} % cheaper and at most {100 * margin:g} points worse",
                _tests(e, base, margin, saving),
            )
        )
    parts.append(("Run to run", _stability(e)))
    notes = "".join(f"note: {n}\n" for n in e.notes)
    return "\n".join(f"{title}\n{tables.as_text(t)}" for title, t in parts if t.rows) + notes


def as_json(e: Evidence, *, base: str, designs: Sequence[str], margin: float, saving: float | None) -> str:
    """Full precision: summaries, comparisons, tests."""
    e = chosen(e, designs, base)
    found = {
        "designs": list(e.summaries.values()),
        "comparisons": compare(e.scores, pairs(e.scores, base), e.method),
        "tiers": {d: by_tier(e.scores, d, e.method) for d in e.factors} if e.scores.tiers else {},
        "non_inferior": dict(non_inferiority(e, base, margin, saving)) if saving is not None else {},
        "notes": e.notes,
    }
    return msgspec.json.format(msgspec.json.encode(found), indent=2).decode() + "\n"


def chosen(e: Evidence, designs: Sequence[str], base: str) -> Evidence:
    """Only the designs asked for; an unknown one is an error that lists what there is."""
    for name in (*designs, *([base] if base else ())):
        if name not in e.factors:
            raise UsageError(f"there is no design {name!r}; there are: {'; '.join(e.factors)}")
    if not designs:
        return e
    wanted = [d for d in e.factors if d in designs or d == base]
    return replace(e, scores=e.scores.only(wanted))


def _counted(e: Evidence) -> list[str]:
    """The designs that have a run that counts."""
    return [s.design for s in e.summaries.values() if s.standing.counted]


def _designs(e: Evidence) -> Table:
    listed = _counted(e) or list(e.factors)
    rows = [
        (s.design, s.standing.counted, s.standing.left_out, *triple(s.reward), *s.reward_bounds, *triple(s.cost),
         s.minutes.value if s.minutes else None, s.frontier)
        for s in e.summaries.values()
        if s.design in listed
    ]  # fmt: skip
    return table(
        [
            ("design", "design", "text"), ("runs", "runs", "count"), ("out", "left out", "count"),
            ("reward", "reward", "reward"), ("low", "low", "reward"), ("high", "high", "reward"),
            ("bound_low", "bounds from", "reward"), ("bound_high", "to", "reward"), ("cost", "cost", "usd"),
            ("cost_low", "low", "usd"), ("cost_high", "high", "usd"), ("minutes", "minutes", "minutes"),
            ("frontier", "on frontier", "percent"),
        ],
        rows,
        _unlisted([d for d in e.factors if d not in listed]),
    )  # fmt: skip


def _unlisted(designs: Sequence[str]) -> str:
    if not designs:
        return ""
    more = f" and {len(designs) - NAMED} more" if len(designs) > NAMED else ""
    have = "has" if len(designs) == 1 else "have"
    names = f"{', '.join(designs[:NAMED])}{more}"
    return f"{tables.counted(len(designs), 'design')} {have} no run that counts: {names} (--json lists all)"


def _differences(e: Evidence, base: str) -> Table:
    found, note = _compared(e, base)
    made = table(
        [
            ("design", "comparison", "text"), ("reward", "points", "points"), ("low", "low", "points"),
            ("high", "high", "points"), ("p", "p", "p"), ("adjusted", "p (Holm)", "p"), ("mde", "detectable", "points"),
            ("n", "tasks", "count"), ("out", "left out", "count"), ("degraded", "with degraded", "points"),
            ("cost", "cost", "usd"), ("cost_low", "low", "usd"), ("cost_high", "high", "usd"),
            ("minutes", "minutes", "minutes"), ("minutes_low", "low", "minutes"), ("minutes_high", "high", "minutes"),
        ],
        [comparison_row(c, reachable=e.factors[c.design].reachable) for c in found],
        "detectable: the true difference found with 80 % power",
        note,
    )  # fmt: skip
    return tables.filled(made)


def _compared(e: Evidence, base: str) -> tuple[list[Comparison], str]:
    """What is printed of the comparisons, and a note where that is not all. Of too many pairs of all with all these are
    the pairs with the design of the highest mean; their p stay corrected for all pairs, since the data chose that one.
    """
    family = pairs(e.scores, base)
    names = _counted(e)
    every = len(names) * (len(names) - 1) // 2
    everything = not base and len(family) == len(e.factors) * (len(e.factors) - 1) // 2
    if not everything or every <= MOST_PAIRS:
        return compare(e.scores, family, e.method), ""
    bought = [d for d in names if e.factors[d].reachable] or names
    best = max(bought, key=lambda d: mean_of(e.summaries[d].reward) or 0.0)
    ordered = [best, *(d for d in e.factors if d != best)]
    found = compare(e.scores, pairs(e.scores.only(ordered)), e.method)
    note = (
        f"{every} pairs of {len(names)} designs: only those with the highest mean, {best}, are printed (p corrected "
        "for all); --base NAME compares with another, --json has every pair"
    )
    return [c for c in found if c.base == best], note


def _tiers(e: Evidence) -> Table:
    found = {d: by_tier(e.scores, d, e.method) for d in e.factors}
    tiers = list(dict.fromkeys(t for by in found.values() for t in by))
    return table(
        [("design", "design", "text"), *((t, t, "reward") for t in tiers)],
        [(d, *(by[t].value if t in by else None for t in tiers)) for d, by in found.items() if by],
    )


def non_inferiority(e: Evidence, base: str, margin: float, saving: float) -> list[tuple[str, NonInferiority]]:
    """Every design tested against the base. Raises `UsageError` without a base."""
    if not base:
        raise UsageError("--saving needs --base: the design that the others are to be nearly as good as")
    found = []
    for design in e.factors:
        columns = [e.per_task(d, c) for c in ("reward", "cost") for d in (design, base)]
        both = common(*columns)
        if design == base or both.sum() < 2 or not columns[3][both].mean() > 0:
            continue
        r, r0, c, c0 = (column[both] for column in columns)
        found.append((design, non_inferior(r, r0, c, c0, margin=margin, saving=saving / 100)))
    return found


def _tests(e: Evidence, base: str, margin: float, saving: float) -> Table:
    return table(
        [
            ("design", "design", "text"), ("difference", "points", "points"), ("low", "surely above", "points"),
            ("saved", "saved", "percent"), ("saving", "surely saved", "percent"), ("p", "p", "p"),
            ("holds", "holds", "yes"),
        ],
        [
            (d, t.difference, t.reward_low, t.saved, t.saving_low, t.p, t.holds)
            for d, t in non_inferiority(e, base, margin, saving)
        ],
        f"against {base}; both halves must hold at 5 % (intersection-union)",
    )  # fmt: skip


def _stability(e: Evidence) -> Table:
    rows = [
        (s.design, len(s.stability.means), float(np.mean(s.stability.means)), s.stability.sd, s.stability.spread,
         s.stability.task_difference, s.stability.correlation)
        for s in e.summaries.values()
        if len(s.stability.means) > 1
    ]  # fmt: skip
    return table(
        [
            ("design", "design", "text"), ("repeats", "repeats", "count"), ("mean", "mean", "reward"),
            ("sd", "SD (n - 1)", "reward"), ("range", "range", "reward"), ("difference", "task |Δ|", "reward"),
            ("correlation", "correlation", "number"),
        ],
        rows,
    )  # fmt: skip
