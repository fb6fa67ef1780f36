"""One limiter for everybody who uses the same model with the same key. Holds nothing: there are no slots to leak.

Told to slow down, all wait for as long as was said (or a back-off that doubles). After that they start one after the
other at the pace at which attempts were served, a little slower; the pace then grows until the provider speaks again.
So a hundred agents behind a quota for fifty are served at the quota, and none of them is refused time after time.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import anyio

FIRST_S = 1.0
LONGEST_S = 60.0
CALM_S = 60.0
"""A model that was not told to slow down for this long starts again at the first back-off, and without a pace."""

KNOWN_S = 10.0
"""The time over which the rate of served attempts is averaged."""
ENOUGH = 10
"""So many attempts must have been admitted before a rate is made of them."""
SLOWER = 0.85
SAME_S = 2.0
"""What is refused within this time of the last slowing down is part of the same trouble."""
FAST, SLOW = 0.15, 0.02
"""By how much the pace grows in a second: far below the pace at which it was refused last, and near it."""


@dataclass
class _Model:
    until: float = float("-inf")
    times: int = 0
    served: float = 0.0  # attempts, decaying with KNOWN_S
    admitted: int = 0
    first: float = 0.0
    at: float = 0.0
    pace: float = 0.0  # attempts a second; 0 is no pace
    refused_at: float = math.inf
    slowed: float = float("-inf")
    grown: float = 0.0
    next: float = 0.0

    def count(self, now: float, attempts: int) -> None:
        self.served = self.served * math.exp((self.at - now) / KNOWN_S) + attempts
        self.at = now

    def rate(self, now: float) -> float:
        """Attempts served a second, lately; 0 while too little is known."""
        if self.admitted < ENOUGH or now <= self.first:
            return 0.0
        self.count(now, 0)
        return max(0.0, self.served) / (KNOWN_S * (1 - math.exp((self.first - now) / KNOWN_S)))

    def slow_down(self, now: float) -> None:
        if self.pace and now - self.slowed < SAME_S:
            return
        served = self.rate(now)
        self.refused_at = min(self.pace, served) if self.pace and served else self.pace or served
        self.pace = SLOWER * self.refused_at
        self.slowed = self.grown = now

    def grow(self, now: float) -> None:
        if now - self.until > CALM_S:
            self.pace = 0.0
        if self.pace:
            by = FAST if self.pace < 0.95 * self.refused_at else SLOW
            self.pace *= (1 + by) ** (now - self.grown)
            self.grown = now


class SharedLimiter:
    """Admission by model name. `observe` starts or extends the cool-down of a model, `admit` waits for its end."""

    def __init__(self, rng: random.Random | None = None) -> None:
        self._random = rng or random.Random()
        self._models: dict[str, _Model] = {}

    async def admit(self, model: str) -> None:
        if wait := self.turn(model):
            await anyio.sleep(wait)
            # No event to wait for: the end of a cool-down is a moment, and it may be moved while one waits for it.
            while self.left(model) > 0:  # noqa: ASYNC110
                await anyio.sleep(self.turn(model, again=True))

    def turn(self, model: str, *, again: bool = False) -> float:
        """Seconds until it is the next attempt's turn. `again`: for an attempt that has asked before."""
        now = anyio.current_time()
        m = self._models.setdefault(model, _Model(first=now))
        if not again:
            m.admitted += 1
            m.count(now, 1)
        m.grow(now)
        if m.pace:
            turn = max(now, m.until, m.next)
            m.next = turn + 1 / m.pace
            return turn - now
        wait = m.until - now
        if wait <= 0:
            return 0.0
        # Nothing is known of a pace: waiting agents do not all start at once.
        return wait + self._random.uniform(0, min(wait, FIRST_S * 2**m.times, LONGEST_S))

    def left(self, model: str) -> float:
        """Seconds until the model's cool-down ends; 0 where there is none."""
        m = self._models.get(model)
        return 0.0 if m is None else max(0.0, m.until - anyio.current_time())

    def observe(self, model: str, retry_after_s: float | None) -> None:
        now = anyio.current_time()
        m = self._models.setdefault(model, _Model(first=now))
        m.count(now, -1)
        m.slow_down(now)
        if now >= m.until:  # not one of many answers to the same moment
            m.times = 0 if now - m.until > CALM_S else min(m.times + 1, 10)
        back_off = min(FIRST_S * 2**m.times, LONGEST_S)
        m.until = max(m.until, now + (back_off if retry_after_s is None else retry_after_s))
