"""What comes from outside must survive the journal: written, read back, and equal.

Models, adapters, file names and users can hand in text with lone surrogates (no UTF-8 has them), numbers that JSON
lacks, or nesting deeper than a decoder follows. The first two are mended, the last is refused.
"""

from __future__ import annotations

import math
import re
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

DEEPEST = 64
"""Levels of nesting that a value may have; the journal's own decoder gives up only far beyond."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_encode = msgspec.json.Encoder(order="sorted").encode


class NotJson(ValueError):
    """A value that no JSON can hold: too deep, or not made of lists, objects, text and numbers."""


def text(value: str) -> str:
    """`value` with each lone surrogate replaced by U+FFFD."""
    return value if value.isascii() else _SURROGATE.sub("\ufffd", value)


def plain_data(value: Any, depth: int = 0) -> Any:
    """`value` as JSON would give it back: surrogates mended, NaN and infinities as null. Raises `NotJson`."""
    if depth > DEEPEST:
        raise NotJson(f"nested deeper than {DEEPEST} levels")
    match value:
        case str():
            return text(value)
        case float():
            return value if math.isfinite(value) else None
        case None | bool() | int():
            return value
        case dict():
            return {text(str(k)): plain_data(v, depth + 1) for k, v in value.items()}
        case list() | tuple():
            return [plain_data(v, depth + 1) for v in value]
    raise NotJson(f"{type(value).__name__} is not JSON")


def encoded(value: T, kind: Any) -> tuple[T, bytes]:
    """`value` (of type `kind`) with its text mended where needed, and its canonical JSON. Raises `NotJson`."""
    try:
        try:
            return value, _encode(value)
        except UnicodeEncodeError:
            value = msgspec.convert(plain_data(msgspec.to_builtins(value)), type=kind)
            return value, _encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise NotJson(f"{type(error).__name__}: {error}"[:500]) from None


def round_trip(value: T, kind: type[T]) -> T:
    """`value` as the journal will give it back when it is read. Raises `NotJson` where it would not."""
    try:
        return msgspec.json.decode(encoded(value, kind)[1], type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise NotJson(f"{type(error).__name__}: {error}"[:500]) from None
