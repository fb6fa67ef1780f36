"""The fold behind `leadhand show`: where money and wall-clock went, by agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadhand.analysis.summary import AgentLine, Summary, summarise
from leadhand.core.design import Design
from leadhand.core.values import FREE, Price, Usage
from leadhand.testing.play import play
from leadhand.testing.sandbox import Answer, MemorySandbox
from leadhand.testing.scripted import Step, bash, call, do, finish

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_clock]


def parts(a: AgentLine) -> tuple[float, ...]:
    return tuple(pytest.approx(s) for s in (a.model_s, a.tool_s, a.limited_s, a.idle_s))


async def summary_of(scripts: dict[str, list[Step]], design: Design, folder: Path, seconds: float = 0.0) -> Summary:
    sandbox = MemorySandbox(lambda agent, command: Answer(seconds=seconds))
    played = await play(scripts, design, folder, sandbox=sandbox)
    return summarise(played.entries, dict.fromkeys(design.models, FREE))


async def test_concurrent_blocking_delegations_are_waited_for_once(tmp_path: Path) -> None:
    two = do(call("delegate_agent", assignment="a"), call("delegate_agent", assignment="b"), bash("x"), delay_s=1)
    scripts = {
        "lead": [two, finish("ok", delay_s=2)],
        "w1": [finish("r", delay_s=10)],
        "w2": [finish("r", delay_s=6)],
    }
    s = await summary_of(scripts, Design(lead="m", schedule="blocking"), tmp_path, seconds=4.0)
    lead, w1, w2 = s.agents
    assert (lead.model_s, lead.tool_s, lead.limited_s, lead.idle_s) == parts(
        AgentLine(name="", role="", model="", model_s=3.0, tool_s=4.0, limited_s=0.0, idle_s=6.0)
    )
    assert lead.model_s + lead.tool_s + lead.idle_s + lead.other_s == pytest.approx(s.wall_s) == pytest.approx(13.0)
    assert (w1.model_s, w2.model_s) == (pytest.approx(10.0), pytest.approx(6.0))


async def test_a_rate_limit_is_time_held_back_and_not_model_time(tmp_path: Path) -> None:
    limited = Step(fault="rate_limit", retry_after_s=30.0, delay_s=1.0)
    s = await summary_of({"solo": [limited, finish("ok", delay_s=2)]}, Design(lead="m", solo=True), tmp_path)
    (solo,) = s.agents
    assert solo.model_s == pytest.approx(3.0)
    assert 30.0 <= solo.limited_s <= 40.0
    assert solo.model_s + solo.limited_s + solo.other_s == pytest.approx(s.wall_s)
    assert (solo.attempts, solo.failed_attempts, solo.steps) == (2, 1, 1)


async def test_a_worker_is_at_work_only_while_it_has_a_delegation(tmp_path: Path) -> None:
    scripts = {
        "lead": [
            do(call("delegate_agent", assignment="a")),
            do(bash("think"), delay_s=50),
            do(call("delegate_agent", assignment="b", worker="w1")),
            do(call("wait")),
            finish("ok"),
        ],
        "w1": [finish("one", delay_s=3), finish("two", delay_s=5)],
    }
    s = await summary_of(scripts, Design(lead="m"), tmp_path)
    w1 = s.agents[1]
    assert w1.model_s + w1.tool_s + w1.limited_s + w1.idle_s + w1.other_s == pytest.approx(8.0)
    assert [(d.started_s, d.ended_s, d.delivered_s, d.resumed) for d in s.delegations] == [
        (pytest.approx(0.0), pytest.approx(3.0), pytest.approx(50.0), False),
        (pytest.approx(50.0), pytest.approx(55.0), pytest.approx(55.0), True),
    ]


async def test_the_ledger_by_agent_and_role_adds_up_to_the_run(tmp_path: Path) -> None:
    usage = Usage(input=1_000_000, output=100_000, reasoning=50_000)
    scripts = {
        "lead": [do(call("delegate_agent", assignment="a"), usage=usage), finish("ok", usage=usage)],
        "w1": [finish("r", usage=usage)],
    }
    design = Design(lead="strong", worker="cheap", schedule="blocking", budget_usd=100.0)
    prices = {"strong": Price(input=4, output=20), "cheap": Price(input=0.2, output=1.2)}
    played = await play(scripts, design, tmp_path, prices=prices)
    s = summarise(played.entries, prices)
    assert [round(a.usd, 9) for a in s.agents] == [12.0, 0.32]
    assert [(r.role, r.steps, round(r.usd, 9)) for r in s.roles] == [("lead", 2, 12.0), ("worker", 1, 0.32)]
    assert s.settled_usd == pytest.approx(12.32)
    assert s.usage == Usage(input=3_000_000, output=300_000, reasoning=150_000)
