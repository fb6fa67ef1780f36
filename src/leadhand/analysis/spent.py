"""What a study has cost, to the last folder: what counts, what does not, and what was tried in vain."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from leadhand.analysis.tables import Tables
from leadhand.core.values import Value


class Spent(Value, frozen=True, kw_only=True):
    """One design's dollars over everything that the study has of it. All but `unknown` are settled.

    `counted`: own dollars of the `counted_runs` runs that a statistic counts. `left_out`: own dollars of the other
    runs. `attempts`: dollars of archived attempts, `attempts_unknown` what these may have cost beyond that.
    `dropped`: dollars of runs that the study no longer asks for. `unknown`: what all of them may have cost beyond
    `total`, at worst (that of the attempts is in it): total <= the provider's bill <= total + unknown.
    """

    design: str
    counted_runs: int = 0
    counted: float = 0.0
    left_out_runs: int = 0
    left_out: float = 0.0
    attempts_made: int = 0
    attempts: float = 0.0
    attempts_unknown: float = 0.0
    dropped_runs: int = 0
    dropped: float = 0.0
    unknown: float = 0.0

    @property
    def total(self) -> float:
        return self.counted + self.left_out + self.attempts + self.dropped


def counting(*, with_degraded: bool) -> pl.Expr:
    """Which rows of `runs` a statistic counts."""
    keep = pl.col("valid") & pl.col("reward").is_not_null()
    return keep if with_degraded else keep & ~pl.col("degraded")


def spending(tables: Tables, designs: Iterable[str], *, with_degraded: bool = False) -> list[Spent]:
    """A row for each design, in this order, and for each further one of which only dropped runs are left."""
    runs = tables["runs"].with_columns(
        pl.when(counting(with_degraded=with_degraded))
        .then(pl.lit("counted"))
        .otherwise(pl.lit("left_out"))
        .alias("why")
    )
    wanted = ["design", "why", "cost", "unknown_cost"]
    every = pl.concat([runs.select(wanted), tables["aside"].select(wanted)])
    sums = every.group_by("design", "why").agg(pl.len(), pl.col("cost").sum(), pl.col("unknown_cost").sum())
    found: dict[str, dict[str, tuple[int, float, float]]] = {design: {} for design in designs}
    for design, why, count, cost, unknown in sums.sort("design", "why").iter_rows():
        found.setdefault(design, {})[why] = (count, cost, unknown)
    return [_spent(design, parts) for design, parts in found.items()]


def _spent(design: str, parts: dict[str, tuple[int, float, float]]) -> Spent:
    none = (0, 0.0, 0.0)
    counted, left_out = parts.get("counted", none), parts.get("left_out", none)
    attempts, dropped = parts.get("attempt", none), parts.get("dropped", none)
    return Spent(
        design=design,
        counted_runs=counted[0],
        counted=counted[1],
        left_out_runs=left_out[0],
        left_out=left_out[1],
        attempts_made=attempts[0],
        attempts=attempts[1],
        attempts_unknown=attempts[2],
        dropped_runs=dropped[0],
        dropped=dropped[1],
        unknown=counted[2] + left_out[2] + attempts[2] + dropped[2],
    )


def together(rows: Iterable[Spent], name: str = "all") -> Spent:
    """The sum of rows."""
    every = list(rows)
    sums = {f: sum(getattr(row, f) for row in every) for f in Spent.__struct_fields__ if f != "design"}
    return Spent(design=name, **sums)
