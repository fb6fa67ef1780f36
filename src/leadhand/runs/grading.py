"""Grade a run's submission, now or later, without any agent. Each grading appends to the run's journal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

import leadhand
from leadhand import sandboxes
from leadhand.benchmarks.loading import benchmark_of
from leadhand.core.errors import GradingError, UsageError
from leadhand.core.events import Collected, Entry, Graded, GradingFailed, GradingStarted, RunEnded
from leadhand.core.journal import Journal
from leadhand.core.ports import Sandbox, StartSandbox
from leadhand.core.values import Grade, SandboxSpec
from leadhand.runs import store
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import RunFile, read_run_file


def wanted(run: RunFile, entries: list[Entry]) -> bool:
    """Whether the run is to be graded and has no grade by the current grader."""
    task = run.lock.task
    ended = next((e.event for e in entries if isinstance(e.event, RunEnded)), None)
    if task.grader is None or ended is None or ended.status == "infrastructure":
        return False
    return not any(isinstance(e.event, Graded) and e.event.digest == task.grader_digest for e in entries)


async def grade(paths: RunPaths, run: RunFile, journal: Journal, entries: list[Entry]) -> None:
    """One grading in a fresh sandbox, by a name that tells whose it is.

    A fault of the grading is recorded as such and is never a reward.
    """
    digest = run.lock.task.grader_digest
    archive = next((paths.blob(e.event.blob) for e in reversed(entries) if isinstance(e.event, Collected)), None)
    journal.append("", GradingStarted(digest=digest))
    grade, error = await grade_of(paths, run, archive)
    if grade is None:
        journal.append("", GradingFailed(digest=digest, error=error))
    else:
        journal.append("", Graded(grade=grade, digest=digest))


async def grade_of(paths: RunPaths, run: RunFile, archive: Path | None) -> tuple[Grade | None, str]:
    """The grade of one archive, in a fresh sandbox; or None, and why there is none."""
    try:
        async with fresh(f"{paths.id}.grading", paths.grading, run.lock.sandbox) as start:
            submission = _found(archive, paths)
            return await benchmark_of(run.lock.task).grade(run.lock.task, submission, start, paths.grading), ""
    except (GradingError, OSError) as error:
        return None, str(error)


@asynccontextmanager
async def fresh(name: str, folder: Path, kind: str) -> AsyncIterator[StartSandbox]:
    """An empty `folder`, and what starts sandboxes of a kind by a name of their own; nothing is left of either.

    What an interrupted session left by that name goes first.
    """

    async def start(spec: SandboxSpec) -> Sandbox:
        return await sandboxes.start(msgspec.structs.replace(spec, run_id=name), kind)

    try:
        await anyio.to_thread.run_sync(store.clear_leftovers, name)
        await anyio.to_thread.run_sync(store.remove, folder)
        await anyio.to_thread.run_sync(folder.mkdir)
        yield start
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(store.remove, folder)


def _found(archive: Path | None, paths: RunPaths) -> Path:
    if archive is None or not archive.exists():
        raise GradingError(f"the submission of run {paths.id} is missing from its blobs/")
    return archive


async def regrade(paths: RunPaths) -> list[Entry]:
    """Grade an ended run again. Raises `UsageError` where there is nothing to grade."""
    run = read_run_file(paths.run_json)
    if run.lock.task.grader is None:
        raise UsageError(f"run {paths.id} has no grader: its task names none")
    journal = Journal(paths.journal, anyio.current_time)
    try:
        entries = journal.open_session(leadhand.__version__)
        journal.subscribe(entries.append)
        ended = next((e.event for e in entries if isinstance(e.event, RunEnded)), None)
        if ended is None:
            raise UsageError(f"run {paths.id} has not ended; `leadhand resume {paths.id}` ends and grades it")
        if ended.status == "infrastructure":
            raise UsageError(f"run {paths.id} ended as infrastructure, which is never graded; start a new run")
        await grade(paths, run, journal, entries)
        await anyio.to_thread.run_sync(journal.sync)
        return entries
    finally:
        journal.close()
