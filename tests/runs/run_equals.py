"""Peers and candidates for the tests of runs, played without any server: `scripted/run_equals:NAME`."""

from __future__ import annotations

from leadhand.testing.scripted import Script, Seen, Step, bash, call, do, finish, say

KEEP = "sleep 300 >/dev/null 2>&1 &"


def peers() -> dict[str, Script]:
    """All want the same slot; p2 does the work in its copy and finishes first, the others never do."""

    def peer(seen: Seen) -> Step:
        if seen.turn == 0:
            return do(call("claim", slot="it"), bash(f"{KEEP} pwd; ls; echo {seen.agent} > mine"))
        if seen.turn == 1:
            return do(call("write_note", text=f"{seen.agent} was here"), bash("echo yes > done"))
        if seen.agent == "p2":
            return finish("done by p2") if seen.turn > 2 else do(call("read_notes", all=True), delay_s=0.3)
        return do(bash("sleep 300"))

    return {f"p{i}": peer for i in range(1, 5)}


def candidates() -> dict[str, Script]:
    """s1 gives up on a fault, s2 does the work, s3 does another."""

    def work(word: str, delay: float) -> Script:
        steps = [do(bash(f"{KEEP} hostname > /dev/null; echo {word} > done; ls -a > seen"), delay_s=delay)]
        return lambda seen: steps[seen.turn] if seen.turn < len(steps) else finish(f"{word} it is")

    return {"s1": work("no", 0.0), "s2": work("yes", 0.1), "s3": work("no", 0.05)}


def faulty() -> dict[str, Script]:
    """The work of s1 is right, but it died of a fault."""

    def died(seen: Seen) -> Step:
        return do(bash("echo yes > done")) if seen.turn == 0 else Step(fault="quota")

    return {"s1": died, "s2": lambda seen: do(bash("echo no > done")) if seen.turn == 0 else say("no")}


def slow() -> dict[str, Script]:
    def step(seen: Seen) -> Step:
        return do(bash("echo yes > done")) if seen.turn == 0 else do(bash("sleep 300"))

    return {"s1": step, "s2": step}
