"""Print a run's summary: outcome, ledger by agent and role, timeline of delegations, where wall-clock went."""

from __future__ import annotations

import msgspec
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from leadhand.analysis.summary import AgentLine, DelegationLine, Summary
from leadhand.cli import text
from leadhand.core.design import Design
from leadhand.core.names import short_model
from leadhand.runs.plan import Preview
from leadhand.runs.spec import RunFile

BAR = 28
PARTS = {"model": "cyan", "tools": "yellow", "limits": "red", "waiting": "bright_black", "harness": "magenta"}
STYLE = {"finished": "green", "running": "cyan", "cancelled": "yellow", "infrastructure": "red"}


def header(run_id: str, run: RunFile) -> Text:
    """Which run this is, in two lines."""
    design = run.lock.design
    if design.strategy == "peers":
        team = f"{design.k} equal {short_model(design.lead)} peers, the {design.collect} to finish"
    elif design.strategy == "best-of-k":
        bound = " (oracle: an upper bound)" if design.selector == "oracle" else f" by {design.selector}"
        team = f"best of {design.k} solo {short_model(design.lead)}{bound}"
    elif design.solo:
        team = f"solo {short_model(design.lead)}"
    else:
        size = f"{design.workers}" if design.workers is not None else f"up to {design.max_workers}"
        kinds = ", ".join(dict.fromkeys(short_model(k.model) for k in design.worker_kinds))
        plus = f"{design.cap}+1 agents" if design.workers is not None else f"up to {design.cap}+1 agents"
        workers = "worker" if size == "1" else "workers"
        team = f"{short_model(design.lead)} leading {size} {kinds} {workers} ({plus}), {design.schedule}"
    budget = "no limit" if design.budget_usd is None else text.dollars(design.budget_usd)
    line = Text()
    line.append(f"{text.safe(run_id)}\n", style="bold")
    line.append(f"{text.safe(run.lock.task.id)} · {team}, guidance {design.guidance} · budget {budget}\n")
    line.append(f"sandbox: {run.lock.sandbox} ({run.lock.sandbox_reason})", style="dim")
    return line


def short_team(design: Design) -> str:
    """Who works, in a few characters for a column."""
    if design.strategy == "peers":
        return f"{design.k} peers {design.guidance}"
    if design.strategy == "best-of-k":
        way = "oracle of {} (upper bound)" if design.selector == "oracle" else f"best of {{}} by {design.selector}"
        return f"{way.format(design.k)} {design.guidance}"
    if design.solo:
        return f"solo {design.guidance}"
    size = design.workers if design.workers is not None else f"≤{design.max_workers}"
    return f"{size}+1 {design.guidance} {design.schedule}"


def preview_data(p: Preview) -> dict[str, object]:
    """An agent's exact prompts and tools, as plain data."""
    return {"agent": p.agent, "model": p.model, **msgspec.to_builtins(p.root), "first_message": p.first_message}


def preview_text(p: Preview) -> str:
    """The same as text: system prompt, tools, first message."""
    parts = [p.root.system.rstrip(), ""]
    for tool in p.root.tools:
        parts += [f"tool {tool.name}: {tool.description}", f"  {msgspec.json.encode(tool.parameters).decode()}"]
    return "\n".join([*parts, "", "first message:", p.first_message.rstrip()])


def outcome(s: Summary) -> Text:
    """The result in one line."""
    line = Text()
    line.append(s.status, style=f"bold {STYLE.get(s.status, 'yellow')}")
    if s.reward is not None:
        counts = f" ({s.passed} of {s.total} passed)" if s.total is not None else ""
        line.append(f" · reward {s.reward:.3f}{counts}", style="bold")
    elif s.grading:
        line.append(f" · grading {text.safe(s.grading, 200)}")
    line.append(f" · {text.dollars(s.settled_usd)}")
    if s.unknown_usd:
        line.append(f" + at most {text.dollars(s.unknown_usd)} unknown", style="yellow")
    line.append(f" · {text.seconds(s.team_s)} · {text.plural(s.steps, 'step')}")
    for flag, name in ((not s.valid and s.status != "running", "not valid"), (s.degraded, "degraded")):
        if flag:
            line.append(f" · {name}", style="red")
    if s.resumed:
        line.append(" · resumed", style="yellow")
    if s.text:
        line.append(f"\n{text.safe(s.text, 400)}", style="dim")
    return line


def choice(s: Summary) -> Text:
    """Whose work was taken, and by what."""
    chosen = s.selected
    line = Text()
    if chosen is None:
        return line
    how = {
        "first": f"{chosen.chosen} finished first: its work is the result",
        "last": f"{chosen.chosen} finished last: its work is the result",
        "oracle": f"{chosen.chosen} was chosen by oracle: an upper bound",
    }
    line.append(how.get(chosen.selector, f"{chosen.chosen} was chosen by {chosen.selector}"), style="bold")
    if chosen.scores:
        scores = ", ".join(f"{name} {'none' if x is None else f'{x:g}'}" for name, x in chosen.scores.items())
        line.append(f" ({scores})")
    if s.notes or s.slots:
        line.append(f"\n{text.plural(s.notes, 'note')}; claimed: ", style="dim")
        line.append(", ".join(f"{text.safe(slot, 40)} by {who}" for slot, who in s.slots.items()) or "nothing")
    return line


def _table(title: str) -> Table:
    return Table(box=None, pad_edge=False, header_style="dim", title=title, title_justify="left", title_style="bold")


