"""What goes wrong for users of other harnesses, each as the right outcome here. Every test names the report it is for.

Cases of sandboxes, models, prices, limits of providers, run folders and the command line are tested in their own rooms.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from watching import of_kind, since, text_of, told, wall

from leadhand.core import wording
from leadhand.core.design import Design
from leadhand.core.errors import ModelError, RunnerLost, SandboxLost
from leadhand.core.events import (
    AgentEnded,
    AgentStarted,
    AttemptFailed,
    AttemptStarted,
    CallRejected,
    DelegationEnded,
    DelegationStarted,
    MailSent,
    MessageAdded,
    ToolStarted,
)
from leadhand.core.journal import read_journal
from leadhand.core.ports import Reply, Request
from leadhand.core.values import ExecResult, Limits, Price, Usage
from leadhand.testing.play import Played, play
from leadhand.testing.sandbox import Answer, MemorySandbox
from leadhand.testing.scripted import ScriptedModel, Step, bash, call, do, finish, say

pytestmark = pytest.mark.anyio

TEAM = Design(lead="m")
ASK = do(call("delegate_agent", assignment="go"))
ASK_TWO = do(call("delegate_agent", assignment="go"), call("delegate_agent", assignment="go"))
WAIT = do(call("wait"))
WAIT_ALL = do(call("wait", mode="all"))
PRICES = {"m": Price(input=1.0, output=10.0)}


def delegations(run: Played) -> dict[str, str]:
    return {d.worker: d.status for d in of_kind(run.entries, DelegationEnded)}


class Hook(ScriptedModel):
    """A scripted model with something else done before some replies."""

    def __init__(self, scripts: dict[str, Any], before: Callable[[Request], Any]) -> None:
        super().__init__(scripts)
        self.before = before

    async def complete(self, request: Request) -> Reply:
        await self.before(request)
        return await super().complete(request)


async def test_a_hung_worker_times_out_and_its_siblings_are_delivered(tmp_path: Path) -> None:
    """anthropics/claude-code #44783"""

    async def hang(request: Request) -> None:
        if request.agent == "w1":
            await anyio.sleep_forever()

    scripts = {"lead": [ASK_TWO, WAIT, WAIT, say("ok")], "w1": [], "w2": [finish("mine", delay_s=5)]}
    run = await play(Hook(scripts, hang), Design(lead="m", limits=Limits(delegation_s=60)), tmp_path)
    first, second = told(run.entries, "lead")[2:]
    assert first.at == 5
    assert "mine" in first.texts[0]
    assert second.at == 60
    assert 'status="timed_out"' in second.texts[0]
    assert wall(run.entries) == 60


async def test_a_command_that_hangs_is_bounded_by_its_own_limit(tmp_path: Path) -> None:
    """anthropics/claude-code #44783: a worker's shell call"""
    sandbox = MemorySandbox(lambda *_: Answer(seconds=1e9))
    scripts = {"lead": [ASK, WAIT, say("ok")], "w1": [do(bash("hang")), finish("it hung")]}
    run = await play(scripts, TEAM, tmp_path, sandbox=sandbox)
    assert delegations(run) == {"w1": "finished"}
    assert wall(run.entries) == TEAM.limits.command_s
    assert "[timed out after 180 s" in text_of(run.entries, "w1")


@pytest.mark.parametrize(("held_s", "status"), [(10.0, "cancelled"), (500.0, "abandoned")])
async def test_stopping_a_dead_worker_is_bounded(held_s: float, status: str, tmp_path: Path) -> None:
    """openai/codex #24389, #31036: the lead is told after half a minute at the latest, whatever the worker does."""

    async def ignore_the_stop(request: Request) -> None:
        if request.agent == "w1":
            with anyio.CancelScope(shield=True):
                await anyio.sleep(held_s)

    scripts = {
        "lead": [ASK, do(bash("x"), call("cancel_worker", worker="w1")), say("ok", delay_s=1), say("ok")],
        "w1": [finish("late", delay_s=1)],
    }
    model = Hook(scripts, ignore_the_stop)
    box = MemorySandbox(lambda *_: Answer(seconds=1))
    run = await play(model, Design(lead="m", schedule="notify", at_finish="cancel"), tmp_path, sandbox=box)
    answered = told(run.entries, "lead")[2]
    assert answered.at == min(held_s, 1 + 30)
    assert f"d1 of w1 {status}" in answered.texts[1]
    assert delegations(run) == {"w1": status}
    assert [e.status for e in of_kind(run.entries, AgentEnded)] == ["cancelled", "finished"]


