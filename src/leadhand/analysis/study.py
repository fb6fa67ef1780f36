"""Which runs make a study: `study.json` with one run folder per run, or any folder of run folders."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from leadhand.analysis.factors import Factors, factors_of
from leadhand.core.chain import canonical, digest
from leadhand.core.design import Design
from leadhand.core.errors import JournalError, UsageError
from leadhand.core.values import Limits, Task, Value
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import RunFile, read_run_file


class Listed(Value, frozen=True, kw_only=True):
    """One run as `study.json` lists it. `run` is the name of its folder below the study's `runs/`."""

    run: str
    design: str
    task: str
    repeat: int = 1


class Planned(Value, frozen=True, kw_only=True):
    """What the study was to be: its tasks, repeats, and what it is about."""

    about: str = ""
    tasks: tuple[str, ...] = ()
    repeats: int = 0


class StudyFile(Value, frozen=True, kw_only=True):
    """The part of `study.json` that is needed here; other keys are the study room's."""

    runs: tuple[Listed, ...] = ()
    study: Planned = Planned()


class Member(NamedTuple):
    """One run of a study, before its journal is read. `stamp` changes when the run does."""

    paths: RunPaths
    design: str
    task: str
    repeat: int
    stamp: str


class Study(NamedTuple):
    """Runs, and what they were planned to be. `notes` say what was odd in the folder."""

    folder: Path
    members: tuple[Member, ...]
    factors: dict[str, Factors]
    tasks: tuple[str, ...]
    repeats: int
    question: str
    notes: tuple[str, ...]


def read_study(folder: Path) -> Study:
    """Find the runs and name their designs. Raises `UsageError` where there are none.

    A run whose `run.json` cannot be read is noted and left out; one that is listed but was never started is left to
    the count of what was expected.
    """
    listed = _study_file(folder)
    root = folder / "runs" if (folder / "runs").is_dir() else folder
    given = {name.run: name for name in listed.runs}
    files: list[tuple[RunPaths, RunFile]] = []
    notes: list[str] = []
    found = _folders(root)
    archived = [p for p in found if is_attempt(p.id)]
    if archived:
        notes.append(f"{len(archived)} archived attempts that failed are left out; each was tried again")
    for paths in found:
        if is_attempt(paths.id):
            continue
        try:
            files.append((paths, read_run_file(paths.run_json)))
        except JournalError as error:
            notes.append(f"left out: {error}")
    if not files:
        raise UsageError(f"no runs in {folder}; a study or a folder of run folders is wanted (run.json in each)")
    labels = _labels((f.lock.design, given[p.id].design if p.id in given else "") for p, f in files)
    members = [
        Member(paths, label, _task(given.get(paths.id), file.lock.task), _repeat(given.get(paths.id), file), "")
        for (paths, file), label in zip(files, labels.names, strict=True)
    ]
    members, renumbered = _numbered(members)
    notes += [renumbered] if renumbered else []
    tasks = listed.study.tasks or tuple(sorted({m.task for m in members} | {r.task for r in listed.runs}))
    for run in listed.runs:  # a design of which nothing was ever started is missed, not forgotten
        labels.factors.setdefault(run.design, Factors(label=run.design))
    repeats = listed.study.repeats or max([m.repeat for m in members] + [r.repeat for r in listed.runs])
    return Study(folder, tuple(members), labels.factors, tasks, repeats, listed.study.about, tuple(notes))


def is_attempt(name: str) -> bool:
    """Whether a run folder was put aside as a failed attempt (`RUN.attempt-N`)."""
    return bool(re.search(r"\.attempt-\d+$", name))


def _study_file(folder: Path) -> StudyFile:
    path = folder / "study.json"
    if not path.exists():
        return StudyFile()
    try:
        return msgspec.json.decode(path.read_bytes(), type=StudyFile)
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error


def _folders(root: Path) -> list[RunPaths]:
    try:
        with os.scandir(root) as entries:
            names = sorted(e.name for e in entries if e.is_dir())
    except OSError as error:
        raise UsageError(f"cannot read the folder {root}: {error.strerror}") from error
    return [RunPaths(root / n) for n in names if (root / n / "run.json").is_file()]


def _task(listed: Listed | None, task: Task) -> str:
    return listed.task if listed else task.id


def _repeat(listed: Listed | None, file: RunFile) -> int:
    return listed.repeat if listed else file.request.repeat


class _Labels(NamedTuple):
    names: list[str]
    factors: dict[str, Factors]


def _labels(designs: Iterable[tuple[Design, str]]) -> _Labels:
    """A name for each run's design: the given one, else what sets it apart; never one name for two designs."""
    names: list[str] = []
    factors: dict[str, Factors] = {}
    owner: dict[str, str] = {}
    for design, given in designs:
        identity = digest(canonical(msgspec.structs.replace(design, limits=Limits())))
        name = given or factors_of(design).label
        if owner.setdefault(name, identity) != identity and not given:
            name = f"{name} #{identity[:4]}"
            owner.setdefault(name, identity)
        names.append(name)
        factors.setdefault(name, factors_of(design, name))
    return _Labels(names, factors)


def _numbered(members: list[Member]) -> tuple[list[Member], str]:
    """Runs of one design on one task that claim the same repeat are numbered in the order of their start."""
    groups: dict[tuple[str, str], list[Member]] = defaultdict(list)
    for m in members:
        groups[m.design, m.task].append(m)
    result: list[Member] = []
    changed = 0
    for group in groups.values():
        taken = [m.repeat for m in group]
        if len(set(taken)) == len(taken):
            result += group
            continue
        changed += len(group)
        result += [m._replace(repeat=i) for i, m in enumerate(group, start=1)]
    note = f"{changed} runs of one design on one task had the same repeat number and were numbered in order of start"
    return result, note if changed else ""
