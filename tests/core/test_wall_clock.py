"""Wall-clock is the longest path through the work, and nothing else: computed here from the scripts alone."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest
from watching import of_kind, told

from leadhand.core.design import Design, Schedule
from leadhand.core.events import AttemptReplied, AttemptStarted, DelegationEnded, Entry, MessageAdded
from leadhand.core.ports import Reply, Request
from leadhand.core.values import Limits
from leadhand.testing.play import play
from leadhand.testing.sandbox import Answer, MemorySandbox
from leadhand.testing.scripted import ScriptedModel, Seen, Step, bash, call, do, finish

pytestmark = pytest.mark.anyio

SAMPLE = Path(__file__).parent / "data" / "calls_sample.csv"
MICRO = 1e-5  # journals keep microseconds; nothing else may differ


class Work(NamedTuple):
    """A worker's script: (seconds in the model, seconds in the command) per step; the last step is its report."""

    steps: list[tuple[float, float]]

    @property
    def seconds(self) -> float:
        return sum(m + t for m, t in self.steps[:-1]) + self.steps[-1][0]


def played_by(name: str, work: Work) -> list[Step]:
    """The script of a worker: a command a step, then the report."""
    commands = [do(bash(f"{name} {i}"), delay_s=m) for i, (m, _) in enumerate(work.steps[:-1])]
    return [*commands, finish(f"report of {name}", delay_s=work.steps[-1][0])]


def sandbox_for(team: dict[str, Work]) -> MemorySandbox:
    def answer(_: str, command: str) -> Answer:
        name, step = command.split()
        return Answer(output="ok\n", seconds=team[name].steps[int(step)][1])

    return MemorySandbox(answer)


# --- one hung, one crashed ---------------------------------------------------------------------------------------

THINK = 3.0  # seconds of a lead's model call
LIMIT = 400.0  # seconds a delegation may take


class OneHungOneCrashed(ScriptedModel):
    """w3 never answers its sixth call; the adapter breaks under w5's fourth."""

    async def complete(self, request: Request) -> Reply:
        turn = len(request.conversation.messages) // 2
        if request.agent == "w3" and turn == 5:
            await anyio.sleep_forever()
        if request.agent == "w5" and turn == 3:
            raise RuntimeError("the adapter broke")
        return await super().complete(request)


def rest(name: str, work: Work) -> float:
    """Seconds from its assignment until a worker comes to rest."""
    if name == "w3":
        return LIMIT
    if name == "w5":
        return sum(m + t for m, t in work.steps[:3])
    return work.seconds


def longest_path(ends: list[float], think: float) -> tuple[float, list[float]]:
    """When a lead that delegates once and then waits for any until nobody is left has finished, and its waits' ends."""
    now, waits = think, []
    left = sorted(think + e for e in ends)
    while left:
        now = max(now + think, left[0])
        waits.append(now)
        left = [e for e in left if e > now]
    return now + think, waits


async def test_eight_workers_of_ten_steps_one_hung_one_crashed(tmp_path: Path) -> None:
    team = {f"w{i}": Work([(i + 2.0 + k / 4, 7.0 - k / 2) for k in range(10)]) for i in range(1, 9)}

    def lead(seen: Seen) -> Step:
        if seen.turn == 0:
            return do(*(call("delegate_agent", assignment="go") for _ in team), delay_s=THINK)
        if seen.text.count("<leadhand-report ") < len(team):
            return do(call("wait"), delay_s=THINK)
        return finish("all in", delay_s=THINK)

    model = OneHungOneCrashed({"lead": lead, **{n: played_by(n, w) for n, w in team.items()}})
    design = Design(lead="m", workers=8, limits=Limits(delegation_s=LIMIT))
    run = await play(model, design, tmp_path, sandbox=sandbox_for(team))

    ends = {n: rest(n, w) for n, w in team.items()}
    wall, waits = longest_path(list(ends.values()), THINK)
    assert run.end.text == "all in"
    assert run.entries[-1].mono == pytest.approx(wall, abs=MICRO)
    # Siblings are not delayed: each wait ends with the first worker that is done.
    assert [t.at for t in told(run.entries, "lead")[2:]] == pytest.approx(waits, abs=1e-3)
    done = {e.event.worker: e.mono - THINK for e in run.entries if isinstance(e.event, DelegationEnded)}
    assert done == pytest.approx(ends, abs=MICRO)
    status = {d.worker: d.status for d in of_kind(run.entries, DelegationEnded)}
    assert status == {n: {"w3": "timed_out", "w5": "failed"}.get(n, "finished") for n in team}