async def test_cancelling_in_the_same_turn_as_delegating_stops_the_worker(tmp_path: Path) -> None:
    """openai/codex #24389, the kind: a stop that comes before the worker's first step is not lost"""
    scripts = {
        "lead": [do(call("delegate_agent", assignment="go"), call("cancel_worker", worker="w1")), say("ok"), say("ok")],
        "w1": [finish("late", delay_s=100)],
    }
    run = await play(scripts, Design(lead="m", schedule="notify"), tmp_path)
    assert delegations(run) == {"w1": "cancelled"}
    assert wall(run.entries) == 0


async def test_a_dead_sandbox_ends_the_run_at_once(tmp_path: Path) -> None:
    """SWE-agent/mini-swe-agent #803: no model is fed errors until a limit"""
    sandbox = MemorySandbox(lambda agent, _: Answer(lost=agent == "w1", seconds=50))
    scripts = {"lead": [ASK, do(bash("long")), say("never")], "w1": [do(bash("x"), delay_s=3), say("never")]}
    model = ScriptedModel(scripts)
    with pytest.raises(SandboxLost):
        await play(model, TEAM, tmp_path, sandbox=sandbox)
    entries = read_journal(tmp_path / "journal.jsonl")
    assert wall(entries) == 3
    assert len(model.requests) == 3
    assert [d.status for d in of_kind(entries, DelegationEnded)] == ["cancelled"]
    assert [(e.status, e.fault) for e in of_kind(entries, AgentEnded)] == [
        ("cancelled", ""),
        ("failed", "SandboxLost: the sandbox is gone"),
    ]


async def test_a_lost_runner_is_told_to_its_agent_and_to_nobody_else(tmp_path: Path) -> None:
    """SWE-agent/mini-swe-agent #803, the other half: what is not dead goes on"""

    class Flaky(MemorySandbox):
        async def exec(self, command: str, **more: Any) -> ExecResult:
            if command == "kill -9 $PPID":
                raise RunnerLost("gone")
            return await super().exec(command, **more)

    run = await play(
        {"solo": [do(bash("kill -9 $PPID")), say("ok")]}, Design(lead="m", solo=True), tmp_path, sandbox=Flaky()
    )
    assert run.end.status == "finished"
    assert "the shell that ran this command died and was replaced" in text_of(run.entries, "solo")


@pytest.mark.parametrize(
    ("script", "status", "words"),
    [
        ([say("", delay_s=1)] * 3, "partial", "ended early: gave_up"),
        ([Step(fault="invalid_key")], "failed", "the worker failed: invalid_key"),
        ([Step(fault="context_length")], "partial", "ended early: out_of_context"),
        ([say("no", stop="refusal")], "partial", "ended early: refused"),
        ([do(bash("x"))] * 3, "partial", "ended early: out_of_steps"),
        ([do(bash("x")), say("late", delay_s=1e6)], "timed_out", "its limit of 1800 s is over"),
        ([finish("")], "finished", "without a word"),
    ],
)
async def test_a_worker_that_ends_without_a_result_leaves_exactly_one_record(
    script: list[Step], status: str, words: str, tmp_path: Path
) -> None:
    """openai/codex #26822, openclaw/openclaw #89095: also an end without any output is told"""
    design = Design(lead="m", limits=Limits(steps=3))
    run = await play({"lead": [ASK, WAIT, say("ok")], "w1": script}, design, tmp_path)
    assert delegations(run) == {"w1": status}
    assert words in told(run.entries, "lead")[2].texts[0]
    assert f'status="{status}"' in told(run.entries, "lead")[2].texts[0]


