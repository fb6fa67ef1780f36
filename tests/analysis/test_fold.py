"""Issue 8, point 3: phases, replies, similarity, shares, on journals small enough to count by hand."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import anyio
import polars as pl
import pytest

from leadhand.analysis.fold import Fold
from leadhand.analysis.measures import Span, phase
from leadhand.analysis.rows import ROWS, AttemptRow, RunRow, frame, schema
from leadhand.analysis.summary import summarise
from leadhand.analysis.tabulate import Label, Rows, tabulate
from leadhand.analysis.texts import jaccard, pairwise, words
from leadhand.analysis.writing import JournalWriter
from leadhand.core.design import Design
from leadhand.core.events import AnyEvent, AttemptFailed, AttemptStarted, CallRejected, Graded, Recovered
from leadhand.core.ledger import ledger_of
from leadhand.core.values import FREE, ExecResult, Grade, Price, Usage
from leadhand.testing.play import play
from leadhand.testing.scripted import bash, do, finish

PRICES = {"big": Price(input=4.0, output=20.0, cache_read=0.4), "small": Price(input=0.2, output=1.2, cache_read=0.02)}
LABEL = Label("r1", "team", "t1", 1, "folder", "g1")


def rows_of(w: JournalWriter, reference: tuple[str, ...] = ("/ref",)) -> Rows:
    return tabulate(Fold(PRICES, reference).apply(w.entries), LABEL)


def run_of(w: JournalWriter) -> RunRow:
    (row,) = rows_of(w)["runs"]
    assert isinstance(row, RunRow)
    return row


def team() -> JournalWriter:
    """A lead and two workers: w1 called in P and (resumed) in V, w2 in I; w2's report is never read."""
    w = JournalWriter()
    w.agent("lead", "lead", "big")
    w.now = 1.0
    keys = w.step("lead", "big", Usage(input=1000, output=100), ("delegate_agent", {}), seconds=2.0)  # 1..3
    w.started("lead", keys[0], "delegate_agent")
    w.agent("w1", "worker", "small")
    d1 = w.delegate("lead", "w1", keys[0], "plan it")  # at 3: P
    w.ended("lead", keys[0])
    w.results("lead")
    run = w.step("w1", "small", Usage(input=500, output=50), ("bash", {"command": "/ref a"}), seconds=1.0)
    w.command("w1", run[0], 0.5)
    w.results("w1")
    w.report(d1, "w1", "alpha beta gamma")
    keys = w.step("lead", "big", Usage(input=200, cache_read=1000, output=10), ("wait", {}), seconds=0.5)  # 5
    w.started("lead", keys[0], "wait")
    w.now = 7.0
    w.ended("lead", keys[0])
    w.results("lead", delivers=(d1,))  # delivered at 7
    keys = w.step(
        "lead", "big", Usage(input=1500, output=10), ("bash", {"command": "cat > a.c <<E\nx\nE"}), seconds=1.0
    )
    w.command("lead", keys[0], 1.0, changed=("a.c",))  # first write 8..9
    w.results("lead")
    w.agent("w2", "worker", "small")
    d2 = w.delegate("lead", "w2", "x", "build it now")  # at 9: I (not after the last write)
    keys = w.step(
        "w2", "small", Usage(input=400, output=40), ("bash", {"command": "sed -i s/a/b/ a.c; /ref b"}), seconds=1.0
    )
    w.command("w2", keys[0], 2.0, changed=("a.c",))  # 10..12: last write
    w.results("w2")
    w.report(d2, "w2", "beta gamma delta")
    w.now = 13.0
    d3 = w.delegate("lead", "w1", "y", "check", resumed=True)  # at 13: V
    w.step("w1", "small", Usage(input=100, cache_read=500, output=20), seconds=1.0)
    w.report(d3, "w1", "alpha beta gamma")
    w.results("lead", delivers=(d3,))  # 14
    keys = w.step("lead", "big", Usage(input=10, output=10), ("bash", {"command": "/ref final"}), seconds=1.0)
    w.command("lead", keys[0], 1.0)
    w.end_agent("lead")
    w.now = 20.0
    w.end("finished", 0.75, "g1")
    return w


def test_a_run_counted_by_hand() -> None:
    run = run_of(team())
    assert (run.status, run.valid, run.degraded, run.resumed, run.reward) == ("finished", True, False, False, 0.75)
    assert run.minutes == pytest.approx(20 / 60)
    assert (run.agents, run.workers, run.delegations, run.resumed_delegations) == (3, 2, 3, 1)
    assert (run.tool_calls, run.bash_calls, run.wait_calls) == (6, 4, 1)
    assert (run.output_tokens, run.worker_output_tokens) == (240, 110)
    assert (run.all_tokens, run.worker_all_tokens) == (1100 + 550 + 1210 + 1510 + 440 + 620 + 20, 550 + 440 + 620)
    assert run.assignment_chars == pytest.approx((7 + 12 + 5) / 3)
    assert (run.worker_source_files, run.lead_source_files) == (1, 1)
    assert (run.worker_reference_runs, run.lead_reference_runs, run.lead_reference_after_reports) == (2, 1, 1)
    assert (run.deliveries, run.merged_deliveries, run.delivered_chars) == (2, 0, 32)
    assert run.lead_model_s == pytest.approx(2.0 + 0.5 + 1.0 + 1.0)
    assert run.lead_idle_s == pytest.approx(2.0)
    assert run.critical_worker_s == 0.0, "w1 had reported before the lead began to wait"


