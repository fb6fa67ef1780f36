"""What the fake provider says in these tests: small jobs, done for real in real sandboxes.

The prompt holds a number N. A team's worker looks it up and reports it, the lead writes it down; a solo agent writes
the right number for even N only, so that rewards differ. Of peers the first that has the slot writes it down; of
candidates s1 is as a solo agent; the others write the right number and longer notes, by which one is chosen.
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


def peer(seen: Seen) -> Step:
    n = number(seen)
    if seen.turn == 0:
        return do(call("claim", slot="it"), bash("sleep 0.05"))
    if "it is yours" in seen.text:
        return do(bash(f"echo {n} > answer.txt")) if seen.turn == 1 else finish("done")
    return do(bash("sleep 0.3"))


def candidate(seen: Seen) -> Step:
    n = number(seen)
    right = seen.agent != "s1"
    if seen.turn == 0:
        return do(bash(f"echo {n if right or n % 2 == 0 else -1} > answer.txt"))
    if seen.turn == 1:
        return do(bash(f"echo {'checked' if right else ''} > notes.txt"))
    return finish("done")


def scripts() -> dict[str, Script]:
    teams = {"lead": lead, "solo": solo, **{f"w{i}": worker for i in range(1, 21)}}
    return teams | {f"p{i}": peer for i in range(1, 5)} | {f"s{i}": candidate for i in range(1, 5)}
