"""Random teams under random trouble keep every invariant: faults, broken adapters, hung workers, stops and kills."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
from chaos import ChaosBuild, ChaosModel, ChaosSandbox
from hypothesis import example, given, settings
from hypothesis import strategies as st
from invariants import check
from kills import PRICES, Attempt, backends, break_off, kill, limits, nothing_again, quick, same_state, seeds

from leadhand.core.design import Design
from leadhand.testing.clock import run_virtual
from leadhand.testing.play import Played, play

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


def played(
    backend: str,
    design: Design,
    seed: int,
    folder: Path,
    stop: float | None = None,
    *,
    restarted: bool = False,
    room: float = float("inf"),
) -> Attempt:
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
        same_state(run)


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
        run = kill(Path(folder), cuts, lambda n: played(backend, design, seed, Path(folder), restarted=n > 1))
        check(run.entries, design, PRICES)


@settings(quick, max_examples=40)
@given(designs, seeds, backends, st.lists(st.floats(0, 1), max_size=2))
def test_a_narrow_window_and_kills(design: Design, seed: int, backend: str, cuts: list[float]) -> None:
    """Every agent outgrows its window, again and again, in all the other trouble there is."""
    wide = msgspec.structs.replace(design.limits, output_chars=5000, steps=30, delegation_s=300.0)
    narrow = msgspec.structs.replace(design, compaction="elide", budget_usd=None, limits=wide)
    room = 18_000.0
    with tempfile.TemporaryDirectory() as folder:

        def again(number: int) -> Attempt:
            return played(backend, narrow, seed, Path(folder), restarted=number > 1, room=room)

        run = kill(Path(folder), cuts, again)
        same_state(run)
        check(run.entries, narrow, PRICES)


@quick
@given(designs, seeds, backends, st.floats(0.5, 300))
def test_a_run_cancelled_from_outside_can_be_taken_up_again(
    design: Design, seed: int, backend: str, after: float
) -> None:
    with tempfile.TemporaryDirectory() as folder:

        async def work() -> None:
            model, sandbox = ChaosModel(seed, workers=design.cap), ChaosSandbox(seed)
            await play(
                model, design, Path(folder), sandbox=sandbox, prices=PRICES, try_work=ChaosBuild(seed), seed=seed
            )

        before = break_off(Path(folder), after, backend, work)
        run, model, sandbox = played(backend, design, seed, Path(folder), restarted=True)
        nothing_again(before, model, sandbox)
        check(run.entries, design, PRICES)
