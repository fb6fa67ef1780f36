"""Runs as the command line makes them, on a tiny task with a quick grader, in this process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leadhand.benchmarks.folder import load_task
from leadhand.core.attempts import Unlimited
from leadhand.core.design import Design
from leadhand.core.events import Entry
from leadhand.core.journal import read_journal
from leadhand.runs import store
from leadhand.runs.execution import Execution, Observer
from leadhand.runs.paths import RunPaths
from leadhand.runs.plan import plan
from leadhand.runs.spec import Request

GRADER = """if [ "$(cat done)" = yes ]; then echo '{"reward": 1}'; else echo '{"reward": 0}'; fi"""
TEAM = Design(lead="scripted/run_teams:team", max_workers=1)

Make = Callable[..., RunPaths]
CarryOn = Callable[..., Awaitable[list[Entry]]]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A new run's folder; keywords go to the request."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    folder.joinpath("task.toml").write_text(f"prompt = 'Write yes into done.'\n[grader]\ncommand = '''{GRADER}'''\n")

    def make(design: Design = TEAM, **more: Any) -> RunPaths:
        request = Request(task=load_task(folder), design=design, **({"sandbox": "bwrap"} | more))
        return store.create(tmp_path / "runs", plan(request, {}))

    return make


@pytest.fixture
def carry_on() -> CarryOn:
    async def carry_on(paths: RunPaths, *observers: Observer) -> list[Entry]:
        return await Execution(paths, {}, observers=observers, limiter=Unlimited()).finish()

    return carry_on


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
