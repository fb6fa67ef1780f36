"""Where an attempt's dollars went: fresh input, cache reads, cache writes, output."""

from __future__ import annotations

from dataclasses import dataclass, fields

from leadhand.core.values import Price, Usage


@dataclass(slots=True)
class Split:
    """Dollars by part; they add up to what the ledger settles. `calls` counts the attempts in it."""

    fresh: float = 0.0
    read: float = 0.0
    written: float = 0.0
    output: float = 0.0
    calls: int = 0

    @property
    def usd(self) -> float:
        return self.fresh + self.read + self.written + self.output

    def add(self, other: Split) -> None:
        self.fresh += other.fresh
        self.read += other.read
        self.written += other.written
        self.output += other.output
        self.calls += other.calls

    def as_dict(self) -> dict[str, float]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


def split(price: Price, usage: Usage) -> Split:
    """One attempt's dollars at the price (and tier) that its prompt falls under."""
    at = price.at(usage.prompt)
    output, total = usage.output * at.output / 1e6, price.cost(usage)
    fresh = usage.input * at.input / 1e6
    read = usage.cache_read * (at.input if at.cache_read is None else at.cache_read) / 1e6
    return Split(fresh=fresh, read=read, written=max(0.0, total - output - fresh - read), output=output, calls=1)
