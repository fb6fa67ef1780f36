"""What the fake provider says in these tests: small jobs, done for real in real sandboxes.

The prompt holds a number N. A team's worker looks it up and reports it, the lead writes it down; a solo agent writes
the right number for even N only, so that rewards differ.
"""

from __future__ import annotations

import re

from leadhand.testing.scripted import Script, Seen, Step, bash, call, do, finish, reports


def number(seen: Seen) -> int:
    found = re.search(r"number (\d+)", seen.text)
    assert found
    return int(found[1])


def lead(seen: Seen) -> Step:
    if seen.turn == 0:
        slow = 60.0 if "Be slow." in seen.text else 0.0
        return do(call("delegate_agent", assignment=f"Say the number {number(seen)} again."), delay_s=slow)
    if not reports(seen):
        return do(bash("sleep 0.02"))
    if "noted-down" not in seen.text:
        return do(bash(f"echo {number(seen)} > answer.txt; echo noted-down"))
    return finish("done")


def worker(seen: Seen) -> Step:
    if seen.turn == 0:
        return do(bash("ls; sleep 0.01"))
    return finish(f"It is {number(seen)}.")


def solo(seen: Seen) -> Step:
    n = number(seen)
    if seen.turn == 0:
        return do(bash(f"echo {n if n % 2 == 0 else -1} > answer.txt"))
    return finish("done")


def scripts() -> dict[str, Script]:
    return {"lead": lead, "solo": solo, **{f"w{i}": worker for i in range(1, 21)}}
