"""What a study looks like while it runs: a table that is redrawn in a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import anyio
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from leadhand.cli import text
from leadhand.study.board import Board, DesignLine, Picture

REDRAWN_S = 0.5
SAID_S = 30.0


def console() -> Console:
    """Standard error, so that `--json` owns standard output."""
    return Console(stderr=True, highlight=False)


def is_plain(out: Console, plain: bool) -> bool:
    return plain or not out.is_terminal


def sayer(out: Console, plain: bool) -> Callable[[str], None]:
    """Says each line in a plain log; in a terminal only what a table does not show."""
    if is_plain(out, plain):
        return lambda line: out.print(line, markup=False, soft_wrap=True)

    def say(line: str) -> None:
        if line.startswith(("given up", "trying again")):
            out.print(text.safe(line, 200), markup=False, soft_wrap=True, style="yellow")

    return say


@asynccontextmanager
async def shown(board: Board, name: str, out: Console, plain: bool) -> AsyncIterator[None]:
    """Show the board while the body runs. Everything is drawn on the event loop: nothing changes meanwhile."""
    async with anyio.create_task_group() as group:
        if is_plain(out, plain):
            group.start_soon(_lines, board, out)
            yield
            out.print(line_of(board.picture()), markup=False)
        else:
            live = Live(console=out, auto_refresh=False, transient=True)
            with live:
                group.start_soon(_redraw, board, name, live)
                yield
        group.cancel_scope.cancel()


async def _lines(board: Board, out: Console) -> None:
    while True:
        await anyio.sleep(SAID_S)
        out.print(line_of(board.picture()), markup=False, soft_wrap=True)


async def _redraw(board: Board, name: str, live: Live) -> None:
    while True:
        live.update(drawn(name, board.picture(), live.console.height), refresh=True)
        await anyio.sleep(REDRAWN_S)


def line_of(p: Picture) -> str:
    """The whole study on one line."""
    parts = [f"{p.done} of {text.plural(p.runs, 'run')}", f"{p.running} running", money(p)]
    if p.failed or p.retried:
        parts.append(f"{p.failed} failed, {p.retried} tried again")
    if p.trouble:
        parts.append(text.safe(p.trouble, 200))
    return " · ".join([*parts, *pace(p)])


def money(p: Picture) -> str:
    """What may be owed so far, what is still set aside for running runs, and of how much."""
    spent = p.spent_usd + p.running_usd
    of = "" if p.budget_usd is None else f" of {text.dollars(p.budget_usd)}"
    held = max(0.0, p.held_usd - p.running_usd)
    reserve = f" (+{text.dollars(held)} reserved)" if p.budget_usd is not None and held else ""
    return f"{text.dollars(spent)}{of}{reserve}"


def pace(p: Picture) -> list[str]:
    parts = [] if p.rate is None else [f"{p.rate:.0f} runs an hour"]
    if p.left_s is not None and p.done < p.runs:
        parts.append(f"{text.seconds(p.left_s)} left, till {until(p.left_s)}")
    if p.expected_usd is not None and p.done < p.runs:
        parts.append(f"{text.dollars(p.expected_usd)} expected in all")
    return parts


def until(seconds: float) -> str:
    """The time of day, with the day where it is not today's."""
    now = datetime.now()
    end = now + timedelta(seconds=seconds)
    return end.strftime("%H:%M" if end.date() == now.date() else "%a %d %b, %H:%M")


def drawn(name: str, p: Picture, height: int = 1000) -> Group:
    """The whole picture, on a terminal of so many lines: where not all designs fit, those that run are shown."""
    head = Text(f"{name} · {text.seconds(p.elapsed_s)}", style="bold")
    bar = Table.grid(padding=(0, 1))
    bar.add_row(
        ProgressBar(total=max(1, p.runs), completed=p.done, width=40), f"{p.done}/{p.runs}", f"{p.running} running"
    )
    remarks = [Text(text.safe(p.trouble, 200), style="yellow")] if p.trouble else []
    if p.failed or p.retried:
        remarks.append(Text(f"{p.failed} failed, {p.retried} tried again", style="yellow"))
    if p.note:
        remarks.append(Text(p.note, style="red"))
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("design", "done", "running", "reward", "$ a run", "time"):
        table.add_column(column, justify="left" if column == "design" else "right", no_wrap=True)
    shown = fitting(p.designs, height - 8 - len(remarks))
    for d in shown:
        table.add_row(
            d.name,
            f"{d.done}/{d.runs}",
            str(d.running or ""),
            "" if d.reward is None else f"{d.reward:.3f}",
            "" if d.usd is None else text.dollars(d.usd),
            "" if d.minutes is None else text.seconds(60 * d.minutes),
        )
    rest = [d for d in p.designs if d not in shown]
    more = f"and {text.plural(len(rest), 'more design')}, {sum(d.done for d in rest)}/{sum(d.runs for d in rest)} done"
    tail = [Text(more, style="dim")] if rest else []
    return Group(head, bar, Text(money(p), style="bold"), Text(" · ".join(pace(p))), *remarks, Text(), table, *tail)


def fitting(designs: Sequence[DesignLine], most: int) -> list[DesignLine]:
    """At most so many designs, in their order: those that run before those that do not."""
    wanted = sorted(range(len(designs)), key=lambda i: (not designs[i].running, i))[: max(1, most)]
    return [designs[i] for i in sorted(wanted)]
