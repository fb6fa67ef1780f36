"""What goes wrong between a provider and its clients, drawn at random with a seed."""

from __future__ import annotations

import random
from typing import Literal

from leadhand.core.values import Value

Mishap = Literal[
    "429",  # refused, not billed
    "500",
    "529",
    "503",
    "reset",  # the connection is reset before anything is answered; not billed
    "stall",  # billed, and never answered
    "cut",  # billed; the connection is reset in the middle of the answer
    "stall_mid",  # billed; silence in the middle of the answer
    "truncated",  # billed; well-formed HTTP around half a JSON text
    "wrong_type",  # billed; an HTML page with status 200
    "empty",  # billed; an empty body with status 200
    "stream_error",  # billed; an error event after half of the stream (a plain error object where it is not streamed)
]
REFUSED: dict[Mishap, int] = {"429": 429, "500": 500, "529": 529, "503": 503}


class Chaos(Value, frozen=True, kw_only=True):
    """The share of requests, in [0, 1], that each mishap befalls."""

    rates: dict[Mishap, float]
    seed: int = 0
    retry_after_s: float | None = None


class Dice:
    def __init__(self, chaos: Chaos | None) -> None:
        self._rates = list(chaos.rates.items()) if chaos else []
        self._random = random.Random(chaos.seed if chaos else 0)

    def roll(self) -> Mishap | None:
        if not self._rates:
            return None
        at = self._random.random()
        for mishap, rate in self._rates:
            at -= rate
            if at < 0:
                return mishap
        return None
