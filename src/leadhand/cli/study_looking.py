"""The study commands that only look: plan, status, results, export."""

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
from leadhand.study.file import find_file
from leadhand.study.forecast import Range
from leadhand.study.layout import StudyPaths, StudyRecord
from leadhand.study.outcome import Outcome
from leadhand.study.planning import Detectable, Plan, plan_study
from leadhand.study.prepare import Given
from leadhand.study.session import open_folder

WIDE = {"soft_wrap": True, "markup": False}


def plan(file: str, past: list[str], concurrency: int | None, max_usd: str, *, as_json: bool) -> None:
    path = find_file(file)
    folders = [Path(p).expanduser().absolute() for p in past]
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"no folder {folder}; --past names a study or a folder of runs")
    own = Path("studies").absolute() / path.stem
    if not folders and (own / "study.json").exists():
        folders = [own]
    planned = plan_study(path, Given(budget_usd=max_usd), folders, concurrency)
    if as_json:
        print_json(planned)
        return
    _print_plan(planned, Console(highlight=False))


def _print_plan(p: Plan, console: Console) -> None:
    console.print(f"{p.name}: {len(p.designs)} designs x {p.tasks} tasks x {p.repeats} repeats", style="bold")
    if p.about:
        console.print(p.about, **WIDE)  # type: ignore[arg-type]
    if p.note:
        console.print(p.note, style="yellow", **WIDE)  # type: ignore[arg-type]
    table = _table("design", "runs", "dollars (95 %)", "at most", "known from")
    notes: dict[str, int] = {}
    for line in p.forecast.lines:
        note = notes.setdefault(line.source, len(notes) + 1) if line.kind == "published" else 0
        source = f"published [{note}]" if note else line.source or "nothing"
        at_most = "no limit" if line.worst_usd is None else _round(line.worst_usd)
        table.add_row(
            line.design, f"{line.runs:,}", "unknown" if line.usd is None else _dollars(line.usd), at_most, source
        )
    console.print(table)
    for source, number in notes.items():
        console.print(f"[{number}] {source}", style="dim", **WIDE)  # type: ignore[arg-type]
    f = p.forecast
    console.print(f"runs      {p.runs:,}, {p.concurrency} at once")
    unknown = _without(sum(line.usd is None for line in f.lines))
    console.print(f"dollars   {'unknown' if f.usd is None else _dollars(f.usd) + unknown}")
    unknown = _without(sum(line.minutes is None for line in f.lines))
    console.print(f"hours     {'unknown' if f.hours is None else _hours(f.hours) + unknown}")
    worst = "no limit: a run has none" if f.worst_usd is None else f"{_round(f.worst_usd)} (the runs' budgets)"
    budget = "" if p.budget_usd is None else f"; the study stops at {_round(p.budget_usd)}"
    console.print(f"at most   {worst}{budget}")
    for i, d in enumerate(p.detectable):
        console.print(f"{'detects' if i == 0 else '':9} {_points(d)}")
    if p.smaller:
        console.print("\ncheaper plans, and what they can no longer tell apart", style="bold")
        console.print("each column is the smallest difference found with 80 % power, in points of reward", style="dim")
        table = _table("tasks x repeats", "runs", "of the dollars", *[d.source for d in p.detectable])
        for s in p.smaller:
            points = [f"{100 * d.reward:.1f}" for d in s.detectable]
            table.add_row(f"{s.tasks} x {s.repeats}", f"{s.runs:,}", f"{100 * s.share:.0f} %", *points)
        console.print(table)


def _without(designs: int) -> str:
    return f", not counting {text.plural(designs, 'design')} that nothing is known of" if designs else ""


def _points(d: Detectable) -> str:
    return f"{100 * d.reward:.1f} points of reward with 80 % power ({d.source})"


def _dollars(r: Range) -> str:
    return f"{_round(r.expected)} ({_round(r.low)} to {_round(r.high)})"


def _round(usd: float) -> str:
    return f"${usd:,.0f}" if usd >= 100 else text.dollars(usd)


def _hours(r: Range) -> str:
    return f"{r.expected:.1f} ({r.low:.1f} to {r.high:.1f})"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for i, name in enumerate(columns):
        table.add_column(name, justify="left" if i == 0 or name == "known from" else "right", overflow="fold")
    return table


# --- a study's folder ------------------------------------------------------------------------------------------


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
        runs = f"{r.counted} of {r.planned}" + (f" (-{r.degraded} degraded)" if r.degraded else "")
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
