"""A conversation that does not fit goes on in a shorter chain: what is left out, what never is, what is recorded."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import anyio
import msgspec
import pytest
from invariants import check
from watching import of_kind, text_of

from leadhand.core.compaction import shortened, to_elide
from leadhand.core.design import Design
from leadhand.core.errors import JournalError, ModelError
from leadhand.core.events import AttemptFailed, AttemptReplied, AttemptStarted, Compacted, Entry, MessageAdded
from leadhand.core.journal import read_journal
from leadhand.core.ports import Reply, Request
from leadhand.core.state import State, state_of
from leadhand.core.values import FREE, Limits, Price, ToolResults
from leadhand.core.verify import verify
from leadhand.testing.play import Played, play
from leadhand.testing.sandbox import Answer, MemorySandbox
from leadhand.testing.scripted import Script, ScriptedModel, Step, bash, call, do, finish, say

pytestmark = pytest.mark.anyio

PRICE = Price(input=2.0, output=10.0)
DESIGN = Design(lead="m", compaction="elide", context="brief", limits=Limits(output_chars=5000))
SOLO = msgspec.structs.replace(DESIGN, solo=True)


class Narrow(ScriptedModel):
    """A scripted model into which only so many bytes of conversation fit; `sent` holds what was asked of it."""

    def __init__(self, scripts: dict[str, Script], room: int) -> None:
        super().__init__(scripts)
        self.room = room
        self.sent: list[tuple[str, tuple[str, ...], bytes]] = []

    async def complete(self, request: Request) -> Reply:
        talk = request.conversation
        if talk.size > self.room:
            raise ModelError("context_length", f"{talk.size} bytes do not fit into {self.room}")
        prompt = msgspec.json.encode([m.body for m in talk.messages])
        self.sent.append((request.agent, tuple(m.id for m in talk.messages), prompt))
        return await super().complete(request)


def sandbox() -> MemorySandbox:
    """Each command prints 3,000 characters of its own."""
    return MemorySandbox(lambda _, command: Answer(output=f"{command} says: " + "x" * 3000 + "\n", seconds=1))


def busy(steps: int, last: str) -> list[Step]:
    return [*(do(bash(f"step {i}")) for i in range(steps)), finish(last)]


async def played(scripts: dict[str, Script], design: Design, folder: Path, room: int, box: MemorySandbox) -> Played:
    return await play(Narrow(scripts, room), design, folder, sandbox=box, prices={"m": PRICE})


async def test_off_is_the_default_and_ends_the_agent(tmp_path: Path) -> None:
    design = msgspec.structs.replace(SOLO, compaction="off")
    assert Design(lead="m").compaction == "off"
    run = await played({"solo": busy(30, "done")}, design, tmp_path, 20_000, sandbox())
    assert run.end.status == "out_of_context"
    assert not of_kind(run.entries, Compacted)


async def test_a_run_longer_than_its_window_comes_to_its_end(tmp_path: Path) -> None:
    run = await played({"solo": busy(30, "done")}, SOLO, tmp_path, 20_000, sandbox())
    assert (run.end.status, run.end.text) == ("finished", "done")
    compacted = of_kind(run.entries, Compacted)
    # 30 outputs of 3 kB pass a window of 20 kB several times; half is freed at once, so not at every step.
    assert 4 <= len(compacted) <= 12
    assert len(of_kind(run.entries, AttemptFailed)) == len(compacted)
    assert len(of_kind(run.entries, AttemptReplied)) == 31
    check(run.entries, SOLO, {"m": PRICE})


async def test_the_task_and_the_newest_outputs_stay_and_the_oldest_go(tmp_path: Path) -> None:
    run = await played({"solo": busy(12, "done")}, SOLO, tmp_path, 20_000, sandbox())
    (first, *_) = of_kind(run.entries, Compacted)
    talk = run.state.agents["solo"].conversation
    assert talk.messages[0].body == of_kind(run.entries, MessageAdded)[0].message.body
    results = [m.body.results[0].text for m in talk.messages if isinstance(m.body, ToolResults)]
    gone = ["left out here" in text for text in results]
    assert gone == sorted(gone, reverse=True)
    assert 1 <= sum(gone) < len(gone)
    assert first.elided[0].message == 2
    assert results[0].endswith("[exit code 0]")
    assert results[-1].startswith("step 11 says: ")
    # What went is still in the journal.
    assert all(f"step {i} says: xxx" in text_of(run.entries, "solo") for i in range(12))


async def test_the_prefix_of_the_new_chain_is_stable(tmp_path: Path) -> None:
    """Between two compactions each prompt begins with the one before, byte for byte: caches hit."""
    model = Narrow({"solo": busy(30, "done")}, 20_000)
    run = await play(model, SOLO, tmp_path, sandbox=sandbox(), prices={"m": PRICE})
    breaks = [(a, b) for (_, a, _), (_, b, _) in pairwise(model.sent) if a != b[: len(a)]]
    assert len(breaks) == len(of_kind(run.entries, Compacted))
    for before, after in breaks:  # and what stands before the first elided output keeps even its ids
        assert before[:2] == after[:2]
    for (_, a, old), (_, b, new) in pairwise(model.sent):
        assert a != b[: len(a)] or new.startswith(old[:-1])


async def test_every_prompt_can_be_derived_again(tmp_path: Path) -> None:
    """From the journal alone: what each attempt names as its head is exactly what was sent."""
    model = Narrow({"solo": busy(30, "done")}, 20_000)
    run = await play(model, SOLO, tmp_path, sandbox=sandbox(), prices={"m": PRICE})
    assert verify(run.entries) > 0
    state, derived = State({"m": PRICE}), []
    for entry in run.entries:
        state.apply(entry)
        if isinstance(entry.event, AttemptStarted):
            talk = state.agents["solo"].conversation
            assert talk.head == entry.event.head
            if talk.size <= model.room:
                derived.append(msgspec.json.encode([m.body for m in talk.messages]))
    assert derived == [prompt for _, _, prompt in model.sent]


async def test_a_chain_that_was_tampered_with_is_found(tmp_path: Path) -> None:
    run = await played({"solo": busy(12, "done")}, SOLO, tmp_path, 20_000, sandbox())
    at = next(i for i, e in enumerate(run.entries) if isinstance(e.event, Compacted))
    entry = run.entries[at]
    assert isinstance(entry.event, Compacted)
    first = entry.event.elided[0]
    for changed in (
        msgspec.structs.replace(first, text="something else"),
        msgspec.structs.replace(first, message=0),
        msgspec.structs.replace(first, result=7),
        msgspec.structs.replace(first, message=9999),
    ):
        event = msgspec.structs.replace(entry.event, elided=(changed, *entry.event.elided[1:]))
        entries: list[Entry] = [*run.entries[:at], msgspec.structs.replace(entry, event=event), *run.entries[at + 1 :]]
        with pytest.raises(JournalError):
            verify(entries)
        with pytest.raises(JournalError):
            state_of(entries, {"m": PRICE})


async def test_where_nothing_can_go_it_is_out_of_context(tmp_path: Path) -> None:
    scripts: dict[str, Script] = {"solo": [do(call("nothing")), do(bash("a")), say("never")]}
    run = await played(scripts, SOLO, tmp_path, 100, sandbox())
    assert run.end.status == "out_of_context"
    assert len(of_kind(run.entries, AttemptFailed)) == 1


async def test_what_was_not_answered_yet_is_not_left_out(tmp_path: Path) -> None:
    """The newest output alone is too long: the model must not be told that it is gone before it has read it."""
    run = await played({"solo": busy(3, "never")}, SOLO, tmp_path, 2_500, sandbox())
    assert run.end.status == "out_of_context"
    assert not of_kind(run.entries, Compacted)


def test_reports_messages_and_notices_under_an_output_are_kept() -> None:
    output = "y" * 2000 + "\n[exit code 3]"
    for below in (
        '\n\n<leadhand-report worker="w1" delegation="d1" status="finished">\nthe report\n</leadhand-report>',
        '\n\n<leadhand-message from="w2">\nhello\n</leadhand-message>\n\n[3 steps left]',
        "\n\n[d3 of w2 finished; call read_report to read it]",
        "\n\n[2 new notes: call read_notes]",
    ):
        text = shortened(output + below)
        assert text.endswith("[exit code 3]" + below)
        assert "2014 characters of output left out" in text
    assert shortened(shortened(output)) != shortened(output)  # it would say less, so it is never done twice:
    assert len(shortened(output)) < 400


def team(rounds: int) -> dict[str, Script]:
    """A lead that works beside its two workers, each of them longer than its window."""
    lead: list[Step] = [do(bash("lead 0"), call("delegate_agent", assignment=f"part {i}")) for i in range(2)]
    lead += [do(bash(f"lead {i}"), delay_s=2) for i in range(1, rounds)]
    lead += [do(call("delegate_agent", assignment="again", worker="w1")), do(call("wait", mode="all"))]
    return {
        "lead": [*lead, finish("the end")],
        "w1": [*busy(rounds, "report one"), *busy(3, "report again")],
        "w2": busy(rounds, "report two"),
    }


@pytest.mark.parametrize("context", ["brief", "fork"])
async def test_reports_are_never_left_out_of_a_team(context: str, tmp_path: Path) -> None:
    design = msgspec.structs.replace(DESIGN, context=context)
    run = await played(team(10), design, tmp_path, 24_000, sandbox())
    assert run.end.text == "the end"
    assert {e.agent for e in run.entries if isinstance(e.event, Compacted)} == {"lead", "w1", "w2"}
    last = msgspec.json.encode([m.body for m in run.state.agents["lead"].conversation.messages])
    assert all(text in last for text in (b"The task.", b"report one", b"report two", b"report again"))
    w1 = msgspec.json.encode([m.body for m in run.state.agents["w1"].conversation.messages])
    assert b"part 0" in w1
    assert b"again" in w1
    check(run.entries, design, {"m": PRICE})


async def test_killed_at_every_entry(tmp_path: Path) -> None:
    """Whatever entry it was killed after, the run ends as it would have, with the same chains."""
    scripts = team(4)
    (tmp_path / "whole").mkdir()
    expected = await played(scripts, DESIGN, tmp_path / "whole", 11_000, sandbox())
    assert len(of_kind(expected.entries, Compacted)) >= 3
    lines = (tmp_path / "whole" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    for kept in range(1, len(lines)):
        folder = tmp_path / f"{kept}"
        folder.mkdir()
        (folder / "journal.jsonl").write_bytes(b"".join(lines[:kept]))
        before = read_journal(folder / "journal.jsonl")
        run = await played(scripts, DESIGN, folder, 11_000, sandbox())
        check(run.entries, DESIGN, {"m": PRICE})
        assert run.end == expected.end
        assert run.state.delegations.keys() == expected.state.delegations.keys()
        too_long = {a.head for a in of_kind(before, AttemptStarted) for f in failed(before) if f.attempt == a.attempt}
        asked = [e.event.head for e in run.entries[kept:] if isinstance(e.event, AttemptStarted)]
        assert not too_long & set(asked), "what did not fit was asked again"


def failed(entries: list[Entry]) -> list[AttemptFailed]:
    return [f for f in of_kind(entries, AttemptFailed) if f.fault == "context_length"]


async def test_the_reservation_stays_an_upper_bound(tmp_path: Path) -> None:
    """Bytes that went need not have been tokens: the next prompt is reserved as if they were still there."""
    run = await played({"solo": busy(12, "done")}, SOLO, tmp_path, 20_000, sandbox())
    started = of_kind(run.entries, AttemptStarted)
    for failed, again in pairwise(started):
        if any(f.attempt == failed.attempt for f in of_kind(run.entries, AttemptFailed)):
            assert again.prompt_bound >= failed.prompt_bound


async def test_a_fault_between_does_not_use_up_the_retries(tmp_path: Path) -> None:
    design = msgspec.structs.replace(SOLO, retries=1)
    steps = [*busy(6, "")[:-1], Step(fault="overload"), finish("done")]
    with anyio.fail_after(60):
        run = await play(Narrow({"solo": steps}, 13_000), design, tmp_path, sandbox=sandbox(), prices={"m": FREE})
    assert run.end.text == "done"


async def test_nothing_is_left_out_of_a_conversation_that_is_short(tmp_path: Path) -> None:
    run = await played({"solo": busy(2, "done")}, SOLO, tmp_path, 10**6, sandbox())
    talk = run.state.agents["solo"].conversation
    assert not of_kind(run.entries, Compacted)
    assert len(to_elide(talk)) in (1, 2)
    assert to_elide(talk, share=1.0) == ()