async def test_a_lead_that_finishes_while_workers_run_gets_their_reports_first(tmp_path: Path) -> None:
    """anthropics/claude-code #94392, Abilityai/trinity #2127"""
    scripts = {"lead": [ASK, finish("too early"), finish("now")], "w1": [finish("news", delay_s=9)]}
    run = await play(scripts, TEAM, tmp_path)
    assert run.end.text == "now"
    assert told(run.entries, "lead")[2].at == 9
    assert "news" in told(run.entries, "lead")[2].texts[0]


async def test_a_lead_that_fails_while_workers_run_does_not_look_finished(tmp_path: Path) -> None:
    """anthropics/claude-code #94392, Abilityai/trinity #2127: never "success" """
    scripts = {"lead": [ASK, Step(fault="quota", delay_s=2)], "w1": [finish("news", delay_s=9)]}
    run = await play(scripts, TEAM, tmp_path)
    assert (run.end.status, run.end.fault) == ("failed", "quota: scripted fault: quota")
    assert delegations(run) == {"w1": "cancelled"}


@pytest.mark.parametrize(
    "error", [RuntimeError("boom"), ModelError("server", "down"), KeyError("x"), OSError(28, "full")]
)
async def test_one_failing_worker_discards_nothing_of_its_siblings(error: Exception, tmp_path: Path) -> None:
    """anomalyco/opencode #37315, langchain-ai/deepagents #694"""

    async def fail(request: Request) -> None:
        if request.agent == "w2":
            await anyio.sleep(2)
            raise error

    delegate = do(*(call("delegate_agent", assignment="go") for _ in range(3)))
    scripts = {"lead": [delegate], "w1": [finish("one", delay_s=1)], "w2": [], "w3": [finish("three", delay_s=9)]}
    model = Hook({**scripts, "lead": [delegate, say("ok")]}, fail)
    run = await play(model, Design(lead="m", schedule="blocking", retries=0), tmp_path)
    assert delegations(run) == {"w1": "finished", "w2": "failed", "w3": "finished"}
    one, two, three = told(run.entries, "lead")[1].texts
    assert "one" in one
    assert "the worker failed" in two
    assert "three" in three


async def test_the_lead_knows_the_status_of_every_delegation_when_it_ends(tmp_path: Path) -> None:
    """anthropics/claude-code #90807: results that never came cannot be taken for fact"""
    delegate = do(*(call("delegate_agent", assignment="go") for _ in range(4)))
    scripts = {
        "lead": [delegate, say("all done"), say("really")],
        "w1": [finish("one")],
        "w2": [Step(fault="invalid_key")],
        "w3": [say("", delay_s=1)] * 3,
        "w4": [say("late", delay_s=1e6)],
    }
    run = await play(scripts, Design(lead="m", schedule="pull"), tmp_path)
    last = told(run.entries, "lead")[-1].texts[0]
    assert [
        f'delegation="d{i}" status="{s}"' in last
        for i, s in enumerate(["finished", "failed", "partial", "timed_out"], 1)
    ] == [True] * 4


async def test_a_report_is_clipped_once_and_by_its_own_cap(tmp_path: Path) -> None:
    """UKGovernmentBEIS/inspect_ai #5117: the cap of command outputs is another"""
    text = "x" * 15_000
    design = Design(lead="m", limits=Limits(output_chars=200))
    run = await play({"lead": [ASK, WAIT, say("ok")], "w1": [finish(text)]}, design, tmp_path)
    assert text in told(run.entries, "lead")[2].texts[0]