def test_phases_are_defined_by_edits_not_by_names() -> None:
    (row,) = rows_of(team())["phases"]
    assert (row.first_write_s, row.last_write_s) == (8.0, 12.0)
    assert (row.measured_first_write_s, row.measured_last_write_s) == (8.0, 12.0)
    assert (row.calls_P, row.calls_I, row.calls_V) == (1, 1, 1)
    total = run_of(team()).cost
    assert row.cost_P + row.cost_I + row.cost_V == pytest.approx(total)


@pytest.mark.parametrize(("at", "expected"), [(7.9, "P"), (8.0, "I"), (12.0, "I"), (12.1, "V")])
def test_the_edges_of_phases(at: float, expected: str) -> None:
    assert phase(at, Span(8.0, 12.0)) == expected


def test_a_run_without_source_writes_only_plans() -> None:
    assert phase(99.0, Span(None, None)) == "P"


def test_money_is_the_ledgers() -> None:
    w = team()
    ledger = ledger_of(w.entries, PRICES)
    assert run_of(w).cost == pytest.approx(ledger.settled, abs=1e-12)
    for agent in rows_of(w)["agents"]:
        assert agent.cost == pytest.approx(ledger.agents[agent.agent].settled, abs=1e-12)


def test_unread_and_duplicate_work() -> None:
    rows = rows_of(team())
    d1, d2, d3 = rows["delegations"]
    run = run_of(team())
    assert (d1.delivered_s, d2.delivered_s, d3.delivered_s) == (7.0, None, 14.0)
    assert run.unread_cost == pytest.approx(d2.cost)
    assert d2.similarity == pytest.approx(2 / 4)
    assert d3.similarity == 1.0
    assert run.duplicate_cost == pytest.approx(d3.cost)
    assert run.report_similarity == pytest.approx((0.5 + 1.0 + 0.5) / 3)


def test_cold_cache_is_what_could_have_been_read() -> None:
    """The lead's third call sends 1,500 tokens afresh of which the second had sent 1,200 already."""
    attempts = {a.attempt: a for a in rows_of(team())["attempts"]}
    assert attempts[1].cold == 0
    assert attempts[3].cold == 0  # 1,000 of the 1,000 sent before were read from the cache
    assert attempts[4].cold == 1200
    assert attempts[4].cold_cost == pytest.approx(1200 * (4.0 - 0.4) / 1e6)


def test_replied_questions() -> None:
    w = JournalWriter()
    w.agent("lead", "lead", "big")
    w.agent("w1", "worker", "small")
    w.agent("w2", "worker", "small")
    asked = [w.mail("w1", "lead", "which port?")]  # answered
    w.mail("lead", "w1", "80")
    asked.append(w.mail("w1", "lead", "and the host?"))  # w1 sends something else first
    w.mail("w1", "w2", "fyi")
    w.mail("lead", "w1", "localhost")
    asked.append(w.mail("w2", "lead", "status: fine"))  # answered, but no question
    w.mail("lead", "w2", "good")
    asked.append(w.mail("w2", "lead", "done?"))  # never answered
    lost = w.mail("w1", "lead", "too late")
    w.results("lead", mail=tuple(asked))
    w.end("finished", 0.5)
    rows = {m.mail: m for m in rows_of(w)["messages"]}
    assert [rows[m].replied for m in asked] == [True, False, True, False]
    assert rows[lost].delivered_s is None
    run = run_of(w)
    assert (run.worker_to_lead, run.lead_to_worker, run.worker_to_worker) == (4, 0, 0), "delivered ones only"
    assert (run.questions, run.questions_replied, run.messages_replied) == (3, 1, 2)


def test_rejected_calls_are_counted_beside_the_accepted() -> None:
    w = team()
    w.add("lead", CallRejected(call="lead.9.0", tool="delegate_agent", reason="over the cap"))
    w.add("w1", CallRejected(call="w1.9.0", tool="send_message", reason="unknown"))
    run = run_of(w)
    assert (run.delegations, run.rejected_delegations, run.messages_rejected, run.rejected_calls) == (3, 1, 1, 2)


def test_jaccard_of_word_sets() -> None:
    assert jaccard(words("The cat sat"), words("the CAT ran.")) == pytest.approx(2 / 4)
    assert jaccard(words(""), words("")) is None
    assert pairwise(["a b", "a b", "c"]) == (pytest.approx(1 / 3), [None, 1.0, 0.0])
    assert pairwise(["one"]) == (None, [None])