def ledger(s: Summary) -> Table:
    """Who spent what: a row an agent, then a row a role."""
    table = Table(
        box=None, pad_edge=False, header_style="dim", title="Ledger", title_justify="left", title_style="bold"
    )
    for name in ("agent", "model"):
        table.add_column(name, no_wrap=True)
    for name in ("steps", "fresh", "cached", "written", "output", "dollars"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("calls", overflow="fold")
    for a in s.agents:
        table.add_row(
            a.name,
            short_model(a.model),
            str(a.steps),
            text.tokens(a.usage.input),
            text.tokens(a.usage.cache_read),
            text.tokens(a.usage.cache_write),
            text.tokens(a.usage.output),
            text.dollars(a.usd) + ("?" if a.unknown_usd else ""),
            " ".join(f"{tool}×{n}" for tool, n in a.calls.items()),
            style="red" if a.fault else None,
        )
    if len(s.roles) > 1:
        table.add_section()
        for r in s.roles:
            share = f"{r.usd / s.settled_usd:.0%} of dollars" if s.settled_usd else ""
            name = r.role if r.agents == 1 else f"{r.agents} {r.role}s"
            u = r.usage
            numbers = (u.input, u.cache_read, u.cache_write, u.output)
            table.add_row(name, "", str(r.steps), *map(text.tokens, numbers), text.dollars(r.usd), share, style="bold")
    return table


def timeline(s: Summary, width: int) -> RenderableType:
    """A bar a delegation over the run's time, with what it was about."""
    table = _table("Delegations")
    bar = max(20, min(48, width - 70))
    table.add_column("", no_wrap=True)
    table.add_column(f"0 … {text.seconds(s.team_s)}", width=bar, no_wrap=True)
    table.add_column("ended", no_wrap=True)
    table.add_column("report", justify="right", no_wrap=True)
    table.add_column("assignment", overflow="ellipsis", no_wrap=True)
    for d in s.delegations:
        status = Text(d.status, style="green" if d.status == "finished" else "cyan" if d.status == "running" else "red")
        table.add_row(
            f"{d.id} {d.worker}{' again' if d.resumed else ''}",
            _bar(d, max(s.team_s, 1e-9), bar),
            status,
            text.tokens(d.report_chars) if d.ended_s is not None else "",
            text.safe(d.assignment, max(10, width - bar - 36)),
        )
    return table


def _bar(d: DelegationLine, whole: float, width: int) -> Text:
    """`━` while it ran, `┄` while its report waited, `▸` where the report was delivered."""
    end = d.ended_s if d.ended_s is not None else whole
    a, b = int(d.started_s / whole * (width - 1)), int(end / whole * (width - 1))
    line = Text(" " * a)
    line.append("━" * max(1, b - a), style="cyan")
    if d.delivered_s is not None:
        c = int(d.delivered_s / whole * (width - 1))
        line.append("┄" * max(0, c - b), style="dim")
        line.append("▸", style="green")
    return line


def wall_clock(s: Summary, width: int) -> Table:
    """Where each agent's time went: the parts add up to the time it was at work. Its bar takes what is left."""
    bar = min(BAR, width - 84) if width >= 94 else 0
    table = _table("Wall-clock")
    table.add_column("agent", no_wrap=True)
    for name, style in PARTS.items():
        table.add_column(Text(name, style=style), justify="right", no_wrap=True)
    table.add_column("at work", justify="right", no_wrap=True)
    if bar:
        table.add_column("", width=bar, no_wrap=True)
    table.add_column("ended", no_wrap=True)
    longest = max((sum(_parts(a)) for a in s.agents), default=0.0) or 1.0
    for a in s.agents:
        parts = _parts(a)
        line = Text()
        for part, style in zip(parts, PARTS.values(), strict=True):
            line.append("▇" * round(part / longest * bar), style=style)
        numbers = [text.seconds(p) for p in (*parts, sum(parts))]
        table.add_row(a.name, *numbers, *([line] if bar else []), a.status or "running")
    return table


def _parts(a: AgentLine) -> tuple[float, float, float, float, float]:
    return a.model_s, a.tool_s, a.limited_s, a.idle_s, a.other_s


def notes(s: Summary) -> Text:
    """What a reader must not overlook."""
    lines = [*(f"warning: {w}" for w in s.warnings)]
    if s.rejected:
        lines.append(f"{text.plural(len(s.rejected), 'rejected call')}: {s.rejected[0]}")
    lines += [f"{a.name} failed: {a.fault}" for a in s.agents if a.fault]
    for f in s.findings:
        weight = "makes the run invalid" if f.severity == "invalid" else "look at it"
        lines.append(
            f"integrity ({weight}): {f.agent or 'the run'}: {f.why} [{f.kind}, event {f.seq}] {f.text}".strip()
        )
    if s.sandbox and s.sandbox.not_enforced:
        lines.append(f"not enforced by {s.sandbox.kind}: {', '.join(s.sandbox.not_enforced)}")
    return Text("\n".join(text.safe(line, 300) for line in lines), style="yellow")


def page(run_id: str, run: RunFile, s: Summary, width: int) -> Group:
    """The whole of `leadhand show`."""
    parts: list[RenderableType] = [header(run_id, run), Text(), outcome(s), Text(), ledger(s)]
    if s.selected is not None:
        parts += [Text(), choice(s)]
    if s.delegations:
        parts += [Text(), timeline(s, width)]
    parts += [Text(), wall_clock(s, width)]
    if note := notes(s):
        parts += [Text(), note]
    return Group(*parts)


def wide_console() -> Console:
    """Standard output: a terminal's own width, else 110 columns, for logs and pipes."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=110)


def print_json(value: object) -> None:
    """A value on standard output, as JSON."""
    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def print_page(run_id: str, run: RunFile, s: Summary) -> None:
    console = wide_console()
    console.print(page(run_id, run, s, console.width))
