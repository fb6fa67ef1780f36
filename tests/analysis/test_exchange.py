"""Issue 8, point 6: trajectories of mini-swe-agent and ours, in and out; ATIF by Harbor's own models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from foreign_trajectories import responses, textual, toolcalls

from leadhand.analysis.exchange.atif import read_atif, to_atif
from leadhand.analysis.exchange.export import read_trajectory
from leadhand.analysis.exchange.run import of_entries
from leadhand.analysis.exchange.traj import read_traj, to_traj
from leadhand.analysis.exchange.trajectory import Trajectory
from leadhand.core.design import Design
from leadhand.core.errors import UsageError
from leadhand.core.events import Compacted
from leadhand.core.ledger import ledger_of
from leadhand.core.values import Price, Usage
from leadhand.testing.play import play
from leadhand.testing.sandbox import Answer, MemorySandbox
from leadhand.testing.scripted import Call, Step, bash, call, do, finish, say

DATA = Path(__file__).parent / "data"
PRICES = {"m/lead": Price(input=4.0, output=20.0, cache_read=0.4)}
USED = Usage(input=120, cache_read=80, output=30, reasoning=10)


async def team(folder: Path) -> Trajectory:
    """A lead with a worker, a broken call, and two commands."""
    scripts = {
        "lead": [
            do(bash("ls"), usage=USED),
            do(call("delegate_agent", assignment="look at it"), usage=USED),
            Step(calls=(Call(name="bash", raw="{not json"),), usage=USED),
            do(call("wait", mode="all"), usage=USED),
            finish("all done", usage=USED),
        ],
        "w1": [do(bash("cat <a>; echo 'ü'"), usage=USED), finish("the report", usage=USED)],
    }
    played = await play(scripts, Design(lead="m/lead", workers=1), folder, prices=PRICES)
    assert played.end.status == "finished"
    found = of_entries(played.entries, PRICES, "run-1")
    total = sum(t.cost or 0.0 for t in found.everyone())
    assert total == pytest.approx(ledger_of(played.entries, PRICES).settled)
    return found


@pytest.fixture
async def ours(tmp_path: Path) -> Trajectory:
    return await team(tmp_path)


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / "atif.schema.json").read_text())
    return found


def check_atif(data: bytes, schema: dict[str, Any]) -> None:
    """Harbor's schema (of harbor 0.26) and its validators by hand; test_harbor_models.py asks Harbor itself."""
    jsonschema = pytest.importorskip("jsonschema")
    document = json.loads(data)
    jsonschema.validate(document, schema)
    check_rules(document)


def check_rules(document: dict[str, Any]) -> None:
    """What Harbor checks beyond the schema: step ids, references of results, ids of subagents, agent-only fields."""
    workers = document.get("subagent_trajectories") or []
    names = [w["trajectory_id"] for w in workers]
    assert len(set(names)) == len(names)
    for number, step in enumerate(document["steps"], start=1):
        assert step["step_id"] == number
        if step["source"] != "agent":
            assert not {"model_name", "tool_calls", "metrics"} & set(step)
        calls = {c["tool_call_id"] for c in step.get("tool_calls") or []}
        for result in (step.get("observation") or {}).get("results") or []:
            assert result.get("source_call_id") is None or result["source_call_id"] in calls
            for ref in result.get("subagent_trajectory_ref") or []:
                assert ref["trajectory_id"] in names
    for worker in workers:
        check_rules(worker)


@pytest.mark.anyio
async def test_a_run_of_ours_is_told_whole(ours: Trajectory) -> None:
    assert (ours.id, ours.model, ours.status, ours.submission) == ("lead", "m/lead", "finished", "all done")
    assert [t.source for t in ours.turns[:2]] == ["system", "user"]
    assert ours.steps == 5
    (worker,) = ours.workers
    assert (worker.id, worker.steps, worker.submission) == ("w1", 2, "the report")
    agent = [t for t in ours.turns if t.source == "agent"]
    assert agent[0].results[0].exit_code == 0
    assert agent[1].results[0].worker == "w1"
    assert agent[2].calls[0].arguments == "{not json"
    assert all(t.usage == USED for t in agent)


@pytest.mark.anyio
async def test_what_a_compacted_conversation_left_out_is_told_as_well(tmp_path: Path) -> None:
    """By the lead and by a worker that was forked from it afterwards, with who did what still told apart."""
    steps: list[Step] = [*(do(bash(f"step {i}"), usage=USED) for i in range(3)), Step(fault="context_length")]
    given = [do(call("delegate_agent", assignment="x"), usage=USED), do(call("wait"), usage=USED)]
    scripts = {
        "lead": [*steps, *given, finish("end", usage=USED)],
        "w1": [say("never", usage=USED)] * 3 + [finish("report", usage=USED)],
    }
    box = MemorySandbox(lambda _, command: Answer(output=f"{command}: " + "x" * 3000))
    design = Design(lead="m/lead", compaction="elide", context="fork", max_workers=1)
    played = await play(scripts, design, tmp_path, prices=PRICES, sandbox=box)
    assert played.end.text == "end"
    assert any(isinstance(e.event, Compacted) for e in played.entries)
    found = of_entries(played.entries, PRICES, "run")
    (worker,) = found.workers
    for told in (found, worker):
        results = [r.text for t in told.turns for r in t.results]
        assert [text[:6] for text in results[:3]] == ["step 0", "step 1", "step 2"]
        assert not any("left out here" in text for text in results)
    assert (found.steps, worker.steps) == (6, 1)
    total = sum(t.cost or 0.0 for t in found.everyone())
    assert total == pytest.approx(ledger_of(played.entries, PRICES).settled)


