"""From an HTTP status, headers and a provider's words to a class of fault. The words are cut and never hold a key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from leadhand.core.errors import Fault

_KEY = re.compile(r"\b(?:sk|pk|xai|gsk|ABSK|AIza|AKIA|ASIA)[-_A-Za-z0-9*.]{6,}|Bearer\s+\S+", re.IGNORECASE)
_TRY_AGAIN = re.compile(r"(?:try again|retry) in (?:(\d+)m(?!s))?\s*(?:([\d.]+)(ms|s))?", re.IGNORECASE)
MAX_WAIT_S = 3600.0


def by_status(status: int) -> Fault:
    match status:
        case 401 | 403:
            return "invalid_key"
        case 402:
            return "quota"
        case 408 | 504 | 522 | 524:
            return "timeout"
        case 429:
            return "rate_limit"
        case 503 | 529:
            return "overload"
        case _ if status >= 500:
            return "server"
        case _:
            return "bad_request"


def describe(status: int, message: str, code: str = "") -> str:
    """One printable line: status, code, and the provider's words, cut, with anything that looks like a key removed."""
    words = " ".join("".join(c if c.isprintable() else " " for c in message[:2000]).split())
    words = hide_keys(words)[:400]
    label = f"{status} {hide_keys(code[:60])}".strip()
    return f"the provider answered {label}: {words}" if words else f"the provider answered {label}"


def hide_keys(text: str) -> str:
    """OpenAI quotes the key it did not like, partly starred: the text goes to journals, so it is taken out."""
    return _KEY.sub("[key]", text)


def retry_after(headers: Mapping[str, str], message: str = "") -> float | None:
    """Seconds to wait as the provider said, from `retry-after-ms`, `retry-after` (seconds or a date) or its words."""
    ms = _number(headers.get("retry-after-ms", ""))
    if ms is not None:
        return _bounded(ms / 1000)
    after = headers.get("retry-after", "")
    seconds = _number(after)
    if seconds is not None:
        return _bounded(seconds)
    if after:
        try:
            when = parsedate_to_datetime(after)
            return _bounded((when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
        except (ValueError, TypeError, OverflowError):
            return None
    found = _TRY_AGAIN.search(message[:2000])
    if found and (found[1] or found[2]):
        minutes, number, unit = float(found[1] or 0), _number(found[2] or "0") or 0.0, found[3]
        return _bounded(minutes * 60 + (number / 1000 if unit == "ms" else number))
    return None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value == value and abs(value) != float("inf") else None


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), MAX_WAIT_S)
