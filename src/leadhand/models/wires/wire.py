"""What a codec is. Codecs are pure: no sockets, no keys, no clocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from leadhand.core.chain import Root
from leadhand.core.errors import ModelError
from leadhand.core.ports import Reply, Request


class Assembler(Protocol):
    """Puts a streamed answer together to the object that the unstreamed call would have returned."""

    def feed(self, event: str, data: bytes) -> None:
        """Take one server-sent event. Raises `ModelError` for an error inside the stream."""
        ...

    def result(self) -> dict[str, Any]:
        """The whole answer. Raises `ModelError` (malformed) if the stream ended before its end was announced."""
        ...


class Wire(Protocol):
    """Speaks one provider's JSON."""

    name: str

    def path(self, request: Request, *, stream: bool) -> str: ...

    def encode(self, request: Request, *, stream: bool) -> bytes: ...

    def decode(self, answer: dict[str, Any], root: Root) -> Reply:
        """The neutral view of an answer to a conversation below `root`. Raises `ModelError` for an error in it."""
        ...

    def assembler(self) -> Assembler: ...

    def fault(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
        """The class of an answer that is not a 2xx."""
        ...