@pytest.mark.anyio
async def test_atif_round_trips_and_is_harbors(ours: Trajectory, schema: dict[str, Any]) -> None:
    data = to_atif(ours)
    check_atif(data, schema)
    assert read_atif(data) == ours
    assert to_atif(read_atif(data)) == data


@pytest.mark.anyio
async def test_our_lead_round_trips_through_traj(ours: Trajectory) -> None:
    """Workers, rewards and cache writes have no place there; everything else of the lead comes back."""
    back = read_traj(to_traj(ours))
    keep = ("source", "text", "calls", "results", "usage", "cost", "at")
    for before, after in zip(ours.turns, back.turns, strict=True):
        for name in keep:
            ours_has, theirs = getattr(before, name), getattr(after, name)
            if name == "results":
                ours_has = tuple(msgspec.structs.replace(r, worker="") for r in ours_has)
            assert theirs == ours_has, name
    assert (back.status, back.submission, back.model) == (ours.status, ours.submission, ours.model)
    assert back.cost == pytest.approx(sum(t.cost or 0.0 for t in ours.everyone()))
    assert to_traj(back) == to_traj(read_traj(to_traj(back)))


each = pytest.mark.parametrize("made", [toolcalls, responses, textual], ids=lambda f: f.__name__)


@each
def test_a_foreign_trajectory_comes_back_as_it_was(made: Any) -> None:
    document = made()
    assert json.loads(to_traj(read_traj(json.dumps(document).encode()))) == document


@each
def test_a_foreign_trajectory_goes_through_atif_without_loss(made: Any, schema: dict[str, Any]) -> None:
    document = made()
    read = read_traj(json.dumps(document).encode())
    data = to_atif(read)
    check_atif(data, schema)
    assert read_atif(data) == read
    assert json.loads(to_traj(read_atif(data))) == document


def test_what_is_read_from_tool_calls() -> None:
    t = read_traj(json.dumps(toolcalls()).encode())
    assert (t.id, t.model, t.version, t.status, t.cost) == ("cmatrix", "openai/gpt-5.5", "2.2.6", "Submitted", 0.05)
    first = next(turn for turn in t.turns if turn.source == "agent")
    assert first.usage == Usage(input=40, cache_read=60, output=20, reasoning=5)
    assert [(r.call_id, r.exit_code) for r in first.results] == [("c1", 0), ("c2", 1)]
    assert t.steps == 2
    assert t.turns[1].text == "Do it."


def test_what_is_read_from_responses_and_text() -> None:
    t = read_traj(json.dumps(responses()).encode())
    turn = t.turns[1]
    assert (turn.text, turn.calls[0].arguments, turn.results[0].exit_code) == ("I look.", '{"command":"ls"}', 2)
    assert turn.usage == Usage(input=75, cache_read=25, output=40, reasoning=30)
    old = read_traj(json.dumps(textual()).encode())
    assert json.loads(old.turns[2].calls[0].arguments) == {"command": "ls -la"}
    assert [turn.source for turn in old.turns] == ["system", "user", "agent", "user"]


def test_plain_atif_of_others_is_read() -> None:
    document = {
        "schema_version": "ATIF-v1.4",
        "session_id": "s",
        "agent": {"name": "other", "version": "1", "model_name": "m"},
        "steps": [
            {"step_id": 1, "source": "user", "message": [{"type": "text", "text": "hi"}]},
            {
                "step_id": 2,
                "source": "agent",
                "message": "ok",
                "tool_calls": [{"tool_call_id": "a", "function_name": "run", "arguments": {"x": 1}}],
                "observation": {"results": [{"source_call_id": "a", "content": "1"}]},
                "metrics": {"prompt_tokens": 10, "completion_tokens": 3, "cached_tokens": 4, "cost_usd": 0.1},
            },
        ],
        "final_metrics": {"total_cost_usd": 0.1},
    }
    t = read_atif(json.dumps(document).encode())
    assert (t.id, t.agent, t.cost, t.steps) == ("s", "other", 0.1, 1)
    assert t.turns[0].text == "hi"
    assert t.turns[1].usage == Usage(input=6, cache_read=4, output=3)


def test_a_total_is_the_subagents_too() -> None:
    """As Harbor defines it; where somebody's total is less than that of the subagents, it is the agent's own."""
    worker = {**_plain("w", 0.25), "trajectory_id": "w"}
    ours = read_atif(json.dumps({**_plain("s", 1.0), "subagent_trajectories": [worker]}).encode())
    assert (ours.cost, ours.workers[0].cost) == (0.75, 0.25)
    assert json.loads(to_atif(ours))["final_metrics"]["total_cost_usd"] == 1.0
    assert read_atif(to_atif(ours)) == ours
    other = read_atif(json.dumps({**_plain("s", 0.125), "subagent_trajectories": [worker]}).encode())
    assert other.cost == 0.125


def _plain(session: str, usd: float) -> dict[str, Any]:
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": session,
        "agent": {"name": "other", "version": "1"},
        "steps": [{"step_id": 1, "source": "user", "message": "hi"}],
        "final_metrics": {"total_cost_usd": usd},
    }


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b'{"messages": 3}', b'{"schema_version": "ATIF-v9"}', b'{"schema_version": "ATIF-v1.7"}'],
)
def test_what_is_no_trajectory_is_an_error_of_one_line(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data)
    with pytest.raises(UsageError) as error:
        read_trajectory(path)
    assert "\n" not in str(error.value)
