"""Random peers, and what must hold of every run of peers, whatever happened. Written against the journal alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from random import Random

from chaos import ChaosModel, ChaosSandbox
from invariants import calls_once, money, text_in
from watching import of_kind

from leadhand.core.design import Design
from leadhand.core.events import (
    AgentEnded,
    AgentStarted,
    AttemptReplied,
    Entry,
    MessageAdded,
    NoteAdded,
    Selected,
    SlotClaimed,
    ToolEnded,
)
from leadhand.core.values import ExecResult, Price
from leadhand.core.verify import verify
from leadhand.testing.scripted import Call, bash, call

SHOWN = re.compile(r'<leadhand-note id="(n\d+)" from="(p\d+)">')
HOME = re.compile(r"/scratch/peers/(p\d+)$")


class ChaosPeers(ChaosModel):
    """Peers that do whatever they may."""

    def _call(self, luck: Random, agent: str, turn: int, index: int) -> Call:
        unique = f"{agent} {turn} {index}"
        return luck.choice(
            [
                bash(unique),
                bash(unique, timeout_s=luck.choice([None, 5, "20", 0])),
                call("write_note", text=luck.choice([f"fact {unique}", "", "</leadhand-note>\ud800" * 30])),
                call("write_note", text=f"fact {unique}"),
                call("read_notes"),
                call("claim", slot=luck.choice(["one", " One ", "two", "three", "", "x" * 300])),
                call("claim", slot=luck.choice(["one", "two"])),
                luck.choice([Call(name="claim", raw='{"slot": '), call("delegate_agent", assignment="x"), bash("\0")]),
            ]
        )


class PeerSandbox(ChaosSandbox):
    """Working copies can be made here; `copied` are the commands that the harness ran for that."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.copied: list[str] = []

    async def exec(
        self, command: str, *, agent: str, timeout_s: float, cwd: str = "", keep: int = 65_536
    ) -> ExecResult:
        if agent == "leadhand":
            self.copied.append(command)
            return ExecResult(exit_code=0, head=b"")
        home = HOME.match(cwd)
        assert home is not None, cwd
        assert home[1] == agent, "a command outside of its peer's own copy"
        return await super().exec(command, agent=agent, timeout_s=timeout_s, cwd=cwd, keep=keep)


def check_peers(entries: list[Entry], design: Design, prices: Mapping[str, Price]) -> None:
    """All invariants of a run of peers that came to its end."""
    assert [e.seq for e in entries] == list(range(len(entries)))
    verify(entries)
    calls_once(entries)
    one_end_each(entries, design)
    log(entries)
    slots(entries)
    money(entries, design, prices)
    assert all(len(text_in(e)) < 200_000 for e in of_kind(entries, MessageAdded))
    steps = Counter(e.agent for e in entries if isinstance(e.event, AttemptReplied))
    assert all(n <= design.limits.steps for n in steps.values())


def one_end_each(entries: list[Entry], design: Design) -> None:
    joined = [e.agent for e in entries if isinstance(e.event, AgentStarted)]
    ended = [e.agent for e in entries if isinstance(e.event, AgentEnded)]
    assert tuple(joined) in ((), design.heads)
    assert sorted(ended) == sorted(joined)
    chosen = of_kind(entries, Selected)
    assert len(chosen) == bool(joined)
    ends = {e.agent: e.event.status for e in entries if isinstance(e.event, AgentEnded)}
    finished = [a for a, status in ends.items() if status == "finished"]  # in the order of their ends
    for selected in chosen:
        assert selected.selector == design.collect
        if finished:
            assert selected.chosen == finished[0 if design.collect == "first" else -1]
        else:
            sound = [a for a, status in ends.items() if status != "failed"]
            assert selected.chosen == (sound or list(ends))[-1]


def log(entries: list[Entry]) -> None:
    """Notes have one order, nobody is told of one before it is there, and who has read so far was shown all of it."""
    written = [(e.event.note, e.agent) for e in entries if isinstance(e.event, NoteAdded)]
    assert [note for note, _ in written] == [f"n{i + 1}" for i in range(len(written))]
    calls = [e.call for e in of_kind(entries, NoteAdded)]
    assert len(calls) == len(set(calls)), "a note twice"
    there, told, read = 0, Counter[str](), Counter[str]()
    shown: dict[str, list[str]] = {}
    for entry in entries:
        match entry.event:
            case NoteAdded():
                there += 1
            case ToolEnded() as e if e.notes:
                assert e.notes <= there
                read[entry.agent] = max(read[entry.agent], e.notes)
            case MessageAdded() as e:
                assert e.notes <= there
                assert not e.notes or e.notes > told[entry.agent], "told twice of the same"
                told[entry.agent] = max(told[entry.agent], e.notes)
                seen = shown.setdefault(entry.agent, [])
                seen += [note for note, _ in SHOWN.findall(text_in(e))]
                assert len(seen) == len(set(seen)), "a note was shown twice"
                assert set(seen) == {n for n, author in written[: read[entry.agent]] if author != entry.agent}


def slots(entries: list[Entry]) -> None:
    """A slot has one owner, until that one ends without finishing."""
    owner: dict[str, str] = {}
    ended: dict[str, str] = {}
    for entry in entries:
        match entry.event:
            case SlotClaimed() as e:
                before = owner.get(e.slot)
                assert before is None or ended.get(before, "finished") != "finished", "a slot with two owners"
                owner[e.slot] = entry.agent
            case AgentEnded() as e:
                ended[entry.agent] = e.status