async def test_workers_cannot_delegate_and_five_stay_five(tmp_path: Path) -> None:
    """anthropics/claude-code #72566, #72732, anomalyco/opencode #18100"""
    many = do(*(call("delegate_agent", assignment=f"part {i}") for i in range(300)))
    scripts: dict[str, Any] = {"lead": [many, WAIT_ALL, say("ok")]}
    scripts |= {f"w{i}": [many, finish("x")] for i in range(1, 6)}
    run = await play(scripts, TEAM, tmp_path)
    assert len(of_kind(run.entries, DelegationStarted)) == 5
    assert len([e for e in of_kind(run.entries, AgentStarted) if e.role == "worker"]) == 5
    rejected = of_kind(run.entries, CallRejected)
    assert len(rejected) == 295
    assert "all 5 workers of the team are in use" in rejected[0].reason
    assert "there is no tool 'delegate_agent'" in text_of(run.entries, "w1")


async def test_the_cap_never_limits_resumes(tmp_path: Path) -> None:
    """anomalyco/opencode #18100, the other side"""
    again = do(call("delegate_agent", assignment="more", worker="w1"))
    lead = [ASK, WAIT, *[again, WAIT] * 6, say("ok")]
    run = await play(
        {"lead": lead, "w1": [finish(f"{i}") for i in range(7)]}, Design(lead="m", max_workers=1), tmp_path
    )
    assert [d.resumed for d in of_kind(run.entries, DelegationStarted)] == [False, *[True] * 6]
    assert len(of_kind(run.entries, CallRejected)) == 0


@pytest.mark.parametrize("workers", [16, 20])
async def test_a_shared_budget_is_never_overshot_however_many_run(workers: int, tmp_path: Path) -> None:
    """pydantic/pydantic-ai-harness #696, #588, BerriAI/litellm #34732: reserve before the call, settle after"""
    usage = Usage(input=1000, output=500)  # 0.006 dollars
    delegate = do(*(call("delegate_agent", assignment="go") for _ in range(workers)), usage=usage)
    scripts: dict[str, Any] = {"lead": [delegate, WAIT_ALL, say("ok")]}
    scripts |= {f"w{i}": [do(bash("x"), usage=usage, delay_s=1)] * 50 for i in range(1, workers + 1)}
    design = Design(lead="m", workers=workers, budget_usd=0.2, max_output_tokens=500)
    run = await play(scripts, design, tmp_path, prices=PRICES)
    ledger = run.state.ledger
    assert set(delegations(run).values()) == {"partial"}
    assert run.end.status == "finished"  # a quarter was kept for the lead
    assert 0.1 < ledger.settled <= 0.2
    for name in ledger.agents:
        assert ledger.agents[name].unknown == 0


async def test_a_worker_waits_for_room_only_while_another_call_can_give_it(tmp_path: Path) -> None:
    """griffinwork40/agent-afk #941, the kind: nobody holds what another one waits for"""
    usage = Usage(input=100, output=100)
    scripts = {
        "lead": [ASK_TWO, WAIT_ALL, say("ok")],
        "w1": [finish("one", delay_s=10, usage=usage)],
        "w2": [finish("two", delay_s=10, usage=usage)],
    }
    design = Design(lead="m", budget_usd=0.02, max_output_tokens=1000)  # room for one call of a worker at a time
    run = await play(scripts, design, tmp_path, prices=PRICES)
    assert delegations(run) == {"w1": "finished", "w2": "finished"}
    asked = {
        e.agent: since(run.entries, e) for e in run.entries if isinstance(e.event, AttemptStarted) and e.agent != "lead"
    }
    assert sorted(asked.values()) == [0, 10]


async def test_an_admission_is_per_request_so_a_waiting_lead_blocks_nobody(tmp_path: Path) -> None:
    """griffinwork40/agent-afk #941: a lead that waits for its worker holds no slot"""

    class OneAtATime:
        """Two seconds between any two requests, and nothing held by who has been admitted."""

        def __init__(self) -> None:
            self.next = 0.0

        async def admit(self, model: str) -> None:
            turn, self.next = self.next, max(self.next, anyio.current_time()) + 2.0
            await anyio.sleep(max(0.0, turn - anyio.current_time()))

        def observe(self, model: str, retry_after_s: float | None) -> None:
            pass

    scripts = {"lead": [ASK, say("ok")], "w1": [do(bash("x")), finish("one")]}
    run = await play(scripts, Design(lead="m", schedule="blocking"), tmp_path, limiter=OneAtATime())
    assert run.end.status == "finished"
    assert wall(run.entries) == 6


