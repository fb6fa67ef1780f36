"""What `leadhand bench ...` and `leadhand task ...` print."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import anyio
import msgspec
from rich.console import Console
from rich.table import Table

from leadhand.benchmarks.commit0.prepare import prepare as prepare_row
from leadhand.benchmarks.commit0.prepared import Place
from leadhand.benchmarks.commit0.rows import Row, row, rows
from leadhand.benchmarks.folder import find_task
from leadhand.benchmarks.listing import BENCHMARKS, Listed, listed
from leadhand.core.errors import LeadhandError, UsageError


def show_list(name: str, *, language: str, difficulty: str, match: str, as_json: bool) -> None:
    """Benchmarks, or one's tasks."""
    if not name:
        for known, about in BENCHMARKS.items():
            print(f"{known:22} {about}")
        return
    tasks = [t for t in listed(name) if _fits(t, language, difficulty, match)]
    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode(tasks) + b"\n")
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for head in ("task", "language", "difficulty", "tests", "here", "note"):
        table.add_column(head, justify="right" if head == "tests" else "left")
    for t in tasks:
        table.add_row(t.id, t.language, t.difficulty, str(t.tests or ""), t.state, t.note)
    Console(highlight=False, width=None if sys.stdout.isatty() else 160).print(table)
    print(f"{len(tasks)} tasks")


def _fits(t: Listed, language: str, difficulty: str, match: str) -> bool:
    wanted = "" if difficulty == "none" else difficulty
    return (not language or t.language == language) and (not difficulty or t.difficulty == wanted) and match in t.id


def prepare(name: str, *, source: str, again: bool) -> None:
    """Prepare Commit0's libraries, one after the other; those that cannot be are named at the end."""
    if name.startswith("programbench/"):
        _prepare_image(name.partition("/")[2])
        return
    if source not in ("auto", "pypi", "git"):
        raise UsageError(f"--source {source!r} is none: auto, pypi or git")
    wanted, began, failed = _wanted(name), time.monotonic(), dict[str, str]()
    for number, one in enumerate(wanted, 1):
        try:
            _prepare_one(one, f"[{number}/{len(wanted)}] {one.name}", source, again)
        except LeadhandError as error:
            failed[one.name] = str(error)
            print(f"[{number}/{len(wanted)}] {one.name}: not prepared: {error}", file=sys.stderr)
    here = [r.name for r in wanted if Place(r).read() is not None]
    print(f"{len(here)} of {len(wanted)} prepared, in {time.monotonic() - began:.0f} s, below {Place(wanted[0]).root}")
    if failed and (len(wanted) == 1 or set(failed) - {"minitorch"}):
        raise UsageError(f"not prepared: {'; '.join(f'{name} ({why})' for name, why in failed.items())}")


def _prepare_image(identity: str) -> None:
    from leadhand.benchmarks.programbench.instances import instance
    from leadhand.benchmarks.programbench.reference import prepare as prepare_image

    made = prepare_image(instance(identity), lambda step: print(f"{identity}: {step}", flush=True))
    print(f"{identity}: prepared; its reference (SHA-256 {made.sha256[:12]}...) is at {made.path}")


def export(runs: list[str], *, to: str, where: str) -> None:
    """One folder a task; two runs of one task cannot be in one submission."""
    from leadhand.benchmarks.programbench.export import export as write
    from leadhand.core.events import Collected
    from leadhand.core.journal import read_journal
    from leadhand.runs.paths import find_run, runs_root
    from leadhand.runs.spec import read_run_file

    seen: dict[str, str] = {}
    for name in runs:
        paths = find_run(name, Path(where) if where else runs_root())
        run, entries = read_run_file(paths.run_json), read_journal(paths.journal)
        task = run.lock.task.id
        if task in seen:
            raise UsageError(f"{seen[task]} and {paths.id} are both runs of {task}: export one of them")
        packed = next((e.event.blob for e in reversed(entries) if isinstance(e.event, Collected)), "")
        if not packed or not paths.blob(packed).exists():
            raise UsageError(f"run {paths.id} has no submission: `leadhand resume {paths.id}` ends it")
        seen[task] = paths.id
        config = {"design": msgspec.to_builtins(run.lock.design), "run": paths.id, "sandbox": run.lock.sandbox}
        print(write(entries, run.lock.prices, config, task, paths.blob(packed), Path(to)))


def _wanted(name: str) -> tuple[Row, ...]:
    if name in ("commit0", "commit0-lite"):
        return rows()
    source, slash, identity = name.partition("/")
    if source in ("commit0", "commit0-lite") and slash:
        return (row(identity),)
    raise UsageError(f"there is nothing to prepare for {name!r}; commit0-lite, or commit0/NAME, is prepared")


def _prepare_one(one: Row, label: str, source: str, again: bool) -> None:
    began = time.monotonic()
    interactive = sys.stdout.isatty()

    def say(step: str) -> None:
        print(f"\r\033[K{label}: {step}" if interactive else f"{label}: {step}", end="" if interactive else "\n")
        sys.stdout.flush()

    async def work() -> bool:
        return await prepare_row(one, say, source=source, again=again)

    made = anyio.run(work)
    clear = "\r\033[K" if interactive else ""
    print(f"{clear}{label}: " + (f"prepared in {time.monotonic() - began:.0f} s" if made else "was prepared before"))


def show(name: str) -> None:
    """One task in words."""
    task = find_task(name)
    print(f"{task.benchmark}/{task.id}  task {task.digest[:12]}  grader {task.grader_digest[:12] or 'none'}")
    if task.labels:
        print("labels: " + ", ".join(f"{k}={v}" for k, v in task.labels.items()))
    if task.image:
        print(f"image: {task.image}")
    if task.grader is not None:
        options = json.dumps(task.grader.options) if task.grader.options else ""
        print(f"graded within {task.grader.timeout_s:g} s {options}")
    limits = task.limits
    print(f"network: {'yes' if task.network else 'no'}; {limits.command_s:g} s a command, {limits.run_s:g} s a run")
    print(f"\n{task.prompt}")


def from_program(program: str, arguments: str, *, to: str, docs: str, gold: str, branches: int) -> None:
    """Make a task and say what became of the cases."""
    from leadhand.benchmarks.from_program import make_task

    made = anyio.run(
        lambda: make_task(
            Path(program),
            Path(arguments),
            Path(to),
            docs=Path(docs) if docs else None,
            gold=Path(gold) if gold else None,
            branches=branches,
        )
    )
    for line in made.lines():
        print(line)
