"""Where a study's tasks come from: benchmarks by name, shipped tasks, task folders and patterns of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from glob import glob
from pathlib import Path

from leadhand.benchmarks.folder import find_task, load_task, shipped, task_folders
from leadhand.benchmarks.loading import OURS, known, named_task
from leadhand.benchmarks.tasktoml import FILE
from leadhand.core.errors import UsageError
from leadhand.core.values import Task
from leadhand.study.file import Selection
from leadhand.study.select import wanted


def selected_of(selection: Selection, beside: Path) -> list[Task]:
    """Every task of a study's sources; what the selection leaves out by its name may be a task that cannot be run."""
    return tasks_of(selection.source, beside, lambda name: wanted(name, selection))


def tasks_of(sources: Sequence[str], beside: Path, takes: Callable[[str], bool] = lambda name: True) -> list[Task]:
    """Every task of the sources, in their order. Paths are relative to the folder `beside`, else to the current one.

    Raises `UsageError` for a source that is nothing, and for a task folder that cannot be run, unless it is not
    taken by its name.
    """
    return [task for source in sources for task in _tasks(source, beside, takes)]


def _tasks(source: str, beside: Path, takes: Callable[[str], bool]) -> Sequence[Task]:
    if source in shipped():
        return [find_task(source)]
    if folders := _folders(source, beside):
        return [task for folder in folders if (task := _loaded(folder, takes)) is not None]
    if benchmark := known(source):
        return benchmark.tasks()
    if task := named_task(source):
        return [task]
    raise UsageError(
        f"tasks.source: {source!r} is no benchmark ({', '.join(OURS)}), no shipped task ({', '.join(shipped())}) "
        f"and no folder with a {FILE}"
    )


def _loaded(folder: Path, takes: Callable[[str], bool]) -> Task | None:
    try:
        return load_task(folder)
    except UsageError as error:
        if takes(folder.name):
            raise UsageError(f'{error}; leave it out with tasks.without = ["{folder.name}"]') from None
        return None


def _folders(source: str, beside: Path) -> list[Path]:
    """The task folders that a path or a pattern names, or that lie in what it names, sorted."""
    for root in (beside, Path.cwd()):
        pattern = str(root / Path(source).expanduser())
        named = sorted(glob(pattern, recursive=True))
        found = list(dict.fromkeys(folder for path in named for folder in task_folders(Path(path))))
        if found:
            return found
    return []
