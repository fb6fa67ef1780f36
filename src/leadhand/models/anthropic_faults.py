"""Anthropic's errors, sorted into classes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from leadhand.core.errors import Fault, ModelError
from leadhand.models import loose_json as lj
from leadhand.models.faults import by_status, describe, retry_after

_BY_TYPE: dict[str, Fault] = {
    "authentication_error": "invalid_key",
    "permission_error": "invalid_key",
    "billing_error": "quota",
    "not_found_error": "bad_request",
    "request_too_large": "context_length",
    "exceed_context_size_error": "context_length",  # llama.cpp
    "rate_limit_error": "rate_limit",
    "api_error": "server",
    "timeout_error": "timeout",
    "overloaded_error": "overload",
}
_BY_WORDS: tuple[tuple[str, Fault], ...] = (
    ("prompt is too long", "context_length"),
    ("exceed context limit", "context_length"),
    ("context window", "context_length"),
    ("credit balance is too low", "quota"),
    ("usage limits", "quota"),
    ("content filtering", "content_filter"),
)


def classify(error: dict[str, Any]) -> Fault | None:
    """By its words first: what a 400 means is only in them."""
    message = lj.string(error.get("message")).lower()
    for words, fault in _BY_WORDS:
        if words in message:
            return fault
    if message == "overloaded":
        return "overload"  # seen with status 500 and type api_error
    return _BY_TYPE.get(lj.string(error.get("type")))


def anthropic_fault(status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    try:
        error = lj.obj(lj.obj(lj.decode(body)).get("error"))
    except ValueError:
        error = {}
    message = lj.string(error.get("message"))
    wait = retry_after(headers, message)
    return ModelError(
        classify(error) or by_status(status),
        describe(status, message, lj.string(error.get("type"))),
        maybe_billed=status in (408, 502, 504),
        retry_after_s=_until_reset(headers) if wait is None and status == 429 else wait,
        status=status,
        request_id=headers.get("request-id", ""),
    )


def stream_fault(error: Any) -> ModelError:
    """An error inside a stream, or a body, whose status was 200."""
    error = lj.obj(error)
    return ModelError(
        classify(error) or "server",
        describe(200, lj.string(error.get("message")), lj.string(error.get("type"))),
        maybe_billed=True,
        status=200,
    )


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Seconds until the limit that is used up is reset, where the headers say which."""
    waits: list[float] = []
    for kind in ("requests", "tokens", "input-tokens", "output-tokens"):
        prefix = f"anthropic-ratelimit-{kind}-"
        if headers.get(prefix + "remaining") == "0":
            try:
                reset = datetime.fromisoformat(headers.get(prefix + "reset", ""))
            except ValueError:
                continue
            waits.append((reset.replace(tzinfo=reset.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    return min(max(0.0, *waits), 3600.0) if waits else None
