"""Which runs make a study: `study.json` with one run folder per run, or any folder of run folders."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from leadhand.analysis.factors import Factors, factors_of
from leadhand.core.chain import canonical, digest
from leadhand.core.design import Design
from leadhand.core.errors import JournalError, UsageError
from leadhand.core.values import Limits, Value
from leadhand.runs.design_file import is_study_file
from leadhand.runs.paths import RunPaths, all_runs, runs_root
from leadhand.runs.spec import RunFile, read_run_file


class Listed(Value, frozen=True, kw_only=True):
    """One run as `study.json` lists it. `run` is the name of its folder below the study's `runs/`."""

    run: str
    design: str
    task: str
    repeat: int = 1


class Planned(Value, frozen=True, kw_only=True):
    """What the study was to be: its tasks, repeats, and what it is about; designs, their solo controls, the tasks'
    labels, where it says so.
    """

    about: str = ""
    tasks: tuple[str, ...] = ()
    repeats: int = 0
    designs: dict[str, Design] = {}
    controls: dict[str, str] = {}
    labels: dict[str, dict[str, str]] = {}


class StudyFile(Value, frozen=True, kw_only=True):
    """The part of `study.json` that is needed here; other keys are the study room's."""

    runs: tuple[Listed, ...] = ()
    study: Planned = Planned()


class Member(NamedTuple):
    """One run of a study, before its journal is read. `stamp` changes when the run does.

    `aside` says why its result does not count though its money does: it is an archived attempt of the run
    `attempt_of`, or a run that the study no longer asks for.
    """

    paths: RunPaths
    design: str
    task: str
    repeat: int
    stamp: str = ""
    aside: Literal["", "attempt", "dropped"] = ""
    attempt_of: str = ""


class Study(NamedTuple):
    """Runs, and what they were planned to be. `notes` say what was odd in the folder.

    `aside` are folders whose result does not count, but whose money was spent: attempts that failed or were lost, and
    runs that the study no longer lists. `unnumbered` are (design, task) whose runs claimed one repeat. `tiers`,
    `clusters` and `languages` are the tasks' own labels.
    """

    folder: Path
    members: tuple[Member, ...]
    aside: tuple[Member, ...]
    factors: dict[str, Factors]
    tasks: tuple[str, ...]
    repeats: int
    question: str
    notes: tuple[str, ...]
    unnumbered: frozenset[tuple[str, str]]
    tiers: dict[str, str]
    clusters: dict[str, str]
    languages: dict[str, str]


def check_many(path: Path) -> None:
    """Raise `UsageError` for what is plainly not many runs, and say what takes it: before anything slow is done."""
    wanted = "give a study folder, a folder of runs, or a CSV"
    if is_study_file(path):
        raise UsageError(f"{path} is a study file: `leadhand study plan` and `study run` take it; here, {wanted}")
    alone = path.exists() and (path / "run.json").exists()
    if not path.exists():
        runs = all_runs(runs_root())
        alone = str(path) == "last" or any(run.id.startswith(path.name) for run in runs)
    if alone:
        raise UsageError(f"{path} is a single run: `leadhand show {path}` takes it; here, {wanted}")
    if not path.exists():
        raise UsageError(f"there is no {path}; {wanted}")


