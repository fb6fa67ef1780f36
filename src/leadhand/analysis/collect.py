"""A study's tables as scores: one row per run that counts as one."""

from __future__ import annotations

import polars as pl

from leadhand.analysis.scores import COLUMNS, Scores
from leadhand.analysis.study import Study
from leadhand.analysis.tables import Tables


def scores_of(study: Study, tables: Tables, *, with_degraded: bool = False) -> Scores:
    """Scores of all runs. What failed as `infrastructure` has no reward; its dollars are added to the run that
    replaced it, since both were paid (DESIGN.md section 4), or stay with it where none did.
    """
    runs = tables["runs"]
    group = ["design", "task"]
    has_reward = pl.col("reward").is_not_null().any().over(group)
    replaced = runs.filter((pl.col("status") == "infrastructure") & has_reward)
    lost = replaced.group_by(group).agg(pl.col("cost").sum().alias("lost"))
    kept = runs.join(replaced.select("run"), on="run", how="anti").join(lost, on=group, how="left")
    first = pl.col("repeat") == pl.col("repeat").filter(pl.col("reward").is_not_null()).min().over(group)
    frame = kept.with_columns(
        cost=pl.col("cost") + pl.when(first).then(pl.col("lost").fill_null(0.0)).otherwise(0.0)
    ).select(list(COLUMNS))
    notes = list(study.notes)
    if tables.unreadable:
        notes.append(f"{len(tables.unreadable)} journals cannot be read: {tables.unreadable[0]}")
    versions = sorted(set(runs["version"].to_list()))
    if len(versions) > 1:
        notes.append(f"the runs are of several versions of Leadhand: {', '.join(versions)}")
    return Scores(
        frame=frame.sort("design", "task", "repeat"),
        factors={name: study.factors[name] for name in study.factors},
        tasks=study.tasks,
        repeats=study.repeats,
        with_degraded=with_degraded,
        notes=tuple(notes),
    )
