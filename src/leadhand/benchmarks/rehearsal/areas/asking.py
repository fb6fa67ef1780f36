"""How a rehearsed worker asks the reference and reads its answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PARTS = Path(__file__).parent.parent / "parts"

Told = Sequence[str]


class Probe(NamedTuple):
    """One command; `$X` is the original. It may depend on what earlier commands printed."""

    why: str
    command: Callable[[Told], str]


class Area(NamedTuple):
    name: str
    probes: tuple[Probe, ...]
    table: Callable[[Told], dict[str, Any]]
    plan: str


def ask(why: str, command: str) -> Probe:
    return Probe(why, lambda told: command)


def manual(area: str) -> Probe:
    return ask("First the documentation of my area.", f"sed -n '/^## {area}/,/^## /p' README.md")


def plan(area: str) -> str:
    """The prose of an area's report."""
    return (PARTS / f"{area}.plan.txt").read_text(encoding="utf-8").strip()


def pairs(text: str) -> list[tuple[str, str]]:
    """Lines "key rest" as pairs."""
    found = [line.partition(" ") for line in text.splitlines() if " " in line]
    return [(key, rest) for key, _, rest in found]


def exits(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"^exit (\d+)$", text, re.MULTILINE)]


def matched(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise ValueError(f"nothing like {pattern!r} in {text[:60]!r}")
    return found[1]
