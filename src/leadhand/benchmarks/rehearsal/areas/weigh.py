"""weigh: old units of weight."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from leadhand.benchmarks.rehearsal.areas.asking import Area, Probe, Told, ask, exits, manual, matched, pairs, plan


def per_unit(pattern: str) -> Callable[[Told], str]:
    def command(told: Told) -> str:
        names = told[1].split()
        smallest = shlex.quote(names[0])
        return f'for u in {shlex.join(names)}; do echo "$u $({pattern.replace("SMALLEST", smallest)})"; done'

    return command


def weigh_table(told: Told) -> dict[str, Any]:
    sizes = {name: int(said.split()[0]) for name, said in pairs(told[2])}
    plurals = {name: said.split()[1] for name, said in pairs(told[3])}
    return {
        "units": [[name, plurals[name], sizes[name]] for name in told[1].split()],
        "last_joint": matched(r"^\d+ \w+, \d+ \w+(\D+)\d+ \w+$", told[7]),
        "nothing": told[8].splitlines()[0],
        "unknown_exit": exits(told[9])[0],
    }


WEIGH = Area(
    "weigh",
    (
        manual("weigh"),
        ask("Which units are there?", "$X weigh -l"),
        Probe("How large is each, in the smallest?", per_unit("$X weigh 1 $u SMALLEST")),
        Probe("The plurals: some are irregular.", per_unit("$X weigh 2 $u $u")),
        Probe("Less than one: fractions.", per_unit("$X weigh 1 SMALLEST $u")),
        Probe("More than one, with a fraction.", per_unit("$X weigh 20001 SMALLEST $u")),
        Probe("None, and exactly one.", per_unit("$X weigh 0 $u $u; $X weigh 1 $u $u")),
        Probe("Breaking down.", lambda told: f"for n in 1 5 41 46 2161; do $X weigh -b $n {told[1].split()[0]}; done"),
        Probe("Breaking down nothing.", lambda told: f"$X weigh -b 0 {told[1].split()[-1]}"),
        Probe(
            "Errors.",
            lambda told: (
                "$X weigh 1 nosuchunit nosuchunit; echo exit $?; $X weigh -1 x y; echo exit $?; $X weigh; echo exit $?"
            ),
        ),
    ),
    weigh_table,
    plan("weigh"),
)
