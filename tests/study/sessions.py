"""One session of a study in this process, and the checks that hold for every study folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from leadhand.core.journal import read_journal
from leadhand.study import state
from leadhand.study.drive import End
from leadhand.study.engine import Engine
from leadhand.study.layout import StudyPaths, attempt_of, read_record
from leadhand.study.local import LocalEngine
from leadhand.study.outcome import Outcome
from leadhand.study.prepare import Given, Prepared
from leadhand.study.session import Session, only_driver


async def run_study(
    file: Path,
    paths: StudyPaths,
    *,
    engine: Engine | None = None,
    watch: Callable[[Session], None] = lambda session: None,
    **given: object,
) -> tuple[End, Session]:
    """Run a study to the end of a session; `given` goes to `Given`."""
    accept = bool(given.pop("accept_changes", False))
    prepared = Prepared(file, {}, Given(**given))  # type: ignore[arg-type]
    with only_driver(paths):
        session = Session(prepared, paths, accept_changes=accept)
        watch(session)
        end = await session.run(engine or LocalEngine({}, prepared.file.concurrency))
    return end, session


def outcomes(paths: StudyPaths) -> dict[str, Outcome]:
    """From the journals alone."""
    paths.outcomes.unlink(missing_ok=True)
    return state.scan(paths)


def settled(paths: StudyPaths) -> float:
    return sum(o.settled_usd for o in outcomes(paths).values())


def unknown(paths: StudyPaths) -> float:
    return sum(o.unknown_usd for o in outcomes(paths).values())


def assert_whole(paths: StudyPaths) -> None:
    """Every planned run is there once, ended and graded; every journal is dense; nothing else is in `runs/`."""
    record = read_record(paths)
    found = outcomes(paths)
    for run in record.runs:
        assert found[run.run].status == "finished", (run.run, found[run.run])
        assert found[run.run].reward is not None
        assert len(read_journal(paths.run(run.run).journal)) > 0  # raises where it is not dense
    assert {attempt_of(name)[0] for name in found} == {r.run for r in record.runs}
    assert len({r.run for r in record.runs}) == len(record.runs)


def rewards(paths: StudyPaths) -> dict[tuple[str, str, int], float | None]:
    record, found = read_record(paths), outcomes(paths)
    return {(r.design, r.task, r.repeat): found[r.run].reward for r in record.runs}
