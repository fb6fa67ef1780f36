"""Best of k, and peers, as whole runs: real sandboxes, a real grader, one folder, one journal, one ledger."""

from __future__ import annotations

import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from run_equals import KEEP
from run_folders import TEAM, CarryOn, Make, cut_after, kinds

from leadhand.analysis.summary import summarise
from leadhand.core.attempts import Unlimited
from leadhand.core.design import Design
from leadhand.core.errors import SandboxError, UsageError
from leadhand.core.events import (
    AgentEnded,
    AgentStarted,
    AttemptReplied,
    AttemptStarted,
    CandidateGraded,
    CandidateKept,
    Collected,
    CommandEnded,
    Entry,
    Graded,
    MessageAdded,
    NoteAdded,
    ProcessesKilled,
    RunEnded,
    RunStarted,
    SandboxStarted,
    Selected,
    SlotClaimed,
    ToolStarted,
    Warned,
)
from leadhand.core.ports import Sandbox
from leadhand.core.state import state_of
from leadhand.core.values import FREE, SandboxSpec, ToolResults
from leadhand.core.wording import LEFTOVERS
from leadhand.runs.execution import Execution, Ports
from leadhand.runs.paths import RunPaths

pytestmark = pytest.mark.anyio
CHECK = '[ "$(cat done)" = yes ]'


def best_of(scripts: str = "candidates", k: int = 3, **more: Any) -> Design:
    chosen = {"selector_command": CHECK} | more
    return Design(lead=f"scripted/run_equals:{scripts}", strategy="best-of-k", k=k, **chosen)


def events(entries: list[Entry], kind: type) -> list[Any]:
    return [e.event for e in entries if isinstance(e.event, kind)]


def reward(entries: list[Entry]) -> float | None:
    return next((e.grade.reward for e in reversed(events(entries, Graded))), None)


def selected(entries: list[Entry]) -> Selected:
    (found,) = events(entries, Selected)
    return found


def members(archive: Path) -> dict[str, str]:
    with tarfile.open(archive) as tar:
        files = [m for m in tar if m.isfile()]
        return {m.name.removeprefix("./"): tar.extractfile(m).read().decode() for m in files}  # type: ignore[union-attr]


def free(entries: list[Entry]) -> dict[str, Any]:
    return {e.event.model: FREE for e in entries if isinstance(e.event, AgentStarted)}


# --- choosing --------------------------------------------------------------------------------------------------


async def test_the_candidate_that_passes_the_users_tests_is_the_submission(make: Make, carry_on: CarryOn) -> None:
    paths = make(best_of())
    entries = await carry_on(paths)
    assert selected(entries) == Selected(chosen="s2", selector="tests", scores={"s1": 0.0, "s2": 1.0, "s3": 0.0})
    assert reward(entries) == 1.0
    (ended,) = events(entries, RunEnded)
    assert (ended.status, ended.text) == ("finished", "yes it is")
    # One folder and one journal; a sandbox and a workspace each; every candidate's work is kept.
    assert [e.agent for e in entries if isinstance(e.event, SandboxStarted)] != []
    assert {e.agent for e in entries if isinstance(e.event, SandboxStarted)} == {"s1", "s2", "s3"}
    kept = {e.agent: e.event for e in entries if isinstance(e.event, CandidateKept)}
    (collected,) = events(entries, Collected)
    assert (collected.blob, collected.bytes) == (kept["s2"].blob, kept["s2"].bytes)
    for name, word in {"s1": "no", "s2": "yes", "s3": "no"}.items():
        made = members(paths.blob(kept[name].blob))
        assert made["done"] == f"{word}\n"
        assert made["seen"].split() == [".", "..", "done", "seen"], "it saw nothing of the others"
    assert list(paths.workspace.iterdir()) == []
    killed = [k for k in events(entries, ProcessesKilled) if "before collecting" in k.why]
    assert len(killed) == 3
    assert all(k.count >= 1 for k in killed), KEEP


