"""Seventeen agents, thousands of commands, faults mixed in: each command gets exactly one answer, its own, and nothing
is left over. LEADHAND_SOAK is the number of commands (20,000 for a release; the default is short).
"""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from leadhand import sandboxes
from leadhand.core.ports import Sandbox
from leadhand.core.values import ExecResult, Limits
from leadhand.sandboxes import cgroups, engine, leftovers

from .conftest import make_spec

COMMANDS = int(os.environ.get("LEADHAND_SOAK", "1000"))
AGENTS = 17
MARK = "8645000"


def command(number: int, dice: random.Random) -> tuple[str, str, float]:
    """(kind, command, timeout): one in twenty ends badly."""
    bad = {
        "timeout": (f"trap '' TERM; (setsid sleep {MARK}1 &); echo {number}; sleep {MARK}2", 0.3),
        "killed": ("kill -9 $$", 60.0),
        "flood": (f"echo {number}; yes", 60.0),
        "crash": (f"(env -i setsid /bin/sleep {MARK}3 &); kill -9 $PPID; sleep 60", 60.0),
        "left": (f"sleep {MARK}4 & echo {number}", 60.0),
    }
    if dice.random() < 0.05:
        kind = dice.choice(sorted(bad))
        return kind, *bad[kind]
    size = dice.choice([0, 10, 1000, 40_000, 200_000])
    return "good", f"echo {number}; head -c {size} /dev/zero", 60.0


def fits(kind: str, number: int, result: ExecResult) -> bool:
    """Whether the answer is this command's own."""
    own = result.head.startswith(f"{number}\n".encode())
    match kind:
        case "timeout":
            return result.ended == "timed_out" and (own or not result.head)
        case "killed":
            return (result.ended, result.exit_code) == ("exited", 137)
        case "flood":
            return result.ended == "flooded" and own
        case "crash":
            return result.ended == "runner_lost"
    return result.ended == "exited" and result.exit_code == 0 and own


async def soak(sandbox: Sandbox, commands: int) -> Counter[str]:
    numbers, answers = iter(range(commands)), Counter[str]()

    async def agent(name: str) -> None:
        dice = random.Random(name)
        for number in numbers:
            kind, text, timeout_s = command(number, dice)
            result = await sandbox.exec(text, agent=name, timeout_s=timeout_s, keep=1000)
            assert fits(kind, number, result), (name, kind, text, result)
            answers[kind] += 1
            if dice.random() < 0.01:
                await sandbox.kill(name)

    async with anyio.create_task_group() as tasks:
        for number in range(AGENTS):
            tasks.start_soon(agent, f"agent{number}")
    return answers


@pytest.mark.anyio
@pytest.mark.timeout(900)
async def test_soak(kind: str, tmp_path: Path) -> None:
    spec = make_spec(kind, tmp_path, limits=Limits(file_mb=2))
    files = len(os.listdir("/proc/self/fd"))
    sandbox = await sandboxes.start(spec, kind)
    answers = await soak(sandbox, COMMANDS)
    assert sum(answers.values()) == COMMANDS
    await sandbox.kill()
    left = await sandbox.exec(f"pgrep -c -f '[s]leep {MARK}'", agent="looker", timeout_s=60)
    assert left.head == b"0\n"
    await sandbox.aclose()
    assert len(os.listdir("/proc/self/fd")) <= files
    assert not [
        run for _, run in [*leftovers.marked(), *leftovers.folders(), *leftovers.grouped()] if run == spec.run_id
    ]
    assert not [path for path, _ in cgroups.left() if spec.run_id in path]
    assert spec.run_id not in await anyio.Path("/proc/self/mounts").read_text()
    assert os.listdir(spec.scratch) == []
    if kind == "docker":
        await to_thread.run_sync(nothing_labelled, spec.run_id)


def nothing_labelled(run_id: str) -> None:
    found, label = engine.find(), engine.labelled(f"leadhand.run={run_id}")
    assert found.get("/containers/json", all="1", filters=label) == []
    assert not found.get("/volumes", filters=label).get("Volumes")
