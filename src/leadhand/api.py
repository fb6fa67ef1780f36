"""Run teams from Python: one call, or an `async with` that hands out what happens while it happens.

import leadhand

result = leadhand.run("satchel", lead="openai/gpt-5.6-sol", workers=4, guidance="P", budget_usd=2.0)
print(result.reward, result.summary.settled_usd)

async with leadhand.start("satchel", design, sandbox="bwrap") as running:
    async for entry in running:
        ...                       # every entry of the journal, as it is written
        running.stop()            # wraps up; what there is gets graded
print(running.result.summary.status)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec

from leadhand import models
from leadhand.analysis.summary import Summary, summarise
from leadhand.benchmarks.folder import find_task
from leadhand.core.design import Design
from leadhand.core.errors import UsageError
from leadhand.core.events import Entry
from leadhand.core.ports import Limiter
from leadhand.core.values import Price, Task
from leadhand.runs import store
from leadhand.runs.execution import Execution
from leadhand.runs.paths import RunPaths, runs_root
from leadhand.runs.plan import plan
from leadhand.runs.spec import Request, RunFile


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """An ended run: its folder, what was resolved, its journal, and the summary that is the journal's fold."""

    folder: Path
    run: RunFile
    entries: list[Entry]
    summary: Summary

    @property
    def reward(self) -> float | None:
        """The grader's score in [0, 1]; None where there is none."""
        return self.summary.reward


class Running:
    """A run that is going on: an async iterator over its journal's entries. `result` is there once it has ended."""

    def __init__(self, paths: RunPaths, execution: Execution, entries: AsyncIterator[Entry]) -> None:
        self.paths = paths
        self._execution = execution
        self._entries = entries
        self._result: Result | None = None

    def __aiter__(self) -> AsyncIterator[Entry]:
        return self._entries

    def stop(self) -> None:
        """Wrap up: the agents end now, what there is gets graded."""
        self._execution.stop()

    @property
    def result(self) -> Result:
        if self._result is None:
            raise RuntimeError("the run has not ended; leave the `async with` first, or resume it")
        return self._result

    def _finish(self, entries: list[Entry]) -> None:
        run = self._execution.run
        summary = summarise(entries, run.lock.prices, run.lock.task)
        self._result = Result(folder=self.paths.folder, run=run, entries=entries, summary=summary)


@asynccontextmanager
async def start(
    task: Task | str,
    design: Design | None = None,
    *,
    sandbox: str = "auto",
    folder: Path | str = "",
    keys: Mapping[str, str] | None = None,
    limiter: Limiter | None = None,
    base_urls: Mapping[str, str] | None = None,
    prices: Mapping[str, Price] | None = None,
    network: bool = False,
    setup: str = "",
    **settings: Any,
) -> AsyncIterator[Running]:
    """Start a run of `design` (or of `Design(**settings)`) on a task; leaving the block waits for its end.

    `task`: a `Task`, the id of a shipped one, or a task folder. `folder` holds the run's folder (default: as the
    command line). `keys` default to the environment and `.env`. Raises `UsageError` before anything is made.
    """
    request = Request(
        task=task if isinstance(task, Task) else find_task(task),
        design=_design(design, settings),
        sandbox=sandbox,
        network=network,
        setup=setup,
        base_urls=dict(base_urls or {}),
        prices=dict(prices or {}),
    )
    found = models.load_keys(Path.cwd()) if keys is None else keys
    paths = store.create(runs_root(str(folder)), plan(request, found))
    send, receive = anyio.create_memory_object_stream[Entry](float("inf"))
    execution = Execution(paths, found, observers=(send.send_nowait,), limiter=limiter or models.SharedLimiter())
    running = Running(paths, execution, receive)

    async def work() -> None:
        with send:
            running._finish(await execution.finish())

    with receive:
        async with anyio.create_task_group() as group:
            group.start_soon(work)
            yield running


def run(task: Task | str, design: Design | None = None, **options: Any) -> Result:
    """Run to the end and give the result; the options are those of `start`. Blocks."""

    async def whole() -> Result:
        async with start(task, design, **options) as running:
            async for _ in running:
                pass
        return running.result

    return anyio.run(whole)


def _design(design: Design | None, settings: dict[str, Any]) -> Design:
    if design is not None:
        if settings:
            raise UsageError(f"give a design or its settings, not both: {', '.join(settings)}")
        return design
    try:
        return Design(**settings)
    except TypeError as error:
        raise UsageError(f"not a design: {error}") from None
