"""`leadhand grade`: runs and whole studies again, and graders tried on what is known."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

import anyio
import msgspec
from rich.console import Console
from rich.table import Table

from leadhand import sandboxes
from leadhand.benchmarks.folder import shipped, task_folders
from leadhand.benchmarks.proving import Proof, What, check_known, prove
from leadhand.cli import carry_out, text
from leadhand.cli import show as showing
from leadhand.cli.steps import say_step
from leadhand.core.errors import LeadhandError, UsageError
from leadhand.core.events import Entry, Graded, GradingFailed, RunEnded
from leadhand.core.ports import Sandbox
from leadhand.core.values import SandboxSpec, Task
from leadhand.runs import grading, store
from leadhand.runs.paths import RunPaths, find_run, runs_root
from leadhand.runs.preflight import ready_images
from leadhand.runs.spec import read_run_file
from leadhand.study.layout import StudyPaths, attempt_of, read_record
from leadhand.study.sources import tasks_of

AT_ONCE = 2
"""Gradings of what is known at once. Tests with a deadline of a second pass beside one other, and fail beside many."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `leadhand grade`, as typed."""

    what: str
    runs: str = ""
    untouched: bool = False
    reference: bool = False
    missing: bool = False
    jobs: int = 0
    sandbox: str = "auto"


def grade(o: Options, *, as_json: bool) -> int:
    """The exit code: 0 where everything was graded (and, of what is known, as it should be)."""
    if o.jobs < 0:
        raise UsageError("--jobs must be at least 1")
    if o.untouched or o.reference:
        asked: dict[What, bool] = {"untouched": o.untouched, "reference": o.reference}
        return _prove(o, [what for what, wanted in asked.items() if wanted], as_json=as_json)
    folder = Path(o.what).expanduser()
    if (folder / "study.json").exists():
        return _study(StudyPaths(folder.absolute()), o, as_json=as_json)
    try:
        find_run(o.what, runs_root(o.runs))
    except UsageError as error:
        if o.what not in shipped() and not task_folders(folder):
            raise
        known = f"`leadhand grade {o.what} --reference --untouched` tries a task's grader on what is known"
        raise UsageError(f"{error}; {known}") from None
    return carry_out.grade(o.what, o.runs, as_json=as_json)


# --- whole studies -----------------------------------------------------------------------------------------------


class Regraded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run of a study: its reward before and now."""

    run: str
    before: float | None = None
    reward: float | None = None
    error: str = ""


def _study(paths: StudyPaths, o: Options, *, as_json: bool) -> int:
    read_record(paths)
    runs = [run for name in paths.folders() if not attempt_of(name)[1] and _gradable(run := paths.run(name), o.missing)]
    done: list[Regraded] = []

    async def one(run: RunPaths) -> None:
        done.append(told := await _regraded(run))
        if not as_json:
            print(_line(told), flush=True)

    anyio.run(_limited, o.jobs or 1, [partial(one, run) for run in runs])
    failed = sum(r.reward is None for r in done)
    if as_json:
        showing.print_json(sorted(done, key=lambda r: r.run))
    else:
        changed = sum(r.reward is not None and r.before is not None and r.reward != r.before for r in done)
        print(
            f"{len(done) - failed} of {text.plural(len(runs), 'run')} graded, {changed} with another reward than before"
        )
    return 1 if failed else 0


def _gradable(run: RunPaths, missing: bool) -> bool:
    """Whether a run has come to an end that is graded."""
    file, entries = read_run_file(run.run_json), store.recorded(run)
    if missing:
        return grading.wanted(file, entries)
    ended = next((e.event for e in entries if isinstance(e.event, RunEnded)), None)
    return file.lock.task.grader is not None and ended is not None and ended.status != "infrastructure"


async def _regraded(run: RunPaths) -> Regraded:
    before = None
    try:
        before = _reward(store.recorded(run))
        entries = await grading.regrade(run)
    except LeadhandError as error:
        return Regraded(run=run.id, before=before, error=str(error))
    last = next(e.event for e in reversed(entries) if isinstance(e.event, Graded | GradingFailed))
    if isinstance(last, GradingFailed):
        return Regraded(run=run.id, before=before, error=last.error)
    return Regraded(run=run.id, before=before, reward=last.grade.reward)


def _reward(entries: Sequence[Entry]) -> float | None:
    return next((e.event.grade.reward for e in reversed(entries) if isinstance(e.event, Graded)), None)


def _line(r: Regraded) -> str:
    if r.reward is None:
        return f"{r.run}: not graded: {text.safe(r.error)}"
    return f"{r.run}: reward {r.reward:.3f}" + ("" if r.before in (None, r.reward) else f" (was {r.before:.3f})")


# --- what is known -----------------------------------------------------------------------------------------------


def _prove(o: Options, wanted: Sequence[What], *, as_json: bool) -> int:
    tasks = tasks_of([o.what], Path.cwd())
    for task in tasks:
        for what in wanted:
            check_known(task, what)
    kind, _ = sandboxes.choose(o.sandbox, next((t.image for t in tasks if t.image), ""))
    ready_images(tasks, kind, say_step)
    began, proofs = time.monotonic(), list[Proof]()

    async def one(task: Task, what: What) -> None:
        proofs.append(made := await _proof(task, what, kind))
        say_step(f"{what} {task.id}: {made.error or ('as expected' if made.right else 'NOT as expected')}")

    anyio.run(
        _limited,
        o.jobs or min(AT_ONCE, os.cpu_count() or 1),
        [partial(one, task, what) for task in tasks for what in wanted],
    )
    order = {(task.id, what): n for n, (task, what) in enumerate((t, w) for t in tasks for w in wanted)}
    proofs.sort(key=lambda p: order[p.task, p.what])
    wrong = sum(not p.right for p in proofs)
    if as_json:
        showing.print_json(proofs)
    else:
        _print(proofs)
        for set_ in dict.fromkeys(task.labels["set"] for task in tasks if "set" in task.labels):
            print(set_)
        print(f"{len(proofs) - wrong} of {len(proofs)} as expected, in {time.monotonic() - began:.0f} s")
    return 1 if wrong else 0


async def _proof(task: Task, what: What, kind: str) -> Proof:
    async def start(spec: SandboxSpec) -> Sandbox:
        return await sandboxes.start(spec, kind)

    with tempfile.TemporaryDirectory(prefix="leadhand-grade-") as folder:
        return await prove(task, what, start, Path(folder))


def _print(proofs: Sequence[Proof]) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("task", "", "passed", "of", "reward", "expected", "s", ""):
        table.add_column(head, justify="right" if head in ("passed", "of", "reward", "s") else "left")
    for p in proofs:
        counts = ["" if n is None else str(n) for n in (p.passed, p.total)]
        reward = "" if p.reward is None else f"{p.reward:.4f}"
        said = "" if p.right else text.safe(p.error, 100) or "WRONG"
        table.add_row(p.task, p.what, *counts, reward, p.expected, f"{p.seconds:.1f}", said)
    Console(highlight=False, width=None if sys.stdout.isatty() else 160).print(table)


async def _limited(jobs: int, work: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """Carry out all of `work`, at most `jobs` at once, begun in order."""
    limit = anyio.Semaphore(jobs)

    async def one(job: Callable[[], Awaitable[None]]) -> None:
        try:
            await job()
        finally:
            limit.release()

    async with anyio.create_task_group() as group:
        for job in work:
            await limit.acquire()
            group.start_soon(one, job)
