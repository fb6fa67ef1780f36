"""Where an agent's dollars went: fresh input, cache reads, cache writes, output."""

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

    def spend(self, price: Price, usage: Usage) -> float:
        """Book one attempt at the price (and tier) that its prompt falls under; its dollars."""
        at = price.at(usage.prompt)
        total = price.cost(usage)
        output = usage.output * at.output / 1e6
        fresh = usage.input * at.input / 1e6
        read = usage.cache_read * (at.input if at.cache_read is None else at.cache_read) / 1e6
        self.fresh += fresh
        self.read += read
        self.written += max(0.0, total - output - fresh - read)
        self.output += output
        self.calls += 1
        return total

    def as_dict(self) -> dict[str, float]:
        return {f.name: getattr(self, f.name) for f in fields(self)}
