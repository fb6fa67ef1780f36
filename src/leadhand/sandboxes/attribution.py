"""Whose change it was: a command's own if it ran alone, else everybody's who ran at that time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from leadhand.sandboxes.changes import Changes


@dataclass(eq=False)
class Seen:
    """What changed while one command ran. Compared by identity."""

    alone: bool
    changed: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()


class Attribution:
    """Exact where commands do not overlap. What a background process changes is counted to the next command's
    `shared` if nothing ran at that time, else as if the running command had done it.
    """

    def __init__(self, changes: Changes | None) -> None:
        self._changes = changes
        self._running: list[Seen] = []

    @contextmanager
    def command(self, agent: str) -> Iterator[Seen]:
        seen = Seen(alone=not self._running)
        if self._changes is None:
            yield seen
            return
        if seen.alone:
            seen.shared = self._changes.take()  # nobody's: done in the background before
        for other in self._running:
            other.alone = False
        self._running.append(seen)
        try:
            yield seen
        finally:
            self._running.remove(seen)
            taken = self._changes.take()
            if seen.alone:
                seen.changed = taken
            else:
                for one in (seen, *self._running):
                    one.shared = tuple(sorted({*one.shared, *taken}))
