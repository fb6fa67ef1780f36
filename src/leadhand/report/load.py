"""Evidence from whatever is given: a study, a folder of runs, or a CSV."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from leadhand.analysis.collect import scores_of
from leadhand.analysis.scores import Missing
from leadhand.analysis.stats.intervals import Method
from leadhand.analysis.study import Study, check_many, read_study
from leadhand.analysis.tables import read_tables
from leadhand.analysis.tidy import read_scores
from leadhand.core.values import Price
from leadhand.report.evidence import Evidence
from leadhand.runs.spec import read_run_file


def load(
    path: Path,
    *,
    method: Method = "t",
    tasks: Path | None = None,
    missing: Missing = "omit",
    names: Mapping[str, str] | None = None,
    with_degraded: bool = False,
    cache: bool = True,
) -> Evidence:
    """Evidence from a study folder, a folder of run folders, or a CSV of scores. Raises `UsageError`."""
    check_many(path)
    if path.is_dir():
        study = read_study(path)
        tables = read_tables(study, cache=cache)
        scores = scores_of(study, tables, with_degraded=with_degraded)
        return Evidence(
            name=path.resolve().name,
            scores=scores,
            tables=tables,
            method=method,
            question=study.question,
            prices=_prices(study),
            notes=scores.notes,
        )
    scores = read_scores(path, tasks=tasks, missing=missing, names=names, with_degraded=with_degraded)
    return Evidence(name=path.stem, scores=scores, method=method, notes=scores.notes)


def _prices(study: Study) -> dict[str, Price]:
    """The prices that the runs have pinned, from one run of each design."""
    found: dict[str, Price] = {}
    seen: set[str] = set()
    for member in study.members:
        if member.design not in seen:
            seen.add(member.design)
            found |= read_run_file(member.paths.run_json).lock.prices
    return found
