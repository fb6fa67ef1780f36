"""Gemini's errors, sorted into classes. How long to wait is in the body (RetryInfo), not in a header."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from leadhand.core.errors import Fault, ModelError
from leadhand.models import loose_json as lj
from leadhand.models.faults import MAX_WAIT_S, by_status, describe, retry_after

_BY_STATUS: dict[str, Fault] = {
    "INVALID_ARGUMENT": "bad_request",
    "FAILED_PRECONDITION": "bad_request",
    "OUT_OF_RANGE": "bad_request",
    "NOT_FOUND": "bad_request",
    "UNAUTHENTICATED": "invalid_key",
    "PERMISSION_DENIED": "invalid_key",
    "RESOURCE_EXHAUSTED": "rate_limit",
    "INTERNAL": "server",
    "UNAVAILABLE": "overload",
    "DEADLINE_EXCEEDED": "timeout",
    "CANCELLED": "server",
}
_TOO_LONG = ("exceeds the maximum number of tokens", "input token count", "context length", "context size")
_SECONDS = re.compile(r"^(\d+(?:\.\d+)?)s$")


def gemini_fault(status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    try:
        found = lj.decode(body)
    except ValueError:
        found = {}
    if isinstance(found, list):  # streams wrap the error in an array
        found = found[0] if found else {}
    return _fault(lj.obj(lj.obj(found).get("error")), status, headers)


def stream_fault(error: Any) -> ModelError:
    return _fault(lj.obj(error), 200, {})


def _fault(error: dict[str, Any], status: int, headers: Mapping[str, str]) -> ModelError:
    message = lj.string(error.get("message"))
    details = [lj.obj(d) for d in lj.items(error.get("details"))]
    wait = _retry_delay(details)
    fault = _classify(error, details) or (by_status(status) if status != 200 else "server")
    return ModelError(
        fault,
        describe(status, message, lj.string(error.get("status"))),
        maybe_billed=status in (200, 408, 502, 504),
        retry_after_s=retry_after(headers) if wait is None else wait,
        status=status,
    )


def _classify(error: dict[str, Any], details: list[dict[str, Any]]) -> Fault | None:
    if any(d.get("reason") == "API_KEY_INVALID" for d in details):
        return "invalid_key"  # comes as a 400
    message = lj.string(error.get("message")).lower()
    if any(words in message for words in _TOO_LONG):
        return "context_length"
    quotas = [lj.string(lj.obj(v).get("quotaId")) for d in details for v in lj.items(d.get("violations"))]
    if any("PerDay" in q for q in quotas):
        return "quota"  # tomorrow is too late
    return _BY_STATUS.get(lj.string(error.get("status")))


def _retry_delay(details: list[dict[str, Any]]) -> float | None:
    for detail in details:
        match = _SECONDS.match(lj.string(detail.get("retryDelay")))
        if match:
            return min(float(match[1]), MAX_WAIT_S)
    return None