def test_ends_that_do_not_count() -> None:
    for status, valid, reward in (("cancelled", False, 0.5), ("infrastructure", False, None), ("gave_up", True, 0.5)):
        w = JournalWriter()
        w.agent("solo", "solo", "big")
        w.end(status, 0.5, "g1")  # type: ignore[arg-type]
        run = run_of(w)
        assert (run.valid, run.reward) == (valid, reward)
    assert run_of(JournalWriter()).status == "unfinished"


def test_a_provider_fault_degrades() -> None:
    w = JournalWriter()
    w.agent("solo", "solo", "big")
    w.end_agent("solo", "failed", fault="quota")
    w.end("gave_up", 0.0, "g1")
    assert run_of(w).degraded


def test_the_newest_grading_by_the_current_grader_counts() -> None:
    w = JournalWriter()
    w.end("finished", 0.2, "old")
    w.add("", Graded(grade=Grade(reward=0.4), digest="g1"))
    w.add("", Graded(grade=Grade(reward=0.6), digest="g1"))
    w.add("", Graded(grade=Grade(reward=0.9), digest="other"))
    assert run_of(w).reward == 0.6
    assert tabulate(Fold(PRICES).apply(w.entries), LABEL._replace(grader_digest=""))["runs"][0].reward == 0.9


def test_unknown_spend_and_time_between_sessions() -> None:
    w = JournalWriter()
    w.agent("solo", "solo", "big")
    w.now = 10.0
    started = AttemptStarted(attempt=1, head="h", model="big", prompt_bound=1000, output_bound=100)
    w.add("solo", started)
    w.session, w.now = 1, 5.0  # another process, another clock
    w.add("", Recovered(bytes_cut=3))
    w.add("solo", AttemptFailed(attempt=1, fault="cut", error="killed", maybe_billed=True))
    w.now = 8.0
    w.end("finished", 0.1, "g1")
    run = run_of(w)
    assert run.resumed
    assert run.minutes == pytest.approx(13 / 60)
    assert run.unknown_cost == pytest.approx(PRICES["big"].bound(1000, 100))


def test_blocking_delegation_is_idle_time_and_the_workers_critical_path() -> None:
    w = JournalWriter()
    w.agent("lead", "lead", "big")
    keys = w.step("lead", "big", Usage(input=10, output=10), ("delegate_agent", {}), seconds=1.0)
    w.started("lead", keys[0], "delegate_agent")
    w.agent("w1", "worker", "small")
    d = w.delegate("lead", "w1", keys[0], "x")
    w.step("w1", "small", Usage(input=10, output=10), seconds=3.0)
    w.report(d, "w1", "done")
    w.ended("lead", keys[0])
    w.results("lead", delivers=(d,))
    w.end("finished", 1.0, "g1")
    run = run_of(w)
    assert (run.lead_idle_s, run.critical_worker_s, run.worker_model_s) == (3.0, 3.0, 3.0)


def test_the_schema_is_the_row_types_and_never_inferred() -> None:
    late = [("r", "d", "t", 1)] * 0
    assert frame("runs", late).schema == pl.Schema(schema(RunRow))
    rows = [tuple([f"r{i}"] + [None] * 9) for i in range(2000)]
    rows[1999] = ("r1999", "m", "a", "b", "x", 1, True, 0.5, 2.5, True)
    table = frame("messages", rows)
    assert table.schema == pl.Schema(schema(ROWS["messages"]))
    assert table["delivered_s"][1999] == 2.5


def test_no_part_of_usage_is_lost() -> None:
    assert set(Usage.__struct_fields__) <= set(AttemptRow._fields)


def test_every_event_is_folded_or_known_to_carry_nothing() -> None:
    """A new kind of event must be thought about here."""
    nothing = {"SessionStarted", "Recovered", "ProcessesKilled", "Warned", "GradingStarted", "GradingFailed"}
    nothing |= {"NoteAdded", "SlotClaimed", "CandidateKept", "CandidateGraded", "Selected"}  # no money, no command
    folded = {t.__name__ for t in Fold(PRICES)._act}
    assert {t.__name__ for t in get_args(AnyEvent)} == folded | nothing


@pytest.mark.anyio
@pytest.mark.virtual_clock
async def test_a_finish_check_is_time_of_tools_and_no_call(tmp_path: Path) -> None:
    async def builds(seconds: float) -> ExecResult:
        await anyio.sleep(7)
        return ExecResult(exit_code=0, head=b"")

    steps = {"solo": [do(bash("x"), delay_s=1), finish("done", delay_s=2)]}
    run = await play(steps, Design(lead="m", solo=True, finish_check=True), tmp_path, try_work=builds)
    (line,) = summarise(run.entries, {"m": FREE}).agents
    assert (line.model_s, line.tool_s, line.idle_s, line.calls) == (3.0, 7.0, 0.0, {"bash": 1, "finish": 1})
    fold = Fold({"m": FREE}).apply(run.entries)
    agent = fold.agents["solo"]
    assert (agent.seconds["model"], agent.seconds["tool"], agent.calls) == (3.0, 7.0, {"bash": 1, "finish": 1})
