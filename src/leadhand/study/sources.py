"""Where a study's tasks come from: benchmarks by name, shipped tasks, task folders and patterns of them."""

from __future__ import annotations

from collections.abc import Sequence
from glob import glob
from pathlib import Path

from leadhand.benchmarks.folder import find_task, load_task, shipped
from leadhand.benchmarks.loading import OURS, known, named_task
from leadhand.benchmarks.tasktoml import FILE
from leadhand.core.errors import UsageError
from leadhand.core.values import Task


def tasks_of(sources: Sequence[str], beside: Path) -> list[Task]:
    """Every task of the sources, in their order. Paths are relative to the folder `beside`, else to the current one.

    Raises `UsageError` for a source that is nothing.
    """
    return [task for source in sources for task in _tasks(source, beside)]


def _tasks(source: str, beside: Path) -> Sequence[Task]:
    if source in shipped():
        return [find_task(source)]
    if folders := _folders(source, beside):
        return [load_task(folder) for folder in folders]
    if benchmark := known(source):
        return benchmark.tasks()
    if task := named_task(source):
        return [task]
    raise UsageError(
        f"tasks.source: {source!r} is no benchmark ({', '.join(OURS)}), no shipped task ({', '.join(shipped())}) "
        f"and no folder with a {FILE}"
    )


def _folders(source: str, beside: Path) -> list[Path]:
    """The task folders that a path or a pattern names, sorted."""
    for root in (beside, Path.cwd()):
        pattern = str(root / Path(source).expanduser())
        found = [Path(p) for p in sorted(glob(pattern, recursive=True)) if (Path(p) / FILE).is_file()]
        if found:
            return found
    return []
