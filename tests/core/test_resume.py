"""A run killed after any one of its entries, or within one, ends as it would have: nothing twice, nothing lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from invariants import check
from watching import of_kind, text_of

from leadhand.core import wording
from leadhand.core.design import Design, Schedule
from leadhand.core.errors import JournalError
from leadhand.core.events import (
    AgentEnded,
    AttemptFailed,
    AttemptReplied,
    CallRejected,
    CommandEnded,
    DelegationEnded,
    DelegationStarted,
    Entry,
    MailSent,
    Recovered,
    RunStarted,
    SessionStarted,
)
from leadhand.core.journal import Journal, read_journal
from leadhand.core.values import FREE, Limits
from leadhand.testing.play import Played, play
from leadhand.testing.sandbox import Answer, MemorySandbox
from leadhand.testing.scripted import ScriptedModel, Step, bash, call, do, finish, say

pytestmark = pytest.mark.anyio

READ = do(call("read_report", delegation="d1"), call("read_report", delegation="d2"))


def job(schedule: Schedule) -> dict[str, list[Step]]:
    """A job that uses every tool the schedule has; every command is run once in it."""
    more = [READ] if schedule in ("notify", "pull") else []
    wait = [] if schedule == "blocking" else [do(call("wait", mode="all"))] * 2  # a message ends the first
    listing = [do(call("list_workers"))] if schedule == "pull" else []
    stop = [] if schedule in ("blocking", "push") else [
        do(call("delegate_agent", assignment="never ends")),
        do(bash("lead 2"), call("cancel_worker", worker="w3")),
    ]  # fmt: skip
    return {
        "lead": [
            do(
                bash("lead 1"),
                call("delegate_agent", assignment="one", conventions="tabs"),
                call("delegate_agent", assignment="two"),
                call("delegate_agent", assignment=""),
                delay_s=1,
            ),
            do(call("send_message", to="w1", text="hello w1"), call("send_message", to="nobody", text="?"), delay_s=1),
            *wait,
            *listing,
            *more,
            *stop,
            do(call("delegate_agent", assignment="again", worker="w1"), delay_s=2),
            *([finish("too early")] if wait else []),
            finish("the end"),
            finish("the end"),
        ],
        "w1": [
            do(bash("w1 1"), call("send_message", to="lead", text="hello lead"), delay_s=2),
            finish("report one" + " long" * 1000, delay_s=3),
            do(bash("w1 2"), delay_s=1),
            say("report again"),
        ],
        "w2": [do(bash("w2 1"), delay_s=4), finish("report two")],
        "w3": [say("never", delay_s=1e5)],
    }


def sandbox() -> MemorySandbox:
    return MemorySandbox(lambda *_: Answer(output="out\n", seconds=1.5))


DESIGN = Design(lead="m", messaging="on", max_workers=3, limits=Limits(delegation_s=2000))


async def whole(
    schedule: Schedule, folder: Path, *, box: MemorySandbox | None = None, restarted: bool = False
) -> Played:
    design = msgspec.structs.replace(DESIGN, schedule=schedule)
    return await play(job(schedule), design, folder, sandbox=box or sandbox(), restarted=restarted)


def facts(run: Played) -> dict[str, Any]:
    """What must be the same however often the run was killed."""
    return {
        "end": run.end,
        "delegations": [
            (d.id, d.worker, d.assignment, d.conventions, d.resumed, d.status) for d in run.state.delegations.values()
        ],
        "reports": [d.report for d in run.state.delegations.values() if d.status == "finished"],
        "mail": [(m.sender, m.to, m.text) for m in run.state.mail.values()],
        "rejected": Counter((r.call, r.reason) for r in of_kind(run.entries, CallRejected)),
        "steps": {a.name: a.steps for a in run.state.agents.values()},
    }


@pytest.mark.parametrize("schedule", ["blocking", "push", "notify", "pull"])
@pytest.mark.parametrize("torn", [False, True], ids=["between", "within"])
async def test_killed_at_every_entry(schedule: Schedule, torn: bool, tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    box = sandbox()
    expected = await whole(schedule, tmp_path / "whole", box=box)
    assert expected.end.text == "the end"
    design = msgspec.structs.replace(DESIGN, schedule=schedule)
    lines = (tmp_path / "whole" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    for kept in range(len(lines)):
        folder = tmp_path / f"{kept}"
        folder.mkdir()
        cut = b"".join(lines[:kept]) + (lines[kept][: len(lines[kept]) // 2] if torn else b"")
        (folder / "journal.jsonl").write_bytes(cut)
        before = read_journal(folder / "journal.jsonl")
        again = sandbox()
        run = await whole(schedule, folder, box=again)
        check(run.entries, design, {"m": FREE})
        assert facts(run) == facts(expected), f"killed after entry {kept}: {before[-1:]}"
        assert bool(of_kind(run.entries, Recovered)) == torn
        once(before, run, again, len(box.commands))


def once(before: list[Entry], run: Played, again: MemorySandbox, total: int) -> None:
    """No recorded reply was asked for again; each command was run once, or its agent knows that it was broken off."""
    assert isinstance(run.model, ScriptedModel)
    replied = {(e.agent, e.event.message.parent) for e in before if isinstance(e.event, AttemptReplied)}
    assert not replied & set(run.model.requests)
    done = len(of_kind(before, CommandEnded))
    broken = sum(text_of(run.entries, a).count(wording.INTERRUPTED) for a in run.state.agents)
    assert done + len(again.commands) == len(of_kind(run.entries, CommandEnded)) == total - broken


async def test_a_run_that_has_ended_is_not_taken_up_again(tmp_path: Path) -> None:
    first = await whole("push", tmp_path)
    second = await whole("push", tmp_path)
    assert second.end == first.end
    assert [type(e.event) for e in second.entries[len(first.entries) :]] == [SessionStarted]


async def test_what_was_in_flight_at_the_kill_is_unknown_spend_not_forgotten(tmp_path: Path) -> None:
    await whole("push", tmp_path)
    path = tmp_path / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    first = next(i for i, e in enumerate(read_journal(path)) if isinstance(e.event, AttemptReplied))
    path.write_bytes(b"".join(lines[:first]))
    run = await whole("push", tmp_path)
    (cut,) = of_kind(run.entries, AttemptFailed)
    assert (cut.attempt, cut.fault, cut.maybe_billed) == (1, "cut", True)


async def test_all_agents_are_told_that_their_processes_are_gone(tmp_path: Path) -> None:
    await whole("push", tmp_path)
    path = tmp_path / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    started = [i for i, e in enumerate(read_journal(path)) if isinstance(e.event, DelegationStarted)][1]
    path.write_bytes(b"".join(lines[: started + 4]))
    run = await whole("push", tmp_path, restarted=True)
    told = {a: text_of(run.entries, a).count(wording.LEFTOVERS) for a in run.state.agents}
    assert told == {"lead": 1, "w1": 1, "w2": 1}


async def test_a_delegation_has_what_is_left_of_its_time_after_a_resume(tmp_path: Path) -> None:
    """Not its whole limit again."""
    scripts = {
        "lead": [do(call("delegate_agent", assignment="x")), do(call("wait")), say("ok")],
        "w1": [say("no", delay_s=1e5)],
    }
    scripts["w1"].insert(0, do(bash("x"), delay_s=70))
    design = Design(lead="m", limits=Limits(delegation_s=100))
    await play(scripts, design, tmp_path)
    path = tmp_path / "journal.jsonl"
    entries = read_journal(path)
    kept = next(i for i, e in enumerate(entries) if isinstance(e.event, CommandEnded))
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[: kept + 1]))
    run = await play(scripts, design, tmp_path)
    assert [d.status for d in of_kind(run.entries, DelegationEnded)] == ["timed_out"]
    resumed = [e for e in run.entries if e.session == 1]
    assert resumed[-1].mono - resumed[0].mono == pytest.approx(30)
    assert run.state.active_s == pytest.approx(100)


async def test_a_worker_that_had_ended_is_not_asked_again(tmp_path: Path) -> None:
    """Killed between the worker's end and that of its delegation."""
    lead = [do(call("delegate_agent", assignment="x")), do(call("wait")), say("ok")]
    scripts = {"lead": lead, "w1": [Step(fault="quota", delay_s=1), say("never")]}
    design = Design(lead="m")
    await play(scripts, design, tmp_path)
    path = tmp_path / "journal.jsonl"
    ended = next(i for i, e in enumerate(read_journal(path)) if isinstance(e.event, AgentEnded))
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[: ended + 1]))
    run = await play(scripts, design, tmp_path)
    assert isinstance(run.model, ScriptedModel)
    assert "w1" not in {agent for agent, _ in run.model.requests}
    assert [d.status for d in of_kind(run.entries, DelegationEnded)] == ["failed"]


