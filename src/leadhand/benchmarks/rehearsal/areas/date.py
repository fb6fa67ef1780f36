"""date: days of an old calendar."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from leadhand.benchmarks.rehearsal.areas.asking import Area, Probe, Told, ask, exits, manual, pairs, plan

DATE_LINE = r"^(?P<weekday>\w+), (?P<day>\d+)(?P<ending>[a-z]+) of (?P<month>\w+), year (?P<year>\d+)$"


def months_of(told: Told) -> list[tuple[str, int]]:
    """Names and lengths: each month begins where a "1st" is; the last line is the first day of year 2."""
    starts = [(int(n), re.match(DATE_LINE, said)) for n, said in pairs(told[1])]
    named = [(n, m["month"]) for n, m in starts if m]
    return [(name, then - n) for (n, name), (then, _) in pairwise(named)]


def longest_month(told: Told) -> str:
    name, days = max(months_of(told), key=lambda m: m[1])
    return f"first=$($X date -n 1 {name} 1)\nfor n in $(seq $first $((first + {days - 1}))); do $X date $n; done"


def leap_days(told: Told) -> str:
    name, days = months_of(told)[-1]
    return "\n".join(f"$X date -n {days + 1} {name} {year}; echo exit $?" for year in [*leap_years(told[4])[:2], 1])


def leap_years(text: str) -> list[int]:
    return [int(y) for y in re.findall(r"^year (\d+) has \d+ days \(leap\)$", text, re.MULTILINE)]


def leap_rule(told: Told) -> tuple[int, int]:
    """(every, except): years that divide by the first are leap unless they divide by the second, in all seen."""
    every = leap_years(told[4])[0]
    years = [int(y) for text in told[4:6] for y in re.findall(r"^year (\d+) has", text, re.MULTILINE)]
    leap = {y for text in told[4:6] for y in leap_years(text)}
    exception = next(y for y in years if y % every == 0 and y not in leap)
    if leap != {y for y in years if y % every == 0 and y % exception != 0}:
        raise ValueError("the leap years follow another rule")
    return every, exception


def date_table(told: Told) -> dict[str, Any]:
    every, exception = leap_rule(told)
    return {
        "months": [list(month) for month in months_of(told)],
        "week": list(dict.fromkeys(re.findall(r"^\d+ (\w+),", told[2], re.MULTILINE))),
        "endings": {m["day"]: m["ending"] for m in re.finditer(DATE_LINE, told[3], re.MULTILINE)},
        "leap_every": every,
        "leap_except": exception,
        "bad": told[8].splitlines()[0],
        "bad_exit": exits(told[8])[0],
    }


DATE = Area(
    "date",
    (
        manual("date"),
        ask(
            "Where do the months of year 1 begin?",
            'for n in $(seq 1 260); do echo "$n $($X date $n)"; done | grep " 1st of "',
        ),
        ask("The week.", 'for n in $(seq 1 14); do echo "$n $($X date $n)"; done'),
        Probe("All the endings of days, in the longest month.", longest_month),
        ask("Which years are leap years?", "for y in $(seq 1 66); do $X date -y $y; done"),
        ask(
            "Is there an exception to the exception?",
            "for y in 90 96 120 150 180 300 360 600 900 3600; do $X date -y $y; done",
        ),
        Probe("The leap day itself.", leap_days),
        Probe(
            "Short names.", lambda told: "\n".join(f"$X date -n 1 {name[:3].upper()} 2" for name, _ in months_of(told))
        ),
        ask("What is no day?", "for d in '0' '-n 1 th 1' '-n 99 Thaw 1' '-y 0'; do $X date $d; echo exit $?; done"),
        ask("Far days, there and back.", "for n in 5000 7201 123456; do $X date $n; done; $X date -n 1 thaw 500"),
    ),
    date_table,
    plan("date"),
)