@pytest.mark.parametrize(
    ("command", "scores", "chosen"),
    [
        ("wc -c < done", {"s1": 3.0, "s2": 4.0, "s3": 3.0}, "s2"),
        ("echo; echo 0.5; [ $(cat done) = no ]", {"s1": 0.5, "s2": 0.5, "s3": 0.5}, "s1"),
        ("echo nan; false", {"s1": 0.0, "s2": 0.0, "s3": 0.0}, "s1"),
        ("grep -q no done", {"s1": 1.0, "s2": 0.0, "s3": 1.0}, "s1"),
        ("echo -2e3", {"s1": -2000.0, "s2": -2000.0, "s3": -2000.0}, "s1"),
    ],
)
async def test_a_printed_number_is_the_score(
    make: Make, carry_on: CarryOn, command: str, scores: dict[str, float], chosen: str
) -> None:
    entries = await carry_on(make(best_of(selector_command=command)))
    assert selected(entries) == Selected(chosen=chosen, selector="tests", scores=scores)


async def test_what_the_command_does_to_the_workspace_is_not_submitted(make: Make, carry_on: CarryOn) -> None:
    paths = make(best_of(selector_command="echo yes > done; touch built"))
    entries = await carry_on(paths)
    assert reward(entries) == 0.0
    (collected,) = events(entries, Collected)
    assert "built" not in members(paths.blob(collected.blob))


async def test_the_majority_is_right_or_wrong_together(make: Make, carry_on: CarryOn) -> None:
    entries = await carry_on(make(best_of(selector="majority", selector_command="cat done")))
    assert selected(entries) == Selected(chosen="s1", selector="majority", scores={"s1": 2.0, "s2": 1.0, "s3": 2.0})
    assert reward(entries) == 0.0


async def test_those_whose_command_fails_are_no_majority(make: Make, carry_on: CarryOn) -> None:
    entries = await carry_on(make(best_of(selector="majority", selector_command=CHECK)))
    assert selected(entries).scores == {"s1": None, "s2": 1.0, "s3": None}
    assert selected(entries).chosen == "s2"


async def test_the_oracle_grades_all_and_is_called_an_upper_bound(make: Make, carry_on: CarryOn) -> None:
    paths = make(best_of(selector="oracle", selector_command=""))
    entries = await carry_on(paths)
    assert selected(entries) == Selected(chosen="s2", selector="oracle", scores={"s1": 0.0, "s2": 1.0, "s3": 0.0})
    assert [e.agent for e in entries if isinstance(e.event, CandidateGraded)] == ["s1", "s2", "s3"]
    assert len(events(entries, Graded)) == 1, "the candidates' grades are not the run's"
    assert "select" not in {e.tool for e in events(entries, ToolStarted)}


async def test_the_oracle_needs_a_grader(make: Make) -> None:
    from leadhand.core.values import Task
    from leadhand.runs.plan import plan
    from leadhand.runs.spec import Request

    task = Task(id="x", prompt="x", benchmark="prompt")
    with pytest.raises(UsageError, match="needs a grader"):
        plan(Request(task=task, design=best_of(selector="oracle", selector_command=""), sandbox="bwrap"), {})


async def test_one_that_died_of_a_fault_is_taken_only_where_there_is_no_other(make: Make, carry_on: CarryOn) -> None:
    entries = await carry_on(make(best_of("faulty", k=2)))
    assert selected(entries) == Selected(chosen="s2", selector="tests", scores={"s1": 1.0, "s2": 0.0})
    (ended,) = events(entries, RunEnded)
    assert ended.status == "finished"
    assert summarise(entries, free(entries)).degraded


async def test_a_user_who_stops_gets_the_best_there_is_and_it_is_not_valid(make: Make) -> None:
    paths = make(best_of("slow", k=2))
    running: list[Execution] = []

    def stop(entry: Entry) -> None:
        sleeping = isinstance(entry.event, ToolStarted) and entry.event.call.endswith(".2.0")
        if sleeping and entry.event.call.startswith("s2"):
            running[0].stop()

    running.append(Execution(paths, {}, observers=(stop,), limiter=Unlimited()))
    entries = await running[0].finish()
    (ended,) = events(entries, RunEnded)
    assert (ended.status, reward(entries)) == ("cancelled", 1.0)
    assert {e.status for e in events(entries, AgentEnded)} == {"cancelled"}


# --- faults ----------------------------------------------------------------------------------------------------


