"""What the fake provider needs of a wire."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from leadhand.core.errors import Fault
from leadhand.core.values import Assistant, Usage
from leadhand.testing.provider.asked import Asked


class Failure(NamedTuple):
    """An HTTP error answer."""

    status: int
    body: Any
    headers: dict[str, str]


class ServerWire(Protocol):
    name: str

    def read(self, body: Any, path: str) -> Asked:
        """Understand a request. Raises `BadRequest` as the real provider does."""
        ...

    def answer(self, message: Assistant, usage: Usage, asked: Asked, number: int) -> dict[str, Any]: ...

    def events(self, answer: dict[str, Any]) -> Iterable[bytes]:
        """The same answer as a stream of server-sent events."""
        ...

    def failure(self, fault: Fault, message: str, retry_after_s: float | None) -> Failure: ...

    def stream_error(self, fault: Fault, message: str) -> bytes:
        """The event of an error inside a stream that began with 200."""
        ...
