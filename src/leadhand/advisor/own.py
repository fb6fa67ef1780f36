"""Own runs as evidence: outcomes of ended runs, read from their folders. Nothing is sent anywhere or stored anew.

Left out: runs that are not valid, not graded or degraded, or in which no model was asked, scripted models (their
rewards are theatre), and everything below a folder that holds a file `.no-evidence`. $LEADHAND_EVIDENCE=off turns it
off altogether.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from leadhand.core.design import Design
from leadhand.core.errors import JournalError, UsageError
from leadhand.core.values import Limits, Task, Value
from leadhand.runs.paths import RunPaths, all_runs, runs_root
from leadhand.runs.spec import read_run_file
from leadhand.study import state
from leadhand.study.layout import StudyPaths, read_record
from leadhand.study.outcome import Outcome, read_outcome

OPT_OUT = ".no-evidence"
THEATRE = ("scripted", "sim")
"""Providers whose models play a part."""

VARIABLE = "LEADHAND_EVIDENCE"


class Own(Value, frozen=True, kw_only=True):
    """One run that counts. `setting`: its benchmark, or its study where tasks are folders; `tier`: its difficulty.

    The design is without budget and limits: those only bound it.
    """

    design: Design
    setting: str
    task: str
    reward: float
    usd: float
    minutes: float
    resumed: bool = False
    tier: str = ""
    study: str = ""


def default_folders(runs: str = "") -> list[Path]:
    """The folder of runs, and every study below ./studies."""
    studies = sorted(p.parent for p in Path("studies").absolute().glob("*/study.json"))
    return [runs_root(runs), *studies]


def own_runs(folders: Iterable[Path], env: Mapping[str, str] | None = None) -> list[Own]:
    """Every run below the folders (studies, or folders of runs) that counts, but unreadable ones. Blocks."""
    if (os.environ if env is None else env).get(VARIABLE, "").lower() in ("off", "0", "no"):
        return []
    found: list[Own] = []
    for folder in folders:
        if not folder.is_dir() or (folder / OPT_OUT).exists():
            continue
        found += _of_study(folder) if (folder / "study.json").exists() else _of_runs(folder)
    return found


def _of_study(folder: Path) -> list[Own]:
    paths = StudyPaths(folder)
    try:
        name = read_record(paths).name
        outcomes = state.scan(paths)
    except (UsageError, JournalError):
        return []
    return [own for run, o in outcomes.items() if (own := _own(paths.run(run), o, name)) is not None]


def _of_runs(folder: Path) -> list[Own]:
    found = []
    for run in all_runs(folder):
        try:
            outcome = read_outcome(run)
        except JournalError:
            continue
        own = _own(run, outcome, "")
        if own is not None:
            found.append(own)
    return found


def _own(run: RunPaths, outcome: Outcome, study: str) -> Own | None:
    if not outcome.valid or outcome.degraded or outcome.reward is None or (run.folder / OPT_OUT).exists():
        return None
    if not outcome.steps:
        return None
    lock = read_run_file(run.run_json).lock
    if any(model.partition("/")[0] in THEATRE for model in lock.design.models):
        return None
    return Own(
        design=msgspec.structs.replace(lock.design, budget_usd=None, limits=Limits(), retries=8),
        setting=setting_of(lock.task, study),
        task=lock.task.id,
        reward=outcome.reward,
        usd=outcome.settled_usd,
        minutes=outcome.seconds / 60,
        resumed=outcome.resumed,
        tier=lock.task.labels.get("difficulty", lock.task.labels.get("tier", "")),
        study=study,
    )


def setting_of(task: Task, study: str = "") -> str:
    """A benchmark's name. Task folders belong to their study; a repository, or a lone task, is a setting of its own."""
    if task.benchmark == "prompt":
        return _name(f"repository {task.id}")
    if task.benchmark == "folder":
        return _name(f"study {study}" if study else f"task {task.id}")
    return benchmark_named(task.benchmark)


def benchmark_named(name: str) -> str:
    """One name for what is the same tasks."""
    return "commit0-lite" if name in ("commit0", "commit0-guarded", "commit0-lite-guarded") else name


def one_task(setting: str) -> bool:
    """Whether all runs of a setting are of one task."""
    return setting.startswith("task ")


def lone(setting: str) -> bool:
    """Whether a setting has no tasks that are run again by name: it is one task, or what one asks of a repository."""
    return one_task(setting) or setting.startswith("repository ")


def _name(text: str) -> str:
    """A setting's name; a colon would begin a tier."""
    return text.replace(":", "-")