async def test_a_sandbox_that_fails_is_the_end_of_one_candidate(make: Make) -> None:
    paths = make(best_of())

    async def start(spec: SandboxSpec, kind: str) -> Sandbox:
        from leadhand import sandboxes

        if spec.run_id.endswith(".s1"):
            raise SandboxError("no such luck")
        return await sandboxes.start(spec, kind)

    entries = await Execution(paths, {}, limiter=Unlimited(), ports=Ports(start_sandbox=start)).finish()
    assert [w.text for w in events(entries, Warned)] == ["s1: no such luck"]
    assert selected(entries).scores == {"s2": 1.0, "s3": 0.0}
    assert reward(entries) == 1.0


async def test_where_no_sandbox_starts_the_run_ends_as_infrastructure(make: Make) -> None:
    async def start(spec: SandboxSpec, kind: str) -> Sandbox:
        raise SandboxError("no such luck")

    paths = make(best_of())
    entries = await Execution(paths, {}, limiter=Unlimited(), ports=Ports(start_sandbox=start)).finish()
    (ended,) = events(entries, RunEnded)
    assert (ended.status, reward(entries)) == ("infrastructure", None)


# --- resume ----------------------------------------------------------------------------------------------------

CUTS: list[tuple[type, str | None, int]] = [
    (RunStarted, None, 1),
    (SandboxStarted, "s2", 1),
    (AttemptStarted, "s2", 1),
    (ToolStarted, "s3", 1),
    (CommandEnded, "s1", 1),
    (AgentEnded, None, 1),
    (CandidateKept, None, 1),
    (CandidateKept, None, 3),
    (Selected, None, 1),
    (Collected, None, 1),
]


@pytest.mark.parametrize(("kind", "agent", "nth"), CUTS, ids=lambda v: getattr(v, "__name__", str(v)))
async def test_cut_anywhere_it_ends_as_if_it_had_not_been(
    make: Make, carry_on: CarryOn, kind: type, agent: str | None, nth: int
) -> None:
    paths = make(best_of())
    whole = await carry_on(paths)
    before = cut_after(paths, kind, nth=nth, agent=agent)
    entries = await carry_on(paths)
    assert selected(entries) == selected(whole)
    assert reward(entries) == 1.0
    for once in (RunEnded, Selected, Collected):
        assert len(events(entries, once)) == 1
    kept = Counter(e.agent for e in entries if isinstance(e.event, CandidateKept))
    assert kept == Counter(["s1", "s2", "s3"])
    assert len(events(entries, AttemptReplied)) == len(events(whole, AttemptReplied))
    done = {e.agent for e in before if isinstance(e.event, CandidateKept)}
    opened = {e.agent for e in entries[len(before) :] if isinstance(e.event, SandboxStarted)}
    answered = {e.call.removeprefix("select.") for e in events(before, CommandEnded)}
    assert not opened & done & answered, "a sandbox was opened for nothing"


async def test_the_oracles_grades_are_not_asked_for_again(make: Make, carry_on: CarryOn) -> None:
    paths = make(best_of(selector="oracle", selector_command=""))
    await carry_on(paths)
    cut_after(paths, CandidateGraded, nth=2)
    entries = await carry_on(paths)
    assert [e.agent for e in entries if isinstance(e.event, CandidateGraded)] == ["s1", "s2", "s3"]
    assert selected(entries).chosen == "s2"


async def test_a_command_that_was_interrupted_is_run_again_and_said_so(make: Make, carry_on: CarryOn) -> None:
    paths = make(best_of())
    entries = await carry_on(paths)
    first = next(i for i, e in enumerate(e for e in events(entries, ToolStarted)) if e.tool == "select")
    before = cut_after(paths, ToolStarted, nth=first + 1)
    call = before[-1].event.call  # type: ignore[union-attr]
    entries = await carry_on(paths)
    assert f"{call.removeprefix('select.')}: the selector's command was interrupted" in "\n".join(
        w.text for w in events(entries, Warned)
    )
    assert selected(entries).chosen == "s2"


# --- peers -----------------------------------------------------------------------------------------------------

PEERS = Design(lead="scripted/run_equals:peers", strategy="peers", k=4)