async def test_a_burst_of_rate_limits_wipes_out_nothing(tmp_path: Path) -> None:
    """Astro-Han/pawwork #1348, anthropics/claude-code #68968"""
    limited = [Step(fault="rate_limit", retry_after_s=7.0)] * 3
    scripts = {"lead": [ASK_TWO, WAIT_ALL, say("ok")], "w1": [*limited, finish("one")], "w2": [*limited, finish("two")]}
    run = await play(scripts, TEAM, tmp_path)
    assert delegations(run) == {"w1": "finished", "w2": "finished"}
    pauses = [f.retry_in_s for f in of_kind(run.entries, AttemptFailed)]
    assert len(pauses) == 6
    assert all(p is not None and 7.0 <= p <= 10.0 for p in pauses)
    assert len(set(pauses)) == 6  # jitter: they do not come back together


async def test_a_worker_is_given_what_remains_not_the_whole(tmp_path: Path) -> None:
    """OpenHands/software-agent-sdk #3845: time and money"""
    scripts = {"lead": [do(bash("x"), delay_s=80), ASK, say("ok"), say("ok")], "w1": [say("late", delay_s=1e6)]}
    design = Design(lead="m", limits=Limits(run_s=100, delegation_s=1000))
    run = await play(scripts, design, tmp_path)
    assert run.end.status == "out_of_time"
    assert wall(run.entries) == 100
    spent = [do(bash("x"), usage=Usage(input=100, output=1000))] * 14  # 0.14 of 0.2 dollars
    scripts = {"lead": [*spent, ASK, WAIT, say("ok")], "w1": [finish("no money for this")]}
    (tmp_path / "money").mkdir()
    design = Design(lead="m", budget_usd=0.2, max_output_tokens=1000, budget_visibility="team")
    run = await play(scripts, design, tmp_path / "money", prices=PRICES)
    assert delegations(run) == {"w1": "partial"}
    assert "ended early: out_of_budget" in text_of(run.entries, "lead")


async def test_the_cost_of_the_team_is_the_sum_of_its_agents(tmp_path: Path) -> None:
    """anomalyco/opencode #45417"""
    usage = Usage(input=1000, output=100)
    scripts = {
        "lead": [do(*ASK_TWO.calls, usage=usage), do(*WAIT_ALL.calls, usage=usage), say("ok", usage=usage)],
        "w1": [finish("x", usage=usage)],
        "w2": [do(bash("x"), usage=usage), finish("x", usage=usage)],
    }
    ledger = (await play(scripts, TEAM, tmp_path, prices=PRICES)).state.ledger
    assert ledger.settled == pytest.approx(6 * 0.002)
    assert {n: s.settled for n, s in ledger.agents.items()} == pytest.approx({"lead": 0.006, "w1": 0.002, "w2": 0.004})
    assert ledger.models["m"].settled == pytest.approx(ledger.settled)


async def test_a_cancelled_worker_leaves_a_mark(tmp_path: Path) -> None:
    """openai/codex #12844: half-edited files are said to be half-edited"""
    scripts = {
        "lead": [ASK, do(bash("y")), do(call("cancel_worker", worker="w1")), say("ok", delay_s=1), say("ok")],
        "w1": [do(bash("edit"), text="I edit main.c now")],
    }
    sandbox = MemorySandbox(lambda agent, _: Answer(seconds=100 if agent == "w1" else 5))
    run = await play(scripts, Design(lead="m", schedule="notify"), tmp_path, sandbox=sandbox)
    report = of_kind(run.entries, DelegationEnded)[0].report
    assert "the lead cancelled it. Files it was editing may be half done" in report
    assert "I edit main.c now" in report


