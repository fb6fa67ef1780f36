"""Bedrock's errors, sorted into classes. The class is in a header, the words in the body; there is no Retry-After."""

from __future__ import annotations

from collections.abc import Mapping

from leadhand.core.errors import Fault, ModelError
from leadhand.models import anthropic_faults
from leadhand.models import loose_json as lj
from leadhand.models.faults import by_status, describe, retry_after

_BY_TYPE: dict[str, Fault] = {
    "ValidationException": "bad_request",
    "AccessDeniedException": "invalid_key",
    "UnrecognizedClientException": "invalid_key",
    "InvalidSignatureException": "invalid_key",
    "ExpiredTokenException": "invalid_key",
    "ResourceNotFoundException": "bad_request",
    "ModelTimeoutException": "timeout",
    "ModelErrorException": "server",
    "ThrottlingException": "rate_limit",
    "ServiceQuotaExceededException": "quota",
    "ModelNotReadyException": "overload",
    "InternalServerException": "server",
    "ServiceUnavailableException": "overload",
}


def bedrock_fault(status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    try:
        found = lj.obj(lj.decode(body))
    except ValueError:
        found = {}
    message = lj.string(found.get("message")) or lj.string(found.get("Message"))
    kind = headers.get("x-amzn-errortype", "").partition(":")[0]
    by_words = anthropic_faults.classify({"message": message})
    return ModelError(
        by_words or _BY_TYPE.get(kind) or by_status(status),
        describe(status, message, kind),
        maybe_billed=status in (408, 424, 502, 504),
        retry_after_s=retry_after(headers),
        status=status,
        request_id=headers.get("x-amzn-requestid", ""),
    )
