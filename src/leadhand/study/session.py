"""One session of a study: the folder is locked, read, carried on and left so that the next session goes on from it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from leadhand.core.errors import UsageError
from leadhand.study import layout, state
from leadhand.study.board import Board
from leadhand.study.drive import Drive, End
from leadhand.study.engine import Engine
from leadhand.study.garbage import seldom_collected
from leadhand.study.layout import StudyPaths
from leadhand.study.prepare import Prepared, open_study
from leadhand.study.purse import Purse


@contextmanager
def only_driver(paths: StudyPaths) -> Iterator[None]:
    """Hold the study: two drivers would spend its money twice. The lock dies with the process."""
    try:
        paths.folder.mkdir(parents=True, exist_ok=True)
        fd = os.open(paths.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise UsageError(f"cannot write in {paths.folder}: {error.strerror}") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise UsageError(f"{paths.folder} is in use: another process is running this study") from None
    try:
        yield
    finally:
        os.close(fd)


class Session:
    """Opened inside `only_driver`. `board` is there before anything starts, for a display."""

    def __init__(
        self,
        prepared: Prepared,
        paths: StudyPaths,
        *,
        accept_changes: bool = False,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Raises `UsageError` (the folder is another study's) and `JournalError` (money that cannot be counted)."""
        self.paths = paths
        self.record = open_study(prepared, paths, accept_changes=accept_changes)
        self.outcomes = state.scan(paths)
        self.purse = Purse(prepared.budget_usd, {name: o.usd for name, o in self.outcomes.items()})
        self.board = Board(self.record.runs, self.purse, anyio.current_time, say)
        self._prepared = prepared
        self._drive: Drive | None = None

    async def run(self, engine: Engine) -> End:
        """Carry the study on until nothing is left to do, the money is spent, or `stop`."""
        self._drive = Drive(self._prepared, self.paths, self.record, engine, self.board, self.purse)
        try:
            async with seldom_collected():
                return await self._drive.run(self.outcomes)
        finally:
            with anyio.CancelScope(shield=True):
                await engine.aclose()
                self.outcomes = await anyio.to_thread.run_sync(state.scan, self.paths)

    def unfinished(self) -> list[str]:
        """Runs that are not done, as the folders say."""
        return [
            r.run
            for r in self.record.runs
            if not state.done(self.outcomes.get(r.run), graded=self._prepared.tasks[r.task].grader is not None)
        ]

    def stop(self) -> None:
        if self._drive is not None:
            self._drive.stop()


def default_folder(prepared: Prepared) -> Path:
    """Where a study goes if nobody says: `studies/<name>` below the current folder."""
    return Path("studies") / prepared.file.name


def open_folder(name: str) -> tuple[StudyPaths, layout.StudyRecord]:
    """A study by its folder, or by its name below `studies/`. Raises `UsageError`."""
    for folder in (Path(name).expanduser(), Path("studies") / name):
        if (folder / "study.json").exists():
            paths = StudyPaths(folder.absolute())
            return paths, layout.read_record(paths)
    raise UsageError(f"no study {name!r}: give a folder that holds a study.json; `leadhand study run` makes one")
