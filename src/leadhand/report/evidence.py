"""What all exhibits start from: a study's scores, tables and comparisons, computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from leadhand.analysis.compare import Comparison, DesignSummary, compare, estimate, pairs, summarise
from leadhand.analysis.factors import Factors, base_of, solo_of
from leadhand.analysis.scores import Scores, common
from leadhand.analysis.spent import Spent, counting, spending
from leadhand.analysis.stats.bootstrap import Bootstrap, bca
from leadhand.analysis.stats.efficiency import Efficiency, efficiency
from leadhand.analysis.stats.intervals import Estimate, Floats, Method
from leadhand.analysis.tables import Tables
from leadhand.core.values import Price


@dataclass(frozen=True)
class Evidence:
    """`tables` is None where only scores are known (a CSV): exhibits of activity are then absent."""

    name: str
    scores: Scores
    tables: Tables | None = None
    method: Method = "t"
    question: str = ""
    prices: Mapping[str, Price] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @cached_property
    def summaries(self) -> dict[str, DesignSummary]:
        return {s.design: s for s in summarise(self.scores, self.method)}

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """Each team against its solo control (or, without such, all pairs): one family."""
        return compare(self.scores, pairs(self.scores), self.method)

    @cached_property
    def factors(self) -> dict[str, Factors]:
        return dict(self.scores.factors)

    def where(self, wanted: Callable[[Factors], bool]) -> list[Factors]:
        """The teams and solo agents whose factors are known and wanted, in the study's order. Groups without a lead are
        no factor of a team: they are in the overview and in the comparisons.
        """
        return [f for f in self.factors.values() if f.known and not f.group and wanted(f)]

    def base(self, design: str) -> Factors | None:
        return base_of(self.factors[design], self.factors)

    def solo(self, lead: str, guidance: str = "PIV") -> Factors | None:
        return solo_of(lead, guidance, self.factors)

    def per_task(self, design: str, column: str) -> Floats:
        return self.scores.per_task(design, column)

    def efficiency(self, design: str, base: str) -> Efficiency | None:
        """Eta of a design over a base, on the tasks where both have reward and cost."""
        columns = [self.per_task(d, c) for c in ("reward", "cost") for d in (design, base)]
        both = common(*columns)
        return efficiency(*(c[both] for c in columns)) if both.any() else None

    # --- from the journals -------------------------------------------------------------------------------------

    @cached_property
    def runs(self) -> pl.DataFrame:
        """The rows of all runs that count; `cost` is the scores' own: with that of earlier attempts (`earlier`)."""
        assert self.tables is not None
        runs = self.tables["runs"].filter(counting(with_degraded=self.scores.with_degraded))
        key = ["design", "task", "repeat"]
        paid = runs.join(self.scores.frame.select(*key, "earlier"), on=key, how="left", maintain_order="left")
        return paid.with_columns(cost=pl.col("cost") + pl.col("earlier").fill_null(0.0))

    @cached_property
    def spending(self) -> list[Spent]:
        """What each design has cost, with everything that does not count; empty without journals."""
        if self.tables is None:
            return []
        return spending(self.tables, self.factors, with_degraded=self.scores.with_degraded)

    def of(self, design: str) -> pl.DataFrame:
        return self.runs.filter(pl.col("design") == design)

    def activity(self, design: str, value: str | pl.Expr) -> Estimate | None:
        """The mean per task of a number per run: repeats are averaged first; runs without a number are left out."""
        expression = pl.col(value) if isinstance(value, str) else value
        means = self.of(design).group_by("task").agg(expression.cast(pl.Float64).mean().alias("x"))["x"].drop_nulls()
        return estimate(means.to_numpy().astype(np.float64), self.method) if len(means) else None

    def ratio(self, design: str, top: str, bottom: str) -> Bootstrap | None:
        """A ratio of totals, with its BCa interval over tasks; None where the bottom is 0."""
        sums = self.of(design).group_by("task", maintain_order=True).agg(pl.col(top).sum(), pl.col(bottom).sum())
        data = sums.select(top, bottom).to_numpy().astype(np.float64)
        if not len(data) or data[:, 1].sum() <= 0:
            return None
        return bca(data, lambda m: np.where(m[:, 1] > 0, m[:, 0] / np.where(m[:, 1] > 0, m[:, 1], 1.0), np.inf))


def mean_of(e: Estimate | None) -> float | None:
    return None if e is None else e.value


def limits(e: Estimate | Bootstrap | None) -> tuple[float | None, float | None]:
    return (None, None) if e is None else (e.low, e.high)


def triple(e: Estimate | Bootstrap | None) -> tuple[float | None, float | None, float | None]:
    """Value, low, high."""
    return (None, None, None) if e is None else (e.value, e.low, e.high)


def size_of(f: Factors) -> str:
    """The team's size in words."""
    if f.solo or f.size:
        return f.size or "solo"
    return f"{f.workers} workers" if f.workers is not None else f"up to {f.cap}"


def kind_of(f: Factors) -> str:
    """What sort of design it is, in a word or two."""
    if not f.known and not f.group:
        return ""
    if not f.reachable:
        return "upper bound"
    return {"peers": "peers", "best-of-k": "best of k"}.get(f.strategy, "solo" if f.solo else "team")


def bounds_note(e: Evidence) -> str:
    """A note that names the designs nobody can buy; "" where there are none."""
    names = [f.label for f in e.factors.values() if not f.reachable]
    return (
        f"Upper bounds, which nobody can buy (the grader itself chose among the candidates): {'; '.join(names)}. They "
        "are on no frontier and keep no design from it."
        if names
        else ""
    )


def groups_note(e: Evidence) -> str:
    """A note on the designs without a lead that an exhibit about leads and workers leaves out."""
    groups = [f for f in e.factors.values() if f.group]
    if not groups:
        return ""
    runs = 0 if e.tables is None else len(e.runs.filter(pl.col("design").is_in([f.label for f in groups])))
    counted = f" ({runs} runs)" if runs else ""
    many = "design without a lead (peers, best of k) is" if len(groups) == 1 else "designs without a lead are"
    return f"{len(groups)} {many} left out{counted}: nobody delegates there."


def distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def plain(f: Factors) -> bool:
    """The paper's standard arm: a dynamic team with default cap, pushed reports, no messages, fresh context and no
    check at its finish; or a solo agent without that check.
    """
    usual = f.schedule == "push" and f.messaging == "off" and f.context == "brief"
    return not f.finish_check and (f.solo or (usual and f.workers is None and f.cap == 5))
