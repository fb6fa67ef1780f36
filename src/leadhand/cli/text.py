"""Small pieces of text: dollars, seconds, tokens, and model-written text made safe for a terminal."""

from __future__ import annotations

import json
import re

_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]+")


def safe(text: str, width: int = 0) -> str:
    """One line that cannot control a terminal; cut to `width` characters if one is given."""
    line = _UNSAFE.sub(" ", text.encode("utf-8", "replace").decode()).strip()
    return line if not width or len(line) <= width else line[: max(1, width - 1)] + "…"


def command(arguments: str, width: int = 0) -> str:
    """The command in a bash call's arguments, on one line."""
    try:
        loaded = json.loads(arguments)
        text = loaded["command"] if isinstance(loaded, dict) else arguments
    except (ValueError, KeyError):
        text = arguments
    return safe(str(text).replace("\n", " ⏎ "), width)


def dollars(usd: float) -> str:
    if usd == 0:
        return "$0"
    return f"${usd:.2f}" if usd >= 1 else f"${usd:.4f}"


def seconds(s: float) -> str:
    if s < 60:
        return f"{s:.1f} s"
    if s < 3600:
        return f"{int(s // 60)} min {int(s % 60):02d} s"
    return f"{int(s // 3600)} h {int(s % 3600 // 60):02d} min"


def tokens(n: int) -> str:
    if n < 1000:
        return str(n)
    return f"{n / 1000:.1f}k" if n < 1_000_000 else f"{n / 1_000_000:.2f}M"


def plural(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"
