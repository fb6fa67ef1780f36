"""Models that a team may be made of: one adapter a wire, opened by name, and what they cost.

    model = open_model("anthropic/claude-opus-4-8", env=load_keys("."))
    price = find_price("anthropic/claude-opus-4-8", datetime.now(UTC), {})

Importing this package loads no adapter, no HTTP client and no price table.
"""

from leadhand.models.cache_ttl import cache_ttls, check_cache_ttl
from leadhand.models.catalog import missing_key, open_model, problems
from leadhand.models.keys import load_keys
from leadhand.models.limiter import SharedLimiter
from leadhand.models.listing import ListedModel, list_models
from leadhand.models.prices import find_price, find_profile, parse_price
from leadhand.models.reasoning import check_reasoning, reasoning_settings

__all__ = [
    "ListedModel",
    "SharedLimiter",
    "cache_ttls",
    "check_cache_ttl",
    "check_reasoning",
    "find_price",
    "find_profile",
    "list_models",
    "load_keys",
    "missing_key",
    "open_model",
    "parse_price",
    "problems",
    "reasoning_settings",
]
