"""The commands that only look, and the small ones: show, runs, apply, doctor, reap."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from leadhand.analysis.summary import summarise
from leadhand.cli import show as showing
from leadhand.cli import text
from leadhand.core.design import MOST_WORKERS
from leadhand.core.errors import JournalError, UsageError
from leadhand.runs import store
from leadhand.runs.paths import RunPaths, all_runs, find_run, runs_root
from leadhand.runs.spec import read_run_file


def show(name: str, runs: str, *, as_json: bool) -> None:
    paths = find_run(name, runs_root(runs))
    run = read_run_file(paths.run_json)
    s = summarise(store.recorded(paths), run.lock.prices, run.lock.task)
    if as_json:
        showing.print_json({"run": paths.id, "digest": run.lock.digest, "task": run.lock.task.id, "summary": s})
    else:
        showing.print_page(paths.id, run, s)
        print(f"\n{paths.folder}")


def list_runs(runs: str, *, as_json: bool) -> None:
    root = runs_root(runs)
    rows = [_row(paths) for paths in all_runs(root)]
    if as_json:
        showing.print_json(rows)
        return
    console = Console(highlight=False)
    if not rows:
        console.print(f"no runs in {root}; `leadhand demo` makes one", markup=False)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for name in ("run", "task", "team", "status", "reward", "dollars", "time"):
        table.add_column(
            name,
            justify="right" if name in ("reward", "dollars", "time") else "left",
            no_wrap=name not in ("task", "team"),  # a narrow terminal breaks these, never what is copied or compared
        )
    for row in rows:
        table.add_row(*(text.safe(str(row[k])) for k in ("run", "task", "team", "status", "reward", "dollars", "time")))
    console.print(table)


def _row(paths: RunPaths) -> dict[str, str]:
    try:
        run = read_run_file(paths.run_json)
        s = summarise(store.recorded(paths), run.lock.prices, run.lock.task)
    except JournalError as error:
        return {"run": paths.id, "task": "", "team": "", "status": f"unreadable: {error}"} | dict.fromkeys(
            ("reward", "dollars", "time"), ""
        )
    return {
        "run": paths.id,
        "task": run.lock.task.id,
        "team": showing.short_team(run.lock.design),
        "status": s.status if s.status != "running" else "not ended",
        "reward": "" if s.reward is None else f"{s.reward:.3f}",
        "dollars": text.dollars(s.settled_usd) + ("?" if s.unknown_usd or s.reserved_usd else ""),
        "time": text.seconds(s.team_s),
    }


def show_design(file: str, settings: tuple[str, ...], *, as_json: bool) -> None:
    """All settings of a design, defaults included, then the exact prompts and tools of each agent.

    The whole is TOML that reads back as the same design: what is no setting is a comment.
    """
    from leadhand.cli.request import read_design_file
    from leadhand.runs.design_file import design_from_toml
    from leadhand.runs.design_text import design_to_toml
    from leadhand.runs.plan import preview_of

    design = design_from_toml(read_design_file(file), settings, name=file)
    agents = preview_of(design)
    if as_json:
        shown = [showing.preview_data(p) for p in agents]
        showing.print_json({"design": msgspec.structs.asdict(design), "agents": shown})
        return
    print(design_to_toml(design), end="")
    for p in agents:
        print(f"\n# --- {p.agent}: {p.model} ---")
        for line in showing.preview_text(p).splitlines():
            print(f"# {text.safe(line)}".rstrip())


def apply(name: str, runs: str) -> None:
    from leadhand.runs import repository

    paths = find_run(name, runs_root(runs))
    repo = read_run_file(paths.run_json).lock.repository
    if repo is None:
        raise UsageError(f"run {paths.id} was not made on a repository; its files are in {paths.workspace}")
    print(repository.apply(repo, paths.id, paths.patch))


def doctor(*, as_json: bool) -> int:
    """0 where the demo can run, 1 where something that it needs is missing."""
    from leadhand import models, sandboxes

    found = [*sandboxes.problems(), *models.problems(models.load_keys(Path.cwd())), *_tools()]
    usable = any(name in ("docker", "bwrap") and not remedy for name, _, remedy in found)
    if as_json:
        showing.print_json([dict(zip(("name", "state", "remedy"), line, strict=True)) for line in found])
        return 0 if usable else 1
    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("", "what", "state", "remedy"):
        table.add_column(name, overflow="fold")
    for name, state, remedy in found:
        table.add_row("[yellow]![/]" if remedy else "[green]✓[/]", name, text.safe(state), text.safe(remedy))
    console.print(table)
    advice = "ready: `leadhand demo` needs no key" if usable else "no sandbox works: see the remedies above"
    console.print(f"\n{advice}", style="bold")
    return 0 if usable else 1


def _tools() -> list[tuple[str, str, str]]:
    version = ".".join(map(str, sys.version_info[:3]))
    git = shutil.which("git")
    return [
        ("python", version, ""),
        ("git", "found" if git else "missing", "" if git else "install git; --repo needs it"),
    ]


def reap(runs: str, *, everything: bool) -> None:
    import anyio

    from leadhand import sandboxes

    found = all_runs(runs_root(runs))
    working = [p.id for p in found if store.in_use(p)]
    resumable = [] if everything else [p.id for p in found if p.id not in working and _can_be_resumed(p)]
    candidates = [f"{id}.s{i}" for id in (*working, *resumable) for i in range(1, MOST_WORKERS + 1)]
    gradings = [f"{id}.grading" for id in working]
    for line in anyio.run(sandboxes.reap, [*working, *gradings, *resumable, *candidates]):
        print(line)
    if working:
        print(f"spared {text.plural(len(working), 'run')} at work")
    if resumable:
        print(f"spared {text.plural(len(resumable), 'run')} that can be resumed; --all takes those too")


def _can_be_resumed(paths: RunPaths) -> bool:
    try:
        run = read_run_file(paths.run_json)
        return summarise(store.recorded(paths), run.lock.prices).status == "running"
    except JournalError:
        return paths.journal.exists()  # another version may still read it
