"""`leadhand advise`: what to run for this task and this money."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from leadhand.cli.options import Json, Runs
from leadhand.cli.text import plural

if TYPE_CHECKING:
    from leadhand.advisor.values import Advice, Question
    from leadhand.cli.request import Options
    from leadhand.core.design import Design
    from leadhand.core.values import Price


def register(app: typer.Typer) -> None:
    """Add `leadhand advise` to the program."""
    app.command()(advise)


def advise(
    like: Annotated[
        str, typer.Option(help="What your tasks are like: a benchmark (or NAME:TIER), a study, a task, a repository.")
    ] = "",
    max_usd: Annotated[float | None, typer.Option(help="At most so many dollars a task.")] = None,
    max_minutes: Annotated[float | None, typer.Option(help="At most so many minutes a task.")] = None,
    min_reward: Annotated[float | None, typer.Option(help="Reach this reward (0 to 1) as cheaply as possible.")] = None,
    models: Annotated[
        str, typer.Option(help="Models you can use, by commas: PROVIDER/MODEL[@EFFORT] (default: those with a key).")
    ] = "",
    worth: Annotated[
        float | None,
        typer.Option(help="Reward points that a doubling of the dollars has to bring (2; 0.5 with --max-usd)."),
    ] = None,
    price: Annotated[
        list[str] | None, typer.Option(help="MODEL=IN,OUT[,READ[,WRITE]] in $ per million tokens. Repeatable.")
    ] = None,
    past: Annotated[
        list[str] | None, typer.Option(help="Study or folder of runs to learn from (default: ./runs, ./studies/*).")
    ] = None,
    no_own: Annotated[bool, typer.Option("--no-own", help="Leave your own runs out.")] = False,
    study_file: Annotated[str, typer.Option(help="Where to write the next experiment.")] = "advised.toml",
    no_study: Annotated[bool, typer.Option("--no-study", help="Write no study file.")] = False,
    json: Json = False,
    runs: Runs = "",
) -> None:
    """Say which design to use for tasks like these and for this money, and on what evidence. Spends nothing."""
    from leadhand.advisor.values import Question
    from leadhand.cli.show import print_json

    question = Question(
        like=like,
        models=tuple(m.strip() for m in models.split(",") if m.strip()) or _models_with_key(),
        max_usd=max_usd,
        max_minutes=max_minutes,
        min_reward=min_reward,
        worth=None if worth is None else worth / 100,
    )
    advice = _advice(question, past or [], runs, no_own, _prices(price or []))
    written = "" if no_study else _write(advice, study_file)
    if json:
        print_json(advice)
    else:
        from leadhand.advisor.words import text_of

        typer.echo(text_of(advice, written), nl=False)


def advised_design(o: Options, default_usd: float) -> Design:
    """The design that `leadhand run --auto` takes: what `advise` says for these limits and the models at hand."""
    from leadhand.advisor.advise import design_of
    from leadhand.advisor.values import Question
    from leadhand.advisor.words import text_of
    from leadhand.core.errors import UsageError

    if o.design or o.solo or o.guidance or o.workers is not None or o.max_workers is not None:
        raise UsageError("--auto chooses the design: leave --design, --solo, --guidance and the team's size out")
    limited = o.max_usd not in ("", "none")
    question = Question(
        like=o.repo or o.what if o.repo or " " not in o.what.strip() else "",
        models=tuple(dict.fromkeys(m for m in (o.lead, o.worker_model) if m)) or _models_with_key(),
        max_usd=float(o.max_usd.removeprefix("$")) if limited else None,
        max_minutes=o.max_minutes,
    )
    advice = _advice(question, [], "", False, _prices(list(o.price)))
    typer.echo(text_of(advice, ""), err=True)
    return design_of(advice, default_usd)


def _advice(question: Question, past: list[str], runs: str, no_own: bool, prices: dict[str, Price]) -> Advice:
    from pathlib import Path

    from leadhand.advisor.own import default_folders, own_runs
    from leadhand.advisor.setting import check_question
    from leadhand.cli.steps import say_step
    from leadhand.core.errors import UsageError

    folders = [Path(p).expanduser().absolute() for p in past] or default_folders(runs)
    for folder in folders if past else []:
        if not folder.is_dir():
            raise UsageError(f"no folder {folder}; --past names a study or a folder of runs")
    own = [] if no_own else own_runs(folders)
    check_question(question, own, prices)
    say_step(f"reading published figures and {plural(len(own), 'run')} of yours")
    from leadhand.advisor.advise import advise as answer  # takes seconds: only once nothing is wrong

    return answer(question, own, prices)


def _prices(given: list[str]) -> dict[str, Price]:
    from leadhand.runs.pricing import price_list

    return price_list(given)


def _models_with_key() -> tuple[str, ...]:
    """Suggested models that have a key here and a known price."""
    from datetime import UTC, datetime
    from pathlib import Path

    from leadhand import models as room

    found = room.list_models(room.load_keys(Path.cwd()), datetime.now(UTC), {})
    return tuple(m.name for m in found if m.has_key and m.price is not None)


def _write(advice: Advice, file: str) -> str:
    """Write the next experiment, unless there is none or the file is somebody's own; where it was written."""
    from pathlib import Path

    from leadhand.advisor.next_study import MARK
    from leadhand.core.errors import UsageError

    if advice.experiment is None:
        return ""
    path = Path(file).expanduser()
    try:
        if path.exists() and not path.read_text("utf-8", errors="replace").startswith(MARK):
            raise UsageError(f"{file} is there and was not written by advise; give another with --study-file")
        path.write_text(advice.experiment.study, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}; give another with --study-file") from None
    return file
