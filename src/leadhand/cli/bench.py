"""`leadhand bench ...` and `leadhand task ...`: benchmarks listed and prepared, tasks shown and made."""

from __future__ import annotations

from typing import Annotated

import typer

from leadhand.cli.options import Runs

bench = typer.Typer(
    name="bench",
    help="Benchmarks: what there is, what is prepared on this machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
task = typer.Typer(name="task", help="Tasks of your own.", no_args_is_help=True, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add `leadhand bench` and `leadhand task` to the main app."""
    app.add_typer(bench)
    app.add_typer(task)


@bench.command("list")
def list_(
    name: Annotated[
        str, typer.Argument(metavar="[BENCHMARK|FOLDER]", help="Show its tasks (default: all benchmarks).")
    ] = "",
    language: Annotated[str, typer.Option(help="Only tasks in this language.")] = "",
    difficulty: Annotated[str, typer.Option(help="Only tasks with this label; `none` for those without one.")] = "",
    match: Annotated[str, typer.Option(help="Only tasks whose id has this in it.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
) -> None:
    """List benchmarks, or a benchmark's tasks."""
    from leadhand.cli import bench_looking

    bench_looking.show_list(name, language=language, difficulty=difficulty, match=match, as_json=json)


@bench.command()
def prepare(
    name: Annotated[
        str,
        typer.Argument(
            metavar="WHAT", help="commit0-lite, commit0/NAME, programbench/ID, a task folder, or one that holds tasks."
        ),
    ],
    source: Annotated[str, typer.Option(help="Trees from git, pypi, or auto (git where it can be reached).")] = "auto",
    again: Annotated[bool, typer.Option("--again", help="Prepare anew what is prepared.")] = False,
) -> None:
    """Download and install what tasks need. Cached; may be interrupted, and then goes on where it was."""
    from leadhand.cli import bench_looking

    bench_looking.prepare(name, source=source, again=again)


@bench.command()
def export(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Runs: folders, ids, or their beginnings.")],
    to: Annotated[str, typer.Option(help="The folder for `programbench eval` and `programbench submit`.")],
    where: Runs = "",
) -> None:
    """Write runs as ProgramBench's own commands take them: TO/TASK/submission.tar.gz and its trajectory."""
    from leadhand.cli import bench_looking

    bench_looking.export(runs, to=to, where=where)


@bench.command()
def show(name: Annotated[str, typer.Argument(metavar="BENCHMARK/ID|TASK", help="A task.")]) -> None:
    """Show one task: what the team is asked, what it is given, how it is graded."""
    from leadhand.cli import bench_looking

    bench_looking.show(name)


@task.command("from-program")
def from_program(
    program: Annotated[
        str,
        typer.Argument(metavar="PROGRAM", help="A compiled program (ELF, no script) whose behaviour is to be rebuilt."),
    ],
    arguments: Annotated[
        str, typer.Argument(metavar="CASES", help="Cases: JSON lines, or a text file with one command line a line.")
    ],
    to: Annotated[str, typer.Option(help="The task folder to be made.")],
    docs: Annotated[str, typer.Option(help="A folder of documents that the team starts with.")] = "",
    gold: Annotated[str, typer.Option(help="A folder with a compile.sh that builds the same program.")] = "",
    branches: Annotated[int, typer.Option(help="Into how many parts the cases are split.")] = 1,
) -> None:
    """Make a task from a program: record its answers, leave out cases that say nothing, prove the gold score."""
    from leadhand.cli import bench_looking

    bench_looking.from_program(program, arguments, to=to, docs=docs, gold=gold, branches=branches)


@task.command("to-programbench")
def to_programbench(
    name: Annotated[str, typer.Argument(metavar="TASK", help="A task that is graded by cases.")],
    to: Annotated[str, typer.Option(help="The folder for tasks/ and blobs/; tasks that are there stay.")],
    branches: Annotated[int, typer.Option(help="At most so many branches, one for each area of cases.")] = 22,
) -> None:
    """Write a task in ProgramBench's form, for its own evaluator."""
    from leadhand.cli import bench_looking

    bench_looking.to_programbench(name, to=to, branches=branches)