async def test_a_torn_first_line_is_a_fresh_start(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_bytes(b'{"v":1,"seq":0')
    run = await whole("push", tmp_path)
    assert [type(e.event) for e in run.entries[:2]] == [Recovered, RunStarted]
    assert run.end.text == "the end"


async def test_a_bad_line_in_the_middle_is_an_error_with_its_number(tmp_path: Path) -> None:
    await whole("push", tmp_path)
    path = tmp_path / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    for bad, words in (
        (b"{}\n", "journal.jsonl:4: not a journal entry"),
        (lines[5], "journal.jsonl:4: sequence number 5"),
    ):
        path.write_bytes(b"".join([*lines[:3], bad, *lines[4:]]))
        with pytest.raises(JournalError, match=words):
            await whole("push", tmp_path)


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl", lambda: 0.0)
    with pytest.raises(JournalError, match="in use"):
        Journal(tmp_path / "journal.jsonl", lambda: 0.0)
    journal.close()
    Journal(tmp_path / "journal.jsonl", lambda: 0.0).close()


def test_nothing_is_written_after_a_write_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk tears a line; a later line would make the tear the middle of the file."""
    import os

    path = tmp_path / "journal.jsonl"
    journal = Journal(path, lambda: 0.0)
    journal.open_session("t")
    journal.append("", RunStarted(digest="d", version="v"))
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[: len(data) // 2]))
    with pytest.raises(JournalError, match="disk full"):
        journal.append("lead", MailSent(mail="m1", to="w1", text="lost", call="c"))
    monkeypatch.undo()
    with pytest.raises(JournalError, match="disk full"):
        journal.append("lead", MailSent(mail="m1", to="w1", text="lost", call="c"))
    journal.close()
    assert len(read_journal(path)) == 1
    second = Journal(path, lambda: 0.0)
    second.open_session("t")
    second.close()
    assert [type(e.event) for e in read_journal(path)] == [RunStarted, Recovered, SessionStarted]
