"""Server-sent events: bytes in pieces in, (event, data) out."""

from __future__ import annotations

from collections.abc import Iterator


class EventStream:
    """Feed it pieces as they come; it gives complete events and keeps the rest.

    Line ends may be LF, CRLF or CR; data of several lines is joined by newlines; comments are skipped.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._event = ""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[tuple[str, bytes]]:
        buffer = self._rest + piece
        if buffer.endswith(b"\r"):  # its LF may come with the next piece
            buffer, held = buffer[:-1], b"\r"
        else:
            held = b""
        *lines, rest = buffer.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = rest + held
        for line in lines:
            if line:
                self._field(line)
            elif self._data:
                yield self._event, b"\n".join(self._data)
                self._event, self._data = "", []
            else:
                self._event = ""

    def end(self) -> Iterator[tuple[str, bytes]]:
        """What a stream that ended without its last blank line still held."""
        yield from self.feed(b"\n\n")

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
