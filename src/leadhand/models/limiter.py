"""One cool-down for everybody who uses the same model with the same key. Holds nothing: there are no slots to leak."""

from __future__ import annotations

import random
from dataclasses import dataclass

import anyio

FIRST_S = 1.0
LONGEST_S = 60.0
CALM_S = 60.0
"""So long after the end of a cool-down without another, the next one starts at the first back-off again."""


@dataclass
class _CoolDown:
    until: float = float("-inf")
    times: int = 0


class SharedLimiter:
    """Admission by model name. `observe` starts or extends the cool-down of a model, `admit` waits for its end.

    Waiting agents do not all start at once: each adds a random share (full jitter) of the last back-off.
    """

    def __init__(self, rng: random.Random | None = None) -> None:
        self._random = rng or random.Random()
        self._models: dict[str, _CoolDown] = {}

    async def admit(self, model: str) -> None:
        cool = self._models.get(model)
        if cool is None:
            return
        # No event to wait for: the end of a cool-down is a moment, and it may be moved while one waits for it.
        while (wait := cool.until - anyio.current_time()) > 0:  # noqa: ASYNC110
            await anyio.sleep(wait + self._random.uniform(0, min(wait, FIRST_S * 2**cool.times, LONGEST_S)))

    def left(self, model: str) -> float:
        """Seconds until the model's cool-down ends; 0 where there is none."""
        cool = self._models.get(model)
        return 0.0 if cool is None else max(0.0, cool.until - anyio.current_time())

    def observe(self, model: str, retry_after_s: float | None) -> None:
        cool = self._models.setdefault(model, _CoolDown())
        now = anyio.current_time()
        if now >= cool.until:  # not one of many answers to the same moment
            cool.times = 0 if now - cool.until > CALM_S else min(cool.times + 1, 10)
        back_off = min(FIRST_S * 2**cool.times, LONGEST_S)
        cool.until = max(cool.until, now + (back_off if retry_after_s is None else retry_after_s))
