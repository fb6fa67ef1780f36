"""What a benchmark has, whether or not it is prepared here."""

from __future__ import annotations

from pathlib import Path

from leadhand.benchmarks.commit0.prepared import Place
from leadhand.benchmarks.commit0.rows import rows
from leadhand.benchmarks.folder import load_task, task_folders
from leadhand.benchmarks.loading import load
from leadhand.core.errors import UsageError
from leadhand.core.values import Task, Value

BENCHMARKS = {
    "shipped": "three small tasks that come with Leadhand",
    "commit0-lite": "16 Python libraries to be written again (commit0-lite-guarded: tests are put back first)",
    "programbench": "200 programs to be rebuilt from their behaviour (leadhand[programbench], Docker, its images)",
}


class Listed(Value, frozen=True, kw_only=True):
    """One task. `tests`: how many decide the reward, 0 where that is not known; `state`: what of it is here."""

    id: str
    language: str = ""
    difficulty: str = ""
    tests: int = 0
    state: str = ""
    note: str = ""


def listed(name: str) -> tuple[Listed, ...]:
    """The tasks of a benchmark or a folder. Raises `UsageError`: it is unknown, or needs more installed."""
    if folders := task_folders(Path(name).expanduser()):
        return tuple(_in_folder(folder) for folder in folders)
    if name.startswith("commit0"):
        load(name)
        return tuple(_commit0())
    if name == "programbench":
        return tuple(_programbench())
    return tuple(_told(t) for t in load(name).tasks())


def _told(task: Task, state: str = "") -> Listed:
    labels = task.labels
    return Listed(id=task.id, language=labels.get("language", ""), difficulty=labels.get("difficulty", ""), state=state)


def _in_folder(folder: Path) -> Listed:
    """A task of a folder; one that cannot be run says why."""
    try:
        task = load_task(folder)
    except UsageError as error:
        return Listed(id=folder.name, state="refused", note=str(error).removeprefix(f"{folder.resolve()}/"))
    return _told(task, f"image {task.image}" if task.image else "")


def _programbench() -> list[Listed]:
    from leadhand.benchmarks.programbench.benchmark import benchmark
    from leadhand.benchmarks.programbench.instances import UNLABELLED
    from leadhand.benchmarks.programbench.reference import read_reference

    found = []
    for one in benchmark().instances():
        state = "not prepared" if read_reference(one.image) is None else "prepared"
        tier = one.difficulty or UNLABELLED
        found.append(Listed(id=one.id, language=one.language, difficulty=tier, tests=one.tests, state=state))
    return found


def _commit0() -> list[Listed]:
    found = []
    for one in rows():
        prepared = Place(one).read()
        state = "not prepared" if prepared is None else f"prepared from {prepared.source}, Python {prepared.python}"
        found.append(Listed(id=one.name, language="python", tests=one.ids, state=state, note=one.note))
    return found
