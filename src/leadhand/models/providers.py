"""The providers there are, and what each needs."""

from __future__ import annotations

from collections.abc import Mapping

from leadhand.core.values import Value


class ProviderInfo(Value, frozen=True, kw_only=True):
    """A provider: where it is and which environment variables hold its key (the first that is set counts)."""

    name: str
    keys: tuple[str, ...]
    base_url: str
    stream: bool


PROVIDERS: Mapping[str, ProviderInfo] = {
    p.name: p
    for p in (
        ProviderInfo(name="openai", keys=("OPENAI_API_KEY",), base_url="https://api.openai.com/v1", stream=True),
        ProviderInfo(name="openai-chat", keys=("OPENAI_API_KEY",), base_url="https://api.openai.com/v1", stream=False),
        ProviderInfo(name="anthropic", keys=("ANTHROPIC_API_KEY",), base_url="https://api.anthropic.com", stream=True),
        ProviderInfo(
            name="bedrock",
            keys=("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID"),
            base_url="https://bedrock-runtime.{region}.amazonaws.com",
            stream=False,
        ),
        ProviderInfo(
            name="gemini",
            keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            base_url="https://generativelanguage.googleapis.com",
            stream=True,
        ),
    )
}
