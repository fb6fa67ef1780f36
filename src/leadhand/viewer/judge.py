"""Integrity findings of a journal that is read in pieces, and may grow: the same as those of the whole."""

from __future__ import annotations

from leadhand.benchmarks.integrity import Finding, findings, is_invalid
from leadhand.core.events import AttemptReplied, CommandEnded, Entry, ToolStarted
from leadhand.core.values import Task

MOST = 200


class Judge:
    """Keeps the last reply of each agent, and commands that have not ended: what is needed to understand the rest."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._replied: dict[str, Entry] = {}
        self._open: dict[str, Entry] = {}
        self.found: tuple[Finding, ...] = ()

    @property
    def invalid(self) -> bool:
        return is_invalid(self.found)

    def look(self, entries: list[Entry]) -> tuple[Finding, ...]:
        """What is new among the findings, with these entries, which follow those before."""
        before = sorted((*self._replied.values(), *self._open.values()), key=lambda e: e.seq)
        found = findings([*before, *entries], self._task)[: max(0, MOST - len(self.found))]
        self.found += found
        for entry in entries:
            match entry.event:
                case AttemptReplied():
                    self._replied[entry.agent] = entry
                case ToolStarted(tool="bash", call=call):
                    self._open[call] = entry
                case CommandEnded(call=call):
                    self._open.pop(call, None)
        return found
