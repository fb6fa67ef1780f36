"""Runs that are killed or broken off, and go on: what random teams and random peers have in common."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio
from chaos import ChaosModel, ChaosSandbox
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from watching import of_kind

from leadhand.core.events import AttemptFailed, AttemptReplied, AttemptStarted, CommandEnded, Entry, ToolStarted
from leadhand.core.journal import read_journal
from leadhand.core.state import state_of
from leadhand.core.values import Limits, Price
from leadhand.testing.clock import run_virtual
from leadhand.testing.play import Played

PRICES = {"m": Price(input=2.0, output=10.0, cache_read=0.2, cache_write_5m=2.5)}
quick = settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
limits = st.builds(
    Limits,
    steps=st.sampled_from([3, 8, 30]),
    command_s=st.sampled_from([10.0, 180.0]),
    delegation_s=st.sampled_from([20.0, 300.0]),
    run_s=st.just(1e6),
    output_chars=st.sampled_from([200, 5000]),
)
seeds = st.integers(0, 10**6)
backends = st.sampled_from(["asyncio", "asyncio", "asyncio", "trio"])

Attempt = tuple[Played, ChaosModel, ChaosSandbox]


def kill(folder: Path, cuts: Sequence[float], again: Callable[[int], Attempt]) -> Played:
    """Play once, then cut the journal at each share of its bytes and go on; `again(n)` is the n-th attempt."""
    journal = folder / "journal.jsonl"
    run, _, _ = again(0)
    bill = billed(run.entries)
    for number, cut in enumerate(cuts, 1):
        data = journal.read_bytes()
        journal.write_bytes(data[: int(cut * len(data))])
        before = read_journal(journal)
        run, model, sandbox = again(number)
        nothing_again(before, model, sandbox)
        same_state(run)
        # What was in flight at the kill may have been billed, though no answer was recorded.
        sent = {e.attempt for e in of_kind(before, AttemptStarted)}
        bill = {**billed(run.entries), **{a: usd for a, usd in bill.items() if a in sent}}
        settled, unknown = run.state.ledger.settled, run.state.ledger.unknown
        assert settled - 1e-9 <= sum(bill.values()) <= settled + unknown + 1e-9
    return run


def break_off(folder: Path, after: float, backend: str, work: Callable[[], Awaitable[object]]) -> list[Entry]:
    """Cancel it from outside after so many seconds; what was recorded by then."""

    async def broken_off() -> None:
        with anyio.move_on_after(after):
            await work()

    run_virtual(broken_off, backend=backend)
    return read_journal(folder / "journal.jsonl")


def billed(entries: list[Entry]) -> dict[int, float]:
    """What the provider charged for each attempt."""
    ends = (*of_kind(entries, AttemptReplied), *of_kind(entries, AttemptFailed))
    return {e.attempt: PRICES["m"].cost(e.usage) for e in ends if e.usage is not None}


def nothing_again(before: list[Entry], model: ChaosModel, sandbox: ChaosSandbox) -> None:
    """After a resume: no recorded reply was asked for again, no command that had begun was run again."""
    replied = {(e.agent, e.event.message.parent) for e in before if isinstance(e.event, AttemptReplied)}
    assert not replied & set(model.asked)
    began = {e.call for e in of_kind(before, ToolStarted) if e.tool == "bash"}
    began |= {e.call for e in of_kind(before, CommandEnded)}
    turns = {call_key(agent, command) for agent, command in sandbox.commands}
    assert not began & turns


def call_key(agent: str, command: str) -> str:
    """The key of the call that ran a command: chaos writes agent, turn and index into each."""
    _, turn, index = command.split()
    return f"{agent}.{int(turn) + 1}.{index}"


def same_state(run: Played) -> None:
    """What a run knows is what its journal says."""
    one, two = run.state, state_of(run.entries, PRICES)
    assert one.delegations == two.delegations
    assert one.mail == two.mail
    assert one.finished_order == two.finished_order
    assert one.ledger.agents == two.ledger.agents
    assert one.active_s == two.active_s
    assert (one.checks, one.failed_checks) == (two.checks, two.failed_checks)
    for name, agent in one.agents.items():
        other = two.agents[name]
        assert agent.conversation.messages == other.conversation.messages
        assert agent.conversation.size == other.conversation.size
        for part in ("steps", "ended", "started", "results", "checking", "checked"):
            assert getattr(agent, part) == getattr(other, part)
