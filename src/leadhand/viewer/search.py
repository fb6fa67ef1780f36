"""Search over every text of a run: what agents said, called, were told and got back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from leadhand.core.values import Value
from leadhand.viewer.index import RunIndex

MOST = 300
_AROUND = 60
_SPACE = re.compile(r"\s+")
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode

# Keys whose text is a name or a number of ours: a search for "lead" should not find every line of the lead.
_NAMES = frozenset(
    [
        "kind",
        "role",
        "wire",
        "id",
        "call_id",
        "parent",
        "root_id",
        "stop",
        "encoding",
        "ended",
        "digest",
        "blob",
        "request_id",
        "spill",
        "status",
        "tool",
        "call",
        "delegation",
        "worker",
        "mail",
        "to",
        "at",
        "delivers",
        "announces",
        "assigns",
        "fault",
        "version",
        "worker_kind",
        "reasoning",
        "type",
        "signature",
    ]
)


class Hit(Value, frozen=True, kw_only=True):
    """An event that holds the words, the text around the first place, and how many places there are."""

    seq: int
    before: str
    match: str
    after: str
    places: int


def search(index: RunIndex, query: str) -> tuple[list[Hit], bool]:
    """Events whose text holds `query`, whatever the case, in order; and whether there were more than `MOST`."""
    words = query.strip()
    if not words:
        return [], False
    found: list[Hit] = []
    pattern = re.compile(re.escape(words), re.IGNORECASE)
    # A first look at the raw line, in JSON's spelling, spares the decoding of most lines.
    raw = re.compile(re.escape(_encode(words)[1:-1]), re.IGNORECASE) if words.isascii() else None
    for seq, data in index.lines():
        if raw is not None and not raw.search(data):
            continue
        hit = _hit(seq, data, pattern)
        if hit is None:
            continue
        if len(found) == MOST:
            return found, True
        found.append(hit)
    return found, False


def _hit(seq: int, data: bytes, pattern: re.Pattern[str]) -> Hit | None:
    first: tuple[str, re.Match[str]] | None = None
    places = 0
    for text in texts(_decode(data)["event"]):
        for match in pattern.finditer(text):
            places += 1
            first = first or (text, match)
    if first is None:
        return None
    text, match = first
    return Hit(
        seq=seq,
        before=("…" if match.start() > _AROUND else "") + _flat(text[max(0, match.start() - _AROUND) : match.start()]),
        match=_flat(match.group())[:200],
        after=_flat(text[match.end() : match.end() + 2 * _AROUND])
        + ("…" if len(text) > match.end() + 2 * _AROUND else ""),
        places=places,
    )


def _flat(text: str) -> str:
    """On one line; a space at either end stays, for what goes on there."""
    return _SPACE.sub(" ", text)


def texts(event: Any, key: str = "") -> Iterator[str]:
    """Every text of an event that somebody wrote. Tool calls are given as their arguments' values, not as raw JSON."""
    match event:
        case str():
            if key == "arguments":
                yield from _of_arguments(event)
            elif key not in _NAMES:
                yield event
        case dict():
            for name, value in event.items():
                if name not in ("items", "settings", "parameters", "detail", "usage", "limits"):
                    yield from texts(value, name)
        case list():
            for value in event:
                yield from texts(value, key)


def _of_arguments(raw: str) -> Iterator[str]:
    try:
        yield from texts(_decode(raw), "value")
    except (msgspec.DecodeError, RecursionError):
        yield raw
