"""A task's grader tried on what is known: the task as a team gets it, and the solution that its author gave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import anyio
import anyio.to_thread

from leadhand.benchmarks.loading import benchmark_of
from leadhand.core.errors import GradingError, LeadhandError, UsageError
from leadhand.core.ports import StartSandbox
from leadhand.core.values import Grade, Task, Value
from leadhand.sandboxes import archive

What = Literal["untouched", "reference"]


class Expected(NamedTuple):
    """Rewards or counts of tests passed from `low` to `high`; `counts`: which of the two."""

    low: float
    high: float
    counts: bool = False

    def holds(self, grade: Grade) -> bool:
        found = grade.passed if self.counts else grade.reward
        return found is not None and self.low <= found <= self.high

    def __str__(self) -> str:
        numbers = f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"
        return f"{numbers} passed" if self.counts else f"reward {numbers}"


class Proof(Value, frozen=True, kw_only=True):
    """What became of one grading; `error`: it failed. `seconds` is the grading alone."""

    task: str
    what: What
    expected: str
    right: bool = False
    reward: float | None = None
    passed: int | None = None
    total: int | None = None
    seconds: float = 0.0
    error: str = ""


OTHERWISE: dict[What, Expected] = {"untouched": Expected(0.0, 0.999), "reference": Expected(1.0, 1.0)}


def check_known(task: Task, what: What) -> None:
    """Raises `UsageError` where nothing is known of a task that could be graded."""
    if task.grader is None:
        raise UsageError(f"task {task.id} has no grader")
    if what == "reference" and not task.solution:
        raise UsageError(f"task {task.id} comes without a solution: leave --reference out")
    if task.benchmark == "programbench":
        raise UsageError(f"task {task.id} starts from what is in its image: a run shows how its grader works")


async def prove(task: Task, what: What, start: StartSandbox, scratch: Path) -> Proof:
    """Grade what is known of a task (see `check_known`). `scratch` is an empty host folder."""
    benchmark = benchmark_of(task)
    known: Callable[[Task, What], Expected] | None = getattr(benchmark, "expected", None)
    expected = known(task, what) if known is not None else OTHERWISE[what]
    try:
        for name in ("making", "grading"):
            (scratch / name).mkdir()
        archive_ = await _submission(task, what, start, scratch / "making")
        grade = await benchmark.grade(task, archive_, start, scratch / "grading")
    except LeadhandError as error:
        return Proof(task=task.id, what=what, expected=str(expected), error=str(error))
    return Proof(
        task=task.id,
        what=what,
        expected=str(expected),
        right=expected.holds(grade),
        reward=grade.reward,
        passed=grade.passed,
        total=grade.total,
        seconds=round(grade.seconds, 2),
    )


async def _submission(task: Task, what: What, start: StartSandbox, scratch: Path) -> Path:
    """What a team would hand in that did nothing, or wrote the solution."""
    benchmark = benchmark_of(task)
    if task.whole:
        made = getattr(benchmark, "submission", None)
        if made is None:
            raise GradingError(f"nothing is known of how {task.benchmark} is solved")
        found: Path = await made(task, start, scratch, solved=what == "reference")
        return found
    packed = scratch / "submission.tar.gz"
    empty = scratch / "empty"
    await anyio.to_thread.run_sync(empty.mkdir)
    tree = task.workspace if what == "untouched" else task.solution
    await anyio.to_thread.run_sync(archive.pack, Path(tree) if tree else empty, packed)
    return packed
