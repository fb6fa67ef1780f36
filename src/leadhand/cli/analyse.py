"""`analyse`, `report`, `export`, `compare`: looking at many runs. Everything heavy is imported when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from leadhand.report.evidence import Evidence

What = Annotated[Path, typer.Argument(metavar="STUDY|RUNS|FILE.csv", help="A study, a folder of runs, or a CSV.")]
Paper = Annotated[bool, typer.Option("--paper", help="1.96 standard errors, as the paper, instead of Student's t.")]
Tasks = Annotated[Path | None, typer.Option(help="CSV of the benchmark's tasks (task, difficulty, repository).")]
Zero = Annotated[bool, typer.Option("--missing-zero", help="A task without a reward counts as 0 (leaderboard rule).")]
Columns = Annotated[list[str] | None, typer.Option("--column", help="WHAT=NAME of a CSV column, e.g. design=team.")]
Degraded = Annotated[bool, typer.Option("--with-degraded", help="Count runs in which an agent died of a fault.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the main app."""
    for command in (analyse, report, export, compare):
        app.command()(command)


def analyse(
    what: What,
    base: Annotated[str, typer.Option(help="Compare every design with this one.")] = "",
    design: Annotated[list[str] | None, typer.Option(help="Only these designs. Repeatable.")] = None,
    paper: Paper = False,
    tasks: Tasks = None,
    missing_zero: Zero = False,
    column: Columns = None,
    with_degraded: Degraded = False,
    margin: Annotated[float, typer.Option(help="With --base: points of reward that a cheaper design may lose.")] = 1.4,
    saving: Annotated[
        float | None, typer.Option(help="With --base: test this saving (percent) as non-inferior.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
) -> None:
    """Means, paired differences, frontier and run-to-run variation of a study or a CSV of results."""
    evidence = _load(what, paper, tasks, missing_zero, column, with_degraded)
    from leadhand.report import summary

    text = summary.as_json if json else summary.as_text
    typer.echo(text(evidence, base=base, designs=tuple(design or ()), margin=margin / 100, saving=saving), nl=False)


def report(
    what: What,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write to (default: STUDY/report, or FILE-report).")
    ] = None,
    paper: Paper = False,
    tasks: Tasks = None,
    missing_zero: Zero = False,
    column: Columns = None,
    with_degraded: Degraded = False,
) -> None:
    """One HTML page that explains a study, with a folder of every figure and table."""
    evidence = _load(what, paper, tasks, missing_zero, column, with_degraded)
    from leadhand.cli.steps import say_step
    from leadhand.report.write import write_report

    folder = out or (what / "report" if what.is_dir() else what.with_name(f"{what.stem}-report"))
    written = write_report(evidence, folder, say_step)
    typer.echo(f"{written.page}: {written.exhibits} figures and tables")
    for absent in written.absent:
        typer.echo(f"  not shown: {absent.title} (needs {absent.needs})")


def export(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run: its folder, its id or the beginning of it, or `last`.")
    ],
    atif: Annotated[bool, typer.Option("--atif", help="Harbor's Agent Trajectory Interchange Format.")] = False,
    traj: Annotated[bool, typer.Option("--traj", help="mini-swe-agent's trajectory of the lead (.traj.json).")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write (default: standard output).")] = None,
    runs: Annotated[
        str, typer.Option("--runs", help="Folder that holds runs (default: $LEADHAND_RUNS, else ./runs).")
    ] = "",
) -> None:
    """A run in another tool's format."""
    from leadhand.analysis.exchange import export as exchange
    from leadhand.core.errors import UsageError
    from leadhand.runs.paths import find_run, runs_root

    if atif == traj:
        raise UsageError("say which format: --atif or --traj")
    data = exchange.encoded(find_run(run, runs_root(runs)), "atif" if atif else "traj")
    if out is None:
        typer.echo(data.decode(), nl=False)
    else:
        out.write_bytes(data)


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A run, a trajectory (.traj.json or ATIF), a study, or a CSV.")],
    b: Annotated[str, typer.Argument(metavar="B", help="What to compare it with, of the same kind.")],
    runs: Annotated[
        str, typer.Option("--runs", help="Folder that holds runs (default: $LEADHAND_RUNS, else ./runs).")
    ] = "",
    paper: Paper = False,
) -> None:
    """Two runs or trajectories side by side; two studies or CSVs paired over their common tasks."""
    from leadhand.cli.steps import say_step
    from leadhand.core.errors import UsageError
    from leadhand.runs.paths import find_run, runs_root

    found = [Path(x) if Path(x).exists() else find_run(x, runs_root(runs)).folder for x in (a, b)]
    if found[0].resolve() == found[1].resolve():
        raise UsageError(f"{a} and {b} are both {found[0]}: name two")
    say_step(f"reading {a} and {b}")
    from leadhand.report import beside  # takes seconds: only once both are there

    typer.echo(beside.compared(a, b, runs=runs, method="paper" if paper else "t"), nl=False)


def _load(
    what: Path, paper: bool, tasks: Path | None, missing_zero: bool, column: list[str] | None, with_degraded: bool
) -> Evidence:
    from leadhand.analysis.study import check_many
    from leadhand.cli.steps import say_step
    from leadhand.core.errors import UsageError

    names = {}
    for pair in column or ():
        key, equals, name = pair.partition("=")
        if not equals:
            raise UsageError(f"--column {pair!r} is not WHAT=NAME")
        names[key] = name
    check_many(what)
    say_step(f"reading {what}")
    from leadhand.report.load import load  # takes seconds: only once nothing is wrong

    return load(
        what,
        method="paper" if paper else "t",
        tasks=tasks,
        missing="zero" if missing_zero else "omit",
        names=names,
        with_degraded=with_degraded,
    )
