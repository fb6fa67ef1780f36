"""How long a provider may be asked to keep a prompt in its cache, checked before a run."""

from __future__ import annotations

import re

from leadhand.core.errors import UsageError
from leadhand.models.catalog import split_name

_GPT = re.compile(r"gpt-(\d+)(?:\.(\d+))?")
_SINCE = (5, 6)


def cache_ttls(name: str) -> tuple[str, ...]:
    """The lifetimes that `provider/model` can be asked for, its default first; none where it cannot be asked."""
    provider, _, model = name.partition("/")
    match provider:
        case "anthropic" | "bedrock":
            return ("5m", "1h")
        case "openai":
            version = _GPT.match(model)
            older = version is not None and (int(version[1]), int(version[2] or 0)) < _SINCE
            return () if older else ("30m", "12h")
        case _:
            return ()


def check_cache_ttl(name: str, cache_ttl: str) -> None:
    """Raises `UsageError` naming what the model takes. Scripted models take anything."""
    if not cache_ttl or name.startswith("scripted/"):
        return
    split_name(name)
    takes = cache_ttls(name)
    if cache_ttl not in takes:
        remedy = f"it takes {' or '.join(takes)}" if takes else "leave cache_ttl out"
        raise UsageError(f"{name} cannot be asked to keep its cache for {cache_ttl!r}; {remedy}")
