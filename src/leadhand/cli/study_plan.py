"""`leadhand study plan`: what it costs, how long it takes, what it can tell apart, and what less would lose."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leadhand.cli import text
from leadhand.cli.extras import remedy
from leadhand.cli.study_looking import print_json
from leadhand.core.design import Design
from leadhand.core.errors import UsageError
from leadhand.core.values import Price
from leadhand.study.file import find_file
from leadhand.study.forecast import Advise, Evidence, Line, Range
from leadhand.study.planning import Detectable, Plan, Smaller, nothing_known, plan_study
from leadhand.study.prepare import Given


def plan(file: str, past: list[str], concurrency: int | None, max_usd: str, *, as_json: bool) -> None:
    """Designs that were run in this study (or in `--past`) are known from there, the others from the advisor."""
    if concurrency is not None and concurrency < 1:
        raise UsageError("--concurrency must be at least 1")
    path = find_file(file)
    folders = [Path(p).expanduser().absolute() for p in past]
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"no folder {folder}; --past names a study or a folder of runs")
    own = Path("studies").absolute() / path.stem
    mine = folders or ([own] if (own / "study.json").exists() else [])
    advise, missing = _advisor(folders)
    planned = plan_study(path, Given(budget_usd=max_usd), mine, concurrency, advise)
    if as_json:
        print_json(planned)
        return
    print_plan(planned, Console(highlight=False), missing)


def _advisor(folders: list[Path]) -> tuple[Advise, str]:
    """What the advisor knows, and what has to be said where it cannot be asked."""
    try:
        from leadhand.advisor.own import default_folders, own_runs
        from leadhand.advisor.planned import evidence_for
    except ModuleNotFoundError as error:
        if not (said := remedy(error)):
            raise
        return nothing_known, f"published figures are left out: {said}"

    def advise(designs: Mapping[str, Design], like: str, prices: Mapping[str, Price]) -> Mapping[str, Evidence]:
        return evidence_for(designs, like, prices, own_runs(folders or default_folders()))

    return advise, ""


# --- printing --------------------------------------------------------------------------------------------------


def print_plan(p: Plan, console: Console, missing: str = "") -> None:
    size = (
        f"{text.plural(len(p.designs), 'design')} x {text.plural(p.tasks, 'task')} x {text.plural(p.repeats, 'repeat')}"
    )
    _say(console, f"{p.name}: {size}", style="bold")
    if p.about:
        _say(console, p.about)
    refused = [f"`leadhand study run` will refuse this: {why}" for why in p.refused]
    for note in filter(None, (p.note, missing, *refused)):
        _say(console, text.safe(note), "yellow")
    _designs(p, console)
    _sums(p, console)
    if p.smaller:
        _cheaper(p, console)


def _say(console: Console, line: str, style: str = "") -> None:
    """A line as long as it is: what is copied from a terminal has no breaks of ours."""
    console.print(line, style=style, soft_wrap=True, markup=False)


def _designs(p: Plan, console: Console) -> None:
    """A line for each design; what it is known from is written out below, once."""
    table = _table("design", "dollars (95 %)", "reward (95 %)")
    table.columns[0].no_wrap = False
    table.columns[0].overflow = "fold"
    table.add_column("known from", overflow="fold")
    numbers: dict[str, int] = {}
    for line in p.forecast.lines:
        notes = ",".join(str(numbers.setdefault(note, len(numbers) + 1)) for note in line.notes)
        source = line.source or "nothing"
        table.add_row(line.design, *_expected(line), Text(f"{source} [{notes}]" if notes else source))
    console.print(table)
    for note, number in numbers.items():
        _say(console, f"[{number}] {text.safe(note)}", "dim")


def _expected(line: Line) -> tuple[str, str]:
    usd = "unknown" if line.usd is None else _capped(line.usd, line.worst_usd)
    reward = "unknown" if line.reward is None else _span(line.reward, lambda v: f"{v:.2f}")
    return usd, reward


def _sums(p: Plan, console: Console) -> None:
    f = p.forecast
    _say(console, f"runs      {p.runs:,}, {p.concurrency} sandboxes at once; the forecast is for tasks like `{p.like}`")
    console.print(f"dollars   {'unknown' if f.usd is None else dollars(f.usd)}")
    unit, time = ("hours", "unknown") if f.hours is None else _time(f.hours)
    console.print(f"{unit:9} {time}{'' if f.hours is None else ', grading not counted'}")
    if f.unknown and f.usd is not None:
        console.print(f"without   {text.plural(len(f.unknown), 'design')} that neither runs nor figures tell of")
    if f.usd_priced is not None and f.hours_priced is not None:
        priced = text.plural(sum(line.kind == "prices" for line in f.lines), "design")
        console.print(f"with      {priced} placed by their prices alone:")
        unit, time = _time(f.hours_priced)
        console.print(f"          {dollars(f.usd_priced)}, {time} {unit}")
    worst = "no limit: a run has none" if f.worst_usd is None else f"{_round(f.worst_usd)} (the runs' budgets)"
    budget = "" if p.budget_usd is None else f"; the study stops at {_round(p.budget_usd)}"
    console.print(f"at most   {worst}{budget}")
    for i, points in enumerate(dict.fromkeys(map(_points, p.detectable))):
        console.print(f"{'detects' if i == 0 else '':9} {points}")


def _cheaper(p: Plan, console: Console) -> None:
    console.print("\ncheaper plans, and what they lose", style="bold")
    head = "the smallest difference found with 80 % power, in points of reward, and by how much that is worse"
    _say(console, head, "dim")
    table = _table("plan", "runs", "saves")
    for d in p.detectable:
        table.add_column(d.source.removesuffix(", published"), justify="right")
    for s in p.smaller:
        points = [_lost(new, old) for new, old in zip(s.detectable, p.detectable, strict=True)]
        table.add_row(_what(s), f"{s.runs:,}", _saved(s), *points)
    console.print(table)
    for name, better in next((s.without for s in p.smaller if s.without), {}).items():
        lost = f"without {name} its lift stays unknown; {better} is expected to be cheaper and to earn no less"
        _say(console, lost, "dim")


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for i, name in enumerate(columns):
        table.add_column(name, justify="right" if i else "left", no_wrap=True)
    return table


def _what(s: Smaller) -> str:
    if s.without:
        return f"without {text.plural(len(s.without), 'dominated design')}"
    return f"{text.plural(s.tasks, 'task')} x {text.plural(s.repeats, 'repeat')}"


def _saved(s: Smaller) -> str:
    share = f"{100 * s.saves:.0f} %"
    return share if s.saves_usd is None else f"{_round(s.saves_usd)} ({share})"


def _lost(new: Detectable, old: Detectable) -> str:
    if not math.isfinite(new.reward):
        return "nothing"
    return f"{100 * new.reward:.1f} (+{100 * (new.reward - old.reward):.1f})"


def _points(d: Detectable) -> str:
    if not math.isfinite(d.reward):
        return "nothing: a single task has no spread"
    return f"{100 * d.reward:.1f} points of reward with 80 % power ({d.source})"


def _capped(r: Range, most: float | None) -> str:
    """Dollars; where all of the interval is at the runs' budgets, nothing but that is known."""
    if most is not None and r.low >= most > 0:
        return f"at most {_round(most)} by its budget"
    return dollars(r)


def dollars(r: Range) -> str:
    return _span(r, _round)


def _span(r: Range, form: Callable[[float], str]) -> str:
    return f"{form(r.expected)} ({form(r.low)} to {form(r.high)})"


def _round(usd: float) -> str:
    return f"${usd:,.0f}" if usd >= 10 or usd == 0 else f"${usd:.2f}" if usd >= 0.1 else f"${usd:.2g}"


def _time(hours: Range) -> tuple[str, str]:
    """The unit, and the time in it: minutes where less than an hour is expected."""
    unit, scale = ("hours", 1) if hours.expected >= 1 else ("minutes", 60)
    return unit, _span(hours, lambda v: f"{v * scale:.1f}" if v * scale >= 1 or v == 0 else f"{v * scale:.2g}")
