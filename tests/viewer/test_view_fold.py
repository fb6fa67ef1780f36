"""The fold behind the pages, against the journal and against core's own folds."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from viewer_runs import LEAD, PRICES, WORKER, Maker, compacted_run, run_file, team_run

from leadhand.core.design import Design
from leadhand.core.events import (
    AttemptStarted,
    CommandEnded,
    Entry,
    MessageAdded,
    SessionStarted,
    ToolEnded,
    ToolStarted,
)
from leadhand.core.journal import Journal, read_journal
from leadhand.core.ledger import ledger_of
from leadhand.core.state import state_of
from leadhand.core.values import Price, User
from leadhand.runs.paths import RunPaths
from leadhand.testing.play import play
from leadhand.testing.scripted import Script, bash, call, do, finish, say
from leadhand.viewer.app import modules
from leadhand.viewer.columns import CURSOR, KINDS, ROWS_PER_PART, read_cursor
from leadhand.viewer.fold import ViewFold
from leadhand.viewer.index import RunIndex, open_run

NONE = (0,) * len(CURSOR)
PRICE = {"m/x": Price(input=3.0, output=15.0, cache_read=0.3)}

SCRIPTS: dict[str, Script] = {
    "lead": [
        do(bash("ls"), call("delegate_agent", assignment="count the words")),
        do(call("delegate_agent", assignment=" ")),
        do(bash("echo x > a.py"), call("wait", mode="all")),
        do(call("delegate_agent", assignment="once more", worker="w1")),
        do(call("wait", mode="all")),
        finish("done"),
    ],
    "w1": [do(bash("wc -w *"), delay_s=1.0), say("four words", delay_s=0.5), say("still four")],
}


async def played(folder: Path, scripts: dict[str, Script] | None = None, **design: object) -> RunIndex:
    settings = Design(lead="m/x", **design)  # type: ignore[arg-type]
    run_file(folder, settings, prices=PRICE)
    await play(scripts or SCRIPTS, settings, folder, prices=PRICE)
    return open_run(folder)


def chain(columns: object, seq: int) -> list[int]:
    """The conversation that ends in an event, by `of` alone: what the page does."""
    of, kind = columns.of, columns.kind  # type: ignore[attr-defined]
    found, at = [], of[seq]
    while at >= 0:
        if KINDS[kind[at]] != "agent_started":
            found.append(at)
        at = of[at]
    return found[::-1]


@pytest.mark.anyio
@pytest.mark.virtual_clock
@pytest.mark.parametrize("context", ["brief", "fork"])
async def test_the_prompt_of_every_call_is_found_from_the_columns(tmp_path: Path, context: str) -> None:
    index = await played(tmp_path, context=context)
    entries = read_journal(tmp_path / "journal.jsonl")
    state = state_of(entries, PRICE)
    asked = [e for e in entries if isinstance(e.event, AttemptStarted)]
    assert len(asked) == 9
    for entry in asked:
        messages = state.agents[entry.agent].conversation.messages
        ids = [m.id for m in messages]
        wanted = ids[: ids.index(entry.event.head) + 1]  # type: ignore[union-attr]
        found = [entries[seq].event.message.id for seq in chain(index._fold.columns, entry.seq)]  # type: ignore[union-attr]
        assert found == wanted


@pytest.mark.anyio
@pytest.mark.virtual_clock
async def test_what_passes_between_agents_and_what_stands_out(tmp_path: Path) -> None:
    index = await played(tmp_path)
    c = index._fold.columns
    assert [(kind, name) for kind, *_, name in c.arrows] == [
        ("assignment", "d1"),
        ("report", "d1"),
        ("assignment", "d2"),
        ("report", "d2"),
    ]
    assert [(what, level) for _, level, what, _ in c.marks] == [("rejected call", "warning")]
    assert c.paths == ["a.py"]
    assert KINDS[c.kind[c.writes[0][0]]] == "command"
    assert [a["name"] for a in c.agents] == ["lead", "w1"]


@pytest.mark.anyio
@pytest.mark.virtual_clock
async def test_messages_between_agents_and_notes_of_peers(tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    (tmp_path / "peers").mkdir()
    scripts: dict[str, Script] = {
        "lead": [
            do(call("delegate_agent", assignment="look")),
            do(bash("ls", timeout_s=9)),
            do(call("wait")),
            finish("x"),
        ],
        "w1": [do(call("send_message", to="lead", text="found it")), finish("all")],
    }
    index = await played(tmp_path / "team", scripts, messaging="on")
    assert [(kind, name) for kind, *_, name in index._fold.columns.arrows if kind == "mail"] == [("mail", "m1")]
    noted: Script = [do(call("write_note", text="mine: a.py")), finish("done")]
    index = await played(tmp_path / "peers", {"p1": noted, "p2": noted}, strategy="peers", k=2, collect="last")
    kinds = [KINDS[k] for k in index._fold.columns.kind]
    assert kinds.count("note_added") == 2
    assert {a["role"] for a in index._fold.columns.agents} == {"peer"}
    assert any("mine: a.py" in label for label in index.rows(0))


def test_the_money_is_the_ledgers(team: Path) -> None:
    index = open_run(team)
    ledger = ledger_of(read_journal(team / "journal.jsonl"), PRICES)
    money = index.delta(NONE)["money"]
    assert set(money) == set(ledger.agents)
    for name, spend in ledger.agents.items():
        parts = sum(v for k, v in money[name].items() if k != "calls")
        assert parts == pytest.approx(spend.settled, abs=1e-9)
    assert sum(u for _, u, _ in index._fold.columns.spends) == pytest.approx(1e6 * ledger.settled, rel=1e-3)
    assert sum(t for *_, t in index._fold.columns.spends) == sum(s.usage.total for s in ledger.agents.values())


def test_every_event_is_a_row_and_every_outcome_closes_a_span(team: Path) -> None:
    entries = read_journal(team / "journal.jsonl")
    index = open_run(team)
    c = index._fold.columns
    assert len(index) == len(c.t) == len(c.kind) == len(entries)
    assert c.t == sorted(c.t)
    calls = {e.event.call: e.seq for e in entries if isinstance(e.event, ToolStarted)}
    outcomes = {e.event.call: e.seq for e in entries if isinstance(e.event, CommandEnded | ToolEnded)}
    spans = dict(zip(c.start, c.end, strict=True))
    assert {calls[key]: end for key, end in outcomes.items()}.items() <= spans.items()
    assert all(index.entry(seq) == entries[seq] for seq in range(0, len(entries), 97))


def test_deltas_add_up_however_they_are_cut(team: Path) -> None:
    entries = read_journal(team / "journal.jsonl")
    random = Random(3)
    fold, together = ViewFold(PRICES), {}
    cursor = NONE
    for entry in entries:
        fold.apply(entry)
        if random.random() < 0.01 or entry.seq == len(entries) - 1:
            for name, part in fold.columns.since(cursor).items():
                together.setdefault(name, []).extend(part)
            cursor = read_cursor("-".join(map(str, fold.columns.cursor())))
    assert together == fold.columns.since(NONE)


def test_every_kind_of_event_has_a_word_on_the_page() -> None:
    script = modules()["model.js"].decode()
    words = script[script.index("const WORDS") : script.index("const QUIET")]
    assert [kind for kind in KINDS if f"{kind}: " not in words and f"{kind}," not in words] == []


def test_a_cursor_that_makes_no_sense_starts_anew() -> None:
    assert read_cursor("1-2") == read_cursor("a-b-c") == read_cursor("9" * 400) == NONE


def test_a_growing_journal_is_read_by_whole_lines(team: Path, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes((team / "run.json").read_bytes())
    data = (team / "journal.jsonl").read_bytes()
    index = RunIndex(RunPaths(tmp_path))
    index.refresh()
    assert len(index) == 0
    random, at = Random(5), 0
    while at < len(data):
        step = random.randint(1, 60_000)
        with (tmp_path / "journal.jsonl").open("ab") as file:
            file.write(data[at : at + step])
        at += step
        index.refresh()
        index.look(0.0)
        assert len(index) == data[:at].count(b"\n") >= index.looked
    index.look()
    assert index.delta(NONE)["columns"] == open_run(team).delta(NONE)["columns"]


def test_a_bad_line_is_named_and_what_is_before_it_stays(team: Path, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes((team / "run.json").read_bytes())
    lines = (team / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "journal.jsonl").write_bytes(b"".join([*lines[:50], b"{nonsense\n", *lines[50:]]))
    index = open_run(tmp_path)
    assert len(index) == 50
    assert "journal.jsonl:51" in index.delta(NONE)["error"]


def test_a_message_that_does_not_follow_is_a_finding(tmp_path: Path) -> None:
    run_file(tmp_path, Design(lead=LEAD, worker=WORKER, workers=1))
    maker = Maker(tmp_path)
    maker.begin()
    maker.join(0.2, "lead", "lead", LEAD)
    maker.add(0.3, "lead", User(text="one"))
    skipped = maker.conversations["lead"].link(User(text="two"))
    maker.conversations["lead"].append(skipped)
    maker.add(0.4, "lead", User(text="three"))
    maker.file.close()
    marks = open_run(tmp_path)._fold.columns.marks
    assert [(seq, what) for seq, _, what, _ in marks] == [(4, "broken chain")]


def test_a_compacted_conversation_goes_on_from_where_it_was(tmp_path: Path) -> None:
    run_file(tmp_path, Design(lead=LEAD, worker=WORKER, workers=1))
    maker = compacted_run(tmp_path)
    c = open_run(tmp_path)._fold.columns
    assert [what for _, _, what, _ in c.marks] == ["compacted"]
    rows = chain(c, maker.seq - 1)  # of the last attempt: through the compaction to the first message
    assert [KINDS[c.kind[seq]] for seq in rows] == ["message_added", "attempt_replied", "results", "compacted"]


def test_what_a_killed_session_had_open_is_no_longer_open(tmp_path: Path) -> None:
    run_file(tmp_path, Design(lead=LEAD, worker=WORKER, workers=1))
    maker = Maker(tmp_path)
    maker.begin()
    maker.join(0.2, "lead", "lead", LEAD)
    maker.add(0.3, "lead", User(text="one"))
    maker.ask(0.4, "lead", LEAD)
    maker.file.close()
    index = open_run(tmp_path)
    assert index.delta(NONE)["open"] == [4]
    journal = Journal(tmp_path / "journal.jsonl", lambda: 0.0)
    journal.open_session("test")
    journal.close()
    index.refresh()
    assert index.delta(NONE)["open"] == []
    assert isinstance(index.entry(5).event, SessionStarted)
    assert [what for *_, what, _ in index._fold.columns.marks] == ["resumed"]


def test_labels_are_the_same_in_parts_and_alone(team: Path) -> None:
    index = open_run(team)
    parts = [label for k in range(len(index) // ROWS_PER_PART + 1) for label in index.rows(k)]
    assert len(parts) == len(index)
    commands = [parts[e.seq] for e in read_journal(team / "journal.jsonl") if _is_command(e)]
    assert len(commands) > 500
    assert all(text.startswith(("grep -rn", "cat > src/")) for text in commands)
    assert next(parts[e.seq] for e in read_journal(team / "journal.jsonl") if _is_assignment(e)).startswith(
        "assignment d1"
    )


def _is_command(entry: Entry) -> bool:
    return isinstance(entry.event, ToolStarted) and entry.event.tool == "bash"


def _is_assignment(entry: Entry) -> bool:
    return isinstance(entry.event, MessageAdded) and bool(entry.event.assigns)


def test_a_long_run_is_read_in_pieces_that_can_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    team_run(tmp_path, workers=3, events=1500)
    monkeypatch.setattr("leadhand.viewer.index.PIECE", 50_000)
    index = RunIndex(RunPaths(tmp_path))
    seen = []
    while index.reading < 1:
        index.refresh(0.0)
        seen.append(len(index))
    assert len(seen) > 5
    assert seen == sorted(set(seen))
    assert seen[-1] == len(read_journal(tmp_path / "journal.jsonl"))
