"""`leadhand study ...`: plan, run, look at and export a study. Each command imports what it needs when it is called."""

from __future__ import annotations

from typing import Annotated

import typer

from leadhand.cli.options import Json

File = Annotated[str, typer.Argument(metavar="FILE", help="A study file (TOML), or the name of a shipped one.")]
Study = Annotated[str, typer.Argument(metavar="STUDY", help="A study's folder, or its name below ./studies.")]

study = typer.Typer(
    name="study",
    help="A grid of team designs over many tasks: one file, one command, resumable.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def register(app: typer.Typer) -> None:
    """Add `leadhand study` to the main app."""
    app.add_typer(study)


@study.command()
def plan(
    file: File,
    past: Annotated[
        list[str] | None, typer.Option(help="Folder with past runs to learn costs from: a study or ./runs. Repeatable.")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(help="Sandboxes at once, one a run, k a best-of-k (default: the file's).")
    ] = None,
    max_usd: Annotated[str, typer.Option(help="Budget of the whole study, or `none` (default: the file's).")] = "",
    json: Json = False,
) -> None:
    """Say what a study will cost, how long it takes and what it can tell apart. Spends nothing."""
    from leadhand.cli import study_plan

    study_plan.plan(file, past or [], concurrency, max_usd, as_json=json)


@study.command()
def run(
    file: File,
    folder: Annotated[str, typer.Option(help="Where the study goes (default: studies/NAME).")] = "",
    engine: Annotated[str, typer.Option(help="local, or ray (a cluster; needs leadhand[ray]).")] = "local",
    address: Annotated[str, typer.Option(help="ray: the cluster's address (default: one on this machine).")] = "",
    concurrency: Annotated[
        int | None, typer.Option(help="Sandboxes at once, one a run, k a best-of-k (default: the file's).")
    ] = None,
    max_usd: Annotated[str, typer.Option(help="Budget of the whole study, or `none` (default: the file's).")] = "",
    base_url: Annotated[list[str] | None, typer.Option(help="Server to use: URL, or MODEL=URL. Repeatable.")] = None,
    sandbox: Annotated[str, typer.Option(help="docker, bwrap or local (default: the file's).")] = "",
    copy_to: Annotated[str, typer.Option(help="Copy each finished run to this fsspec URL as well.")] = "",
    accept_changes: Annotated[
        bool, typer.Option("--accept-changes", help="Go on though the file no longer asks for some of the runs.")
    ] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Plain lines instead of the live display.")] = False,
    json: Json = False,
) -> None:
    """Run a study to its end. The same command again goes on where it was."""
    from leadhand.cli import study_run

    options = study_run.Options(
        file=file,
        folder=folder,
        engine=engine,
        address=address,
        concurrency=concurrency,
        max_usd=max_usd,
        base_url=tuple(base_url or ()),
        sandbox=sandbox,
        copy_to=copy_to,
        accept_changes=accept_changes,
    )
    raise typer.Exit(study_run.run(options, plain=plain, as_json=json))


@study.command()
def status(name: Study, json: Json = False) -> None:
    """How far a study is, what it has spent, what failed."""
    from leadhand.cli import study_looking

    study_looking.status(name, as_json=json)


@study.command()
def results(
    name: Study,
    with_degraded: Annotated[bool, typer.Option("--with-degraded", help="Count degraded runs too.")] = False,
    json: Json = False,
) -> None:
    """Reward, cost and lift over solo of each design."""
    from leadhand.cli import study_looking

    study_looking.results(name, with_degraded=with_degraded, as_json=json)


@study.command()
def export(
    name: Study,
    to: Annotated[str, typer.Option(help="CSV file to write (default: standard output).")] = "",
) -> None:
    """One row per run as tidy CSV."""
    from leadhand.cli import study_looking

    study_looking.export(name, to)
