"""A run carried on from wherever its journal was cut."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable

import anyio
import pytest
from run_folders import TEAM, CarryOn, Make, cut_after, kinds

from leadhand.core.attempts import Unlimited
from leadhand.core.errors import LeadhandError, UsageError
from leadhand.core.events import (
    AgentEnded,
    AttemptFailed,
    AttemptReplied,
    AttemptStarted,
    Collected,
    CommandEnded,
    DelegationEnded,
    Entry,
    Graded,
    GradingFailed,
    GradingStarted,
    MessageAdded,
    ProcessesKilled,
    RunEnded,
    RunStarted,
    SandboxStarted,
    ToolStarted,
    Warned,
)
from leadhand.core.journal import read_journal
from leadhand.core.ledger import ledger_of
from leadhand.core.state import state_of
from leadhand.core.values import FREE, ToolResults
from leadhand.core.wording import LEFTOVERS
from leadhand.runs import store
from leadhand.runs.execution import Execution, Observer
from leadhand.runs.grading import regrade

pytestmark = pytest.mark.anyio
FREE_OF_CHARGE = {TEAM.lead: FREE}


def reward(entries: list[Entry]) -> float | None:
    grades = [e.event.grade.reward for e in entries if isinstance(e.event, Graded)]
    return grades[-1] if grades else None


def status(entries: list[Entry]) -> str:
    (ended,) = [e.event for e in entries if isinstance(e.event, RunEnded)]
    return ended.status


def count(entries: list[Entry], kind: type) -> int:
    return sum(isinstance(e.event, kind) for e in entries)


async def test_a_run_goes_from_start_to_grade(make: Make, carry_on: CarryOn) -> None:
    paths = make()
    entries = await carry_on(paths)
    order = [k for k in kinds(entries) if k in ("run_started", "sandbox_started", "collected", "run_ended", "graded")]
    assert order == ["run_started", "sandbox_started", "collected", "run_ended", "graded"]
    assert (status(entries), reward(entries)) == ("finished", 1.0)
    killed = [e.event for e in entries if isinstance(e.event, ProcessesKilled)]
    assert [k.why for k in killed] == ["before collecting"]
    assert killed[0].count >= 1, "the command's child in the background"
    assert not paths.grading.exists()


@pytest.mark.parametrize("kind", [RunStarted, SandboxStarted, AttemptStarted, ToolStarted, AgentEnded, Collected])
async def test_cut_anywhere_it_ends_as_if_it_had_not_been(make: Make, carry_on: CarryOn, kind: type) -> None:
    paths = make()
    whole = await carry_on(paths)
    cut_after(paths, kind, nth=1)
    entries = await carry_on(paths)
    assert (status(entries), reward(entries)) == ("finished", 1.0)
    assert count(entries, AttemptReplied) == count(whole, AttemptReplied)
    assert count(entries, DelegationEnded) == count(entries, RunEnded) == count(entries, Collected) == 1


async def test_agents_are_told_that_what_ran_in_the_background_is_gone(make: Make, carry_on: CarryOn) -> None:
    paths = make()
    await carry_on(paths)
    cut_after(paths, CommandEnded, nth=1)
    entries = await carry_on(paths)
    told = [
        r.text
        for e in entries
        if isinstance(e.event, MessageAdded) and isinstance(e.event.message.body, ToolResults)
        for r in e.event.message.body.results
    ]
    assert sum(LEFTOVERS in text for text in told) == 1


async def test_what_was_in_flight_is_unknown_spend(make: Make, carry_on: CarryOn) -> None:
    paths = make()
    await carry_on(paths)
    cut_after(paths, AttemptStarted, nth=3)
    entries = await carry_on(paths)
    cut = [e.event for e in entries if isinstance(e.event, AttemptFailed)]
    assert [(c.fault, c.maybe_billed) for c in cut] == [("cut", True)]
    assert not ledger_of(entries, FREE_OF_CHARGE).open


async def test_a_lost_workspace_ends_it_as_infrastructure_with_everything_closed(make: Make, carry_on: CarryOn) -> None:
    paths = make()
    await carry_on(paths)
    cut_after(paths, AttemptStarted, agent="w1")
    shutil.rmtree(paths.workspace)
    entries = await carry_on(paths)
    assert (status(entries), reward(entries)) == ("infrastructure", None)
    assert count(entries, GradingStarted) == 0
    assert isinstance(entries[-1].event, RunEnded)
    assert "workspace" in entries[-1].event.text
    state = state_of(entries, FREE_OF_CHARGE)
    assert not state.running()
    assert not state.ledger.open
    assert all(a.ended is not None and a.ended.fault for a in state.agents.values())
    assert await carry_on(paths) == read_journal(paths.journal), "there is nothing to carry on"
    with pytest.raises(UsageError, match="never graded"):
        await regrade(paths)


async def test_once_it_is_collected_neither_sandbox_nor_workspace_is_needed(make: Make, carry_on: CarryOn) -> None:
    paths = make()
    await carry_on(paths)
    cut_after(paths, Collected)
    shutil.rmtree(paths.workspace)
    entries = await carry_on(paths)
    assert (status(entries), reward(entries)) == ("finished", 1.0)
    assert count(entries, SandboxStarted) == 1


async def test_killed_while_grading_it_is_graded_anew(make: Make, carry_on: CarryOn) -> None:
    paths = make()
    await carry_on(paths)
    cut_after(paths, GradingStarted)
    paths.grading.mkdir()
    paths.grading.joinpath("half").write_text("")
    entries = await carry_on(paths)
    assert reward(entries) == 1.0
    assert count(entries, GradingStarted) == 2
    assert not paths.grading.exists()


async def test_a_grading_that_fails_is_no_reward_and_can_be_repeated(make: Make, carry_on: CarryOn) -> None:
    paths = make()
    entries = await carry_on(paths)
    (blob,) = [paths.blob(e.event.blob) for e in entries if isinstance(e.event, Collected)]
    cut_after(paths, RunEnded)
    blob.rename(paths.folder / "away")
    entries = await carry_on(paths)
    assert reward(entries) is None
    (failed,) = [e.event for e in entries if isinstance(e.event, GradingFailed)]
    assert "missing" in failed.error
    (paths.folder / "away").rename(blob)
    assert reward(await regrade(paths)) == 1.0


async def test_minutes_are_the_sum_over_sessions(make: Make, carry_on: CarryOn) -> None:
    from leadhand.analysis.summary import summarise

    paths = make()
    await carry_on(paths)
    cut_after(paths, ToolStarted, nth=2)
    entries = await carry_on(paths)
    spans: dict[int, list[float]] = {}
    for entry in entries:
        spans.setdefault(entry.session, []).append(entry.mono)
    assert len(spans) == 2
    total = sum(max(s) - min(s) for s in spans.values())
    assert summarise(entries, FREE_OF_CHARGE).wall_s == pytest.approx(total, abs=1e-3)


async def test_an_observer_that_fails_does_not_end_the_run(make: Make, carry_on: CarryOn) -> None:
    seen = Counter[str]()

    def broken(entry: Entry) -> None:
        seen["calls"] += 1
        raise BrokenPipeError

    entries = await carry_on(make(), broken)
    assert (status(entries), reward(entries)) == ("finished", 1.0)
    assert seen["calls"] == 1


async def test_a_server_that_is_gone_ends_it_as_infrastructure(make: Make, carry_on: CarryOn) -> None:
    from leadhand.core.design import Design
    from leadhand.core.values import Price

    price = Price(input=1, output=1)
    design = Design(lead="openai-chat/fake", solo=True, retries=1)
    paths = make(design, base_urls={"openai-chat/fake": "http://127.0.0.1:9/v1"}, prices={"openai-chat/fake": price})
    entries = await carry_on(paths)
    assert (status(entries), reward(entries)) == ("infrastructure", None)
    failed = [e.event for e in entries if isinstance(e.event, AttemptFailed)]
    assert [f.fault for f in failed] == ["connection", "connection"]
    assert ledger_of(entries, {"openai-chat/fake": price}).unknown == 0, "a refused connection bills nothing"
    (ended,) = [e.event for e in entries if isinstance(e.event, RunEnded)]
    assert "cannot connect to http://127.0.0.1:9" in ended.text


async def test_a_full_disk_while_collecting_leaves_the_run_to_be_resumed(make: Make, carry_on: CarryOn) -> None:
    paths = make()
    await carry_on(paths)
    cut_after(paths, CommandEnded, nth=2)
    shutil.rmtree(paths.blobs)
    paths.blobs.symlink_to("/proc/self/fdinfo")  # nothing can be made there, whoever asks
    with pytest.raises(LeadhandError, match="this machine failed"):
        await carry_on(paths)
    paths.blobs.unlink()
    paths.blobs.mkdir()
    entries = await carry_on(paths)
    assert (status(entries), reward(entries)) == ("finished", 1.0)


# --- set-up ------------------------------------------------------------------------------------------------------


async def test_the_set_up_command_runs_first_and_once(make: Make, carry_on: CarryOn) -> None:
    paths = make(setup="echo made >> made")
    entries = await carry_on(paths)
    done = [e.event for e in entries if isinstance(e.event, CommandEnded) and e.event.call == "setup"]
    assert [d.exit_code for d in done] == [0]
    assert kinds(entries).index("command_ended") < kinds(entries).index("sandbox_started")
    cut_after(paths, SandboxStarted)
    entries = await carry_on(paths)
    assert (status(entries), reward(entries)) == ("finished", 1.0)
    assert paths.workspace.joinpath("made").read_text() == "made\n"


async def test_a_set_up_that_was_interrupted_is_run_again_and_said_so(make: Make, carry_on: CarryOn) -> None:
    paths = make(setup="echo made >> made")
    await carry_on(paths)
    cut_after(paths, ToolStarted)
    entries = await carry_on(paths)
    assert (status(entries), reward(entries)) == ("finished", 1.0)
    assert [e.event.text for e in entries if isinstance(e.event, Warned) and "set-up" in e.event.text]
    assert paths.workspace.joinpath("made").read_text() == "made\nmade\n"


async def test_a_set_up_that_fails_ends_the_run_before_any_model_is_asked(make: Make, carry_on: CarryOn) -> None:
    entries = await carry_on(make(setup="echo no such package; exit 3"))
    assert status(entries) == "infrastructure"
    assert isinstance(entries[-1].event, RunEnded)
    assert "exit code 3: no such package" in entries[-1].event.text
    assert count(entries, AttemptStarted) == 0


async def test_set_up_has_the_network_and_the_team_only_if_asked(make: Make, carry_on: CarryOn) -> None:
    """A network of its own has only a loopback; the host's has more, or at least another identity."""
    import os

    seen = "readlink /proc/self/ns/net"
    host = os.readlink("/proc/self/ns/net")
    for network in (False, True):
        paths = make(setup=f"{seen} > setup.net", network=network)
        entries = await carry_on(paths)
        assert paths.workspace.joinpath("setup.net").read_text().strip() == host
        (info,) = [e.event.info for e in entries if isinstance(e.event, SandboxStarted)]
        assert info.network is network


