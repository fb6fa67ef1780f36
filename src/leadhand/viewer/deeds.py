"""What agents did by commands: files written, runs of the reference, what the rules forbid; whom the run waited for.

The analysis' own fold and detector, behind the first reading: to look at every command takes longer than to draw them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from leadhand.analysis.detector import reference_paths
from leadhand.analysis.fold import Fold
from leadhand.analysis.measures import critical_path, detected_span
from leadhand.benchmarks.integrity import Finding
from leadhand.core.events import CommandEnded, Entry, SandboxStarted, ToolStarted
from leadhand.runs.spec import RunFile
from leadhand.viewer.judge import Judge

MOST_FILES = 200
"""Of one command."""
MOST_PATH = 300


class News(NamedTuple):
    """Of some entries: (command's start, agent, path) of writes, (command's start, agent) of runs of the reference,
    findings.
    """

    writes: list[tuple[int, str, str]]
    references: list[tuple[int, str]]
    found: tuple[Finding, ...]


class Deeds:
    """Folds entries in order, some at a time. Everything it knows is of the entries given so far."""

    def __init__(self, file: RunFile) -> None:
        self._judge = Judge(file.lock.task)
        self._fold = Fold(file.lock.prices, reference_paths(file.lock.task))
        self._workspaces: tuple[str, ...] = ("/workspace/",)
        self._open: dict[str, Entry] = {}
        self._state: dict[str, Any] | None = None

    @property
    def found(self) -> tuple[Finding, ...]:
        return self._judge.found

    def apply(self, entries: list[Entry]) -> News:
        """Raises `KeyError` and the like where a journal does not follow from what is before it."""
        self._fold.apply(entries)
        self._state = None
        news = News([], [], self._judge.look(entries))
        for entry in entries:
            match entry.event:
                case ToolStarted(tool="bash", call=call) if (made := self._fold.commands.get(call)) is not None:
                    self._open[call] = entry
                    news.writes.extend((entry.seq, entry.agent, p) for p in self._named(made.seen.sources))
                    if made.seen.reference:
                        news.references.append((entry.seq, entry.agent))
                case CommandEnded() as e if (started := self._open.pop(e.call, None)) is not None:
                    news.writes.extend((started.seq, started.agent, p) for p in self._named(e.changed))
                case SandboxStarted() as e:
                    self._workspaces = (f"{e.info.workspace.rstrip('/')}/", "/workspace/")
        return news

    def _named(self, paths: Iterable[str]) -> list[str]:
        """Paths as a reader knows them: relative to the workspace where they are in it."""
        return [self._short(p) for p in list(paths)[:MOST_FILES]]

    def _short(self, path: str) -> str:
        for workspace in self._workspaces:
            path = path.removeprefix(workspace)
        path = path.removeprefix("./")
        return path if len(path) <= MOST_PATH else f"{path[: MOST_PATH - 1]}…"

    def state(self) -> dict[str, Any]:
        """What is not append-only: `phases`, when source files were first and last written (milliseconds, -1 where
        they never were), and `path`, the critical path as (agent, from, to).
        """
        if self._state is None:
            span = detected_span(self._fold)
            self._state = {
                "phases": [-1 if at is None else round(at * 1000) for at in span],
                "path": [(s.agent, round(s.started * 1000), round(s.ended * 1000)) for s in critical_path(self._fold)],
            }
        return self._state
