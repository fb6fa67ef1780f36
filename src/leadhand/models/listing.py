"""What can be used now: for `leadhand models`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from leadhand.core.errors import UsageError
from leadhand.core.values import Price, Value
from leadhand.models.cache_ttl import cache_ttls
from leadhand.models.prices import context_size, find_price
from leadhand.models.providers import PROVIDERS
from leadhand.models.reasoning import reasoning_settings

SUGGESTED = (
    "openai/gpt-6.1-sol",
    "openai/gpt-6.1-terra",
    "openai/gpt-6-luna",
    "openai/gpt-5.6-sol",
    "openai/gpt-5.6-terra",
    "openai/gpt-5.6-luna",
    "anthropic/claude-opus-5-5",
    "anthropic/claude-sonnet-5-5",
    "anthropic/claude-haiku-5-5",
    "anthropic/claude-opus-4-8",
    "anthropic/claude-opus-4-7",
    "anthropic/claude-haiku-4-5",
    "bedrock/global.anthropic.claude-opus-4-8-v1:0",
    "gemini/gemini-4-argon",
    "gemini/gemini-3.1-pro-preview",
)
"""Names worth listing; any other that a provider knows can be used as well."""


class ListedModel(Value, frozen=True, kw_only=True):
    """`price` and `context` are None where unknown: such a model needs `--price`.

    `cache_ttl`: the lifetimes that its prompt cache can be asked for, the default first.
    """

    name: str
    has_key: bool
    price: Price | None = None
    context: int | None = None
    reasoning: tuple[str, ...] = ()
    cache_ttl: tuple[str, ...] = ()


def list_models(
    env: Mapping[str, str], when: datetime, overrides: Mapping[str, Price], names: tuple[str, ...] = SUGGESTED
) -> list[ListedModel]:
    """The suggested models, and those that an override names in full."""
    named = [n for n in overrides if n.partition("/")[0] in PROVIDERS]
    return [_listed(name, env, when, overrides) for name in dict.fromkeys((*names, *named))]


def _listed(name: str, env: Mapping[str, str], when: datetime, overrides: Mapping[str, Price]) -> ListedModel:
    try:
        price = find_price(name, when, overrides)
    except UsageError:
        price = None
    return ListedModel(
        name=name,
        has_key=any(env.get(k) for k in PROVIDERS[name.partition("/")[0]].keys),
        price=price,
        context=context_size(name),
        reasoning=reasoning_settings(name),
        cache_ttl=cache_ttls(name),
    )
