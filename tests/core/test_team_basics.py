"""The team on a virtual clock: one scripted job at a time, and what each agent saw."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadhand.core.design import Design
from leadhand.core.events import DelegationEnded, DelegationStarted, Entry
from leadhand.core.values import ToolResults, User
from leadhand.testing.play import play
from leadhand.testing.sandbox import Answer, MemorySandbox
from leadhand.testing.scripted import Seen, Step, bash, call, do, finish, reports, say

pytestmark = pytest.mark.anyio


def events(entries: list[Entry], kind: type) -> list[Entry]:
    return [e for e in entries if isinstance(e.event, kind)]


async def test_solo_runs_commands_in_order_and_finishes(tmp_path: Path) -> None:
    sandbox = MemorySandbox(lambda agent, command: Answer(output=f"<{command}>", seconds=2.0))
    scripts = {"solo": [do(bash("one"), bash("two"), delay_s=1.0), finish("done", delay_s=1.0)]}
    played = await play(scripts, Design(lead="m", solo=True), tmp_path, sandbox=sandbox)
    assert played.end.status == "finished"
    assert played.end.text == "done"
    assert sandbox.commands == [("solo", "one"), ("solo", "two")]
    assert played.entries[-1].mono - played.entries[0].mono == pytest.approx(6.0)
    results = [m.body for m in played.state.agents["solo"].conversation.messages if isinstance(m.body, ToolResults)]
    assert [r.text for r in results[0].results] == ["<one>\n[exit code 0]", "<two>\n[exit code 0]"]


async def test_blocking_delegations_run_concurrently_and_come_back_in_call_order(tmp_path: Path) -> None:
    scripts = {
        "lead": [
            do(call("delegate_agent", assignment="slow"), call("delegate_agent", assignment="fast")),
            finish("ok"),
        ],
        "w1": [finish("slow report", delay_s=10)],
        "w2": [finish("fast report", delay_s=4)],
    }
    played = await play(scripts, Design(lead="m", schedule="blocking"), tmp_path)
    assert played.end.status == "finished"
    assert played.entries[-1].mono == pytest.approx(10.0)
    last = played.state.agents["lead"].conversation.messages[2].body
    assert isinstance(last, ToolResults)
    assert "slow report" in last.results[0].text
    assert "fast report" in last.results[1].text
    assert [d.delivered for d in played.state.delegations.values()] == [True, True]


async def test_push_delivers_on_the_next_tool_result_in_order_of_completion(tmp_path: Path) -> None:
    seen: list[Seen] = []

    def lead(s: Seen) -> Step:
        seen.append(s)
        return [
            do(call("delegate_agent", assignment="a"), call("delegate_agent", assignment="b")),
            do(call("wait", mode="all")),
            finish("ok"),
        ][s.turn]

    scripts = {"lead": lead, "w1": [say("first", delay_s=10)], "w2": [say("second", delay_s=4)]}
    played = await play(scripts, Design(lead="m"), tmp_path)
    assert played.end.status == "finished"
    assert seen[1].results == ("d1: w1 works on it", "d2: w2 works on it")
    text = seen[2].results[0]
    assert text.index("second") < text.index("first")
    assert reports(seen[2]) == {"w1": "first", "w2": "second"}
    assert played.entries[-1].mono == pytest.approx(10.0)


async def test_a_lead_that_finishes_early_gets_the_reports_first(tmp_path: Path) -> None:
    scripts = {
        "lead": [do(call("delegate_agent", assignment="a")), say("I am done"), say("really done")],
        "w1": [finish("news", delay_s=5)],
    }
    played = await play(scripts, Design(lead="m"), tmp_path)
    assert played.end.text == "really done"
    told = played.state.agents["lead"].conversation.messages[4].body
    assert isinstance(told, User)
    assert "news" in told.text
    assert len(events(played.entries, DelegationStarted)) == len(events(played.entries, DelegationEnded)) == 1