# --- stopping, and what is lost on the way -------------------------------------------------------------------------


def at(kind: type, do: Callable[[], object], *, nth: int = 1) -> Observer:
    """Does something, once, when the nth event of a kind is written."""
    left = nth

    def see(entry: Entry) -> None:
        nonlocal left
        if isinstance(entry.event, kind):
            left -= 1
            if left == 0:
                do()

    return see


async def test_a_stop_during_the_set_up_ends_that_too(make: Make) -> None:
    execution: list[Execution] = []
    stop = at(ToolStarted, lambda: execution[0].stop())
    execution.append(Execution(make(setup="sleep 100"), {}, observers=(stop,), limiter=Unlimited()))
    with anyio.fail_after(60):
        entries = await execution[0].finish()
    assert (status(entries), reward(entries)) == ("cancelled", 0.0)
    assert count(entries, AttemptStarted) == 0


@pytest.mark.parametrize("nth", [1, 3])
async def test_a_sandbox_that_dies_ends_the_run_as_infrastructure(make: Make, carry_on: CarryOn, nth: int) -> None:
    paths = make()
    entries = await carry_on(paths, at(ToolStarted, lambda: store.clear_leftovers(paths.id), nth=nth))
    assert (status(entries), reward(entries)) == ("infrastructure", None)
    state = state_of(entries, FREE_OF_CHARGE)
    assert not state.running()
    assert all(a.ended is not None for a in state.agents.values())
    assert any(a.ended is not None and a.ended.fault for a in state.agents.values())


async def test_without_its_run_file_a_folder_is_no_run_and_without_a_journal_it_is_a_new_one(
    make: Make, carry_on: CarryOn
) -> None:
    paths = make()
    assert store.recorded(paths) == []
    assert not store.in_use(paths)
    paths.journal.write_bytes(b'{"v":1,"seq"')
    entries = await carry_on(paths)
    assert kinds(entries)[:2] == ["recovered", "run_started"]
    assert (status(entries), reward(entries)) == ("finished", 1.0)
