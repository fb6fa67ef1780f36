"""`leadhand study run`: prepare, lock, run, show; the first Ctrl-C lets running runs finish, the second interrupts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import anyio
import msgspec
from rich.console import Console

from leadhand import models
from leadhand.cli import study_live, study_looking
from leadhand.cli.steps import say_step
from leadhand.cli.stopping import INTERRUPTED, until_stopped
from leadhand.core.errors import UsageError
from leadhand.runs.preflight import ready_images
from leadhand.study import results
from leadhand.study.drive import End
from leadhand.study.engine import Engine
from leadhand.study.file import find_file
from leadhand.study.layout import StudyPaths
from leadhand.study.local import LocalEngine
from leadhand.study.prepare import Given, Prepared
from leadhand.study.session import Session, default_folder, only_driver

ENGINES = ("local", "ray")


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `leadhand study run`, as typed."""

    file: str
    folder: str = ""
    engine: str = "local"
    address: str = ""
    concurrency: int | None = None
    max_usd: str = ""
    base_url: tuple[str, ...] = ()
    sandbox: str = ""
    copy_to: str = ""
    accept_changes: bool = False


def run(o: Options, *, plain: bool, as_json: bool) -> int:
    """The exit code: 0 only where every run of the study is finished and graded."""
    if o.engine not in ENGINES:
        raise UsageError(f"no engine {o.engine!r}; there are {', '.join(ENGINES)}")
    if o.concurrency is not None and o.concurrency < 1:
        raise UsageError("--concurrency must be at least 1")
    keys = models.load_keys(Path.cwd())
    given = Given(budget_usd=o.max_usd, base_urls=_urls(o.base_url), sandbox=o.sandbox)
    prepared = Prepared(find_file(o.file), keys, given)
    if o.engine == "local":  # the nodes of a cluster see to their own
        ready_images(prepared.tasks.values(), prepared.sandbox[0], say_step)
    paths = StudyPaths(Path(o.folder or default_folder(prepared)).expanduser().absolute())
    out = study_live.console()
    with only_driver(paths):
        say = study_live.sayer(out, plain)
        session = Session(prepared, paths, accept_changes=o.accept_changes, say=say)
        slots = o.concurrency or prepared.file.concurrency
        engine = _engine(o, keys, slots, paths.folder)
        try:
            end = anyio.run(_shown, session, engine, out, plain)
        except BaseExceptionGroup as raised:
            raise _first(raised) from raised
    return _result(session, end, as_json=as_json)


def _engine(o: Options, keys: Mapping[str, str], slots: int, folder: Path) -> Engine:
    if o.engine == "local":
        engine: Engine = LocalEngine(keys, slots)
    else:
        from leadhand.study.cluster import open_cluster

        engine = open_cluster(keys, slots, address=o.address)
    if not o.copy_to:
        return engine
    from leadhand.study.copies import Copying

    copying = Copying(engine, o.copy_to)
    copying.whole(folder)
    return copying


def _urls(given: tuple[str, ...]) -> dict[str, str]:
    """`URL` for every model, or `MODEL=URL` for one."""
    urls: dict[str, str] = {}
    for one in given:
        name, equals, url = one.partition("=")
        urls |= {name: url} if equals and "://" not in name else {"*": one}
    return urls


def _first(raised: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error itself, out of the groups that it came through: one of ours is told in one line."""
    first = raised.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


async def _shown(session: Session, engine: Engine, out: Console, plain: bool) -> End | None:
    async def work() -> End:
        async with study_live.shown(session.board, session.record.name, out, plain):
            return await session.run(engine)

    def wrap_up() -> None:
        session.board.note = "no further run starts; the running ones finish (once more to interrupt them)"
        if study_live.is_plain(out, plain):
            out.print(session.board.note)
        session.stop()

    return await until_stopped(work, wrap_up)


def _result(session: Session, end: End | None, *, as_json: bool) -> int:
    rows = results.rows(session.record, session.outcomes)
    finished = len(session.record.runs) - len(session.unfinished())
    if as_json:
        study_looking.print_json(
            {
                "study": session.record.name,
                "folder": str(session.paths.folder),
                "end": end or "interrupted",
                "runs": len(session.record.runs),
                "finished": finished,
                "settled_usd": sum(o.settled_usd for o in session.outcomes.values()),
                "unknown_usd": sum(o.unknown_usd for o in session.outcomes.values()),
                "designs": rows,
            }
        )
    else:
        study_looking.print_results(session.record, rows, Console(highlight=False))
        print(f"\n{session.paths.folder}")
    why = {
        None: "interrupted; the same command goes on where it was",
        "stopped": "stopped; the same command goes on where it was",
        "out_of_budget": "the study's budget does not hold another run; --max-usd raises it",
        "failing": session.board.note,
        "finished": "" if not session.unfinished() else "some runs failed for good; `leadhand study status` lists them",
    }[end]
    if why:
        print(f"{finished} of {len(session.record.runs)} runs finished: {why}", file=sys.stderr)
    if end in (None, "stopped"):
        return INTERRUPTED
    return 1 if session.unfinished() else 0
