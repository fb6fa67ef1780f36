"""Task folders: users' own tasks and the three that are shipped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from leadhand.benchmarks import grading
from leadhand.benchmarks.harbor.reading import is_harbor
from leadhand.benchmarks.loading import named_task
from leadhand.benchmarks.tasktoml import FILE, fill_prompt, load_task
from leadhand.core.errors import UsageError
from leadhand.core.ports import StartSandbox
from leadhand.core.values import Grade, Task

__all__ = ["FolderBenchmark", "fill_prompt", "find_task", "load_task", "shipped", "task_folders"]

SHIPPED = Path(__file__).parent / "tasks"


class FolderBenchmark:
    """A `Benchmark` of task folders."""

    def __init__(self, tasks: Iterable[Task] = ()) -> None:
        self._tasks = tuple(tasks)

    def tasks(self) -> Sequence[Task]:
        return self._tasks

    async def grade(self, task: Task, submission: Path, start: StartSandbox, scratch: Path) -> Grade:
        return await grading.grade(task, submission, start, scratch)


def shipped() -> tuple[str, ...]:
    """The ids of the shipped tasks."""
    return tuple(sorted(file.parent.name for file in SHIPPED.glob(f"*/{FILE}")))


def shipped_tasks() -> FolderBenchmark:
    """The shipped tasks as a benchmark."""
    return FolderBenchmark(load_task(SHIPPED / name) for name in shipped())


def task_folders(path: Path) -> list[Path]:
    """The task folder at `path`, or all that lie directly in it, sorted; none where there is none."""
    if _is_task(path):
        return [path]
    return sorted(child for child in path.iterdir() if _is_task(child)) if path.is_dir() else []


def _is_task(folder: Path) -> bool:
    return folder.is_dir() and ((folder / FILE).is_file() or is_harbor(folder))


def find_task(name_or_path: str) -> Task:
    """A shipped task by its id, the task folder at that path, or `BENCHMARK/ID`.

    Raises `UsageError` for anything else.
    """
    if name_or_path in shipped():
        return load_task(SHIPPED / name_or_path)
    path = Path(name_or_path).expanduser()
    if not path.exists():
        if named := named_task(name_or_path):
            return named
        raise UsageError(
            f"no task {name_or_path!r}: give the path of a task folder, BENCHMARK/ID (`leadhand bench list`), "
            f"or one of the shipped: {', '.join(shipped())}"
        )
    inside = task_folders(path)
    if inside and inside != [path]:
        tasks = "1 task" if len(inside) == 1 else f"{len(inside)} tasks"
        raise UsageError(f"{path} has no task.toml but holds {tasks}: name one of them (`leadhand bench list {path}`)")
    return load_task(path)
