"""Benchmarks by name: ours, entry points, dotted paths. And the benchmark that a task belongs to."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from leadhand.core.errors import UsageError
from leadhand.core.ports import Benchmark
from leadhand.core.values import Task

GROUP = "leadhand.benchmarks"
"""Entry points of this group are functions without arguments that give a `Benchmark`."""

OURS = {
    "shipped": "leadhand.benchmarks.folder:shipped_tasks",
    "commit0": "leadhand.benchmarks.commit0.benchmark:lite",
    "commit0-lite": "leadhand.benchmarks.commit0.benchmark:lite",
    "commit0-lite-guarded": "leadhand.benchmarks.commit0.benchmark:lite_guarded",
    "commit0-guarded": "leadhand.benchmarks.commit0.benchmark:lite_guarded",
    "programbench": "leadhand.benchmarks.programbench.benchmark:benchmark",
}
"""Short names. `commit0` and `commit0-lite` are the same 16 tasks; only the tasks' mode tells `guarded` apart."""

GRADERS = {
    "folder": "leadhand.benchmarks.folder:FolderBenchmark",
    "prompt": "leadhand.benchmarks.folder:FolderBenchmark",
    "harbor": "leadhand.benchmarks.harbor.benchmark:Harbor",
    "commit0": "leadhand.benchmarks.commit0.benchmark:lite",
    "programbench": "leadhand.benchmarks.programbench.benchmark:benchmark",
}
"""Who grades the tasks whose `benchmark` field says so; all others are graded as task folders are."""


def load(name: str) -> Benchmark:
    """A benchmark by its short name, its entry point, or `module:attribute`. Raises `UsageError` for anything else."""
    found = known(name)
    if found is None:
        raise UsageError(f"no benchmark {name!r}; there are: {', '.join(OURS)}")
    return found


def known(name: str) -> Benchmark | None:
    """As `load`, and None where the name is nobody's."""
    if ":" in name:
        return _made(name)
    for point in entry_points(group=GROUP, name=name):
        made: Benchmark = point.load()()
        return made
    return _made(OURS[name]) if name in OURS else None


def benchmark_of(task: Task) -> Benchmark:
    """The benchmark that grades a task."""
    if task.benchmark in GRADERS:
        return _made(GRADERS[task.benchmark])
    return load(task.benchmark)


def named_task(name: str) -> Task | None:
    """The task `BENCHMARK/ID`; None where the part before the first "/" is no benchmark."""
    source, slash, identity = name.partition("/")
    benchmark = known(source) if slash and ":" not in source else None
    if benchmark is None:
        return None
    pick: Callable[[str], Task] | None = getattr(benchmark, "task", None)  # spares making all of them
    if pick is not None:
        return pick(identity)
    for task in benchmark.tasks():
        if task.id == identity:
            return task
    raise UsageError(f"benchmark {source} has no task {identity!r}; `leadhand bench list {source}` shows them")


def _made(where: str) -> Benchmark:
    module, _, attribute = where.partition(":")
    try:
        found: Any = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"no benchmark at {where}: {error}") from None
    made: Benchmark = found() if callable(found) else found
    return made
