"""What a model costs: the user's own price first, else the dated table of `genai-prices`. Unknown is an error, never 0.

Prices are dollars per million tokens, pinned into a run when it starts.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from leadhand.core.errors import UsageError
from leadhand.core.values import FREE, Price

PROVIDER_IDS = {
    "openai": "openai",
    "openai-chat": "openai",
    "anthropic": "anthropic",
    "bedrock": "aws",
    "gemini": "google",
}
"""Our provider names to those of genai-prices. A model behind a `base_url` of its own is looked up by name like any
other: give `--price` where its server charges something else."""

MISTYPED = 0.8
"""How like a known name a mistyped one is, by `difflib`. Names of one provider begin alike: less hints at anything."""

PAPER_TABLE_2: Mapping[str, Price] = {
    name: Price(input=i, output=o, cache_read=r, cache_write_5m=w, source="paper-table-2")
    for name, i, o, r, w in (
        ("gpt-5.6-sol", 4.00, 20.00, 0.40, None),
        ("gpt-5.6-terra", 2.00, 12.00, 0.20, None),
        ("gpt-5.6-luna", 0.20, 1.20, 0.02, None),
        ("claude-opus-4-8", 5.00, 25.00, 0.50, 6.25),
        ("claude-opus-4-7", 5.00, 25.00, 0.50, 6.25),
    )
}
"""Table 2 of arXiv 2610.17471, its five printed rows and no others. The paper bills no cache writes for OpenAI, so a
write costs what fresh input costs; OpenAI really charges 1.25 times that from GPT-5.6 on."""

PROFILES: Mapping[str, Mapping[str, Price]] = {"paper-table-2": PAPER_TABLE_2}


def find_price(name: str, when: datetime, overrides: Mapping[str, Price]) -> Price:
    """The price of `provider/model` at `when`. An override is named with or without its provider.

    `scripted/...` is free. Raises `UsageError` where no price is known.
    """
    provider, _, model = name.partition("/")
    for key in (name, model):
        if key in overrides:
            return overrides[key]
    if provider == "scripted":
        return FREE
    found = _look_up(PROVIDER_IDS.get(provider, ""), model, when)
    if found is None:
        near = nearest(name)
        meant = f"did you mean {near}? If not, " if near else ""
        raise UsageError(
            f"no price is known for {name}; {meant}give one with --price {name}=IN,OUT[,READ[,WRITE]] "
            "(dollars per million tokens; in a study file under [prices])"
        )
    return found


def nearest(name: str) -> str:
    """The model of the price table whose full name is nearly this one, "" where none is: it was mistyped."""
    from genai_prices.data_snapshot import get_snapshot

    models = {p.id: [m.id for m in p.models] for p in get_snapshot().providers}
    known = [f"{provider}/{model}" for provider, id in PROVIDER_IDS.items() for model in models.get(id, ())]
    return next(iter(difflib.get_close_matches(name, known, 1, MISTYPED)), "")


def find_profile(name: str) -> Mapping[str, Price]:
    """A named set of prices, for `overrides`. Raises `UsageError` for an unknown name."""
    if name not in PROFILES:
        raise UsageError(f"no price profile {name!r}; there is {', '.join(PROFILES)}")
    return PROFILES[name]


def parse_price(text: str) -> tuple[str, Price]:
    """`NAME=IN,OUT[,READ[,WRITE]]` in dollars per million tokens. Raises `UsageError`."""
    name, equals, numbers = text.rpartition("=")
    try:
        rates = [float(n) for n in numbers.split(",")]
    except ValueError:
        rates = []
    if not equals or not name.strip() or not 2 <= len(rates) <= 4 or not all(0 <= r < math.inf for r in rates):
        raise UsageError(f"--price {text!r} is not NAME=IN,OUT[,READ[,WRITE]] (dollars per million tokens)")
    read, write = [*rates, None, None][2:4]
    return name.strip(), Price(
        input=rates[0],
        output=rates[1],
        cache_read=read,
        cache_write_5m=write,
        cache_write_30m=write,
        cache_write_1h=write,
        cache_write_12h=write,
        source="given",
    )


def context_size(name: str) -> int | None:
    """Tokens that fit, where genai-prices knows."""
    provider, _, model = name.partition("/")
    info = _find_model(PROVIDER_IDS.get(provider, ""), model)
    size = getattr(info, "context_window", None)
    return size if isinstance(size, int) else None


def _look_up(provider_id: str, model: str, when: datetime) -> Price | None:
    info = _find_model(provider_id, model)
    if info is None:
        return None
    listed = info.get_prices(when)
    starts = sorted({t.start for rate in vars(listed).values() for t in getattr(rate, "tiers", ())})
    source = f"genai-prices {_version()}, {provider_id}:{info.id}, {when.date().isoformat()}"
    price: Price | None = None
    for start, above in zip(reversed([None, *starts]), reversed([*starts, None]), strict=True):
        price = _one_tier(listed, start, above, price, provider_id, source)
        if price is None:
            return None
    return price


def _one_tier(
    listed: Any, start: int | None, above: int | None, tier: Price | None, provider_id: str, source: str
) -> Price | None:
    """The prices of requests with more than `start` prompt tokens; `tier` holds above `above`."""
    fresh, output = _rate(listed.input_mtok, start), _rate(listed.output_mtok, start)
    if fresh is None or output is None:
        return None
    write = _rate(listed.cache_write_mtok, start)
    hour = _rate(getattr(listed, "cache_write_1h_mtok", None), start)
    by_lifetime = provider_id in ("anthropic", "aws")
    return Price(
        input=fresh,
        output=output,
        cache_read=_rate(listed.cache_read_mtok, start),
        cache_write_5m=write,
        cache_write_30m=write,
        # Anthropic bills an hour at twice the input price; where it is not listed, that is what it will be.
        cache_write_1h=hour if hour is not None else 2 * fresh if by_lifetime and write is not None else write,
        cache_write_12h=write,
        tier_above=above,
        tier=tier,
        source=source,
    )


def _rate(listed: Any, start: int | None) -> float | None:
    """A flat or tiered rate, for prompts above `start` tokens."""
    if listed is None:
        return None
    tiers = getattr(listed, "tiers", None)
    if tiers is None:
        return float(listed)
    reached = [t for t in tiers if start is not None and t.start <= start]
    return float(max(reached, key=lambda t: t.start).price if reached else listed.base)


def _find_model(provider_id: str, model: str) -> Any:
    if not provider_id or not model:
        return None
    from genai_prices.data_snapshot import get_snapshot

    try:
        return get_snapshot().find_provider_model(model, None, provider_id, None)[1]
    except LookupError:
        return None


def _version() -> str:
    from genai_prices import __version__

    return __version__
