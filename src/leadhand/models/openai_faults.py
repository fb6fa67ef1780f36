"""OpenAI's errors, and those of the servers that imitate it, sorted into classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leadhand.core.errors import Fault, ModelError
from leadhand.core.values import Usage
from leadhand.models import loose_json as lj
from leadhand.models.faults import by_status, describe, retry_after

_BY_CODE: dict[str, Fault] = {
    "context_length_exceeded": "context_length",
    "exceed_context_size_error": "context_length",
    "string_above_max_length": "context_length",
    "insufficient_quota": "quota",
    "billing_hard_limit_reached": "quota",
    "billing_not_active": "quota",
    "invalid_api_key": "invalid_key",
    "rate_limit_exceeded": "rate_limit",
    "server_error": "server",
    "internal_error": "server",
    "server_is_overloaded": "overload",
    "slow_down": "overload",
    "overloaded": "overload",
    "content_filter": "content_filter",
    "content_policy_violation": "content_filter",
    "invalid_prompt": "content_filter",
    "model_not_found": "bad_request",
}
_TOO_LONG = (
    "maximum context length",
    "exceeds the context window",
    "context size",
    "context length",
    "too many tokens",
)


def openai_fault(status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    try:
        error = lj.obj(lj.decode(body)).get("error")
    except ValueError:
        error = None
    error = {"message": error} if isinstance(error, str) else lj.obj(error)
    fault = _classify(error) or by_status(status)
    if fault == "rate_limit" and "request too large" in lj.string(error.get("message")).lower():
        fault = "bad_request"  # it is over the limit by itself: waiting does not help
    if status in (401, 403) and fault not in ("quota", "content_filter"):
        fault = "invalid_key"
    wait = retry_after(headers, lj.string(error.get("message")))
    return ModelError(
        fault,
        describe(status, lj.string(error.get("message")), lj.string(error.get("code")) or lj.string(error.get("type"))),
        maybe_billed=status in (408, 502, 504),
        retry_after_s=_until_reset(headers) if wait is None and fault == "rate_limit" else wait,
        status=status,
        request_id=headers.get("x-request-id", ""),
    )


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Seconds until the limit that is used up is reset, where the headers say which ("6m0s", "120ms")."""
    waits = [
        retry_after({}, f"try again in {headers.get(f'x-ratelimit-reset-{kind}', '')}")
        for kind in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{kind}") == "0"
    ]
    return max((w for w in waits if w is not None), default=None)


def stream_fault(error: Any, *, usage: Usage | None = None) -> ModelError:
    """An error that came in a body or stream whose status was 200."""
    error = {"message": error} if isinstance(error, str) else lj.obj(error)
    fault = _classify(error) or (by_status(error["code"]) if isinstance(error.get("code"), int) else "server")
    message = lj.string(error.get("message"))
    return ModelError(
        fault,
        describe(200, message, lj.string(error.get("code")) or lj.string(error.get("type"))),
        maybe_billed=True,
        usage=usage,
        retry_after_s=retry_after({}, message),
        status=200,
    )


def _classify(error: dict[str, Any]) -> Fault | None:
    for key in ("code", "type"):
        fault = _BY_CODE.get(lj.string(error.get(key)))
        if fault:
            return fault
    message = lj.string(error.get("message")).lower()
    return "context_length" if any(text in message for text in _TOO_LONG) else None