async def test_peers_work_in_copies_and_the_first_that_finishes_is_collected(make: Make, carry_on: CarryOn) -> None:
    paths = make(PEERS)
    entries = await carry_on(paths)
    assert selected(entries) == Selected(chosen="p2", selector="first")
    assert reward(entries) == 1.0
    (collected,) = events(entries, Collected)
    assert members(paths.blob(collected.blob)) == {"mine": "p2\n", "done": "yes\n"}
    for name in ("p1", "p2", "p3", "p4"):
        assert (paths.scratch / "peers" / name / "mine").read_text() == f"{name}\n"
        (first,) = [e.event for e in entries if isinstance(e.event, CommandEnded) and e.event.call == f"{name}.1.1"]
        assert first.head.splitlines() == [f"/scratch/peers/{name}"], "each begins in a copy of the workspace"
    claimed = [e.agent for e in entries if isinstance(e.event, SlotClaimed)]
    assert len(claimed) == 1
    notes = [(e.agent, e.event.text) for e in entries if isinstance(e.event, NoteAdded)]
    files = sorted((paths.scratch / "notes").iterdir(), key=lambda p: int(p.stem[1:]))
    assert [f.read_text() for f in files] == [text for _, text in notes]
    assert ("p2", "p2 was here") in notes


@pytest.mark.parametrize(
    ("kind", "agent"),
    [
        (SandboxStarted, None),
        (AgentStarted, "p3"),
        (SlotClaimed, None),
        (NoteAdded, "p2"),
        (AgentEnded, "p2"),
        (Selected, None),
        (Collected, None),
    ],
    ids=lambda v: getattr(v, "__name__", str(v)),
)
async def test_peers_cut_anywhere_end_as_if_they_had_not_been(
    make: Make, carry_on: CarryOn, kind: type, agent: str | None
) -> None:
    paths = make(PEERS)
    await carry_on(paths)
    cut_after(paths, kind, agent=agent)
    entries = await carry_on(paths)
    assert selected(entries) == Selected(chosen="p2", selector="first")
    assert reward(entries) == 1.0
    (collected,) = events(entries, Collected)
    assert members(paths.blob(collected.blob)) == {"mine": "p2\n", "done": "yes\n"}
    state = state_of(entries, free(entries))
    assert len([e for e in entries if isinstance(e.event, SlotClaimed)]) == 1
    assert [n.id for n in state.notes] == [f"n{i + 1}" for i in range(len(state.notes))]
    assert not state.ledger.open


async def test_peers_that_go_on_are_told_that_their_processes_are_gone(make: Make, carry_on: CarryOn) -> None:
    paths = make(PEERS)
    await carry_on(paths)
    cut_after(paths, CommandEnded, agent="p2")
    entries = await carry_on(paths)
    told = [
        r.text
        for e in entries
        if e.agent == "p2" and isinstance(e.event, MessageAdded) and isinstance(e.event.message.body, ToolResults)
        for r in e.event.message.body.results
    ]
    assert sum(LEFTOVERS in text for text in told) == 1


def test_a_teams_identity_does_not_know_of_other_strategies(make: Make) -> None:
    """Settings that only peers and candidates have may change their defaults without changing any team."""
    from leadhand.runs.spec import OF_OTHER_STRATEGIES, identity, read_run_file

    lock = read_run_file(make(TEAM).run_json).lock
    other = msgspec.structs.replace(lock.design, k=7, collect="last", selector="majority", selector_command="x")
    assert identity(other, lock.task, lock.prompts, lock.sandbox, False, "", 1) == lock.digest
    assert set(OF_OTHER_STRATEGIES) <= set(Design.__struct_fields__)
    digests = [digest_of(make(d)) for d in (PEERS, best_of(), best_of(k=4), best_of(selector="majority"))]
    assert len(set(digests)) == len(digests)


def digest_of(paths: RunPaths) -> str:
    from leadhand.runs.spec import read_run_file

    return read_run_file(paths.run_json).lock.digest


async def test_the_journal_reads_in_order(make: Make, carry_on: CarryOn) -> None:
    entries = await carry_on(make(best_of()))
    order = [k for k in kinds(entries) if k in ("candidate_kept", "selected", "collected", "run_ended", "graded")]
    assert order == ["candidate_kept"] * 3 + ["selected", "collected", "run_ended", "graded"]
