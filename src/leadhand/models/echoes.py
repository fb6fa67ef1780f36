"""A key that a server sends back, in its error's words or elsewhere: taken out, whatever the key looks like."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from leadhand.core.errors import ModelError

_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "x-amz-security-token")
_LEAST = 6
"""Shorter values are no keys of anybody (`EMPTY`, `none`), and taking them out would garble words."""

HIDDEN = "[key]"


@lru_cache(maxsize=64)
def _secrets_of(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(v for v in (v.removeprefix("Bearer ") for v in values) if len(v) >= _LEAST)


class Echoes:
    """What one request must not get back. `headers` are those that authorised it."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._secrets = _secrets_of(tuple([headers[name] for name in _HEADERS if name in headers]))

    def out_of_bytes(self, data: bytes) -> bytes:
        for secret in self._secrets:
            data = data.replace(secret.encode(), HIDDEN.encode())
        return data

    def out_of(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text

    def out_of_error(self, error: ModelError) -> ModelError:
        """The same error, its words cleaned in place."""
        error.args = tuple(self.out_of(str(a)) for a in error.args)
        error.request_id = self.out_of(error.request_id)
        return error
