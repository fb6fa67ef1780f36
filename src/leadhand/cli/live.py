"""What a run looks like while it goes on: lanes in a terminal, plain lines elsewhere."""

from __future__ import annotations

from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from leadhand.analysis.summary import RunFold, Summary, check_words
from leadhand.cli import show, text
from leadhand.core.events import (
    AgentEnded,
    CallRejected,
    CandidateGraded,
    CandidateKept,
    CheckEnded,
    CheckStarted,
    DelegationEnded,
    DelegationStarted,
    Entry,
    Graded,
    GradingFailed,
    GradingStarted,
    NoteAdded,
    RunEnded,
    SandboxStarted,
    Selected,
    SlotClaimed,
    Warned,
)
from leadhand.runs.spec import RunFile

MARK = {"thinking": "cyan", "bash": "yellow", "wait": "dim", "finished": "green", "ready": "dim", "acting": "cyan"}


class Display(Protocol):
    """Shows entries as they are written."""

    def __enter__(self) -> Display: ...
    def __exit__(self, *_: object) -> None: ...
    def see(self, entry: Entry) -> None: ...


class Lanes:
    """A lane per agent, the delegations, dollars against the budget; redrawn ten times a second at most."""

    def __init__(self, run_id: str, run: RunFile, console: Console) -> None:
        self._run = run
        self._console = console
        self._fold = RunFold(run.lock.prices)
        self._head = show.header(run_id, run)
        self._live = Live(console=console, get_renderable=self._draw, refresh_per_second=8, transient=True)

    def __enter__(self) -> Lanes:
        self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.__exit__(None, None, None)

    def see(self, entry: Entry) -> None:
        self._fold.apply(entry)

    def _draw(self) -> Group:
        s = self._fold.summary()
        return Group(self._head, Text(), self._lanes(s), Text(), self._total(s))

    def _lanes(self, s: Summary) -> Table:
        table = Table(box=None, pad_edge=False, header_style="dim", expand=True)
        for name, justify in (("agent", "left"), ("doing", "left"), ("steps", "right"), ("tokens", "right")):
            table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
        table.add_column("dollars", justify="right", no_wrap=True)
        table.add_column("last command", ratio=1, no_wrap=True, overflow="ellipsis")
        for a in s.agents:
            working = next((d for d in reversed(s.delegations) if d.worker == a.name), None)
            name = f"{a.name} {working.id}" if working and working.status == "running" else a.name
            doing = Text(text.safe(a.doing, 28), style=MARK.get(a.doing, "red" if a.fault else ""))
            numbers = (str(a.steps), text.tokens(a.usage.total), text.dollars(a.usd))
            table.add_row(name, doing, *numbers, text.command(a.last_command, self._console.width))
        return table

    def _total(self, s: Summary) -> Text:
        budget = self._run.lock.design.budget_usd
        of = "" if budget is None else f" of {text.dollars(budget)}"
        held = f" (+{text.dollars(s.reserved_usd)} reserved)" if s.reserved_usd else ""
        done = sum(d.status != "running" for d in s.delegations)
        parts = [f"{text.dollars(s.settled_usd)}{of}{held}", text.seconds(s.wall_s), text.plural(s.steps, "step")]
        if s.delegations:
            parts.append(f"{done} of {text.plural(len(s.delegations), 'delegation')} ended")
        if s.grading == "running":
            parts.append("grading …")
        return Text(" · ".join(parts), style="bold")


class Lines:
    """A line per thing that matters, for logs and pipes."""

    def __init__(self, run_id: str, run: RunFile, console: Console) -> None:
        self._console = console
        self._head = show.header(run_id, run)
        self._fold = RunFold(run.lock.prices)
        self._steps = 0

    def __enter__(self) -> Lines:
        self._console.print(self._head)
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def see(self, entry: Entry) -> None:
        self._fold.apply(entry)
        line = line_of(entry)
        steps = self._fold.ledger.agents
        total = sum(s.steps for s in steps.values())
        if not line and total >= self._steps + 25:
            self._steps = total
            line = f"{total} steps, {text.dollars(self._fold.ledger.settled)}"
        if line:
            self._console.print(f"[{self._fold.now:7.1f} s] {line}", markup=False, highlight=False, soft_wrap=True)


def line_of(entry: Entry) -> str:
    """What a plain log says of an entry; "" for those it passes over."""
    match entry.event:
        case SandboxStarted() as e:
            whose = f" of {entry.agent}" if entry.agent else ""
            return f"sandbox {e.info.kind}{whose} {'taken up again' if e.reattached else 'started'}"
        case DelegationStarted() as e:
            return f"{e.delegation} to {e.worker}: {text.safe(e.assignment, 90)}"
        case DelegationEnded() as e:
            return f"{e.delegation} of {e.worker} {e.status}, report of {len(e.report)} characters"
        case CheckStarted():
            return f"{entry.agent} wants to finish: its work is tried"
        case CheckEnded() as e:
            return text.safe(f"{e.check}: {check_words(e)}", 200)
        case AgentEnded() as e:
            return f"{entry.agent} {e.status}{': ' + text.safe(e.fault, 200) if e.fault else ''}"
        case NoteAdded() as e:
            return f"{entry.agent} notes {e.note}: {text.safe(e.text, 90)}"
        case SlotClaimed() as e:
            return f"{entry.agent} claims {text.safe(e.slot, 90)}"
        case CandidateKept():
            return f"the work of {entry.agent} is kept"
        case CandidateGraded() as e:
            return f"{entry.agent} would get {'no grade' if e.grade is None else f'{e.grade.reward:.3f}'}"
        case Selected() as e:
            return f"{e.chosen} is chosen ({e.selector}{': an upper bound' if e.selector == 'oracle' else ''})"
        case CallRejected() as e:
            return f"{entry.agent}: {e.tool} rejected: {text.safe(e.reason, 120)}"
        case Warned() as e:
            return f"warning: {text.safe(e.text, 200)}"
        case RunEnded() as e:
            return f"run {e.status}"
        case GradingStarted():
            return "grading"
        case Graded() as e:
            return f"reward {e.grade.reward:.3f}"
        case GradingFailed() as e:
            return f"grading failed: {text.safe(e.error, 200)}"
    return ""


def display(run_id: str, run: RunFile, *, plain: bool) -> Display:
    """Lanes where there is a terminal, else lines. On standard error, so that `--json` owns standard output."""
    console = Console(stderr=True, highlight=False)
    if plain or not console.is_terminal:
        return Lines(run_id, run, console)
    return Lanes(run_id, run, console)
