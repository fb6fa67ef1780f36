"""Whether a run that was begun can be taken up again from what its folder holds."""

from __future__ import annotations

from leadhand.core.events import Collected, Graded, RunEnded
from leadhand.core.journal import read_journal
from leadhand.runs.paths import RunPaths


def can_go_on(paths: RunPaths) -> bool:
    """A team needs its workspace, a grading its collected submission. Raises `JournalError`. Blocks."""
    entries = read_journal(paths.journal) if paths.journal.exists() else []
    if not entries:
        return True
    if not any(isinstance(e.event, RunEnded) for e in entries):
        return paths.workspace.is_dir()
    if any(isinstance(e.event, Graded) for e in entries):
        return True
    blobs = [e.event.blob for e in entries if isinstance(e.event, Collected)]
    return not blobs or paths.blob(blobs[-1]).exists()
