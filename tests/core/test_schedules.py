"""One scripted job under every schedule, with a fixed and a dynamic team, with and without messages.

The lead delegates two parts, builds something of its own meanwhile, then takes what its schedule lets it take. What
each agent is told, at which second, and how long all of it takes is computed here by hand from the latencies below.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from watching import Told, replies, told, wall

from leadhand.core.design import Design, Schedule
from leadhand.core.verify import verify
from leadhand.testing.play import play
from leadhand.testing.sandbox import Answer, MemorySandbox
from leadhand.testing.scripted import Step, bash, call, do, finish

pytestmark = pytest.mark.anyio

LEAD, BUILD = 2.0, 4.0  # seconds: a model call of the lead, its command
W1, TEST, W1_LAST = 3.0, 5.0, 1.0  # w1 thinks, runs a command, thinks again
W2 = 5.0  # w2 thinks once

STARTED = LEAD
W1_DONE = STARTED + W1 + TEST + W1_LAST  # 11
W2_DONE = STARTED + W2  # 7
BUILT = STARTED + LEAD + BUILD  # 8, where the lead does not wait for its workers

ONE = '<leadhand-report worker="w1" delegation="d1" status="finished">\none\n</leadhand-report>'
TWO = '<leadhand-report worker="w2" delegation="d2" status="finished">\ntwo\n</leadhand-report>'
MAIL = '<leadhand-message from="w1">\nhalf done\n</leadhand-message>'
HURRY = '<leadhand-message from="lead">\nhurry\n</leadhand-message>'
MADE = "made\n[exit code 0]"
SENT = "sent to {}; it is read with its next tool result"
GIVEN = ("d1: w1 works on it", "d2: w2 works on it")

SCHEDULES: tuple[Schedule, ...] = ("blocking", "push", "notify", "pull")


def lead_script(schedule: Schedule, mail: bool) -> list[Step]:
    delegate = do(call("delegate_agent", assignment="part one"), call("delegate_agent", assignment="part two"))
    build = do(bash("build"), *([call("send_message", to="w1", text="hurry")] if mail else []))
    wait = do(call("wait", mode="all"))
    read = do(call("read_report", delegation="d1"), call("read_report", delegation="d2"))
    steps = {
        "blocking": [delegate, build],
        "push": [delegate, build, wait],
        "notify": [delegate, build, wait, read],
        "pull": [delegate, build, do(call("list_workers")), wait, read],
    }[schedule]
    return [Step(calls=s.calls, delay_s=LEAD) for s in [*steps, finish("all done")]]


def worker_scripts(mail: bool) -> dict[str, list[Step]]:
    first = do(*([call("send_message", to="lead", text="half done")] if mail else []), bash("test"), delay_s=W1)
    return {"w1": [first, finish("one", delay_s=W1_LAST)], "w2": [finish("two", delay_s=W2)]}


def lead_is_told(schedule: Schedule, mail: bool, spare: str) -> list[Told]:
    """By hand: what the lead is told and when. `spare` is the last line of `list_workers`."""

    def join(*parts: str) -> str:
        return "\n\n".join(p for p in parts if p)

    note = MAIL if mail else ""
    sent = [SENT.format("w1")] if mail else []
    task = Told(0.0, ("The task.",))
    if schedule == "blocking":
        both = max(W1_DONE, W2_DONE)
        late = ["Rejected: w1 has finished its work and reads no messages"] if mail else []
        return [task, Told(both, (ONE, join(TWO, note))), Told(both + LEAD + BUILD, (MADE, *late))]
    given = Told(STARTED, GIVEN)
    waited = max(BUILT + LEAD, W1_DONE)
    if schedule == "push":
        built = Told(BUILT, on_last([MADE, *sent], join(TWO, note)))
        done = "[ended: d1 of w1 finished; still running: none]"
        return [task, given, built, Told(waited, (join(done, ONE),))]
    both = "[ended: d2 of w2 finished, d1 of w1 finished; still running: none]"
    if schedule == "notify":
        line = "[d2 of w2 finished; call read_report to read it]"
        built = Told(BUILT, on_last([MADE, *sent], join(line, note)))
        last = Told(waited, (join(both, "[d1 of w1 finished; call read_report to read it]"),))
        return [task, given, built, last, Told(waited + LEAD, (ONE, TWO))]
    built = Told(BUILT, on_last([MADE, *sent], note))
    listed = f"w1: d1 running; 1 steps\nw2: d2 finished (report not read); 1 steps\n{spare}"
    asked = BUILT + LEAD
    waited = max(asked + LEAD, W1_DONE)
    return [task, given, built, Told(asked, (listed,)), Told(waited, (both,)), Told(waited + LEAD, (ONE, TWO))]


def on_last(texts: list[str], pushed: str) -> tuple[str, ...]:
    return (*texts[:-1], f"{texts[-1]}\n\n{pushed}" if pushed else texts[-1])


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("fixed", [True, False], ids=["fixed", "dynamic"])
@pytest.mark.parametrize("mail", [True, False], ids=["messages", "silent"])
async def test_what_each_agent_sees_and_when(schedule: Schedule, fixed: bool, mail: bool, tmp_path: Path) -> None:
    size = {"workers": 3} if fixed else {"max_workers": 5}
    spare = "1 not used yet" if fixed else "3 more can be started"
    design = Design(lead="m", schedule=schedule, messaging="on" if mail else "off", **size)  # type: ignore[arg-type]
    scripts = {"lead": lead_script(schedule, mail), **worker_scripts(mail)}
    seconds = {"build": BUILD, "test": TEST}
    sandbox = MemorySandbox(lambda _, command: Answer(output="made\n", seconds=seconds[command]))

    played = await play(scripts, design, tmp_path, sandbox=sandbox)
    expected = lead_is_told(schedule, mail, spare)

    assert (played.end.status, played.end.text) == ("finished", "all done")
    assert told(played.entries, "lead") == expected
    tested = W1 + TEST + STARTED
    hurried = mail and schedule != "blocking"
    results = [SENT.format("lead")] * mail + [f"{MADE}\n\n{HURRY}" if hurried else MADE]
    assert told(played.entries, "w1") == [
        Told(STARTED, ("You are w1. part one",)),
        Told(tested, tuple(results)),
    ]
    assert told(played.entries, "w2") == [Told(STARTED, ("You are w2. part two",))]
    assert replies(played.entries, "w2") == [W2_DONE]
    assert wall(played.entries) == expected[-1].at + LEAD
    assert verify(played.entries) > 0
    played.model.assert_consumed()  # type: ignore[attr-defined]
