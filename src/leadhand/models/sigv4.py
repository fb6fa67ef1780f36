"""AWS Signature Version 4 for one POST, with the standard library (same signature as botocore's, see the tests)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from urllib.parse import quote, urlsplit


def signer(
    base_url: str,
    region: str,
    key_id: str,
    secret: str,
    token: str = "",
    *,
    service: str = "bedrock",
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Callable[[str, bytes], Mapping[str, str]]:
    """Gives the headers that sign a request, from its path and body."""
    host = urlsplit(base_url).netloc

    def sign(path: str, body: bytes) -> Mapping[str, str]:
        stamp = now().strftime("%Y%m%dT%H%M%SZ")
        signed = {"content-type": "application/json", "host": host, "x-amz-date": stamp}
        if token:
            signed["x-amz-security-token"] = token
        names = ";".join(signed)
        canonical = "\n".join(
            [
                "POST",
                quote(path, safe="/-_.~"),  # quoted again: only S3 signs the path as it is sent
                "",
                *(f"{name}:{value}" for name, value in signed.items()),
                "",
                names,
                hashlib.sha256(body).hexdigest(),
            ]
        )
        scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        key = b"AWS4" + secret.encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        return {
            **{name: value for name, value in signed.items() if name.startswith("x-")},
            "authorization": f"AWS4-HMAC-SHA256 Credential={key_id}/{scope}, SignedHeaders={names}, "
            f"Signature={signature}",
        }

    return sign
