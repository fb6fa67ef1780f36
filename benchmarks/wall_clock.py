"""Eight workers of ten steps under push, one hung, one crashed, on the real clock: wall-clock beside the longest path.

    python -m benchmarks.wall_clock [--rounds 5]

The longest path is computed from the script alone. What is on top of it is what the harness adds, in a real sandbox.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

import anyio

from leadhand import sandboxes
from leadhand.core.design import Design
from leadhand.core.events import DelegationEnded
from leadhand.core.ports import Reply, Request
from leadhand.core.values import Limits, SandboxSpec
from leadhand.testing.play import play
from leadhand.testing.scripted import ScriptedModel, Seen, Step, bash, call, do, finish

THINK = 0.3  # seconds of a lead's model call
LIMIT = 8.0  # seconds a delegation may take
STEPS = 10
TEAM = {f"w{i}": [(0.2 + 0.05 * i + k / 100, 0.15 - k / 200) for k in range(STEPS)] for i in range(1, 9)}
"""Seconds in the model and in the command of each step; the last one is the report."""
HUNG, CRASHED = "w3", "w5"


class OneHungOneCrashed(ScriptedModel):
    """`HUNG` never answers its sixth call; the adapter breaks under `CRASHED`'s fourth."""

    async def complete(self, request: Request) -> Reply:
        turn = len(request.conversation.messages) // 2
        if request.agent == HUNG and turn == 5:
            await anyio.sleep_forever()
        if request.agent == CRASHED and turn == 3:
            raise RuntimeError("the adapter broke")
        return await super().complete(request)


def rest(name: str) -> float:
    """Seconds from its assignment until a worker comes to rest."""
    if name == HUNG:
        return LIMIT
    steps = TEAM[name][:3] if name == CRASHED else TEAM[name]
    last = 0.0 if name == CRASHED else steps[-1][1]
    return sum(m + t for m, t in steps) - last


def longest_path() -> float:
    """When a lead that delegates once and then waits for any until nobody is left has finished."""
    now, left = THINK, sorted(THINK + rest(name) for name in TEAM)
    while left:
        now = max(now + THINK, left[0])
        left = [end for end in left if end > now]
    return now + THINK


def lead(seen: Seen) -> Step:
    if seen.turn == 0:
        return do(*(call("delegate_agent", assignment="go") for _ in TEAM), delay_s=THINK)
    if seen.text.count("<leadhand-report ") < len(TEAM):
        return do(call("wait"), delay_s=THINK)
    return finish("all in", delay_s=THINK)


def script(name: str) -> list[Step]:
    commands = [do(bash(f"sleep {t:.3f}"), delay_s=m) for m, t in TEAM[name][:-1]]
    return [*commands, finish(f"report of {name}", delay_s=TEAM[name][-1][0])]


async def once(kind: str) -> tuple[float, float]:
    """Wall-clock of one run, and how late the latest sibling was beside its own path; seconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("workspace", "scratch"):
            (folder / part).mkdir()
        spec = SandboxSpec(run_id="bench", workspace=str(folder / "workspace"), scratch=str(folder / "scratch"))
        sandbox = await sandboxes.start(spec, kind)
        try:
            model = OneHungOneCrashed({"lead": lead, **{n: script(n) for n in TEAM}})
            design = Design(lead="m", workers=len(TEAM), limits=Limits(delegation_s=LIMIT))
            began = anyio.current_time()
            run = await play(model, design, folder, sandbox=sandbox)
            wall = anyio.current_time() - began
        finally:
            await sandbox.aclose()
        assert run.end.text == "all in", run.end
        first = run.entries[0].mono
        ended = {e.event.worker: e.mono - first for e in run.entries if isinstance(e.event, DelegationEnded)}
        return wall, max(ended[n] - THINK - rest(n) for n in TEAM)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sandbox", default="local")
    given = parser.parse_args(argv)
    found = [anyio.run(once, given.sandbox) for _ in range(given.rounds)]
    path, wall = longest_path(), statistics.median(w for w, _ in found)
    late = statistics.median(x for _, x in found)
    print("8 workers of 10 steps under push, one hung, one crashed, on the real clock")
    print(f"  longest path {path:.3f} s, wall-clock {wall:.3f} s (median of {given.rounds}): {wall - path:+.3f} s")
    print(f"  the latest sibling ended {late:+.3f} s beside its own path")


if __name__ == "__main__":
    main()
