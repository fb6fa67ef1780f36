"""The `Engine` port: where runs are carried out. The driver decides what runs when, an engine only carries it out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from leadhand.core.events import Entry
from leadhand.runs.spec import RunFile
from leadhand.study.outcome import Outcome

Watch = Callable[[Entry], None]
"""Sees each entry of a run's journal, soon after it is written."""


class Job(NamedTuple):
    """One run to carry on from wherever its folder stands. `file` is what it is made from if there is none yet."""

    folder: Path
    file: RunFile
    watch: Watch


class Engine(Protocol):
    """Carries out many runs at once."""

    @property
    def slots(self) -> int:
        """How many sandboxes it can have open at once, now. A run that needs more of them has it to itself."""
        ...

    async def submit(self, job: Job) -> Outcome:
        """Carry the run to its end, and its journal, blobs and `run.json` into `job.folder`; what it came to.

        A run that was begun here is carried on. One that was begun elsewhere, or by a session that took its workspace
        along, comes back `unfinished` and untouched; one whose node is lost ends as `infrastructure`. Raises
        `LeadhandError` where this machine failed: the run is left to be resumed. Cancelled, it leaves a journal that
        tells what may have been billed.
        """
        ...

    async def aclose(self) -> None:
        """Release what the engine holds. Idempotent."""
        ...
