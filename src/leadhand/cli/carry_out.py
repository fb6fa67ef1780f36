"""The commands that run something: start, resume, demo, grade, dry run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import anyio
import msgspec
from rich.console import Console

from leadhand import models
from leadhand.analysis.summary import Summary, summarise
from leadhand.cli import live, text
from leadhand.cli import show as showing
from leadhand.cli.steps import say_step
from leadhand.cli.stopping import INTERRUPTED, until_stopped
from leadhand.core.errors import JournalError, LeadhandError
from leadhand.core.events import Entry, RunEnded
from leadhand.runs import store
from leadhand.runs.execution import Execution
from leadhand.runs.grading import regrade
from leadhand.runs.paths import RunPaths, find_run, runs_root
from leadhand.runs.plan import plan, preview
from leadhand.runs.preflight import check_servers, ready_images
from leadhand.runs.spec import Request, RunFile, read_run_file


def start(request: Request, runs: str, *, plain: bool, as_json: bool) -> int:
    """Resolve, make the folder, run; the exit code."""
    keys = models.load_keys(Path.cwd())
    run = plan(request, keys)
    if run.lock.design.budget_usd == 0 and any(p.input or p.output for p in run.lock.prices.values()):
        say_step("a budget of $0 buys no call")
    check_servers(request.base_urls)
    ready_images([run.lock.task], run.lock.sandbox, say_step)
    return _carry_on(store.create(runs_root(runs), run), keys, plain=plain, as_json=as_json)


def resume(name: str, runs: str, *, plain: bool, as_json: bool) -> int:
    paths = _free(find_run(name, runs_root(runs)))
    if not any(isinstance(e.event, RunEnded) for e in store.recorded(paths)):
        check_servers(read_run_file(paths.run_json).request.base_urls)
    return _carry_on(paths, models.load_keys(Path.cwd()), plain=plain, as_json=as_json)


def demo(runs: str, sandbox: str, *, plain: bool, as_json: bool) -> int:
    from leadhand.benchmarks import rehearsal
    from leadhand.benchmarks.folder import find_task
    from leadhand.core.design import Design

    Console(stderr=True, highlight=False).print(
        "[bold]A rehearsed team.[/] Its words were written beforehand: no model is called and nothing is billed.\n"
        "Sandbox, commands, concurrency, reports and grader are real; the lead's program is built from what its "
        "workers report.\n"
    )
    design = Design(
        lead="scripted/leadhand.benchmarks.rehearsal:rehearsal",
        workers=rehearsal.WORKERS,
        guidance="P",
        schedule="push",
        budget_usd=1.0,
    )
    request = Request(task=find_task(rehearsal.TASK), design=design, sandbox=sandbox)
    return start(request, runs, plain=plain, as_json=as_json)


def grade(name: str, runs: str, *, as_json: bool) -> int:
    paths = _free(find_run(name, runs_root(runs)))
    run = read_run_file(paths.run_json)
    with Console(stderr=True).status(f"grading {paths.id}"):
        entries = anyio.run(regrade, paths)
    return _result(paths, run, entries, as_json=as_json)


def dry_run(request: Request, *, as_json: bool) -> None:
    """Print the exact prompts and tools of each agent and the worst case in dollars."""
    keys = models.load_keys(Path.cwd())
    run = plan(request, keys, keyless=True)
    shown = preview(run)
    budget = run.lock.design.budget_usd
    if as_json:
        agents = [showing.preview_data(p) for p in shown]
        showing.print_json(
            {"digest": run.lock.digest, "agents": agents, "worst_case_usd": budget, "prices": run.lock.prices}
        )
        return
    console = Console(highlight=False)
    console.print(showing.header("dry run: nothing is started, nothing is spent", run))
    for p in shown:
        console.rule(f"{p.agent}: {p.model}", align="left")
        console.print(p.root.system, markup=False)
        for tool in p.root.tools:
            console.print(f"tool {tool.name}: {tool.description}", markup=False, style="cyan")
            console.print(msgspec.json.encode(tool.parameters).decode(), markup=False, style="dim")
        console.print("\nfirst message:", style="bold")
        console.print(p.first_message, markup=False)
    console.rule("money", align="left")
    for name, price in run.lock.prices.items():
        source = f" ({price.source})" if price.source else ""
        console.print(f"{name}: ${price.input:g} in, ${price.output:g} out per million tokens{source}", markup=False)
    worst = "no limit was set: there is no worst case" if budget is None else f"at most {text.dollars(budget)}"
    console.print(f"worst case: {worst}", style="bold")
    lacks = [models.missing_key(n, base_url=request.base_urls.get(n, ""), env=keys) for n in run.lock.design.models]
    for lack in dict.fromkeys(filter(None, lacks)):
        console.print(f"before it can run: {lack}", markup=False, style="yellow")


def _free(paths: RunPaths) -> RunPaths:
    """A run that nobody works on. Looked at beforehand for a clear word; what decides is the journal's lock."""
    if store.in_use(paths):
        raise JournalError(f"another process is working on run {paths.id}; wait for it, or stop it")
    return paths


def _carry_on(paths: RunPaths, keys: Mapping[str, str], *, plain: bool, as_json: bool) -> int:
    run = read_run_file(paths.run_json)
    display = live.display(paths.id, run, plain=plain)
    execution = Execution(paths, keys, observers=(display.see,), limiter=models.SharedLimiter())

    def wrap_up() -> None:
        Console(stderr=True).print("wrapping up; once more to stop at once", style="yellow")
        execution.stop()

    try:
        with display:
            entries = anyio.run(until_stopped, execution.finish, wrap_up)
    except LeadhandError as error:
        raise type(error)(f"{error} (run {paths.id}; `leadhand resume {paths.id}` carries it on)") from error
    if entries is None:
        print(f"stopped; `leadhand resume {paths.id}` carries it on", file=sys.stderr)
        return INTERRUPTED
    return _result(paths, run, entries, as_json=as_json)


def _result(paths: RunPaths, run: RunFile, entries: list[Entry], *, as_json: bool) -> int:
    s = summarise(entries, run.lock.prices, run.lock.task)
    if as_json:
        showing.print_json({"run": paths.id, "folder": str(paths.folder), "summary": s})
    else:
        showing.print_page(paths.id, run, s)
        if run.lock.repository is not None and paths.patch.exists():
            branch = f"branch leadhand/{paths.id}, diff {paths.patch}; `leadhand apply {paths.id}` merges it"
            print(f"\n{branch}")
        print(f"\n{paths.folder}")
    return exit_code(run, s)


def exit_code(run: RunFile, s: Summary) -> int:
    """0 only for a valid finished run, graded where it has a grader."""
    graded = run.lock.task.grader is None or s.reward is not None
    return 0 if s.status == "finished" and s.valid and graded else 1
