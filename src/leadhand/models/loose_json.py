"""JSON as servers really send it: strict first (fast), then tolerant of broken Unicode and of numbers JSON has not.

What comes out can always be encoded again: no lone surrogates, no NaN, no depth that would overflow a stack.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec

MAX_DEPTH = 100
_LONE = re.compile("[\ud800-\udfff]")
_strict = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()


def encode(value: Any) -> bytes:
    return _encoder.encode(value)


def text(value: Any) -> str:
    return _encoder.encode(value).decode()


def decode(data: bytes | str) -> Any:
    """The value of a JSON text. Raises `ValueError` where there is none, or where it nests deeper than `MAX_DEPTH`."""
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH:
        _check_depth(raw)
    try:
        return _strict.decode(raw)
    except msgspec.DecodeError:
        return _tolerant(raw)


def _tolerant(raw: bytes) -> Any:
    try:
        value = json.loads(raw.decode("utf-8", "replace"), strict=False, parse_constant=lambda _: None)
    except RecursionError as e:
        raise ValueError("nested too deeply") from e
    return _encodable(value)


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_encodable(v) for v in value]
    if isinstance(value, dict):
        return {_LONE.sub("\ufffd", k): _encodable(v) for k, v in value.items()}
    return value


_STRUCTURE = re.compile(rb'"(?:[^"\\]|\\.)*"|([\[{])|([\]}])', re.DOTALL)


def _check_depth(raw: bytes) -> None:
    depth = 0
    for match in _STRUCTURE.finditer(raw):
        if match[1]:
            depth += 1
            if depth > MAX_DEPTH:
                raise ValueError(f"JSON nested deeper than {MAX_DEPTH}")
        elif match[2]:
            depth -= 1


# --- reading a hostile object: the value if it has the wanted type, else a default ----------------------------


def obj(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def count(value: Any) -> int:
    """A token count: never negative, never a boolean, never absurd."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0 or value > 10**12:
        return 0
    return value
