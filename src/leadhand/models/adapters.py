"""Puts wire, address and authorisation together. Imported only when a model is opened."""

from __future__ import annotations

import re
from collections.abc import Mapping

from leadhand.core.errors import UsageError
from leadhand.core.ports import Model
from leadhand.models.http_model import HttpModel, Sign
from leadhand.models.providers import ProviderInfo
from leadhand.models.wires.wire import Wire


def make_adapter(info: ProviderInfo, model: str, base_url: str, env: Mapping[str, str], stream: bool) -> Model:
    given = bool(base_url)
    url = (base_url or info.base_url).replace("{region}", _region(env)).rstrip("/")
    if info.name not in ("openai", "openai-chat"):
        # One base URL serves all wires: these have their version in the path, or none.
        url = url.removesuffix("/v1beta").removesuffix("/v1")
    wire, sign = _make(info, url, env, given)
    return HttpModel(wire, model, url, sign, stream=stream, name_agent=given)


def _make(info: ProviderInfo, url: str, env: Mapping[str, str], given: bool) -> tuple[Wire, Sign]:
    key = _key(info, env)
    match info.name:
        case "openai":
            from leadhand.models.wires.responses import ResponsesWire

            return ResponsesWire(), _bearer(key)
        case "openai-chat":
            from leadhand.models.wires.chat import ChatWire

            return ChatWire(official=not given), _bearer(key)
        case "anthropic":
            from leadhand.models.wires.messages import MessagesWire

            headers = {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}
            return MessagesWire(), lambda path, body: headers
        case "gemini":
            from leadhand.models.wires.gemini import GeminiWire

            return GeminiWire(), lambda path, body: {"x-goog-api-key": key} if key else {}
        case "bedrock":
            from leadhand.models.wires.bedrock import BedrockWire

            return BedrockWire(), _aws(url, env)
    raise AssertionError(info.name)


def _key(info: ProviderInfo, env: Mapping[str, str]) -> str:
    return next((env[k] for k in info.keys if env.get(k)), "")


def _region(env: Mapping[str, str]) -> str:
    region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or "us-east-1"
    if not re.fullmatch(r"[a-z0-9-]+", region):
        raise UsageError("AWS_REGION is not the name of a region, such as us-east-1")
    return region


def _aws(url: str, env: Mapping[str, str]) -> Sign:
    token = env.get("AWS_BEARER_TOKEN_BEDROCK", "")
    if token or not env.get("AWS_ACCESS_KEY_ID"):
        return _bearer(token)
    if not env.get("AWS_SECRET_ACCESS_KEY"):
        raise UsageError("AWS_ACCESS_KEY_ID is set without AWS_SECRET_ACCESS_KEY; set both or AWS_BEARER_TOKEN_BEDROCK")
    from leadhand.models.sigv4 import signer

    return signer(
        url, _region(env), env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"], env.get("AWS_SESSION_TOKEN", "")
    )


def _bearer(key: str) -> Sign:
    return lambda path, body: {"authorization": f"Bearer {key}"} if key else {}