def read_study(folder: Path) -> Study:
    """Find the runs and name their designs. Raises `UsageError` where there are none.

    A run whose `run.json` cannot be read is noted and left out; one that is listed but was never started is left to
    the count of what was expected.
    """
    listed = _study_file(folder)
    root = folder / "runs" if (folder / "runs").is_dir() else folder
    found, notes = _readable(root)
    if not found:
        raise UsageError(f"no runs in {folder}; a study or a folder of run folders is wanted (run.json in each)")
    given = {one.run: one for one in listed.runs}
    kept = [f for f in found if not given or f.name in given]
    labels = _labels((f.file.lock.design, given[f.name].design if f.name in given else "") for f in kept)
    everything = [_member(f, label, given.get(f.name)) for f, label in zip(kept, labels.names, strict=True)]
    dropped = [_member(f, "", None) for f in found if given and f.name not in given]
    members, unnumbered = _numbered([m for m in everything if not m.aside])
    if unnumbered:
        notes.append(
            f"{sum((m.design, m.task) in unnumbered for m in members)} runs of one design on one task had the same "
            "repeat number and were numbered in order of start"
        )
    plan = listed.study
    own = {f.lock.task.id: f.lock.task.labels for f in (k.file for k in kept)} | plan.labels
    return Study(
        folder=folder,
        members=tuple(members),
        aside=tuple(m for m in [*everything, *dropped] if m.aside),
        factors=_factors(labels.factors, listed),
        tasks=plan.tasks or tuple(sorted({m.task for m in everything} | {r.task for r in listed.runs})),
        repeats=plan.repeats or max([1, *(m.repeat for m in everything), *(r.repeat for r in listed.runs)]),
        question=plan.about,
        notes=tuple(notes),
        unnumbered=unnumbered,
        tiers=_labelled(own, "difficulty", "tier"),
        clusters=_labelled(own, "cluster", "repository", "repo"),
        languages=_labelled(own, "language"),
    )


_ATTEMPT = re.compile(r"(?P<run>.+)\.attempt-\d+")


def attempt_of(name: str) -> str:
    """The run of which a folder is an archived attempt (`RUN.attempt-N`); "" for a run's own folder."""
    match = _ATTEMPT.fullmatch(name)
    return match["run"] if match else ""


class _Found(NamedTuple):
    paths: RunPaths
    attempt_of: str
    file: RunFile

    @property
    def name(self) -> str:
        """The run whose folder this is, or was to be."""
        return self.attempt_of or self.paths.id


def _readable(root: Path) -> tuple[list[_Found], list[str]]:
    """Every run folder below `root`, and a note for each that cannot be read."""
    found: list[_Found] = []
    notes: list[str] = []
    for paths in _folders(root):
        try:
            found.append(_Found(paths, attempt_of(paths.id), read_run_file(paths.run_json)))
        except JournalError as error:
            notes.append(f"left out: {error}")
    return found, notes


def _member(found: _Found, label: str, listed: Listed | None) -> Member:
    """Without a `label` it is none of the study's any more."""
    paths, of, file = found
    task, repeat = (listed.task, listed.repeat) if listed else (file.lock.task.id, file.request.repeat)
    aside: Literal["", "attempt", "dropped"] = ("attempt" if of else "") if label else "dropped"
    return Member(paths, label or factors_of(file.lock.design).label, task, repeat, aside=aside, attempt_of=of)


def _factors(seen: dict[str, Factors], listed: StudyFile) -> dict[str, Factors]:
    """Those of every design, in the study's order, with its own controls; one of which nothing was ever started is
    missed, not forgotten.
    """
    plan = listed.study
    found: dict[str, Factors] = {n: factors_of(d, n, plan.controls.get(n, "")) for n, d in plan.designs.items()}
    for name, factors in seen.items():
        found.setdefault(name, factors)
    for run in listed.runs:
        found.setdefault(run.design, Factors(label=run.design))
    return found


def _labelled(labels: Mapping[str, Mapping[str, str]], *names: str) -> dict[str, str]:
    """The first of these labels that a task has; "unlabelled" is none."""
    found = {task: next((own[n] for n in names if own.get(n)), "") for task, own in labels.items()}
    return {task: label for task, label in found.items() if label and label != "unlabelled"}


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


def _numbered(members: list[Member]) -> tuple[list[Member], frozenset[tuple[str, str]]]:
    """Runs of one design on one task that claim the same repeat are numbered in the order of their start; which."""
    groups: dict[tuple[str, str], list[Member]] = defaultdict(list)
    for m in members:
        groups[m.design, m.task].append(m)
    result: list[Member] = []
    changed: set[tuple[str, str]] = set()
    for key, group in groups.items():
        if len({m.repeat for m in group}) < len(group):
            changed.add(key)
            group = [m._replace(repeat=i) for i, m in enumerate(group, start=1)]
        result += group
    return result, frozenset(changed)
