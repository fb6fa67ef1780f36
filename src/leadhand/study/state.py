"""The state of a whole study, read from its run folders. `outcomes.json` only saves reading a journal twice."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

import msgspec

from leadhand.core.values import Value
from leadhand.study.layout import PlannedRun, StudyPaths, attempt_of, write_whole
from leadhand.study.outcome import Outcome, read_outcome

MOST_RETRIES = 2
"""How often a run that ended as `infrastructure` is tried again."""


class Known(Value, frozen=True, kw_only=True):
    """An outcome and the journal it was read from: an unchanged journal is not read again."""

    size: int
    mtime_ns: int
    outcome: Outcome


def scan(paths: StudyPaths) -> dict[str, Outcome]:
    """The outcome of every run folder of the study, archived attempts included. Raises `JournalError`. Blocks."""
    known = _read_known(paths)
    found = {name: _look(paths, name, known) for name in paths.folders()}
    if found != known and paths.folder.is_dir():
        write_whole(paths.outcomes, msgspec.json.encode(found))
    return {name: k.outcome for name, k in found.items()}


def _look(paths: StudyPaths, name: str, known: Mapping[str, Known]) -> Known:
    run = paths.run(name)
    try:
        stat = os.stat(run.journal)
        size, mtime = stat.st_size, stat.st_mtime_ns
    except FileNotFoundError:
        size, mtime = 0, 0
    before = known.get(name)
    if before is not None and (before.size, before.mtime_ns) == (size, mtime):
        return before
    return Known(size=size, mtime_ns=mtime, outcome=read_outcome(run))


def _read_known(paths: StudyPaths) -> dict[str, Known]:
    try:
        return msgspec.json.decode(paths.outcomes.read_bytes(), type=dict[str, Known])
    except (OSError, msgspec.DecodeError):
        return {}


def infrastructure_attempts(run: str, outcomes: Mapping[str, Outcome]) -> int:
    """How many archived attempts of a run ended as `infrastructure`."""
    return sum(
        attempt_of(name)[0] == run and attempt_of(name)[1] > 0 and o.status == "infrastructure"
        for name, o in outcomes.items()
    )


def next_attempt(run: str, folders: Iterable[str]) -> int:
    """The number under which a run's folder is archived next."""
    return 1 + max((n for r, n in map(attempt_of, folders) if r == run), default=0)


def done(outcome: Outcome | None, *, graded: bool) -> bool:
    """Whether there is nothing left to do for a run; `graded`: it has a grader."""
    if outcome is None or outcome.status in ("unfinished", "infrastructure"):
        return False
    return not graded or outcome.grading == "graded"


class Tally(Value, frozen=True, kw_only=True):
    """A study in numbers. `runs` of which the rest are mutually exclusive; dollars over all folders."""

    runs: int
    finished: int
    ungraded: int
    failed: int
    unfinished: int
    waiting: int
    attempts: int
    settled_usd: float
    unknown_usd: float


def tally(runs: Iterable[PlannedRun], outcomes: Mapping[str, Outcome], *, graded: Mapping[str, bool]) -> Tally:
    """Count a study. `failed`: ended as `infrastructure` and out of retries or waiting for one."""
    counts = dict.fromkeys(("finished", "ungraded", "failed", "unfinished", "waiting"), 0)
    planned = list(runs)
    for run in planned:
        outcome = outcomes.get(run.run)
        if outcome is None:
            kind = "waiting"
        elif outcome.status == "infrastructure":
            kind = "failed"
        elif outcome.status == "unfinished":
            kind = "unfinished"
        else:
            kind = "finished" if done(outcome, graded=graded.get(run.task, True)) else "ungraded"
        counts[kind] += 1
    return Tally(
        runs=len(planned),
        attempts=sum(attempt_of(name)[1] > 0 for name in outcomes),
        settled_usd=sum(o.settled_usd for o in outcomes.values()),
        unknown_usd=sum(o.unknown_usd for o in outcomes.values()),
        **counts,
    )
