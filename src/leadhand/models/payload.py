"""A request body for aiohttp that is written at once and may be sent again."""

from __future__ import annotations

from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload


class Body(Payload):
    """Bytes, encoded already. aiohttp's own `BytesPayload` warns above 1 MB, which a long history reaches."""

    _value: bytes
    _autoclose = True

    def __init__(self, value: bytes) -> None:
        super().__init__(value, content_type="application/json")
        self._size = len(value)

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return self._value.decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        await writer.write(self._value)

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        await writer.write(self._value[:content_length])
