"""A run of a thousand steps: what it writes, and that its prompts can be had again from nothing but the text."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from leadhand.core.design import Design
from leadhand.core.values import Limits
from leadhand.testing.play import play
from leadhand.testing.sandbox import Answer, MemorySandbox
from leadhand.testing.scripted import Seen, Step, bash, do, finish

pytestmark = pytest.mark.anyio


async def journal_of(steps: int, folder: Path) -> list[dict[str, Any]]:
    """The lines of a solo run of so many steps, each with half a kilobyte of output, as plain JSON."""

    def solo(seen: Seen) -> Step:
        return do(bash(f"step {seen.turn:04}")) if seen.turn < steps - 1 else finish("done")

    sandbox = MemorySandbox(lambda agent, command: Answer(output=f"{command}: né {'x' * 500}\n"))
    design = Design(lead="m", solo=True, limits=Limits(steps=steps))
    run = await play({"solo": solo}, design, folder, sandbox=sandbox)
    assert run.end.text == "done"
    return [json.loads(line) for line in (folder / "journal.jsonl").read_text("utf-8").splitlines()]


async def test_bytes_grow_with_the_steps_and_no_faster(tmp_path_factory: pytest.TempPathFactory) -> None:
    sizes = []
    for steps in (250, 500, 1000):
        await journal_of(steps, folder := tmp_path_factory.mktemp("long"))
        sizes.append((folder / "journal.jsonl").stat().st_size)
    first, second = sizes[1] - sizes[0], sizes[2] - sizes[1]
    assert second == pytest.approx(2 * first, rel=0.02)
    assert sizes[2] < 1000 * 4000


async def test_every_id_is_derived_again_from_the_text_alone(tmp_path: Path) -> None:
    """By code that shares nothing with ours: JSON with sorted keys and SHA-256."""

    def plain(value: Any) -> bytes:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    def digest(data: bytes) -> str:
        return hashlib.sha256(data).hexdigest()[:32]

    lines = await journal_of(1000, tmp_path)
    heads: set[str] = set()
    head, messages = "", 0
    for line in lines:
        event = line["event"]
        match event["kind"]:
            case "agent_started":
                head = digest(plain(event["root"]))
                assert head == event["root_id"]
            case "attempt_started":
                assert event["head"] == head, "the exact prompt of each call is the chain that ends in its head"
            case "message_added" | "attempt_replied":
                message = event["message"]
                assert message["parent"] == head
                head = digest(head.encode() + b"\n" + plain(message["body"]))
                assert message["id"] == head
                messages += 1
        heads.add(head)
    assert messages == 2 * 1000
    assert len(heads) == messages + 2
