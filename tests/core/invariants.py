"""What must hold of every run's journal, whatever happened. Written against the journal alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from watching import of_kind, text_of

from leadhand.core.design import Design
from leadhand.core.events import (
    AgentEnded,
    AgentStarted,
    AttemptFailed,
    AttemptReplied,
    AttemptStarted,
    CheckEnded,
    CheckStarted,
    CommandEnded,
    Compacted,
    DelegationEnded,
    DelegationStarted,
    Entry,
    MailSent,
    MessageAdded,
    Recovered,
    SessionStarted,
    ToolEnded,
)
from leadhand.core.finishing import MOST_FAILED
from leadhand.core.ledger import Ledger
from leadhand.core.state import State
from leadhand.core.values import Assistant, Price, ToolResults
from leadhand.core.verify import verify

FRAMES = 200  # characters of a frame, a clip line and a path around one report
FRAME = re.compile(r'<leadhand-report worker="(w\d+)" delegation="(d\d+)" status="(\w+)">')


def check(entries: list[Entry], design: Design, prices: Mapping[str, Price]) -> None:
    """All invariants of a run that came to its end."""
    assert [e.seq for e in entries] == list(range(len(entries)))
    verify(entries)
    one_end_each(entries)
    delivered_once(entries, design)
    mail_once(entries)
    calls_once(entries)
    caps(entries, design)
    money(entries, design, prices)
    compacted(entries, prices)
    checks(entries, design)


def checks(entries: list[Entry], design: Design) -> None:
    """One after the other, each with one end; at most one that counts for each turn; told where it failed, once."""
    started, ended = of_kind(entries, CheckStarted), of_kind(entries, CheckEnded)
    assert [e.check for e in started] == [e.check for e in ended] == [f"c{i + 1}" for i in range(len(started))]
    failed = [e for e in ended if e.outcome == "failed"]
    assert len(failed) <= MOST_FAILED
    head = next((e.agent for e in entries if isinstance(e.event, AgentStarted)), "")
    whole = text_of(entries, head)
    counted: Counter[int] = Counter()
    steps = 0
    for entry in entries:
        match entry.event:
            case AttemptReplied() if entry.agent == head:
                steps += 1
            case CheckEnded() as e:
                assert entry.agent == head
                counted[steps] += e.outcome != "interrupted"
    assert all(n <= 1 for n in counted.values()), "tried twice for one turn"
    told = whole.count("<leadhand-check>")
    last = [e.event for e in entries if e.agent == head and isinstance(e.event, AgentEnded)][-1:]
    # A run may end (by the user, by its time) between a check and its telling.
    assert told in (len(failed), len(failed) - 1)
    if last and last[0].status == "finished":
        assert told == len(failed)
        final = [e for e in ended if e.outcome != "interrupted"][-1:]
        tried = bool(final) and final[0].outcome != "failed" and counted[steps] == 1
        assert not design.finish_check or tried or len(failed) == MOST_FAILED, "taken untried"


def compacted(entries: list[Entry], prices: Mapping[str, Price]) -> None:
    """A new chain says all that the old one said, but for outputs of commands that were answered."""
    if not of_kind(entries, Compacted):
        return
    state = State(prices)
    for entry in entries:
        if not isinstance(entry.event, Compacted):
            state.apply(entry)
            continue
        before = state.agents[entry.agent].conversation
        state.apply(entry)
        after = state.agents[entry.agent].conversation
        assert after.size < before.size
        assert (after.root, after.turns) == (before.root, before.turns)
        last = max(i for i, m in enumerate(before.messages) if isinstance(m.body, Assistant))
        for i, (old, new) in enumerate(zip(before.messages, after.messages, strict=True)):
            if not isinstance(old.body, ToolResults) or i > last:
                assert old.body == new.body
                continue
            assert isinstance(new.body, ToolResults)
            for one, two in zip(old.body.results, new.body.results, strict=True):
                assert (one.call_id, one.name, one.is_error) == (two.call_id, two.name, two.is_error)
                assert one.name == "bash" or one.text == two.text
                assert FRAME.findall(one.text) == FRAME.findall(two.text)
                assert one.text.count("<leadhand-") == two.text.count("<leadhand-")


def one_end_each(entries: list[Entry]) -> None:
    started = [d.delegation for d in of_kind(entries, DelegationStarted)]
    ended = [d.delegation for d in of_kind(entries, DelegationEnded)]
    assert started == [f"d{i + 1}" for i in range(len(started))]
    assert sorted(started) == sorted(ended)
    assigned = [e.assigns for e in of_kind(entries, MessageAdded) if e.assigns]
    assert sorted(assigned) == sorted(started), "an assignment twice or never"
    rests = Counter(e.agent for e in entries if isinstance(e.event, AgentEnded))
    wanted = Counter(d.worker for d in of_kind(entries, DelegationStarted))
    head = next(e.agent for e in entries if isinstance(e.event, AgentStarted))
    assert rests == wanted + Counter([head])
    last = [e for e in entries if not isinstance(e.event, SessionStarted | Recovered)][-1]
    assert isinstance(last.event, AgentEnded)
    assert last.agent == head


def delivered_once(entries: list[Entry], design: Design) -> None:
    order: list[str] = []
    delivered: list[str] = []
    for entry in entries:
        match entry.event:
            case DelegationEnded() as e:
                order.append(e.delegation)
            case MessageAdded() as e:
                assert set(e.delivers) <= set(order), "delivered before it ended"
                assert not e.delivers or entry.agent == "lead"
                shown = FRAME.findall(text_in(e))
                assert {d for _, d, _ in shown} >= set(e.delivers), "delivered without its text"
                delivered.extend(e.delivers)
                if design.schedule == "push":
                    assert [d for _, d, _ in shown] == list(e.delivers)
    assert len(delivered) == len(set(delivered)), "delivered twice"
    if design.schedule == "push":
        assert delivered == [d for d in order if d in delivered], "not in order of completion"
    announced = [d for e in of_kind(entries, MessageAdded) for d in e.announces]
    assert len(announced) == len(set(announced)), "announced twice"
    lead = [e.event for e in entries if e.agent == "lead" and isinstance(e.event, AgentEnded)]
    if lead and lead[-1].status == "finished" and design.at_finish != "cancel":
        assert set(delivered) == set(order), "a report was lost"
    shown = Counter(d for _, d, _ in FRAME.findall(text_of(entries, "lead")))
    if design.schedule in ("blocking", "push"):
        assert all(n == 1 for n in shown.values()), "a report was shown twice"
    assert set(shown) == set(delivered)


def text_in(event: MessageAdded) -> str:
    body = event.message.body
    return "\n".join(r.text for r in body.results) if isinstance(body, ToolResults) else getattr(body, "text", "")


def mail_once(entries: list[Entry]) -> None:
    sent: dict[str, MailSent] = {}
    read: dict[str, list[str]] = {}
    for entry in entries:
        match entry.event:
            case MailSent() as e:
                sent[e.mail] = e
                assert e.to != entry.agent
            case MessageAdded() as e:
                for mail in e.mail:
                    assert sent[mail].to == entry.agent
                    read.setdefault(entry.agent, []).append(mail)
    assert list(sent) == [f"m{i + 1}" for i in range(len(sent))]
    for mails in read.values():
        assert mails == sorted(set(mails), key=lambda m: int(m[1:])), "mail twice or out of order"


def calls_once(entries: list[Entry]) -> None:
    """Each call has one outcome, each prompt one reply."""
    outcomes = Counter(e.call for e in (*of_kind(entries, ToolEnded), *of_kind(entries, CommandEnded)))
    assert all(n == 1 for n in outcomes.values()), outcomes.most_common(1)
    prompts = Counter((e.agent, e.event.message.parent) for e in entries if isinstance(e.event, AttemptReplied))
    assert all(n == 1 for n in prompts.values())


def caps(entries: list[Entry], design: Design) -> None:
    workers = {e.agent for e in entries if isinstance(e.event, AgentStarted) and e.event.role == "worker"}
    assert workers <= {f"w{i}" for i in range(1, design.cap + 1)}
    running: set[str] = set()
    for entry in entries:
        match entry.event:
            case DelegationStarted() as e:
                assert e.worker not in running, "a busy worker was given more"
                running.add(e.worker)
            case DelegationEnded() as e:
                running.discard(e.worker)
            case MessageAdded() as e:
                pieces = len(FRAME.findall(text_in(e))) + len(e.mail)
                most = max(design.merged_chars, design.report_chars) * 2 + FRAMES * pieces + 12 * 5000
                assert len(text_in(e)) <= most + 5 * design.limits.output_chars
    steps = Counter(e.agent for e in entries if isinstance(e.event, AttemptReplied))
    assert all(n <= design.limits.steps for n in steps.values())


def money(entries: list[Entry], design: Design, prices: Mapping[str, Price]) -> None:
    ledger = Ledger(prices)
    roles: dict[str, str] = {}
    for entry in entries:
        if isinstance(entry.event, AgentStarted):
            roles[entry.agent] = entry.event.role
        if isinstance(entry.event, AttemptReplied):
            held = ledger.open[entry.event.attempt]
            assert prices[held.model].cost(entry.event.usage) <= held.usd + 1e-12, "a call cost more than was held"
        ledger.apply(entry)
        if design.budget_usd is not None:
            assert ledger.settled <= design.budget_usd + 1e-9
            assert ledger.committed <= design.budget_usd + 1e-9
            if isinstance(entry.event, AttemptStarted) and roles[entry.agent] == "worker":
                assert ledger.committed <= 0.75 * design.budget_usd + 1e-9, "a worker touched the lead's share"
    assert not ledger.open, "an attempt was left open"
    started, over = (
        of_kind(entries, AttemptStarted),
        (*of_kind(entries, AttemptReplied), *of_kind(entries, AttemptFailed)),
    )
    assert sorted(a.attempt for a in started) == sorted(a.attempt for a in over)
    assert abs(sum(s.settled for s in ledger.agents.values()) - ledger.settled) < 1e-9
    assert abs(sum(s.unknown for s in ledger.agents.values()) - ledger.unknown) < 1e-9
