"""A rate limit, as a provider has one."""

from __future__ import annotations

from collections.abc import Callable


class Quota:
    """Requests a minute, as a bucket that refills evenly."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float]) -> None:
        self._rate = per_minute / 60 if per_minute else None
        self._size = self._left = max(1.0, per_minute or 1.0)
        self._clock = clock
        self._at = clock()

    def wait(self) -> float:
        """Seconds until the next request is allowed; 0 if this one is (it is then counted)."""
        if self._rate is None:
            return 0.0
        now = self._clock()
        self._left = min(self._size, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left >= 1:
            self._left -= 1
            return 0.0
        return (1 - self._left) / self._rate
