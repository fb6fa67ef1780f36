"""Random teams under random trouble keep every invariant: faults, broken adapters, hung workers, stops and kills."""

from __future__ import annotations

import tempfile
from pathlib import Path

import anyio
import msgspec
from chaos import ChaosBuild, ChaosModel, ChaosSandbox
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from invariants import check
from watching import of_kind

from leadhand.core.design import Design
from leadhand.core.events import AttemptFailed, AttemptReplied, AttemptStarted, CommandEnded, Entry, ToolStarted
from leadhand.core.journal import read_journal
from leadhand.core.state import State, state_of
from leadhand.core.values import Limits, Price
from leadhand.testing.clock import run_virtual
from leadhand.testing.play import Played, play

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
designs = st.builds(
    Design,
    lead=st.just("m"),
    schedule=st.sampled_from(["blocking", "push", "notify", "pull"]),
    workers=st.sampled_from([None, 1, 3]),
    max_workers=st.sampled_from([1, 4, 20]),
    messaging=st.sampled_from(["off", "on", "plus"]),
    context=st.sampled_from(["brief", "fork"]),
    compaction=st.sampled_from(["off", "elide"]),
    at_finish=st.sampled_from(["wait", "wait", "cancel", "refuse"]),
    finish_check=st.booleans(),
    budget_usd=st.sampled_from([None, None, 0.0, 0.05, 0.4]),
    budget_visibility=st.sampled_from(["none", "own", "team"]),
    max_output_tokens=st.just(500),
    report_chars=st.sampled_from([200, 20_000]),
    merged_chars=st.sampled_from([300, 60_000]),
    retries=st.sampled_from([0, 2, 8]),
    limits=limits,
)
seeds = st.integers(0, 10**6)
backends = st.sampled_from(["asyncio", "asyncio", "asyncio", "trio"])


def played(
    backend: str,
    design: Design,
    seed: int,
    folder: Path,
    stop: float | None = None,
    *,
    restarted: bool = False,
    room: float = float("inf"),
) -> tuple[Played, ChaosModel, ChaosSandbox]:
    model, sandbox = ChaosModel(seed, workers=design.cap, room=room), ChaosSandbox(seed)

    async def run() -> Played:
        return await play(
            model,
            design,
            folder,
            sandbox=sandbox,
            prices=PRICES,
            try_work=ChaosBuild(seed),
            seed=seed,
            restarted=restarted,
            stop_after_s=stop,
        )

    return run_virtual(run, backend=backend), model, sandbox


@quick
@given(designs, seeds, backends)
def test_every_run_ends_and_its_journal_keeps_the_invariants(design: Design, seed: int, backend: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run, _, _ = played(backend, design, seed, Path(folder))
        check(run.entries, design, PRICES)
        # Nobody is left waiting for somebody: there is time for everything, so it never runs out.
        assert run.end.status != "out_of_time"
        same_state(run.state, state_of(run.entries, PRICES))


@quick
@given(designs, seeds, backends, st.floats(0, 300))
def test_a_stopped_run_is_wrapped_up(design: Design, seed: int, backend: str, after: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run, _, _ = played(backend, design, seed, Path(folder), after)
        check(run.entries, design, PRICES)


@quick
@given(designs, seeds, backends, st.floats(1, 300))
def test_a_run_out_of_time_is_wrapped_up(design: Design, seed: int, backend: str, run_s: float) -> None:
    short = msgspec.structs.replace(design, limits=msgspec.structs.replace(design.limits, run_s=run_s))
    with tempfile.TemporaryDirectory() as folder:
        run, _, _ = played(backend, short, seed, Path(folder))
        check(run.entries, short, PRICES)
        # A shielded adapter may hold the end up; nothing else may.
        assert run.entries[-1].mono <= run_s + 101


@settings(quick, max_examples=120)
@given(designs, seeds, backends, st.lists(st.floats(0, 1), min_size=1, max_size=3))
@example(Design(lead="m"), 0, "asyncio", [0.0])
def test_a_run_killed_anywhere_goes_on_where_it_was(design: Design, seed: int, backend: str, cuts: list[float]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal.jsonl"
        run, _, _ = played(backend, design, seed, Path(folder))
        bill = billed(run.entries)
        for number, cut in enumerate(cuts):
            data = journal.read_bytes()
            journal.write_bytes(data[: int(cut * len(data))])
            before = read_journal(journal)
            run, model, sandbox = played(backend, design, seed, Path(folder), restarted=number > 0)
            nothing_again(before, model, sandbox)
            same_state(run.state, state_of(run.entries, PRICES))
            # What was in flight at the kill may have been billed, though no answer was recorded.
            sent = {e.attempt for e in of_kind(before, AttemptStarted)}
            bill = {**billed(run.entries), **{a: usd for a, usd in bill.items() if a in sent}}
            settled, unknown = run.state.ledger.settled, run.state.ledger.unknown
            assert settled - 1e-9 <= sum(bill.values()) <= settled + unknown + 1e-9
        check(run.entries, design, PRICES)


@settings(quick, max_examples=40)
@given(designs, seeds, backends, st.lists(st.floats(0, 1), max_size=2))
def test_a_narrow_window_and_kills(design: Design, seed: int, backend: str, cuts: list[float]) -> None:
    """Every agent outgrows its window, again and again, in all the other trouble there is."""
    wide = msgspec.structs.replace(design.limits, output_chars=5000, steps=30, delegation_s=300.0)
    narrow = msgspec.structs.replace(design, compaction="elide", budget_usd=None, limits=wide)
    room = 18_000.0
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal.jsonl"
        run, _, _ = played(backend, narrow, seed, Path(folder), room=room)
        for number, cut in enumerate(cuts):
            data = journal.read_bytes()
            journal.write_bytes(data[: int(cut * len(data))])
            before = read_journal(journal)
            run, model, sandbox = played(backend, narrow, seed, Path(folder), restarted=number > 0, room=room)
            nothing_again(before, model, sandbox)
        same_state(run.state, state_of(run.entries, PRICES))
        check(run.entries, narrow, PRICES)


def billed(entries: list[Entry]) -> dict[int, float]:
    """What the provider charged for each attempt."""
    ends = (*of_kind(entries, AttemptReplied), *of_kind(entries, AttemptFailed))
    return {e.attempt: PRICES["m"].cost(e.usage) for e in ends if e.usage is not None}


@quick
@given(designs, seeds, backends, st.floats(0.5, 300))
def test_a_run_cancelled_from_outside_can_be_taken_up_again(
    design: Design, seed: int, backend: str, after: float
) -> None:
    with tempfile.TemporaryDirectory() as folder:

        async def broken_off() -> None:
            with anyio.move_on_after(after):
                model, sandbox = ChaosModel(seed, workers=design.cap), ChaosSandbox(seed)
                build = ChaosBuild(seed)
                await play(model, design, Path(folder), sandbox=sandbox, prices=PRICES, try_work=build, seed=seed)

        run_virtual(broken_off, backend=backend)
        before = read_journal(Path(folder) / "journal.jsonl")
        run, model, sandbox = played(backend, design, seed, Path(folder), restarted=True)
        nothing_again(before, model, sandbox)
        check(run.entries, design, PRICES)


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


def same_state(one: State, two: State) -> None:
    """What a run knows is what its journal says."""
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
