"""Anybody's results as a table: a CSV with one row per run, and (optionally) one that lists the benchmark's tasks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from leadhand.analysis.factors import COLUMNS as FACTOR_COLUMNS
from leadhand.analysis.factors import Factors, factors_from
from leadhand.analysis.scores import COLUMNS, Missing, Scores
from leadhand.core.errors import UsageError

ALIASES: dict[str, tuple[str, ...]] = {
    "task": ("task", "task_id", "instance_id", "instance"),
    "design": ("design", "submission", "team", "config", "model"),
    "repeat": ("repeat", "run", "seed", "trial"),
    "reward": ("reward", "score", "resolved", "pass"),
    "cost": ("cost", "cost_usd", "usd", "dollars"),
    "earlier": ("attempts_cost",),
    "minutes": ("minutes", "wall_minutes"),
    "seconds": ("wall_clock_s", "wall_s", "seconds"),
    "status": ("status",),
    "valid": ("valid",),
    "degraded": ("degraded",),
    "resumed": ("resumed",),
    "tier": ("tier", "difficulty"),
    "cluster": ("cluster", "repository", "repo"),
}


def read_scores(
    path: Path,
    *,
    tasks: Path | None = None,
    missing: Missing = "omit",
    names: Mapping[str, str] | None = None,
    with_degraded: bool = False,
) -> Scores:
    """Scores from a CSV. `names` says which column is what, where the usual names do not fit (`design=submission`).

    `tasks` lists the benchmark: its tasks are what a mean goes over, with their tier and cluster if they have one.
    Raises `UsageError` naming the file, the column and the remedy.
    """
    raw = _read(path)
    found = _columns(raw, names or {}, path)
    frame = _tidy(raw, found, path)
    listed = _read(tasks) if tasks else None
    labels = _labels(listed, tasks, {}) if listed is not None and tasks else _labels(raw, path, found)
    return Scores(
        frame=frame,
        factors=_factors(raw, found),
        tasks=tuple(labels["task"]) if listed is not None else tuple(sorted(set(frame["task"]))),
        repeats=int(frame["repeat"].n_unique()) if len(frame) else 1,
        missing=missing,
        with_degraded=with_degraded,
        tiers=_mapping(labels, "tier"),
        clusters=_mapping(labels, "cluster"),
        notes=_foreign(frame, labels, path) if listed is not None else (),
    )


def _read(path: Path) -> pl.DataFrame:
    try:
        # Everything as text first: a type guessed from the first rows would lose what comes later.
        return pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UsageError(f"cannot read {path} as CSV: {str(error).splitlines()[0]}") from error


def _columns(raw: pl.DataFrame, names: Mapping[str, str], path: Path) -> dict[str, str]:
    """Which column of the file is what."""
    for what, column in names.items():
        if what not in ALIASES:
            raise UsageError(f"no column {what!r} is wanted; there are {', '.join(ALIASES)}")
        if column not in raw.columns:
            raise UsageError(f"{path} has no column {column!r}; it has {', '.join(raw.columns)}")
    found = {what: next((a for a in aliases if a in raw.columns), "") for what, aliases in ALIASES.items()}
    found = {what: column for what, column in (found | dict(names)).items() if column}
    for needed in ("task", "design", "reward"):
        if needed not in found:
            raise UsageError(
                f"{path} has no column for {needed} ({', '.join(ALIASES[needed])}); say which with --column "
                f"{needed}=NAME; it has {', '.join(raw.columns)}"
            )
    return found


def _tidy(raw: pl.DataFrame, found: Mapping[str, str], path: Path) -> pl.DataFrame:
    def number(what: str) -> pl.Expr:
        return pl.col(found[what]).str.strip_chars().replace("", None).cast(pl.Float64)

    def flag(what: str, usual: bool = False) -> pl.Expr:
        if what not in found:
            return pl.lit(usual)
        text = pl.col(found[what]).str.strip_chars().str.to_lowercase()
        return pl.when(text == "").then(usual).otherwise(text.is_in(["1", "true", "yes"])).fill_null(usual)

    minutes = number("minutes") if "minutes" in found else pl.lit(None, pl.Float64)
    if "minutes" not in found and "seconds" in found:
        minutes = number("seconds") / 60
    earlier = number("earlier").fill_null(0.0) if "earlier" in found else pl.lit(0.0)
    status = pl.col(found["status"]) if "status" in found else pl.lit("finished")
    try:
        frame = raw.select(
            design=pl.col(found["design"]),
            task=pl.col(found["task"]),
            repeat=number("repeat").cast(pl.Int64) if "repeat" in found else pl.lit(1, pl.Int64),
            reward=number("reward"),
            cost=number("cost") + earlier if "cost" in found else pl.lit(None, pl.Float64),
            earlier=earlier,
            minutes=minutes,
            valid=(status != "cancelled").fill_null(True) & flag("valid", True),
            degraded=flag("degraded"),
            resumed=flag("resumed"),
        )
    except pl.exceptions.PolarsError as error:
        raise UsageError(f"{path}: a number cannot be read: {str(error).splitlines()[0]}") from error
    _check(frame, path)
    return frame.cast(dict(COLUMNS))  # type: ignore[arg-type]


def _check(frame: pl.DataFrame, path: Path) -> None:
    outside = frame.filter((pl.col("reward") < 0) | (pl.col("reward") > 1) | pl.col("reward").is_nan())
    if len(outside):
        raise UsageError(
            f"{path}: reward {outside['reward'][0]:g} of task {outside['task'][0]!r} is not in [0, 1]; "
            "divide percentages by 100"
        )
    if len(frame.filter((pl.col("cost") < 0) | (pl.col("earlier") < 0) | (pl.col("minutes") < 0))):
        raise UsageError(f"{path}: a cost or a time is below 0")
    unnamed = frame.filter(pl.col("task").is_null() | pl.col("design").is_null() | pl.col("repeat").is_null())
    if len(unnamed):
        raise UsageError(f"{path}: {len(unnamed)} rows lack their task, design or repeat")
    twice = frame.filter(frame.select("design", "task", "repeat").is_duplicated())
    if len(twice):
        raise UsageError(
            f"{path}: design {twice['design'][0]!r} has task {twice['task'][0]!r} more than once in repeat "
            f"{twice['repeat'][0]}; number repeats in a column `repeat`"
        )


def _labels(raw: pl.DataFrame, path: Path, known: Mapping[str, str]) -> pl.DataFrame:
    """Task, tier, cluster: one row per task. `known` says which column is what, where that is known already."""
    found = {
        what: known.get(what) or next((a for a in ALIASES[what] if a in raw.columns), "")
        for what in ("task", "tier", "cluster")
    }
    if not found["task"]:
        raise UsageError(f"{path} has no column for the task ({', '.join(ALIASES['task'])})")
    columns = [
        (pl.col(found[w]) if found[w] else pl.lit(None, pl.String)).alias(w) for w in ("task", "tier", "cluster")
    ]
    return raw.select(columns).unique("task", keep="first", maintain_order=True)


def _mapping(labels: pl.DataFrame, column: str) -> dict[str, str]:
    return {task: value for task, value in labels.select("task", column).iter_rows() if value}


def _factors(raw: pl.DataFrame, found: Mapping[str, str]) -> dict[str, Factors]:
    present = [c for c in FACTOR_COLUMNS if c in raw.columns]
    designs = raw.unique(found["design"], keep="first", maintain_order=True)
    rows = designs.select(found["design"], *(c for c in present if c != found["design"])).iter_rows(named=True)
    return {str(row[found["design"]]): factors_from(row, str(row[found["design"]])) for row in rows}


def _foreign(frame: pl.DataFrame, labels: pl.DataFrame, path: Path) -> tuple[str, ...]:
    """A note where the results hold tasks that the benchmark does not list."""
    extra = sorted(set(frame["task"]) - set(labels["task"]))
    return (
        (f"{len(extra)} tasks of {path.name} are not in the task list and were left out: {', '.join(extra[:3])}",)
        if extra
        else ()
    )
