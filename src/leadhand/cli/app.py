"""The commands. Each imports what it needs when it is called, so that `leadhand --help` stays quick."""

from __future__ import annotations

from typing import Annotated

import typer

from leadhand.cli import advise, analyse, bench, money, study, view
from leadhand.cli.help import Grouped
from leadhand.cli.options import Json, RunName, Runs

app = typer.Typer(
    name="leadhand",
    cls=Grouped,
    help="Run teams of coding agents, and see what each team earns and costs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: rich's costs 0.25 s at every --help
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from leadhand import __version__

        typer.echo(f"leadhand {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    pass


@app.command()
def run(
    what: Annotated[str, typer.Argument(metavar="TASK|PROMPT", help="A task folder, a shipped task, or a prompt.")],
    repo: Annotated[str, typer.Option(help="Work on a copy of this git repository; ends in a branch and a diff.")] = "",
    lead: Annotated[str, typer.Option(help="The lead's model, PROVIDER/MODEL.")] = "",
    worker_model: Annotated[str, typer.Option(help="The workers' model (default: the lead's).")] = "",
    solo: Annotated[bool, typer.Option("--solo", help="One agent without a team.")] = False,
    workers: Annotated[int | None, typer.Option(help="A team of exactly so many workers, beside the lead.")] = None,
    max_workers: Annotated[int | None, typer.Option(help="The lead may start up to so many workers (5).")] = None,
    guidance: Annotated[str, typer.Option(help="minimal (default), or the stages to delegate: any of P, I, V.")] = "",
    schedule: Annotated[
        str, typer.Option(help="How reports come back: blocking, push (default), notify or pull.")
    ] = "",
    max_usd: Annotated[str, typer.Option(help="Budget in dollars (5), or `none` for no limit.")] = "",
    design: Annotated[str, typer.Option(help="A design as a TOML file; the other options override it.")] = "",
    setting: Annotated[
        list[str] | None, typer.Option("-s", metavar="KEY=VALUE", help="Any setting of the design. Repeatable.")
    ] = None,
    max_minutes: Annotated[float | None, typer.Option(help="Time limit (default 360).")] = None,
    sandbox: Annotated[str, typer.Option(help="auto, docker, bwrap, or local (no isolation).")] = "auto",
    network: Annotated[bool, typer.Option("--network", help="Give the agents the network.")] = False,
    setup: Annotated[str, typer.Option(help="Command to run before the agents, with the network.")] = "",
    base_url: Annotated[list[str] | None, typer.Option(help="Server to use: URL, or MODEL=URL. Repeatable.")] = None,
    price: Annotated[
        list[str] | None, typer.Option(help="MODEL=IN,OUT[,READ[,WRITE]] in $ per million tokens. Repeatable.")
    ] = None,
    wording: Annotated[str, typer.Option(help="Folder with prompt texts of your own.")] = "",
    auto: Annotated[bool, typer.Option("--auto", help="Let the advisor choose the design.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print prompts, tools, worst case; spend nothing.")
    ] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Plain lines instead of the live display.")] = False,
    json: Json = False,
    runs: Runs = "",
) -> None:
    """Run a team (or a solo agent) on a task, grade the result and show what it cost."""
    from leadhand.cli import carry_out
    from leadhand.cli.request import Options, request_of

    options = Options(
        what=what,
        repo=repo,
        lead=lead,
        worker_model=worker_model,
        solo=solo,
        workers=workers,
        max_workers=max_workers,
        guidance=guidance,
        schedule=schedule,
        max_usd=max_usd,
        design=design,
        settings=tuple(setting or ()),
        max_minutes=max_minutes,
        sandbox=sandbox,
        network=network,
        setup=setup,
        base_url=tuple(base_url or ()),
        price=tuple(price or ()),
        wording=wording,
        auto=auto,
    )
    request = request_of(options)
    if dry_run:
        carry_out.dry_run(request, as_json=json)
    else:
        raise typer.Exit(carry_out.start(request, runs, plain=plain, as_json=json))


@app.command()
def demo(
    plain: Annotated[bool, typer.Option("--plain", help="Plain lines instead of the live display.")] = False,
    sandbox: Annotated[str, typer.Option(help="auto, docker, bwrap, or local (no isolation).")] = "auto",
    json: Json = False,
    runs: Runs = "",
) -> None:
    """Watch a rehearsed team work: no key, no model; sandbox, commands, concurrency and grader are real."""
    from leadhand.cli import carry_out

    raise typer.Exit(carry_out.demo(runs, sandbox, plain=plain, as_json=json))


@app.command()
def resume(
    name: RunName,
    plain: Annotated[bool, typer.Option("--plain", help="Plain lines instead of the live display.")] = False,
    json: Json = False,
    runs: Runs = "",
) -> None:
    """Carry on a run that was interrupted, from wherever its journal stands."""
    from leadhand.cli import carry_out

    raise typer.Exit(carry_out.resume(name, runs, plain=plain, as_json=json))


@app.command()
def show(name: RunName = "last", json: Json = False, runs: Runs = "") -> None:
    """Show a run: outcome, ledger, delegations, where wall-clock went."""
    from leadhand.cli import looking

    looking.show(name, runs, as_json=json)


@app.command(name="runs")
def runs_(json: Json = False, runs: Runs = "") -> None:
    """List runs."""
    from leadhand.cli import looking

    looking.list_runs(runs, as_json=json)


@app.command()
def grade(
    what: Annotated[str, typer.Argument(metavar="RUN|STUDY", help="A run, or a study's folder; or a task, see below.")],
    missing: Annotated[bool, typer.Option("--missing", help="Of a study only the runs that have no grade.")] = False,
    untouched: Annotated[bool, typer.Option("--untouched", help="A task's grader on the task as it is given.")] = False,
    reference: Annotated[bool, typer.Option("--reference", help="A task's grader on its author's solution.")] = False,
    jobs: Annotated[int, typer.Option(help="Gradings at once (default: 2 of a benchmark, 1 of a study).")] = 0,
    sandbox: Annotated[str, typer.Option(help="With a task: auto, docker, or bwrap.")] = "auto",
    json: Json = False,
    runs: Runs = "",
) -> None:
    """Grade ended runs again, each in a fresh sandbox and without any agent.

    With --untouched or --reference it tries the grader of a task, a folder of tasks, or a whole benchmark.
    """
    from leadhand.cli import grading

    options = grading.Options(
        what=what,
        runs=runs,
        untouched=untouched,
        reference=reference,
        missing=missing,
        jobs=jobs,
        sandbox=sandbox,
    )
    raise typer.Exit(grading.grade(options, as_json=json))


@app.command()
def apply(name: RunName, runs: Runs = "") -> None:
    """Bring the work of a run on a repository into that repository."""
    from leadhand.cli import looking

    looking.apply(name, runs)


designs = typer.Typer(help="Look at designs.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(designs, name="design")


@designs.command(name="show")
def design_show(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A design as a TOML file.")],
    setting: Annotated[
        list[str] | None, typer.Option("-s", metavar="KEY=VALUE", help="Override a setting. Repeatable.")
    ] = None,
    json: Json = False,
) -> None:
    """Check a design; print all its settings, and the exact prompts and tools of each agent."""
    from leadhand.cli import looking

    looking.show_design(file, tuple(setting or ()), as_json=json)


@app.command()
def doctor(json: Json = False) -> None:
    """Say what this machine lacks, and the remedy for each thing."""
    from leadhand.cli import looking

    raise typer.Exit(looking.doctor(as_json=json))


@app.command()
def reap(
    everything: Annotated[bool, typer.Option("--all", help="Also what runs that can be resumed still need.")] = False,
    runs: Runs = "",
) -> None:
    """Remove what killed runs left behind: processes, containers, folders."""
    from leadhand.cli import looking

    looking.reap(runs, everything=everything)


money.register(app)
study.register(app)
view.register(app)
analyse.register(app)
advise.register(app)
bench.register(app)
