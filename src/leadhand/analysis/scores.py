"""One row per run: task, design, repeat, reward, cost, minutes. What every statistic starts from.

Nothing is dropped silently: rows stay, flags say why one does not count, and `Standing` counts them per design.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import polars as pl

from leadhand.analysis.factors import Factors
from leadhand.analysis.stats.intervals import Floats
from leadhand.core.values import Value

Missing = Literal["omit", "zero"]
"""What a task without a reward counts as. `omit`: it is left out, counted and bounded. `zero`: the leaderboard rule."""

COLUMNS: dict[str, pl.DataType] = {
    "design": pl.String(),
    "task": pl.String(),
    "repeat": pl.Int64(),
    "reward": pl.Float64(),
    "cost": pl.Float64(),
    "earlier": pl.Float64(),
    "minutes": pl.Float64(),
    "valid": pl.Boolean(),
    "degraded": pl.Boolean(),
    "resumed": pl.Boolean(),
}


@dataclass(frozen=True, slots=True)
class Scores:
    """All runs of a study as scores. `tasks` is the benchmark: a mean goes over these, whoever has run them.

    `frame` has the columns of `COLUMNS`; reward in [0, 1] or null, cost in dollars, `earlier` the part of it that went
    into attempts which this run replaced, minutes of active time.
    """

    frame: pl.DataFrame
    factors: Mapping[str, Factors]
    tasks: tuple[str, ...]
    repeats: int = 1
    missing: Missing = "omit"
    with_degraded: bool = False
    tiers: Mapping[str, str] = field(default_factory=dict)
    clusters: Mapping[str, str] = field(default_factory=dict)
    languages: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def designs(self) -> tuple[str, ...]:
        return tuple(self.factors)

    def counting(self) -> pl.DataFrame:
        """The rows that count by the rules chosen: graded, valid, and (by default) not degraded."""
        keep = pl.col("valid") & pl.col("reward").is_not_null()
        return self.frame.filter(keep if self.with_degraded else keep & ~pl.col("degraded"))

    def per_task(self, design: str, column: str) -> Floats:
        """One number per task of `tasks`: the mean over the repeats that count; NaN where there is none.

        Minutes leave out resumed runs. Under `missing="zero"` a task without reward has reward 0. A cost that is
        known counts whether or not the run has a reward there.
        """
        rows = self.frame if self.missing == "zero" else self.counting()
        rows = rows.filter(pl.col("design") == design)
        if column == "minutes":
            rows = rows.filter(~pl.col("resumed"))
        means = dict(rows.group_by("task").agg(pl.col(column).mean()).iter_rows())
        empty = 0.0 if self.missing == "zero" and column == "reward" else np.nan
        values = (means.get(task) for task in self.tasks)
        return np.array([empty if v is None else v for v in values], dtype=np.float64)

    def by_repeat(self, design: str, column: str = "reward") -> Floats:
        """Shape (tasks, repeats); NaN where a run is missing or does not count."""
        rows = self.counting().filter(pl.col("design") == design)
        numbers = sorted(rows["repeat"].unique().to_list())
        at = {task: i for i, task in enumerate(self.tasks)}
        result = np.full((len(self.tasks), len(numbers)), np.nan)
        for task, repeat, value in rows.select("task", "repeat", column).iter_rows():
            if task in at and value is not None:
                result[at[task], numbers.index(repeat)] = value
        return result

    def limits(self, design: str) -> tuple[Floats, Floats]:
        """Where each task's mean reward can lie, whatever the expected runs that do not count would have given.

        Each of them is given 0, and 1. Under `missing="zero"` nothing is open: a missing reward is 0.
        """
        reward = self.per_task(design, "reward")
        if self.missing == "zero":
            return reward, reward
        counted = np.isfinite(self.by_repeat(design)).sum(axis=1)
        expected = np.maximum(counted, self.repeats)
        known = np.where(counted > 0, np.nan_to_num(reward), 0.0) * counted
        return known / expected, (known + expected - counted) / expected

    def only(self, designs: Sequence[str]) -> Scores:
        """The same study with fewer designs."""
        return replace(
            self,
            factors={d: self.factors[d] for d in designs},
            frame=self.frame.filter(pl.col("design").is_in(list(designs))),
        )


class Standing(Value, frozen=True, kw_only=True):
    """What became of a design's runs. expected = counted + degraded + invalid + without reward + never run.

    A run without a reward is that alone, however it ended; an invalid one has a reward that does not count.
    """

    design: str
    expected: int
    counted: int
    degraded: int
    invalid: int
    no_reward: int
    never_run: int
    resumed: int

    @property
    def left_out(self) -> int:
        return self.expected - self.counted


def standing(scores: Scores, design: str) -> Standing:
    """Count the runs of one design by what keeps them from counting. Extra runs beyond the grid raise `expected`."""
    rows = scores.frame.filter(pl.col("design") == design)
    no_reward = int(rows["reward"].null_count())
    graded = rows.filter(pl.col("reward").is_not_null())
    invalid = int((~graded["valid"]).sum())
    graded = graded.filter(pl.col("valid"))
    degraded = 0 if scores.with_degraded else int(graded["degraded"].sum())
    expected = max(len(scores.tasks) * scores.repeats, len(rows))
    return Standing(
        design=design,
        expected=expected,
        counted=len(graded) - degraded,
        degraded=degraded,
        invalid=invalid,
        no_reward=no_reward,
        never_run=expected - len(rows),
        resumed=int(rows["resumed"].sum()),
    )


def common(*columns: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Where all columns hold a number."""
    mask = np.ones(len(columns[0]), dtype=bool)
    for column in columns:
        mask &= np.isfinite(column)
    return mask
