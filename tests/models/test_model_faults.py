"""Errors as the providers word them, sorted; and no key in any text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import msgspec
import pytest

from leadhand.core.errors import POLICY, UsageError
from leadhand.models.anthropic_faults import anthropic_fault
from leadhand.models.bedrock_faults import bedrock_fault
from leadhand.models.faults import describe, retry_after
from leadhand.models.gemini_faults import gemini_fault
from leadhand.models.openai_faults import openai_fault
from leadhand.models.reasoning import check_reasoning, reasoning_settings


def openai(message: str, code: str | None = None, type: str = "invalid_request_error") -> dict[str, Any]:
    return {"error": {"message": message, "type": type, "param": None, "code": code}}


def anthropic(type: str, message: str = "x") -> dict[str, Any]:
    return {"type": "error", "error": {"type": type, "message": message}, "request_id": "req_1"}


def gemini(code: int, status: str, message: str = "x", *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


TPM = (
    "Rate limit reached for gpt-5.6 in organization org-1 on tokens per min (TPM): Limit 30000, Used 18928, "
    "Requested 11159. Please try again in 174ms."
)
PER_DAY = {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}
PER_MINUTE = {"violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]}

CASES: list[tuple[Any, int, dict[str, str], Any, str]] = [
    (openai_fault, 429, {}, openai(TPM, "rate_limit_exceeded", "tokens"), "rate_limit"),
    (
        openai_fault,
        429,
        {},
        openai("You exceeded your current quota", "insufficient_quota", "insufficient_quota"),
        "quota",
    ),
    (
        openai_fault,
        429,
        {},
        openai("Request too large for gpt-4o on tokens per min", "rate_limit_exceeded"),
        "bad_request",
    ),
    (
        openai_fault,
        400,
        {},
        openai("Your input exceeds the context window of this model.", "context_length_exceeded"),
        "context_length",
    ),
    (openai_fault, 400, {}, openai("This model's maximum context length is 8192 tokens."), "context_length"),
    (
        openai_fault,
        400,
        {},
        {"error": {"code": 400, "type": "exceed_context_size_error", "message": "x", "n_ctx": 8192}},
        "context_length",
    ),
    (
        openai_fault,
        400,
        {},
        openai("Item 'rs_1' of type 'reasoning' was provided without its required following item."),
        "bad_request",
    ),
    (openai_fault, 400, {}, openai("blocked", "content_filter"), "content_filter"),
    (openai_fault, 401, {}, openai("Incorrect API key provided", "invalid_api_key"), "invalid_key"),
    (openai_fault, 403, {}, openai("Country not supported", "unsupported_country_region_territory"), "invalid_key"),
    (openai_fault, 404, {}, openai("The model does not exist", "model_not_found"), "bad_request"),
    (openai_fault, 500, {}, openai("The server had an error", None, "server_error"), "server"),
    (openai_fault, 503, {}, openai("overloaded", "server_is_overloaded"), "overload"),
    (openai_fault, 502, {}, b"<html>Bad Gateway</html>", "server"),
    (openai_fault, 504, {}, b"", "timeout"),
    (openai_fault, 422, {}, {"detail": [{"msg": "field required"}]}, "bad_request"),
    (openai_fault, 307, {}, b"", "bad_request"),
    (
        anthropic_fault,
        400,
        {},
        anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        "context_length",
    ),
    (
        anthropic_fault,
        400,
        {},
        anthropic(
            "invalid_request_error", "input length and `max_tokens` exceed context limit: 143653 + 64000 > 200000"
        ),
        "context_length",
    ),
    (
        anthropic_fault,
        400,
        {},
        anthropic("invalid_request_error", "This model does not support effort level 'xhigh'."),
        "bad_request",
    ),
    (anthropic_fault, 400, {}, anthropic("invalid_request_error", "Your credit balance is too low to access"), "quota"),
    (anthropic_fault, 401, {}, anthropic("authentication_error"), "invalid_key"),
    (anthropic_fault, 402, {}, anthropic("billing_error"), "quota"),
    (anthropic_fault, 403, {}, anthropic("permission_error"), "invalid_key"),
    (anthropic_fault, 404, {}, anthropic("not_found_error"), "bad_request"),
    (anthropic_fault, 413, {}, anthropic("request_too_large"), "context_length"),
    (anthropic_fault, 429, {}, anthropic("rate_limit_error"), "rate_limit"),
    (anthropic_fault, 500, {}, anthropic("api_error", "Internal server error"), "server"),
    (anthropic_fault, 500, {}, anthropic("api_error", "Overloaded"), "overload"),
    (anthropic_fault, 504, {}, anthropic("timeout_error"), "timeout"),
    (anthropic_fault, 529, {}, anthropic("overloaded_error", "Overloaded"), "overload"),
    (anthropic_fault, 529, {}, b"", "overload"),
    (
        bedrock_fault,
        400,
        {"x-amzn-errortype": "ValidationException:http://x/"},
        {"message": "The provided model identifier is invalid."},
        "bad_request",
    ),
    (
        bedrock_fault,
        400,
        {"x-amzn-errortype": "ValidationException"},
        {"message": "prompt is too long: 1 tokens > 0 maximum"},
        "context_length",
    ),
    (bedrock_fault, 403, {"x-amzn-errortype": "ExpiredTokenException"}, {"message": "expired"}, "invalid_key"),
    (bedrock_fault, 408, {"x-amzn-errortype": "ModelTimeoutException"}, {"message": "x"}, "timeout"),
    (bedrock_fault, 424, {"x-amzn-errortype": "ModelErrorException"}, {"message": "x"}, "server"),
    (bedrock_fault, 429, {"x-amzn-errortype": "ThrottlingException"}, {"message": "Too many requests"}, "rate_limit"),
    (bedrock_fault, 429, {"x-amzn-errortype": "ModelNotReadyException"}, {"message": "x"}, "overload"),
    (bedrock_fault, 503, {"x-amzn-errortype": "ServiceUnavailableException"}, {"message": "x"}, "overload"),
    (bedrock_fault, 503, {}, b"\xff", "overload"),
    (gemini_fault, 400, {}, gemini(400, "INVALID_ARGUMENT", "bad field"), "bad_request"),
    (
        gemini_fault,
        400,
        {},
        gemini(400, "INVALID_ARGUMENT", "API key not valid.", {"reason": "API_KEY_INVALID"}),
        "invalid_key",
    ),
    (
        gemini_fault,
        400,
        {},
        gemini(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed"),
        "context_length",
    ),
    (gemini_fault, 403, {}, gemini(403, "PERMISSION_DENIED"), "invalid_key"),
    (gemini_fault, 429, {}, gemini(429, "RESOURCE_EXHAUSTED", "x", PER_MINUTE, {"retryDelay": "34.4s"}), "rate_limit"),
    (gemini_fault, 429, {}, gemini(429, "RESOURCE_EXHAUSTED", "x", PER_DAY), "quota"),
    (gemini_fault, 429, {}, [gemini(429, "RESOURCE_EXHAUSTED")], "rate_limit"),
    (gemini_fault, 500, {}, gemini(500, "INTERNAL"), "server"),
    (gemini_fault, 503, {}, gemini(503, "UNAVAILABLE"), "overload"),
    (gemini_fault, 504, {}, gemini(504, "DEADLINE_EXCEEDED"), "timeout"),
    (gemini_fault, 500, {}, b"[]", "server"),
]


@pytest.mark.parametrize(("read", "status", "headers", "body", "fault"), CASES)
def test_errors_are_sorted(read: Any, status: int, headers: dict[str, str], body: Any, fault: str) -> None:
    error = read(status, headers, body if isinstance(body, bytes) else msgspec.json.encode(body))
    assert error.fault == fault, str(error)
    assert error.status == status
    assert str(status) in str(error)
    assert "\n" not in str(error)


def test_what_must_not_be_retried_is_not() -> None:
    not_again = {c[4] for c in CASES} - {f for f, p in POLICY.items() if p.retry}
    assert not_again == {"quota", "context_length", "content_filter", "invalid_key", "bad_request"}


def test_only_lost_answers_may_have_been_billed() -> None:
    billed = {(c[0].__name__, c[1]) for c in CASES if c[0](c[1], c[2], b"{}").maybe_billed}
    assert {status for _, status in billed} == {408, 424, 502, 504}


@pytest.mark.parametrize(
    ("headers", "message", "low", "high"),
    [
        ({"retry-after-ms": "174"}, "", 0.17, 0.18),
        ({"retry-after": "20", "retry-after-ms": "500"}, "", 0.5, 0.5),
        ({"retry-after": "20"}, "", 20, 20),
        ({"retry-after": "1.5"}, "", 1.5, 1.5),
        ({"retry-after": "-3"}, "", 0, 0),
        ({"retry-after": "1e12"}, "", 3600, 3600),
        ({}, TPM, 0.174, 0.174),
        ({}, "Please try again in 6m0s.", 360, 360),
        ({}, "Please try again in 1m30.5s.", 90.5, 90.5),
        ({}, "try again in 20s", 20, 20),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], message: str, low: float, high: float) -> None:
    wait = retry_after(headers, message)
    assert wait is not None
    assert low <= wait <= high


def soon() -> datetime:
    return datetime.now(UTC) + timedelta(seconds=90)


def test_how_long_to_wait_until_a_date() -> None:
    wait = retry_after({"retry-after": format_datetime(soon(), usegmt=True)})
    assert wait is not None
    assert 60 < wait < 91


@pytest.mark.parametrize("text", ["", "soon", "nan", "inf", "Mon, 99 Foo"])
def test_a_wait_that_is_none(text: str) -> None:
    assert retry_after({"retry-after": text}, "try again later, in spring") is None


def test_a_limit_that_is_used_up_tells_when_it_is_reset() -> None:
    headers = {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "120ms",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "6m0s",
    }
    body = msgspec.json.encode(openai("slow down", "rate_limit_exceeded"))
    assert openai_fault(429, headers, body).retry_after_s == 360
    assert openai_fault(429, {**headers, "x-ratelimit-remaining-tokens": "9"}, body).retry_after_s == 0.12
    assert openai_fault(429, {}, body).retry_after_s is None


def test_gemini_and_anthropic_say_it_elsewhere() -> None:
    body = msgspec.json.encode(gemini(429, "RESOURCE_EXHAUSTED", "x", PER_MINUTE, {"retryDelay": "34.4s"}))
    assert gemini_fault(429, {}, body).retry_after_s == 34.4
    headers = {
        "anthropic-ratelimit-tokens-remaining": "0",
        "anthropic-ratelimit-tokens-reset": soon().isoformat().replace("+00:00", "Z"),
        "anthropic-ratelimit-requests-remaining": "7",
        "anthropic-ratelimit-requests-reset": (soon() + timedelta(hours=1)).isoformat(),
    }
    wait = anthropic_fault(429, headers, b"").retry_after_s
    assert wait is not None
    assert 60 < wait < 91


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-abcdEFGH1234567890",
        "sk-ant-api03-AbCd_123",
        "AIzaSyA-1234567890abcdefg",
        "AKIAIOSFODNN7EXAMPLE",
        "sk-ab***********yz12",
    ],
)
def test_keys_are_taken_out_of_what_providers_say(key: str) -> None:
    text = describe(401, f"Incorrect API key provided: {key}. You can find it.", key)
    assert key not in text
    assert "[key]" in text


def test_what_providers_say_is_cut_to_one_printable_line() -> None:
    text = describe(400, "a\n\x1b[31mb\x00" + "c" * 10_000)
    assert text.isprintable()
    assert len(text) < 500


# --- reasoning ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("openai/gpt-5.6-sol", ["", "none", "max"], ["budget:2000", "High", "huge"]),
        (
            "anthropic/claude-opus-4-8",
            ["xhigh", "none", "budget:4000"],
            ["minimal", "budget:10", "budget:x", "budget:16000"],
        ),
        ("anthropic/claude-haiku-4-5", ["budget:1024", "none"], ["high"]),
        ("bedrock/us.anthropic.claude-haiku-4-5-v1:0", ["budget:1024"], ["low"]),
        ("gemini/gemini-3.1-pro-preview", ["minimal", "xhigh", "budget:2048"], ["max"]),
        ("openai-chat/anything", ["", "whatever"], ["a b", "x=1", "é"]),
        ("scripted/x", ["anything at all"], []),
    ],
)
def test_reasoning_is_checked_before_a_run(name: str, good: list[str], bad: list[str]) -> None:
    for setting in good:
        check_reasoning(name, setting)
    for setting in bad:
        with pytest.raises(UsageError, match=r"reasoning|budget"):
            check_reasoning(name, setting)


def test_the_error_names_what_the_model_takes() -> None:
    with pytest.raises(UsageError) as caught:
        check_reasoning("openai/gpt-5.6-sol", "ultra")
    assert all(setting in str(caught.value) for setting in reasoning_settings("openai/gpt-5.6-sol"))