async def test_a_cancelled_worker_that_goes_on_knows_what_was_broken_off(tmp_path: Path) -> None:
    """openai/codex #12844"""
    scripts = {
        "lead": [
            ASK,
            do(bash("y")),
            do(call("cancel_worker", worker="w1")),
            do(call("delegate_agent", assignment="on", worker="w1")),
            WAIT_ALL,
            say("ok"),
            say("ok"),
        ],
        "w1": [do(bash("edit"), bash("never")), finish("now done")],
    }
    sandbox = MemorySandbox(lambda agent, _: Answer(seconds=100 if agent == "w1" else 5))
    run = await play(scripts, Design(lead="m", schedule="notify"), tmp_path, sandbox=sandbox)
    _, broken, assignment = told(run.entries, "w1")
    assert broken.texts == ("[killed]", "[not carried out: you were stopped before it]")
    assert assignment.texts == ("You are w1. on",)
    assert [d.status for d in of_kind(run.entries, DelegationEnded)] == ["cancelled", "finished"]


async def test_every_command_starts_in_the_agents_own_directory(tmp_path: Path) -> None:
    """intent-hq/intent #2122, anthropics/claude-code #88950: the team hands no stale directory to the sandbox"""
    seen = []

    class Watch(MemorySandbox):
        async def exec(
            self, command: str, *, agent: str, timeout_s: float, cwd: str = "", keep: int = 65_536
        ) -> ExecResult:
            seen.append((agent, cwd))
            return await super().exec(command, agent=agent, timeout_s=timeout_s, cwd=cwd, keep=keep)

    scripts = {"lead": [ASK, do(bash("cd /tmp"), bash("pwd")), WAIT, say("ok")], "w1": [do(bash("pwd")), finish("x")]}
    run = await play(scripts, TEAM, tmp_path, sandbox=Watch())
    assert run.end.status == "finished"
    assert sorted(seen) == [("lead", ""), ("lead", ""), ("w1", "")]


@pytest.mark.parametrize(
    ("to", "text", "reason"),
    [
        ("w9", "hi", "there is no agent 'w9'; agents: lead, w2"),
        ("w1", "hi", "that is yourself"),
        ("w2", "hi", "w2 has finished its work and reads no messages"),
        ("w3", "hi", "w3 has no assignment yet and reads no messages"),
        ("lead", " ", "the message is empty"),
    ],
)
async def test_a_message_to_nobody_is_rejected_with_the_reason(to: str, text: str, reason: str, tmp_path: Path) -> None:
    """anthropics/claude-code #84494, #76500"""
    scripts = {
        "lead": [ASK_TWO, WAIT_ALL, say("ok")],
        "w1": [do(call("send_message", to=to, text=text), delay_s=5), finish("x")],
        "w2": [finish("x")],
    }
    run = await play(scripts, Design(lead="m", messaging="on", workers=3), tmp_path)
    assert not of_kind(run.entries, MailSent)
    assert [r.reason for r in of_kind(run.entries, CallRejected)] == [reason]


async def test_a_message_arrives_with_the_next_result_and_wakes_a_waiting_lead(tmp_path: Path) -> None:
    """anthropics/claude-code #84494: not minutes later"""
    scripts = {
        "lead": [ASK, WAIT, do(call("send_message", to="w1", text="the answer")), WAIT, say("ok")],
        "w1": [do(call("send_message", to="lead", text="a question"), bash("x"), delay_s=4), finish("x")],
    }
    sandbox = MemorySandbox(lambda *_: Answer(seconds=10))
    run = await play(scripts, Design(lead="m", messaging="on"), tmp_path, sandbox=sandbox)
    woken = told(run.entries, "lead")[2]
    assert woken.at == 4
    assert "a question" in woken.texts[0]
    assert "the answer" in told(run.entries, "w1")[1].texts[1]
    assert told(run.entries, "w1")[1].at == 14


