"""A study's tables as scores: one row per run that counts as one, at everything that was paid for it."""

from __future__ import annotations

import polars as pl

from leadhand.analysis.scores import COLUMNS, Scores
from leadhand.analysis.study import Study
from leadhand.analysis.tables import Tables

NAMED = 5
"""How many runs a note names."""


def scores_of(study: Study, tables: Tables, *, with_degraded: bool = False) -> Scores:
    """Scores of all runs. A run's cost is its own settled dollars and those of its earlier attempts, which failed or
    were lost: both were paid (DESIGN.md section 4). Its minutes and its reward are its own.
    """
    runs, replaced = _replaced(study, tables["runs"])
    paid = pl.concat([_archived(tables), replaced]).group_by("run").agg(pl.col("earlier").sum())
    frame = (
        runs.join(paid, on="run", how="left")
        .with_columns(pl.col("earlier").fill_null(0.0))
        .with_columns(cost=pl.col("cost") + pl.col("earlier"))
    )
    notes = list(study.notes)
    if tables.unreadable:
        notes.append(f"{len(tables.unreadable)} journals cannot be read: {tables.unreadable[0]}")
    notes += broken_rules(tables)
    versions = sorted(set(runs["version"].to_list()))
    if len(versions) > 1:
        notes.append(f"the runs are of several versions of Leadhand: {', '.join(versions)}")
    return Scores(
        frame=frame.select(list(COLUMNS)).sort("design", "task", "repeat"),
        factors={name: study.factors[name] for name in study.factors},
        tasks=study.tasks,
        repeats=study.repeats,
        with_degraded=with_degraded,
        tiers=study.tiers,
        clusters=study.clusters,
        languages=study.languages,
        notes=tuple(notes),
    )


def broken_rules(tables: Tables) -> list[str]:
    """What was found of things that the tasks' rules forbid, in words; nothing where there is nothing."""
    runs, found = tables["runs"], tables["findings"]
    invalid = runs.filter(pl.col("broken_rules") > 0)
    flagged = len(runs.filter((pl.col("findings") > 0) & (pl.col("broken_rules") == 0)))
    said = []
    if len(invalid):
        kinds = (
            found.filter(pl.col("severity") == "invalid").group_by("kind").agg(pl.col("run").n_unique()).sort("kind")
        )
        by_kind = ", ".join(f"{kind} in {n}" for kind, n in kinds.iter_rows())
        names = invalid["run"].to_list()
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        said.append(
            f"{len(names)} of {len(runs)} runs broke a rule of their task ({by_kind}): not valid, left out and bounded "
            f"as such: {', '.join(names[:NAMED])}{more}"
        )
    if flagged:
        said.append(f"{flagged} of {len(runs)} runs are flagged for a look (table `findings`); they count")
    return said


def _archived(tables: Tables) -> pl.DataFrame:
    """Dollars of archived attempts, by the run that they were tried for."""
    attempts = tables["aside"].filter(pl.col("why") == "attempt")
    return attempts.select(run="attempt_of", earlier="cost")


def _replaced(study: Study, runs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The runs without those that another run replaced, and what these cost by that run.

    In a folder of runs nothing says so but this: of several runs that claim one repeat of a design and a task, one that
    ended as `infrastructure` was tried again. Its dollars go to the first that has a reward, or stay with it where none
    has.
    """
    group = ["design", "task"]
    clashing = pl.DataFrame(sorted(study.unnumbered), schema=dict.fromkeys(group, pl.String()), orient="row")
    same = runs.join(clashing, on=group, how="semi")
    firsts = (
        same.filter(pl.col("reward").is_not_null())
        .sort("repeat")
        .group_by(group, maintain_order=True)
        .agg(pl.col("run").first())
    )
    failed = same.filter(pl.col("status") == "infrastructure")
    lost = failed.select(*group, earlier="cost").join(firsts, on=group).select("run", "earlier")
    gone = failed.join(firsts, on=group, how="semi")
    return runs.join(gone.select("run"), on="run", how="anti"), lost
