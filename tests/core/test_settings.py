"""The settings of a team, one at a time: size, kinds, conventions, what happens at the end, limits and budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from watching import of_kind, text_of, told, wall

from leadhand.core import wording
from leadhand.core.attempts import backoff, fits
from leadhand.core.design import Design, Kind, check
from leadhand.core.errors import UsageError
from leadhand.core.events import (
    AgentEnded,
    AgentStarted,
    AttemptStarted,
    CallRejected,
    DelegationEnded,
    DelegationStarted,
    MessageAdded,
)
from leadhand.core.ports import Reply, Request
from leadhand.core.tools import specs
from leadhand.core.values import Limits, Price, Usage
from leadhand.testing.play import Played, play
from leadhand.testing.sandbox import Answer, MemorySandbox
from leadhand.testing.scripted import ScriptedModel, Step, bash, call, do, finish, say

pytestmark = pytest.mark.anyio

PRICES = {"m": Price(input=1.0, output=10.0)}


def ask(assignment: str = "go", **more: Any) -> Step:
    return do(call("delegate_agent", assignment=assignment, **more))


WAIT = do(call("wait", mode="all"))


def rejected(run: Played) -> list[str]:
    return [r.reason for r in of_kind(run.entries, CallRejected)]


# --- size and kinds ------------------------------------------------------------------------------------------------


async def test_a_fixed_team_takes_the_lowest_unused_or_the_one_that_is_named(tmp_path: Path) -> None:
    scripts: dict[str, Any] = {"lead": [ask(worker="w3"), ask(), ask(), ask(), ask(worker="w5"), WAIT, say("ok")]}
    scripts |= {f"w{i}": [finish("x", delay_s=100)] for i in range(1, 5)}
    run = await play(scripts, Design(lead="m", workers=4), tmp_path)
    assert [d.worker for d in of_kind(run.entries, DelegationStarted)] == ["w3", "w1", "w2", "w4"]
    assert rejected(run) == ["there is no worker 'w5'; your workers: w3, w1, w2, w4. Leave worker out for a new one"]


async def test_a_dynamic_team_hands_its_names_out_in_order(tmp_path: Path) -> None:
    lead = [ask(worker="w2"), ask(worker="w1"), ask(), ask(), WAIT, say("ok")]
    scripts = {"lead": lead, "w1": [finish("x", delay_s=9)], "w2": [finish("x", delay_s=9)]}
    run = await play(scripts, Design(lead="m", max_workers=2), tmp_path)
    assert [d.worker for d in of_kind(run.entries, DelegationStarted)] == ["w1", "w2"]
    assert rejected(run) == [
        "there is no worker 'w2'; your workers: none yet. Leave worker out for a new one",
        "all 2 workers of the team are in use; give the assignment to one of them with worker=...",
    ]


async def test_a_resumed_worker_remembers_and_a_busy_one_is_left_alone(tmp_path: Path) -> None:
    lead = [ask("first"), ask("too soon", worker="w1"), WAIT, ask("second", worker="w1"), WAIT, say("ok")]
    scripts = {"lead": lead, "w1": [do(bash("look"), delay_s=9), finish("one"), say("two")]}
    run = await play(scripts, Design(lead="m"), tmp_path)
    assert [d.resumed for d in of_kind(run.entries, DelegationStarted)] == [False, True]
    assert rejected(run) == ["w1 is busy; wait for it, or give this to another worker"]
    assert [t.texts[-1] for t in told(run.entries, "w1")] == [
        "You are w1. first",
        "[exit code 0]",
        wording.RETURNED,
        "You are w1. second",
    ]


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ([Step(fault="context_length")], "out_of_context"),
        ([say("no", stop="refusal")], "refused"),
        ([do(bash("x"))] * 4, "out_of_steps"),
    ],
)
async def test_an_exhausted_worker_is_not_resumed(script: list[Step], why: str, tmp_path: Path) -> None:
    lead = [ask(), WAIT, ask(worker="w1"), say("ok")]
    run = await play({"lead": lead, "w1": script}, Design(lead="m", limits=Limits(steps=4)), tmp_path)
    assert rejected(run) == [f"w1 cannot go on ({why}); give this to another worker"]


async def test_a_worker_that_failed_may_try_again(tmp_path: Path) -> None:
    lead = [ask(), WAIT, ask(worker="w1"), WAIT, say("ok")]
    run = await play({"lead": lead, "w1": [Step(fault="quota"), finish("fine")]}, Design(lead="m"), tmp_path)
    assert [d.status for d in of_kind(run.entries, DelegationEnded)] == ["failed", "finished"]


async def test_a_worker_that_gave_up_starts_with_a_clean_slate_when_resumed(tmp_path: Path) -> None:
    lead = [ask(), WAIT, ask(worker="w1"), WAIT, say("ok")]
    run = await play({"lead": lead, "w1": [say("")] * 5 + [finish("fine")]}, Design(lead="m"), tmp_path)
    assert [d.status for d in of_kind(run.entries, DelegationEnded)] == ["partial", "finished"]


KINDS = (
    Kind(name="strong", model="big", reasoning="high", count=1, role="You implement."),
    Kind(name="cheap", model="small", count=2),
)


async def test_kinds_of_workers_in_one_team(tmp_path: Path) -> None:
    lead = [
        do(
            call("delegate_agent", assignment="a", kind="cheap"),
            call("delegate_agent", assignment="b"),
            call("delegate_agent", assignment="c"),
            call("delegate_agent", assignment="d", kind="strong"),
            call("delegate_agent", assignment="e", kind="odd"),
        ),
        WAIT,
        do(call("delegate_agent", assignment="f", worker="w1", kind="strong")),
        say("ok"),
    ]
    scripts = {"lead": lead, **{f"w{i}": [finish("x")] for i in (1, 2, 3)}}
    run = await play(scripts, Design(lead="m", workers=3, kinds=KINDS), tmp_path)
    started = {e.agent: e.event for e in run.entries if isinstance(e.event, AgentStarted)}
    assert [(started[w].worker_kind, started[w].model, started[w].reasoning) for w in ("w1", "w2", "w3")] == [
        ("cheap", "small", ""),
        ("strong", "big", "high"),
        ("cheap", "small", ""),
    ]
    assert rejected(run) == [
        "all 3 workers of the team are in use; give the assignment to one of them with worker=...",
        "all 3 workers of the team are in use; give the assignment to one of them with worker=...",
        "w1 is of kind 'cheap', not 'strong'",
    ]
    assert told(run.entries, "w2")[0].texts == ("You implement.\n\nYou are w2. b",)
    assert told(run.entries, "w1")[0].texts == ("You are w1. a",)


async def test_a_kind_that_is_used_up_or_unknown_is_explained(tmp_path: Path) -> None:
    lead = [ask(kind="strong"), ask(kind="strong"), ask(kind="odd"), WAIT, say("ok")]
    scripts = {"lead": lead, "w1": [finish("x", delay_s=9)]}
    run = await play(scripts, Design(lead="m", kinds=KINDS), tmp_path)
    assert rejected(run) == [
        "no worker of that kind is left; resume one with worker=..., or take another kind",
        "there is no kind 'odd' of worker; kinds: 'strong', 'cheap'",
    ]


async def test_where_there_is_one_kind_there_is_no_choice(tmp_path: Path) -> None:
    run = await play({"lead": [ask(kind="x"), say("ok")]}, Design(lead="m"), tmp_path)
    assert rejected(run) == ["there is no kind 'x' of worker; kinds: only one, leave kind out"]
    assert "kind" not in specs(Design(lead="m"), "lead")[1].parameters["properties"]
    kind = specs(Design(lead="m", kinds=KINDS), "lead")[1].parameters["properties"]["kind"]
    assert kind["enum"] == ["strong", "cheap"]


# --- conventions ---------------------------------------------------------------------------------------------------


async def test_conventions_are_written_once_and_carried_by_every_later_assignment(tmp_path: Path) -> None:
    lead = [
        ask("a"),
        do(
            call("delegate_agent", assignment="b", conventions="tabs"),
            call("delegate_agent", assignment="c"),
            call("delegate_agent", assignment="d", conventions="blanks"),
        ),
        WAIT,
        ask("e", worker="w1"),
        WAIT,
        say("ok"),
    ]
    scripts = {"lead": lead, **{f"w{i}": [finish("x"), finish("y")] for i in (1, 2, 3, 4)}}
    run = await play(scripts, Design(lead="m"), tmp_path)
    briefs = [e.message.body.text for e in of_kind(run.entries, MessageAdded) if e.assigns]  # type: ignore[union-attr]
    assert briefs == [
        "You are w1. a",
        "You are w2. Conventions:\ntabs\n\nb",
        "You are w3. Conventions:\ntabs\n\nc",
        "You are w4. Conventions:\nblanks\n\nd",
        "You are w1. Conventions:\nblanks\n\ne",
    ]


async def test_braces_in_an_assignment_are_only_text(tmp_path: Path) -> None:
    scripts = {"lead": [ask("use {worker} and {0}", conventions="{x}"), WAIT, say("ok")], "w1": [finish("{y}")]}
    run = await play(scripts, Design(lead="m"), tmp_path)
    assert told(run.entries, "w1")[0].texts == ("You are w1. Conventions:\n{x}\n\nuse {worker} and {0}",)


# --- the end -------------------------------------------------------------------------------------------------------


async def test_at_finish_cancel_stops_all_workers_together(tmp_path: Path) -> None:
    """Twenty that will not stop cost one grace period, not twenty."""

    class Deaf(ScriptedModel):
        async def complete(self, request: Request) -> Reply:
            if request.agent != "lead":
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(45)
                await anyio.sleep_forever()
            return await super().complete(request)

    scripts = {"lead": [do(*ask().calls * 20), say("enough", delay_s=1)]}
    run = await play(Deaf(scripts), Design(lead="m", workers=20, at_finish="cancel"), tmp_path)
    assert run.end.text == "enough"
    assert {d.status for d in of_kind(run.entries, DelegationEnded)} == {"abandoned"}
    assert {e.mono for e in run.entries if isinstance(e.event, DelegationEnded)} == {31.0}
    assert not any(d.delivered for d in run.state.delegations.values())


async def test_at_finish_refuse_says_who_still_works(tmp_path: Path) -> None:
    scripts = {"lead": [ask(), finish("no"), say("no"), WAIT, finish("yes")], "w1": [finish("x", delay_s=9)]}
    run = await play(scripts, Design(lead="m", at_finish="refuse"), tmp_path)
    refused = wording.REFUSED.format(overview="ended: none; still running: d1 of w1")
    assert [t.texts for t in told(run.entries, "lead")[2:4]] == [(refused,), (refused,)]
    assert run.end.text == "yes"
    assert wall(run.entries) == 9


async def test_finish_beside_other_calls_is_rejected_and_the_others_are_carried_out(tmp_path: Path) -> None:
    box = MemorySandbox()
    scripts = {"solo": [do(call("finish", text="now"), bash("x")), finish("then")]}
    run = await play(scripts, Design(lead="m", solo=True), tmp_path, sandbox=box)
    assert run.end.text == "then"
    assert box.commands == [("solo", "x")]
    assert rejected(run) == [wording.FINISH_ALONE]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (say(""), wording.EMPTY),
        (say("  \n"), wording.EMPTY),
        (say("I will", commentary=True), wording.EMPTY),
        (say("half a", stop="length"), wording.CUT),
    ],
)
async def test_three_useless_replies_in_a_row_end_an_agent_two_do_not(bad: Step, words: str, tmp_path: Path) -> None:
    for name, steps in (("two", [bad, bad, do(bash("x")), bad, bad, finish("ok")]), ("three", [bad] * 3)):
        (tmp_path / name).mkdir()
        run = await play({"solo": steps}, Design(lead="m", solo=True), tmp_path / name)
        assert run.end.status == ("finished" if name == "two" else "gave_up")
        assert text_of(run.entries, "solo").count(words) == (4 if name == "two" else 2)


async def test_a_pause_is_not_an_end(tmp_path: Path) -> None:
    run = await play({"solo": [say("", stop="pause"), finish("ok")]}, Design(lead="m", solo=True), tmp_path)
    assert run.end.text == "ok"
    assert run.state.agents["solo"].steps == 2


async def test_a_stop_ends_all_agents_and_one_before_the_first_step_spends_nothing(tmp_path: Path) -> None:
    scripts = {"lead": [do(*ask().calls * 2), WAIT], "w1": [say("x", delay_s=9)], "w2": [say("x", delay_s=2)]}
    run = await play(scripts, Design(lead="m"), tmp_path, stop_after_s=5)
    assert (run.end.status, wall(run.entries)) == ("cancelled", 5)
    assert [d.status for d in of_kind(run.entries, DelegationEnded)] == ["finished", "cancelled"]
    (tmp_path / "b").mkdir()
    run = await play({"lead": [say("at once")]}, Design(lead="m"), tmp_path / "b", stop_after_s=0)
    assert run.end.status == "cancelled"
    assert not of_kind(run.entries, AttemptStarted)


async def test_an_adapter_that_never_waits_does_not_keep_a_stopped_agent_going(tmp_path: Path) -> None:
    scripts = {
        "lead": [
            do(*ask().calls),
            do(bash("x"), delay_s=5),
            do(call("cancel_worker", worker="w1")),
            say("ok"),
            say("ok"),
        ],
        "w1": [do(bash("shielded")), *[do(bash("x"))] * 50, finish("never")],
    }

    class Deaf(MemorySandbox):
        async def exec(self, command: str, **more: Any) -> Any:
            if command == "shielded":
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(10)
            return await super().exec(command, **more)

    run = await play(scripts, Design(lead="m", schedule="notify"), tmp_path, sandbox=Deaf())
    assert [d.status for d in of_kind(run.entries, DelegationEnded)] == ["cancelled"]
    assert run.state.agents["w1"].steps == 1


# --- limits --------------------------------------------------------------------------------------------------------


async def test_remaining_steps_are_told_in_the_last_twenty(tmp_path: Path) -> None:
    run = await play({"solo": [do(bash("x"))] * 30}, Design(lead="m", solo=True, limits=Limits(steps=25)), tmp_path)
    assert run.end.status == "out_of_steps"
    lasts = [t.texts[-1].removeprefix("[exit code 0]").strip() for t in told(run.entries, "solo")[1:]]
    assert lasts == [
        "",
        "",
        "",
        "",
        *(f"[{n} steps left]" for n in range(20, 1, -1)),
        wording.LAST_STEP,
        "[0 steps left]",
    ]


@pytest.mark.parametrize(("limit", "from_s"), [(21_600.0, 21_000.0), (400.0, 300.0)])
async def test_remaining_minutes_are_told_before_they_run_out(limit: float, from_s: float, tmp_path: Path) -> None:
    step = limit / 40
    box = MemorySandbox(lambda *_: Answer(seconds=step))
    design = Design(lead="m", solo=True, limits=Limits(run_s=limit, command_s=1e4))
    run = await play({"solo": [do(bash("x"))] * 50}, design, tmp_path, sandbox=box)
    assert run.end.status == "out_of_time"
    assert wall(run.entries) == limit
    for at, texts in told(run.entries, "solo")[1:]:
        left = f"[{(limit - at) / 60:.1f} minutes left]"
        assert (left in texts[0]) == (at > from_s), at


async def test_a_workers_minutes_are_those_of_its_delegation(tmp_path: Path) -> None:
    box = MemorySandbox(lambda *_: Answer(seconds=100))
    scripts = {"lead": [ask(), WAIT, say("ok")], "w1": [do(bash("x"))] * 8}
    run = await play(scripts, Design(lead="m", limits=Limits(delegation_s=450)), tmp_path, sandbox=box)
    assert ["minutes left" in t.texts[0] for t in told(run.entries, "w1")[1:]] == [False, False, False, True]
    assert text_of(run.entries, "lead").count("minutes left") == 0


async def test_steps_are_counted_over_resumes(tmp_path: Path) -> None:
    lead = [ask(), WAIT, ask(worker="w1"), WAIT, say("ok"), say("ok")]
    scripts = {"lead": lead, "w1": [do(bash("x")), finish("one"), do(bash("x")), do(bash("x")), finish("late")]}
    run = await play(scripts, Design(lead="m", limits=Limits(steps=6)), tmp_path)
    assert [d.status for d in of_kind(run.entries, DelegationEnded)] == ["finished", "finished"]
    (tmp_path / "b").mkdir()
    run = await play(
        scripts, Design(lead="m", limits=Limits(steps=4), at_finish="cancel", schedule="blocking"), tmp_path / "b"
    )
    assert run.state.agents["w1"].steps <= 4


# --- budget --------------------------------------------------------------------------------------------------------


async def test_a_budget_of_zero_spends_nothing(tmp_path: Path) -> None:
    run = await play({"solo": [say("x")]}, Design(lead="m", solo=True, budget_usd=0), tmp_path, prices=PRICES)
    assert run.end.status == "out_of_budget"
    assert not of_kind(run.entries, AttemptStarted)


async def test_workers_run_out_first(tmp_path: Path) -> None:
    usage = Usage(input=100, output=100)
    scripts = {
        "lead": [do(*ask().calls, usage=usage), do(*WAIT.calls, usage=usage), say("mine", usage=usage)],
        "w1": [do(bash("x"), usage=usage)] * 100,
    }
    design = Design(lead="m", budget_usd=0.04, max_output_tokens=500)
    run = await play(scripts, design, tmp_path, prices=PRICES)
    ends = {e.agent: e.event.status for e in run.entries if isinstance(e.event, AgentEnded)}
    assert ends == {"w1": "out_of_budget", "lead": "finished"}
    assert 0.02 < run.state.ledger.settled < 0.04


async def test_who_waits_for_room_is_woken_when_the_last_call_is_cut(tmp_path: Path) -> None:
    """The cut call keeps its reservation as unknown spend: there will be no room, and nobody waits for it."""
    usage = Usage(input=100, output=100)
    scripts = {
        "lead": [do(*ask().calls * 2), WAIT, say("ok")],
        "w1": [finish("never", delay_s=1e6, usage=usage)],
        "w2": [finish("never", delay_s=1e6, usage=usage)],
    }
    design = Design(lead="m", budget_usd=0.02, max_output_tokens=1000, limits=Limits(delegation_s=60))
    run = await play(scripts, design, tmp_path, prices=PRICES)
    assert sorted(d.status for d in of_kind(run.entries, DelegationEnded)) in (
        ["partial", "timed_out"],
        ["timed_out", "timed_out"],
    )
    lead_waits = {
        "lead": [do(*ask().calls), do(bash("x"), delay_s=1), say("ok")],
        "w1": [finish("never", delay_s=1e6, usage=usage)],
    }
    (tmp_path / "b").mkdir()
    design = Design(lead="m", budget_usd=0.02, max_output_tokens=900, limits=Limits(delegation_s=60, run_s=1e6))
    run = await play(lead_waits, design, tmp_path / "b", prices=PRICES)
    assert run.end.status == "out_of_budget"
    assert wall(run.entries) == 60


def test_what_fits_a_budget() -> None:
    assert fits(None, 1e9, 1e9, worker=True)
    assert fits(1.0, 0.5, 0.5, worker=False)
    assert not fits(1.0, 0.5, 0.500001, worker=False)
    assert fits(1.0, 0.5, 0.25, worker=True)
    assert not fits(1.0, 0.5, 0.250001, worker=True)
    assert fits(0.0, 0.0, 0.0, worker=True)


def test_a_pause_is_never_shorter_than_asked_for_nor_of_any_length() -> None:
    from random import Random

    luck = Random(0)
    assert all(0 <= backoff(t, None, luck) <= min(60, 2**t) for t in range(1, 20) for _ in range(50))
    assert all(30 <= backoff(t, 30.0, luck) <= 38.5 for t in range(1, 20) for _ in range(50))
    assert all(0 <= backoff(1, bad, luck) <= 2 for bad in (float("nan"), float("inf"), -5.0))


# --- designs that cannot be ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"lead": ""}, "no lead model"),
        ({"solo": True, "guidance": "P"}, "needs a team"),
        ({"solo": True, "messaging": "on"}, "needs a team"),
        ({"solo": True, "kinds": KINDS}, "need a team"),
        ({"workers": 0}, "workers must be 1 to 20"),
        ({"workers": 21}, "workers must be 1 to 20"),
        ({"max_workers": 0}, "max_workers must be 1 to 20"),
        ({"kinds": (Kind(name="a"), Kind(name="a"))}, "a name of its own"),
        ({"workers": 4, "kinds": KINDS}, "add up to 3, the team is fixed at 4"),
        ({"kinds": (Kind(name="a", count=0),)}, "count must be at least 1"),
        ({"budget_usd": -1.0}, "the budget must be 0 or more"),
        ({"budget_usd": float("nan")}, "the budget must be 0 or more"),
        ({"limits": Limits(steps=0)}, "limits.steps must be at least 1"),
        ({"limits": Limits(command_s=0)}, "limits in seconds must be above 0"),
        ({"limits": Limits(output_chars=10)}, "limits.output_chars must be at least 200"),
        ({"report_chars": 10}, "report caps"),
        ({"context": "fork", "worker": "other"}, "forked context needs workers with the lead's model"),
        ({"context": "fork", "lead_reasoning": "high", "kinds": (Kind(name="a", reasoning="low"),)}, "forked context"),
        ({"context": "fork", "solo": True}, "forked context needs a team"),
    ],
)
def test_a_design_that_cannot_run_is_refused_before_money_is_spent(more: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check(Design(**{"lead": "m", **more}))
