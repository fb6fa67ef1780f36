"""Play a scripted team without sandbox or provider: design and scripts in, journal out. Works on a virtual clock."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

import anyio

from leadhand.core.attempts import Unlimited
from leadhand.core.design import Design, check
from leadhand.core.events import Entry, RunStarted
from leadhand.core.harness import End, Harness, Prompts
from leadhand.core.journal import Journal, read_journal
from leadhand.core.peers import Peers
from leadhand.core.ports import Limiter, Model, Sandbox, TryWork
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
    try_work: TryWork | None = None,
    prompts: Prompts = PROMPTS,
    seed: int = 0,
    restarted: bool = False,
    stop_after_s: float | None = None,
) -> Played:
    """Run (or, where `folder` already holds a journal, resume) a team to its end.

    A resumed run gets the sandbox and the model that it is given: hand in the same objects to go on with them.
    `restarted`: agents are told that the processes they had started are gone; `stop_after_s`: the user stops the
    run then (0: before it begins).
    """
    check(design)
    model: Model = ScriptedModel(scripts) if isinstance(scripts, Mapping) else scripts
    path = folder / "journal.jsonl"
    journal = Journal(path, anyio.current_time)
    try:
        state = State(dict.fromkeys(design.models, FREE) if prices is None else prices)
        recorded = journal.open_session("test")
        for entry in recorded:
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
            try_work=try_work if design.finish_check else None,
        )
        if not any(isinstance(e.event, RunStarted) for e in recorded):
            journal.append("", RunStarted(digest="test", version="test"))
        strategy = Peers if design.strategy == "peers" else Team
        end = await _run(strategy(harness, restarted=restarted), stop_after_s)
    finally:
        journal.close()
    return Played(end, read_journal(path), state, model)


async def _run(team: Team | Peers, stop_after_s: float | None) -> End:
    if stop_after_s == 0:
        team.stop()
    if not stop_after_s:
        return await team.run()

    async def stop() -> None:
        await anyio.sleep(stop_after_s)
        team.stop()

    async with anyio.create_task_group() as group:
        group.start_soon(stop)
        end = await team.run()
        group.cancel_scope.cancel()
    return end
