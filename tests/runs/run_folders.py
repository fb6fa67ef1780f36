"""Runs as the command line makes them, on a tiny task with a quick grader, in this process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from leadhand.core.design import Design
from leadhand.core.events import Entry
from leadhand.core.journal import read_journal
from leadhand.runs.paths import RunPaths

GRADER = """if [ "$(cat done)" = yes ]; then echo '{"reward": 1}'; else echo '{"reward": 0}'; fi"""
TEAM = Design(lead="scripted/run_teams:team", max_workers=1)

Make = Callable[..., RunPaths]
CarryOn = Callable[..., Awaitable[list[Entry]]]


def cut_after(paths: RunPaths, kind: type, *, nth: int = 1, agent: str | None = None) -> list[Entry]:
    """Cut the journal after the nth event of a kind, as if the harness had been killed there; what is left of it."""
    entries = read_journal(paths.journal)
    hits = [e.seq for e in entries if isinstance(e.event, kind) and agent in (None, e.agent)]
    lines = paths.journal.read_bytes().splitlines(keepends=True)[: hits[nth - 1] + 1]
    paths.journal.write_bytes(b"".join(lines))
    return entries[: len(lines)]


def kinds(entries: list[Entry]) -> list[str]:
    """The kinds of events, as they are called in the journal."""
    return [msgspec.to_builtins(e.event)["kind"] for e in entries]
