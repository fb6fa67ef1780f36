"""Teams for the tests of runs, played without any server: `scripted/run_teams:NAME`."""

from __future__ import annotations

from leadhand.testing.scripted import Seen, Step, bash, call, do, finish


def lead(seen: Seen) -> Step:
    steps = [
        do(bash("sleep 300 >/dev/null 2>&1 & echo $$ >> ../scratch/ran 2>/dev/null; echo begun")),
        do(call("delegate_agent", assignment="Do your part.")),
        do(call("wait")),
        do(bash("echo yes > done")),
    ]
    return steps[seen.turn] if seen.turn < len(steps) else finish("done")


def worker(seen: Seen) -> Step:
    return do(bash("sleep 0.05; echo part > part")) if seen.turn == 0 else finish("my part")


def team() -> dict[str, object]:
    return {"lead": lead, "w1": worker}
