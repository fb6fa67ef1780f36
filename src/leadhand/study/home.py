"""What a cluster's runs share, on the machine that has the study folder: their journals come home here, and one
limiter holds for all nodes. An actor; nothing in it knows Ray.
"""

from __future__ import annotations

import os
from pathlib import Path

from leadhand.models import SharedLimiter


class Home:
    """Appends what nodes send to the run folders. `token` tells one attempt at a run from the next: what a lost node
    still had on its way is refused once another may write there.
    """

    def __init__(self) -> None:
        self._limiter = SharedLimiter()
        self._open: dict[str, tuple[str, Path]] = {}

    async def open(self, token: str, folder: str) -> None:
        self._open[token] = (folder, Path(folder))

    async def close(self, token: str) -> None:
        self._open.pop(token, None)

    async def append(self, token: str, name: str, offset: int, data: bytes) -> int:
        """Write `data` at `offset` of a file in the run's folder, which is its end; the size after it.

        Sent twice, it is there once. Raises `LookupError` where the attempt is over.
        """
        if token not in self._open:
            raise LookupError("this attempt at the run is over")
        path = self._open[token][1] / name
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            size = os.fstat(fd).st_size
            if offset > size:
                raise LookupError(f"{name} has {size} bytes here, a piece at {offset} is not its next one")
            rest = data[size - offset :]
            if rest and os.write(fd, rest) != len(rest):
                raise OSError(f"the disk of the study folder is full: {path}")
            return max(size, offset + len(data))
        finally:
            os.close(fd)

    async def turn(self, model: str, again: bool) -> float:
        """Seconds until it is an attempt's turn at a model, whatever node it comes from."""
        return self._limiter.turn(model, again=again)

    async def left(self, model: str) -> float:
        """Seconds until a model's cool-down ends."""
        return self._limiter.left(model)

    async def observe(self, model: str, retry_after_s: float | None) -> None:
        self._limiter.observe(model, retry_after_s)
