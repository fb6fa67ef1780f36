"""The ledger: who spent how many tokens and dollars. A fold of the journal, never a counter that somebody updates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from leadhand.core.events import AttemptFailed, AttemptReplied, AttemptStarted, Entry
from leadhand.core.values import Price, Usage


@dataclass(slots=True)
class Spend:
    """One agent's share. Dollars; `unknown` is the worst case of attempts whose billing was never learnt."""

    usage: Usage = field(default_factory=Usage)
    settled: float = 0.0
    unknown: float = 0.0
    steps: int = 0
    attempts: int = 0
    failed: int = 0


@dataclass(slots=True)
class Reserved:
    """An attempt in flight and what it can cost at worst."""

    agent: str
    model: str
    usd: float


class Ledger:
    """Folds attempts into money at the run's pinned prices.

    settled <= the provider's bill <= settled + unknown + reserved, where `reserved` is what is still in flight
    (in a journal that ended there: unknown too).
    """

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self.prices = prices
        self.agents: dict[str, Spend] = {}
        self.models: dict[str, Spend] = {}
        self.open: dict[int, Reserved] = {}
        self.settled = 0.0
        self.unknown = 0.0
        self.reserved = 0.0

    @property
    def committed(self) -> float:
        """Everything that may already be owed."""
        return self.settled + self.unknown + self.reserved

    def bound(self, model: str, prompt_tokens: int, output_tokens: int, cache_ttl: str = "") -> float:
        return self.prices[model].bound(prompt_tokens, output_tokens, cache_ttl)

    def apply(self, entry: Entry) -> None:
        match entry.event:
            case AttemptStarted() as e:
                usd = self.bound(e.model, e.prompt_bound, e.output_bound, e.cache_ttl)
                self.open[e.attempt] = Reserved(entry.agent, e.model, usd)
                self.reserved += usd
                for spend in self._spends(entry.agent, e.model):
                    spend.attempts += 1
            case AttemptReplied() as e:
                held = self._release(e.attempt)
                self._settle(held, e.usage)
                for spend in self._spends(held.agent, held.model):
                    spend.steps += 1
            case AttemptFailed() as e:
                held = self._release(e.attempt)
                for spend in self._spends(held.agent, held.model):
                    spend.failed += 1
                if e.usage is not None:
                    self._settle(held, e.usage)
                elif e.maybe_billed:
                    self.unknown += held.usd
                    for spend in self._spends(held.agent, held.model):
                        spend.unknown += held.usd

    def _release(self, attempt: int) -> Reserved:
        held = self.open.pop(attempt)
        # Recomputed rather than subtracted: no rounding residue is left when nothing is in flight.
        self.reserved = sum(r.usd for r in self.open.values())
        return held

    def _settle(self, held: Reserved, usage: Usage) -> None:
        usd = self.prices[held.model].cost(usage)
        self.settled += usd
        for spend in self._spends(held.agent, held.model):
            spend.usage += usage
            spend.settled += usd

    def _spends(self, agent: str, model: str) -> tuple[Spend, Spend]:
        by_agent, by_model = self.agents.get(agent), self.models.get(model)
        if by_agent is None:
            by_agent = self.agents[agent] = Spend()
        if by_model is None:
            by_model = self.models[model] = Spend()
        return by_agent, by_model


def ledger_of(entries: Iterable[Entry], prices: Mapping[str, Price]) -> Ledger:
    """The ledger of a whole journal."""
    ledger = Ledger(prices)
    for entry in entries:
        ledger.apply(entry)
    return ledger
