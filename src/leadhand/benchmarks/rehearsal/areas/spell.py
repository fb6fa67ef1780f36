"""spell: letters and digits to code words and back."""

from __future__ import annotations

import shlex
from typing import Any

from leadhand.benchmarks.rehearsal.areas.asking import Area, Probe, Told, ask, exits, manual, matched, pairs, plan


def each(characters: str) -> str:
    return f'for c in {" ".join(characters)}; do echo "$c $($X spell $c)"; done'


def spelled_back(told: Told) -> str:
    words = [word for text in told[1:4] for _, word in pairs(text)]
    return f"$X spell -r {shlex.quote(' '.join(words))}; echo exit $?"


def spell_table(told: Told) -> dict[str, Any]:
    words = dict(pair for text in told[1:4] for pair in pairs(text))
    if told[8].splitlines()[0] != "".join(words):
        raise ValueError("the words do not lead back to their characters")
    return {
        "words": words,
        "space": matched(r"^\S+ (\S+) \S+$", told[4]),
        "open": matched(r"^\S+ (\W)-\W ", told[5]),
        "close": matched(r"^\S+ \W-(\W) ", told[5]),
        "joint": matched(r"^[a-z]+(\W+)[a-z]+$", told[7]),
        "unknown": matched(r"^.(\W).$", told[9]),
        "unknown_exit": exits(told[9])[-1],
    }


SPELL = Area(
    "spell",
    (
        manual("spell"),
        ask("The code words of the first half of the alphabet.", each("abcdefghijklm")),
        ask("And of the second half.", each("nopqrstuvwxyz")),
        ask("Digits have words too.", each("0123456789")),
        ask("Spaces and capitals.", "$X spell 'A b'; $X spell 'McKay'"),
        ask("Other characters.", "$X spell 'a-b'; $X spell '!'; $X spell '<>'; $X spell ''"),
        ask("Several texts, and another joint.", "$X spell a b; $X spell -j . abc; $X spell -j '' ab"),
        ask("What stands between two words?", "$X spell ab; printf 'a\\n\\nb 1' | $X spell; echo exit $?"),
        Probe("All the words back again: do they lead to their characters?", spelled_back),
        ask("Unknown words.", "$X spell -r $($X spell a) nosuchword $($X spell b); echo exit $?"),
        ask("Capitals, brackets and wrong usage.", "$X spell -r '<!>'; $X spell -r AMBER; $X spell -q x; echo exit $?"),
    ),
    spell_table,
    plan("spell"),
)
