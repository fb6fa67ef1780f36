"""Play a scripted team without sandbox or provider: design and scripts in, journal out. Works on a virtual clock."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

import anyio

from leadhand.core.attempts import Unlimited
from leadhand.core.design import Design, check
from leadhand.core.events import AttemptFailed, Entry, RunStarted
from leadhand.core.harness import End, Harness, Prompts
from leadhand.core.journal import Journal, read_journal
from leadhand.core.ports import Limiter, Model, Sandbox
from leadhand.core.state import State
from leadhand.core.team import Team
from leadhand.core.values import FREE, Price
from leadhand.testing.sandbox import MemorySandbox
from leadhand.testing.scripted import Script, ScriptedModel

PROMPTS = Prompts(
    lead="You lead.", worker="You work.", assignment="You are {worker}. {conventions}{assignment}", task="The task."
)


class Played(NamedTuple):
    """A played run: how it ended, its journal, and the state that is the journal's fold."""

    end: End
    entries: list[Entry]
    state: State
    model: Model


async def play(
    scripts: Mapping[str, Script] | Model,
    design: Design,
    folder: Path,
    *,
    sandbox: Sandbox | None = None,
    prices: Mapping[str, Price] | None = None,
    limiter: Limiter | None = None,
    prompts: Prompts = PROMPTS,
    seed: int = 0,
) -> Played:
    """Run (or, where `folder` already holds a journal, resume) a team to its end."""
    check(design)
    model: Model = ScriptedModel(scripts) if isinstance(scripts, Mapping) else scripts
    path = folder / "journal.jsonl"
    journal = Journal(path, anyio.current_time)
    try:
        state = State(dict.fromkeys(design.models, FREE) if prices is None else prices)
        for entry in journal.open_session("test"):
            state.apply(entry)
        journal.subscribe(state.apply)
        harness = Harness(
            journal=journal,
            state=state,
            design=design,
            prompts=prompts,
            models=dict.fromkeys(design.models, model),
            sandbox=sandbox or MemorySandbox(),
            limiter=limiter or Unlimited(),
            cache_key="test",
            random=Random(seed),
        )
        if journal.seq == 0:
            journal.append("", RunStarted(digest="test", version="test"))
        settle_cut(harness)
        end = await Team(harness).run()
    finally:
        journal.close()
    return Played(end, read_journal(path), state, model)


def settle_cut(harness: Harness) -> None:
    """Record what a killed session left in flight: those attempts may have been billed."""
    for attempt, held in list(harness.state.ledger.open.items()):
        harness.record(held.agent, AttemptFailed(attempt=attempt, fault="cut", error="killed", maybe_billed=True))
