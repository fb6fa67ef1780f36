"""The provider's bill: one line for each served request, written before its answer, so that it is never below what a
client saw. It survives the provider and its clients.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from leadhand.core.values import Price, Usage, Value


class BillLine(Value, frozen=True, kw_only=True):
    """One request that was served, whether or not its answer arrived. `turn` counts the agent's earlier replies."""

    number: int
    agent: str
    model: str
    usage: Usage
    turn: int = 0
    wire: str = ""
    key: str = ""
    fault: str = ""


class Bill:
    """Appends lines to `path` (one `write(2)` each); without a path it keeps them in memory."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.lines: list[BillLine] = read_bill(path) if path is not None and path.exists() else []
        self._file = None if path is None else os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def add(self, line: BillLine) -> None:
        self.lines.append(line)
        if self._file is not None:
            os.write(self._file, msgspec.json.encode(line) + b"\n")

    @property
    def usage(self) -> Usage:
        return total(self.lines)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def read_bill(path: Path) -> list[BillLine]:
    decoder = msgspec.json.Decoder(BillLine)
    return [decoder.decode(line) for line in path.read_bytes().splitlines()]


def total(lines: Iterable[BillLine]) -> Usage:
    return sum((line.usage for line in lines), Usage())


def dollars(lines: Iterable[BillLine], price: Price | Callable[[str], Price]) -> float:
    """The bill in dollars, each line priced by itself (tiers go by request)."""
    return sum((price(line.model) if callable(price) else price).cost(line.usage) for line in lines)
