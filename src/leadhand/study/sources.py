"""Where a study's tasks come from: benchmarks by name, shipped tasks, task folders and patterns of them."""

from __future__ import annotations

from collections.abc import Sequence
from glob import glob
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from leadhand.benchmarks.folder import load_task, shipped
from leadhand.benchmarks.tasktoml import FILE
from leadhand.core.errors import UsageError
from leadhand.core.values import Task

GROUP = "leadhand.benchmarks"
"""Entry points of this group are functions without arguments that give a `Benchmark`."""


def tasks_of(sources: Sequence[str], beside: Path) -> list[Task]:
    """Every task of the sources, in their order. Paths are relative to the folder `beside`, else to the current one.

    Raises `UsageError` for a source that is nothing.
    """
    return [task for source in sources for task in _tasks(source, beside)]


def _tasks(source: str, beside: Path) -> Sequence[Task]:
    if source == "shipped":
        return [task for name in shipped() for task in _tasks(name, beside)]
    if source in shipped():
        from leadhand.benchmarks.folder import find_task

        return [find_task(source)]
    folders = _folders(source, beside)
    if folders:
        return [load_task(folder) for folder in folders]
    benchmark = find_benchmark(source)
    if benchmark is None:
        raise UsageError(
            f"tasks.source: {source!r} is no benchmark, shipped task ({', '.join(shipped())}) or folder with a {FILE}"
        )
    tasks: Sequence[Task] = benchmark.tasks()
    return tasks


def _folders(source: str, beside: Path) -> list[Path]:
    """The task folders that a path or a pattern names, sorted."""
    for root in (beside, Path.cwd()):
        pattern = str(root / Path(source).expanduser())
        found = [Path(p) for p in sorted(glob(pattern, recursive=True)) if (Path(p) / FILE).is_file()]
        if found:
            return found
    return []


def find_benchmark(name: str) -> Any:
    """A benchmark by its short name, its entry point, or `module:attribute`; None where there is none.

    Ours are found by name in `leadhand.benchmarks` (`commit0-lite` is `leadhand.benchmarks.commit0_lite.benchmark()`).
    """
    if ":" in name:
        module, _, attribute = name.partition(":")
        return _made(module, attribute)
    for point in entry_points(group=GROUP, name=name):
        return point.load()()
    return _made(f"leadhand.benchmarks.{name.replace('-', '_')}", "benchmark", optional=True)


def _made(module: str, attribute: str, *, optional: bool = False) -> Any:
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        if optional:
            return None
        raise UsageError(f"tasks.source: no benchmark at {module}:{attribute}: {error}") from None
    return found() if callable(found) else found
