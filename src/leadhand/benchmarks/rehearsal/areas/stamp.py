"""stamp: check stamps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from leadhand.benchmarks.rehearsal.areas.asking import Area, Told, ask, exits, manual, matched, plan

LETTERS = "abcdefghijklmnopqrstuvwxyz"
DIGITS = "0123456789"
WORKING = re.compile(r"^(.): (\d+) x (\d+) = \d+$", re.MULTILINE)
SUM_AND_CODE = re.compile(r"^sum (\d+) .*-(.)(.)\s*$", re.MULTILINE)


def period(weights: Sequence[int]) -> list[int]:
    """The shortest list that repeats to `weights`."""
    for n in range(1, len(weights)):
        if all(w == weights[i % n] for i, w in enumerate(weights)):
            return list(weights[:n])
    raise ValueError("the weights do not repeat")


def sign_table(text: str) -> str:
    """The digits of base 31, from sums and the codes that they gave."""
    found: dict[int, str] = {}
    for total, high, low in SUM_AND_CODE.findall(text):
        for place, sign in ((int(total) % 961 // 31, high), (int(total) % 31, low)):
            if found.setdefault(place, sign) != sign:
                raise ValueError(f"digit {place} has two signs")
    if sorted(found) != list(range(31)):
        raise ValueError(f"only {len(found)} of 31 digits were seen")
    return "".join(found[i] for i in range(31))


def stamp_table(told: Told) -> dict[str, Any]:
    letters, digits = WORKING.findall(told[1]), WORKING.findall(told[2])
    return {
        "values": {c: int(value) for c, value, _ in letters + digits},
        "weights": period([int(weight) for _, _, weight in letters]),
        "modulus": int(matched(r"modulo (\d+)", told[0])),
        "signs": sign_table(told[4] + "\n" + told[6]),
        "none_exit": exits(told[8])[0],
    }


STAMP = Area(
    "stamp",
    (
        manual("stamp"),
        ask("The working shows values and weights.", f"$X stamp -v {LETTERS}"),
        ask("The digits.", f"$X stamp -v {DIGITS}"),
        ask("Capitals and other characters.", "$X stamp -v 'A-b C'; $X stamp 'A-b C'"),
        ask(
            "Sums and their codes, for the alphabet of base 31.",
            f"for c in {' '.join(LETTERS + DIGITS)}; do echo $($X stamp -v $c | tail -n 2); done",
        ),
        ask("Nothing to count.", "$X stamp ...; $X stamp -v '!'"),
        ask(
            "Longer texts, up to where the sum wraps round.",
            "for t in zzzz o5o5 5555555 gagagagagagaga 5o5o5o5o5o5o5o5o; do echo $($X stamp -v $t | tail -n 2); done",
        ),
        ask(
            "Checking.",
            "for t in a b; do c=$($X stamp $t); $X stamp -c $c; $X stamp -c ${c^^}; $X stamp -c x$c; done",
        ),
        ask(
            "No stamp at all.",
            "$X stamp -c abc; echo exit $?; $X stamp -c -77; echo exit $?; $X stamp -c ''; echo exit $?",
        ),
        ask("Wrong usage.", "$X stamp; echo exit $?; $X stamp -q; echo exit $?; $X stamp a b; echo exit $?"),
    ),
    stamp_table,
    plan("stamp"),
)