async def test_a_queued_message_revives_nobody(tmp_path: Path) -> None:
    """anthropics/claude-code #76500: it is read when its reader is given work again, if it ever is"""
    scripts = {
        "lead": [ASK, do(bash("y"), call("send_message", to="w1", text="wait!")), WAIT_ALL, say("ok")],
        "w1": [finish("x", delay_s=6)],
    }
    sandbox = MemorySandbox(lambda *_: Answer(seconds=5))
    run = await play(scripts, Design(lead="m", messaging="on"), tmp_path, sandbox=sandbox)
    assert len(of_kind(run.entries, MailSent)) == 1
    assert not any(m.delivered for m in run.state.mail.values())
    assert run.state.agents["w1"].steps == 1


async def test_a_fault_of_the_environment_is_told_from_a_failure_of_the_model(tmp_path: Path) -> None:
    """SWE-bench/SWE-bench PR #594, #586"""
    lead = [ASK_TWO, WAIT_ALL, say("ok")]
    scripts = {"lead": lead, "w1": [Step(fault="invalid_key")], "w2": [say("")] * 3}
    run = await play(scripts, TEAM, tmp_path)
    faults = {e.agent: e.event.fault for e in run.entries if isinstance(e.event, AgentEnded)}
    assert faults == {"w1": "invalid_key: scripted fault: invalid_key", "w2": "", "lead": ""}


async def test_a_run_without_delegations_is_a_valid_run(tmp_path: Path) -> None:
    """alvinunreal/oh-my-opencode-slim #1012"""
    run = await play({"lead": [do(bash("x")), say("alone")]}, Design(lead="m", workers=16), tmp_path)
    assert run.end.status == "finished"
    assert not of_kind(run.entries, DelegationStarted)


@pytest.mark.parametrize("visibility", ["none", "own", "team"])
async def test_what_agents_are_told_of_the_budget_is_a_setting(visibility: str, tmp_path: Path) -> None:
    """tc3oliver/claude-team-kit #8 (2)"""
    usage = Usage(input=10_000, output=100)  # 0.011 dollars
    scripts = {
        "lead": [do(*ASK.calls, usage=usage), do(*WAIT.calls, delay_s=9), say("ok")],
        "w1": [do(bash("x"), usage=usage), finish("x")],
    }
    design = Design(lead="m", budget_usd=1.0, budget_visibility=visibility)  # type: ignore[arg-type]
    run = await play(scripts, design, tmp_path, prices=PRICES)
    lead, worker = told(run.entries, "lead")[1].texts[0], told(run.entries, "w1")[1].texts[0]
    match visibility:
        case "none":
            assert "$" not in text_of(run.entries, "lead") + text_of(run.entries, "w1")
        case "own":
            assert lead.endswith("[you have spent $0.0110]")
            assert worker.endswith("[you have spent $0.0110]")
        case "team":
            assert lead.endswith(
                "[the team has spent $0.0110 of $1.00, $0.9890 of it is left to you; you have spent $0.0110]"
            )
            assert worker.endswith(
                "[the team has spent $0.0220 of $1.00, $0.7280 of it is left to you; you have spent $0.0110]"
            )


async def test_an_interrupted_command_is_never_silently_run_again(tmp_path: Path) -> None:
    """intent-hq/intent #2122, openai/codex #12844, the kind: what has an effect happens once"""
    scripts = {"solo": [do(bash("rm -r build"), bash("make")), say("ok")]}
    await play(scripts, Design(lead="m", solo=True), tmp_path, sandbox=MemorySandbox())
    path = tmp_path / "journal.jsonl"
    entries = read_journal(path)
    began = [i for i, e in enumerate(entries) if isinstance(e.event, ToolStarted)][1]
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[: began + 1]))  # killed while make runs
    sandbox = MemorySandbox()
    run = await play(scripts, Design(lead="m", solo=True), tmp_path, sandbox=sandbox, restarted=True)
    assert sandbox.commands == []
    result = told(run.entries, "solo")[1].texts
    assert result[0] == "[exit code 0]"
    assert "It was not run again" in result[1]
    assert wording.LEFTOVERS in result[1]
    assert [e for e in of_kind(run.entries, MessageAdded) if e.assigns] == []
