"""What `leadhand bench ...` and `leadhand task ...` print."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import anyio
import msgspec
from rich.console import Console
from rich.table import Table

from leadhand import sandboxes
from leadhand.benchmarks.commit0.prepare import prepare as prepare_row
from leadhand.benchmarks.commit0.prepared import Place
from leadhand.benchmarks.commit0.rows import Row, row, rows
from leadhand.benchmarks.folder import fill_prompt, find_task, load_task, task_folders
from leadhand.benchmarks.listing import BENCHMARKS, Listed, listed
from leadhand.cli.steps import say_step
from leadhand.core.errors import LeadhandError, UsageError
from leadhand.runs.paths import RunPaths
from leadhand.runs.preflight import ready_images


def show_list(name: str, *, language: str, difficulty: str, match: str, as_json: bool) -> None:
    """Benchmarks, or one's tasks."""
    if not name:
        for known, about in BENCHMARKS.items():
            print(f"{known:22} {about}")
        return
    every = listed(name)
    _known("--language", language, (t.language for t in every))
    _known("--difficulty", difficulty, ("none", *(t.difficulty for t in every)))
    tasks = [t for t in every if _fits(t, language, difficulty, match)]
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
    wanted = ("", "unlabelled") if difficulty == "none" else (difficulty,)
    return (not language or t.language == language) and (not difficulty or t.difficulty in wanted) and match in t.id


def _known(option: str, wanted: str, there: Iterable[str]) -> None:
    """Refuse a label that no task has: the list would be empty, and nobody would know why."""
    found = sorted({label for label in there if label})
    if wanted and wanted not in found:
        raise UsageError(f"{option} {wanted!r}: no task has it; there are: {', '.join(found) or 'none'}")


def prepare(name: str, *, source: str, again: bool) -> None:
    """Prepare Commit0's libraries, one after the other; those that cannot be are named at the end."""
    if name.startswith("programbench/"):
        _prepare_image(name.partition("/")[2])
        return
    if folders := task_folders(Path(name).expanduser()):
        _prepare_folders(folders)
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


def _prepare_folders(folders: list[Path]) -> None:
    """Build or pull the images of task folders; those that cannot be had are named at the end."""
    failed = dict[str, str]()
    for folder in folders:
        try:
            task = load_task(folder)
            if task.image:
                ready_images([task], sandboxes.choose("docker")[0], say_step)
            print(f"{task.id}: prepared" + (f", image {task.image}" if task.image else ""))
        except LeadhandError as error:
            failed[folder.name] = str(error)
            print(f"{folder.name}: not prepared: {error}", file=sys.stderr)
    if failed:
        raise UsageError(f"{len(failed)} of {len(folders)} not prepared: {', '.join(failed)}")


def _prepare_image(identity: str) -> None:
    from leadhand.benchmarks.programbench.benchmark import benchmark
    from leadhand.benchmarks.programbench.reference import prepare as prepare_image

    made = prepare_image(benchmark().instance(identity), lambda step: print(f"{identity}: {step}", flush=True))
    print(f"{identity}: prepared; its reference (SHA-256 {made.sha256[:12]}...) is at {made.path}")


def export(runs: list[str], *, to: str, where: str) -> None:
    """One folder a task; two runs of one task cannot be in one submission. All are looked at before any is written."""
    from leadhand.benchmarks.programbench.export import export as write
    from leadhand.core.journal import read_journal
    from leadhand.runs.paths import find_run, runs_root
    from leadhand.runs.spec import read_run_file

    found: dict[str, RunPaths] = {}
    for name in runs:
        paths = find_run(name, Path(where) if where else runs_root())
        task = read_run_file(paths.run_json).lock.task
        if task.id in found:
            raise UsageError(f"{found[task.id].id} and {paths.id} are both runs of {task.id}: export one of them")
        found[task.id] = paths
        _submission(paths)
        if task.benchmark != "programbench":
            print(f"{task.id} is no task of ProgramBench, and its commands will not take it", file=sys.stderr)
    for task_id, paths in found.items():
        run, entries = read_run_file(paths.run_json), read_journal(paths.journal)
        config = {"design": msgspec.to_builtins(run.lock.design), "run": paths.id, "sandbox": run.lock.sandbox}
        try:
            print(write(entries, run.lock.prices, config, task_id, _submission(paths), Path(to)))
        except OSError as error:
            raise UsageError(f"--to {to}: {error.strerror or error}") from None


def _submission(paths: RunPaths) -> Path:
    """What a run handed in. Raises `UsageError` where it has not come to that."""
    from leadhand.core.events import Collected
    from leadhand.runs.store import recorded

    packed = next((e.event.blob for e in reversed(recorded(paths)) if isinstance(e.event, Collected)), "")
    if not packed:
        raise UsageError(f"run {paths.id} has no submission yet: `leadhand resume {paths.id}` ends it")
    if not paths.blob(packed).is_file():
        raise UsageError(f"run {paths.id} has lost its submission {packed[:12]}... from its blobs/")
    return paths.blob(packed)


def to_programbench(name: str, *, to: str, branches: int) -> None:
    """Write a task in ProgramBench's form and say what is still needed to run it so."""
    from leadhand.benchmarks.programbench.benchmark import OWN
    from leadhand.benchmarks.programbench.express import to_folder

    folder = Path(to).expanduser().absolute()
    made = to_folder(find_task(name), folder, most_branches=branches)
    print(f"programbench/{made.id}: {made.tests} tests in {made.branches} branches, below {folder}")
    print(f"to run it so: an image {made.image} with the reference at /workspace/executable, and {OWN}={folder}")


def _wanted(name: str) -> tuple[Row, ...]:
    if name in ("commit0", "commit0-lite"):
        return rows()
    source, slash, identity = name.partition("/")
    if source in ("commit0", "commit0-lite") and slash:
        return (row(identity),)
    raise UsageError(
        f"there is nothing to prepare for {name!r}; commit0-lite, commit0/NAME and programbench/ID are prepared"
    )


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
    print(f"\n{fill_prompt(task.prompt, workspace=task.workdir or '/workspace', reference=task.reference)}")


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