# --- sixteen workers with measured latencies -----------------------------------------------------------------------


def measured(path: Path) -> dict[str, Work]:
    """Sixteen workers from the calls of sixteen tasks. A millisecond apart, so that no two end at once."""
    rows = csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#"))
    tasks: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        model_s = row.get("model_s") or float(row["t_response_s"]) - float(row["t_request_s"])
        tasks.setdefault(row["task"], []).append((float(model_s), float(row["tool_s"] or 0)))
    chosen = [steps for steps in tasks.values() if len(steps) >= 10][:16]
    return {f"w{i}": Work([*s[:-1], (s[-1][0] + i * 0.0013, 0.0)]) for i, s in enumerate(chosen, 1)}


def blocking(ends: list[float]) -> float:
    return THINK + max(ends) + THINK


def push(ends: list[float]) -> float:
    return longest_path(ends, THINK)[0]


def notify(ends: list[float]) -> float:
    """As push, with one more turn that reads all reports."""
    return longest_path(ends, THINK)[0] + THINK


def pull(ends: list[float]) -> float:
    """Delegate; wait for all; read all; finish."""
    return max(THINK + THINK, THINK + max(ends)) + THINK + THINK


def lead_for(schedule: Schedule, size: int) -> Callable[[Seen], Step]:
    delegate = do(*(call("delegate_agent", assignment="go") for _ in range(size)), delay_s=THINK)
    read = do(*(call("read_report", delegation=f"d{i + 1}") for i in range(size)), delay_s=THINK)
    end = finish("all in", delay_s=THINK)

    def lead(seen: Seen) -> Step:
        if seen.turn == 0:
            return delegate
        if seen.text.count("<leadhand-report ") == size:
            return end
        match schedule:
            case "push":
                return do(call("wait"), delay_s=THINK)
            case "notify":
                told_of = seen.text.count("; call read_report")
                return do(call("wait"), delay_s=THINK) if told_of < size else read
            case "pull":
                return do(call("wait", mode="all"), delay_s=THINK) if seen.turn == 1 else read
            case "blocking":
                raise AssertionError("a report is missing")

    return lead


@pytest.mark.parametrize("expected", [blocking, push, notify, pull])
async def test_sixteen_workers_with_measured_latencies(
    expected: Callable[[list[float]], float], tmp_path: Path, calls: Path
) -> None:
    team = measured(calls)
    schedule: Schedule = expected.__name__  # type: ignore[assignment]
    scripts = {"lead": lead_for(schedule, len(team)), **{n: played_by(n, w) for n, w in team.items()}}
    design = Design(lead="m", workers=16, schedule=schedule, limits=Limits(delegation_s=1e6, run_s=1e6, command_s=1e6))
    run = await play(scripts, design, tmp_path, sandbox=sandbox_for(team))
    assert run.end.text == "all in"
    assert len(of_kind(run.entries, DelegationEnded)) == 16
    assert run.entries[-1].mono == pytest.approx(expected([w.seconds for w in team.values()]), abs=MICRO)
    assert parts(run.entries) == pytest.approx(run.entries[-1].mono, abs=MICRO)


def parts(entries: list[Entry]) -> float:
    """The lead's time in the model plus its time in tools: they are all of the run's wall-clock."""
    total, began = 0.0, {}
    turn = 0.0
    for e in entries:
        if e.agent != "lead":
            continue
        match e.event:
            case AttemptStarted() as a:
                began[a.attempt] = e.mono
            case AttemptReplied() as a:
                total += e.mono - began[a.attempt]
                turn = e.mono
            case MessageAdded() if turn:
                total += e.mono - turn
    return total


FULL = Path(__file__).parents[3] / "shared" / "data" / "programbench" / "calls_gpt-5-5-high.csv"


@pytest.fixture(params=["sample", "full"])
def calls(request: pytest.FixtureRequest) -> Path:
    """The committed sample, and all calls where they lie beside the repository."""
    if request.param == "full" and not FULL.exists():
        pytest.skip("the full table of calls is not beside the repository")
    return SAMPLE if request.param == "sample" else FULL
