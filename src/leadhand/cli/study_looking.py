"""The study commands that only look: status, results, export."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from leadhand.cli import text
from leadhand.core.errors import UsageError
from leadhand.study import results as found
from leadhand.study import state
from leadhand.study.layout import StudyPaths, StudyRecord
from leadhand.study.outcome import Outcome
from leadhand.study.session import open_folder


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for i, name in enumerate(columns):
        table.add_column(name, justify="left" if i == 0 or name == "known from" else "right", overflow="fold")
    return table


def status(name: str, *, as_json: bool) -> None:
    paths, record = open_folder(name)
    outcomes = state.scan(paths)
    counted = state.tally(record.runs, outcomes, graded=graded(paths, outcomes))
    if as_json:
        print_json({"study": record.name, "folder": str(paths.folder), "digest": record.digest, "tally": counted})
        return
    console = Console(highlight=False)
    budget = record.study.budget_usd
    of = "" if budget is None else f" of {text.dollars(budget)}"
    console.print(f"{record.name}: {counted.finished} of {text.plural(counted.runs, 'run')} finished", style="bold")
    console.print(f"spent     {text.dollars(counted.settled_usd)}{of}, unknown {text.dollars(counted.unknown_usd)}")
    parts = {
        "unfinished (resumable)": counted.unfinished,
        "not started": counted.waiting,
        "not graded": counted.ungraded,
        "failed by no fault of their own": counted.failed,
    }
    console.print("left      " + (", ".join(f"{n} {what}" for what, n in parts.items() if n) or "nothing"))
    if counted.attempts:
        console.print(f"archived  {text.plural(counted.attempts, 'failed attempt')}; their money is counted")
    for run in record.runs:
        outcome = outcomes.get(run.run)
        if outcome is not None and outcome.status == "infrastructure":
            console.print(f"  {run.run}: {text.safe(outcome.text, 120)}", markup=False, style="red")
    versions = _versions(paths, outcomes)
    if len(versions) > 1:
        console.print(f"warning: runs were made by different versions: {', '.join(sorted(versions))}", style="yellow")


def graded(paths: StudyPaths, outcomes: dict[str, Outcome]) -> dict[str, bool]:
    """Whether a task has a grader, for the tasks that were started."""
    from leadhand.runs.spec import read_run_file

    found: dict[str, bool] = {}
    for name in outcomes:
        task = read_run_file(paths.run(name).run_json).lock.task
        found.setdefault(task.id, task.grader is not None)
    return found


def _versions(paths: StudyPaths, outcomes: dict[str, Outcome]) -> set[str]:
    from leadhand.runs.spec import read_run_file

    return {read_run_file(paths.run(name).run_json).lock.version for name in outcomes}


def results(name: str, *, with_degraded: bool, as_json: bool) -> None:
    paths, record = open_folder(name)
    rows = found.rows(record, state.scan(paths), with_degraded=with_degraded)
    if as_json:
        print_json({"study": record.name, "designs": rows})
    else:
        print_results(record, rows, Console(highlight=False))


def print_results(record: StudyRecord, rows: list[found.Row], console: Console) -> None:
    table = _table("design", "runs", "reward", "dollars", "minutes", "lift over solo", "detects")
    for r in rows:
        left_out = [f"-{n} {what}" for n, what in ((r.degraded, "degraded"), (r.broke_rules, "broke rules")) if n]
        runs = f"{r.counted} of {r.planned}" + (f" ({', '.join(left_out)})" if left_out else "")
        reward = "–" if r.reward is None else f"{r.reward:.3f}{_half(r.half, 1, 3)}"
        lift = points = "–"
        if r.lift is not None:
            lift = f"{100 * r.lift.mean:+.1f}{_half(r.lift.half, 100, 1)} points"
            points = "–" if r.lift.detectable is None else f"{100 * r.lift.detectable:.1f} points"
        usd = "–" if r.cost is None else text.dollars(r.cost)
        table.add_row(r.design, runs, reward, usd, "–" if r.minutes is None else f"{r.minutes:.1f}", lift, points)
    console.print(table)
    console.print("± is half of the 95 % interval over tasks (Student t); dollars and minutes per run", style="dim")


def _half(half: float | None, scale: float, digits: int) -> str:
    return "" if half is None else f" ± {scale * half:.{digits}f}"


def export(name: str, to: str) -> None:
    paths, record = open_folder(name)
    csv = found.as_csv(found.tidy(record, state.scan(paths)))
    if not to:
        sys.stdout.write(csv)
        return
    try:
        Path(to).expanduser().write_text(csv, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {to}: {error.strerror}") from None


def print_json(value: object) -> None:
    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
