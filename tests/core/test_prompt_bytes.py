"""What a model is sent: per agent only ever longer, and a fork begins with the very prompt that produced it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from watching import of_kind

from leadhand.core.chain import canonical
from leadhand.core.design import Design
from leadhand.core.errors import JournalError
from leadhand.core.events import AgentStarted, AttemptStarted, CallRejected, MessageAdded
from leadhand.core.journal import read_journal
from leadhand.core.ports import Reply, Request
from leadhand.core.state import state_of
from leadhand.core.values import FREE, Assistant, Limits, Price, Usage
from leadhand.core.verify import verify
from leadhand.testing.play import PROMPTS, Played, play
from leadhand.testing.sandbox import Answer, MemorySandbox
from leadhand.testing.scripted import ScriptedModel, Seen, Step, bash, call, do, finish, say

pytestmark = pytest.mark.anyio


class Wiretap(ScriptedModel):
    """Keeps what a provider would receive of each request: the root, then each body, as bytes."""

    def __init__(self, scripts: dict[str, object]) -> None:
        super().__init__(scripts)  # type: ignore[arg-type]
        self.sent: dict[str, list[list[bytes]]] = {}
        self.keys: dict[str, set[str]] = {}

    async def complete(self, request: Request) -> Reply:
        conversation = request.conversation
        bodies = [canonical(conversation.root), *(canonical(m.body) for m in conversation.messages)]
        self.sent.setdefault(request.agent, []).append(bodies)
        self.keys.setdefault(request.agent, set()).add(request.cache_key)
        return await super().complete(request)


def own_turn(seen: Seen) -> int:
    """Turns of an agent since it was told what it is (a fork has inherited others)."""
    texts = [i for i, b in enumerate(seen.bodies) if "You are" in getattr(b, "text", "")]
    return sum(isinstance(b, Assistant) for b in seen.bodies[texts[-1] if texts else 0 :])


def busy(steps: int, every: int = 0, then: tuple[Step, ...] = ()) -> object:
    """A script: commands, a delegation now and then, and an end."""

    def script(seen: Seen) -> Step:
        turn = own_turn(seen)
        if turn < steps:
            if every and turn % every == 0:
                worker = {"worker": f"w{1 + turn // every % 3}"} if turn >= 3 * every else {}
                return do(call("delegate_agent", assignment=f"part {turn}", **worker), call("wait", mode="all"))
            return do(bash(f"echo {turn}"), text=f"step {turn}")
        return (*then, finish("done"))[turn - steps]

    return script


@pytest.mark.parametrize("context", ["brief", "fork"])
async def test_a_prompt_only_ever_grows_over_two_hundred_steps(context: str, tmp_path: Path) -> None:
    worker = busy(4)
    model = Wiretap({"lead": busy(200, every=20), "w1": worker, "w2": worker, "w3": worker})
    design = Design(lead="m", messaging="on", context=context, limits=Limits(steps=230))  # type: ignore[arg-type]
    sandbox = MemorySandbox(lambda _, command: Answer(output=command * 3, seconds=1.0))
    run = await play(model, design, tmp_path, sandbox=sandbox)
    assert run.end.text == "done"
    assert len(model.sent["lead"]) == 201
    assert {len(s) for s in model.sent.values()} >= {201, 20}
    for agent, prompts in model.sent.items():
        for earlier, later in pairwise(prompts):
            assert later[: len(earlier)] == earlier, agent
            assert len(later) > len(earlier)
    assert {len(keys) for keys in model.keys.values()} == {1}
    assert verify(run.entries) == len(of_kind(run.entries, MessageAdded)) + run.state.attempts + (
        1 if context == "fork" else 2
    )


async def forked(tmp_path: Path, **more: object) -> tuple[Played, Wiretap]:
    def lead(seen: Seen) -> Step:
        return [
            do(bash("look"), text="I look first"),
            do(call("delegate_agent", assignment="part one"), call("delegate_agent", assignment="part two")),
            do(call("wait", mode="all")),
            finish("done"),
        ][seen.turn]

    def worker(seen: Seen) -> Step:
        return [do(call("delegate_agent", assignment="do it for me")), say("my report")][own_turn(seen)]

    model = Wiretap({"lead": lead, "w1": worker, "w2": worker})
    design = Design(lead="m", context="fork", **more)  # type: ignore[arg-type]
    prompts = msgspec.structs.replace(PROMPTS, role="Report to the lead.")
    price = {"m": Price(input=1.0, output=2.0)}
    return await play(model, design, tmp_path, prompts=prompts, prices=price), model


async def test_a_fork_begins_with_the_prompt_that_produced_its_delegation(tmp_path: Path) -> None:
    run, model = await forked(tmp_path)
    produced = model.sent["lead"][1]  # the request whose reply delegated
    for worker in ("w1", "w2"):
        first = model.sent[worker][0]
        assert first[: len(produced)] == produced
        assert len(first) == len(produced) + 1
        assert model.keys[worker] == model.keys["lead"]
        told = first[-1].decode()
        assert f"you are worker {worker}, no longer the lead" in told
        assert "Report to the lead." in told
    assert "part one" in model.sent["w1"][0][-1].decode()
    assert "part two" in model.sent["w2"][0][-1].decode()
    assert len({e.root_id for e in of_kind(run.entries, AgentStarted)}) == 1


async def test_a_fork_cannot_use_the_tools_of_the_lead(tmp_path: Path) -> None:
    run, _ = await forked(tmp_path)
    assert [r.tool for r in of_kind(run.entries, CallRejected)] == ["delegate_agent", "delegate_agent"]
    assert [d.status for d in run.state.delegations.values()] == ["finished", "finished"]


async def test_what_a_fork_inherits_is_not_counted_again(tmp_path: Path) -> None:
    run, model = await forked(tmp_path)
    assert {a.name: a.steps for a in run.state.agents.values()} == {"lead": 4, "w1": 2, "w2": 2}
    assert sum(s.steps for s in run.state.ledger.agents.values()) == len(model.requests) == 8
    # The journal holds the inherited messages once: a fork names the message it begins at.
    started = [e for e in run.entries if isinstance(e.event, AgentStarted) and e.agent != "lead"]
    assert [e.event.at for e in started] == [model.requests[1][1]] * 2


async def test_a_fork_reserves_what_its_prompt_is_known_to_cost(tmp_path: Path) -> None:
    """Not a token a byte: the lead was billed for the same prompt a moment ago."""
    run, _ = await forked(tmp_path)
    first = next(e.event for e in run.entries if e.agent == "w1" and isinstance(e.event, AttemptStarted))
    billed = run.state.agents["lead"].conversation
    assert first.prompt_bound < billed.size / 2


async def test_a_thousand_steps_write_bytes_in_proportion(tmp_path: Path) -> None:
    sizes = {}
    for steps in (250, 500, 1000):
        folder = tmp_path / str(steps)
        folder.mkdir()
        sandbox = MemorySandbox(lambda _, command: Answer(output="out\n" * 20))
        design = Design(lead="m", solo=True, limits=Limits(steps=1001))
        run = await play({"solo": lambda s, n=steps: busy(n)(s)}, design, folder, sandbox=sandbox)  # type: ignore[operator]
        assert run.end.status == "finished"
        sizes[steps] = (folder / "journal.jsonl").stat().st_size
        assert verify(run.entries) == 2 * (steps + 1) + 1
    assert sizes[1000] - sizes[500] == pytest.approx(2 * (sizes[500] - sizes[250]), rel=0.01)
    assert sizes[1000] / 1000 < 3000


def changed(line: bytes, old: bytes, new: bytes) -> bytes:
    assert old in line
    return line.replace(old, new, 1)


@pytest.mark.parametrize("old", [b"echo 1", b"step 1", b'"You lead."'])
async def test_a_changed_journal_is_found_out(old: bytes, tmp_path: Path) -> None:
    await play({"solo": busy(3)}, Design(lead="m", solo=True), tmp_path)  # type: ignore[dict-item]
    path = tmp_path / "journal.jsonl"
    path.write_bytes(changed(path.read_bytes(), old, old.replace(b"1", b"7").replace(b"lead", b"led!")))
    with pytest.raises(JournalError, match="does not match its content"):
        verify(read_journal(path))
    with pytest.raises(JournalError, match="does not match its content"):
        state_of(read_journal(path), {"m": FREE})


async def test_usage_is_kept_as_it_was_told(tmp_path: Path) -> None:
    usage = Usage(input=1, cache_read=2, cache_write_5m=3, cache_write_1h=4, output=5, reasoning=2)
    run = await play({"solo": [finish("x", usage=usage)]}, Design(lead="m", solo=True), tmp_path)
    assert run.state.ledger.agents["solo"].usage == usage
