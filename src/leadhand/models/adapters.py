"""Puts wire, address and authorisation together. Imported only when a model is opened."""

from __future__ import annotations

from collections.abc import Mapping

from leadhand.core.ports import Model
from leadhand.models.catalog import ProviderInfo
from leadhand.models.http_model import HttpModel, Sign
from leadhand.models.wires.wire import Wire


def make_adapter(info: ProviderInfo, model: str, base_url: str, env: Mapping[str, str], stream: bool) -> Model:
    given = bool(base_url)
    wire, sign = _make(info, env, given)
    url = base_url or info.base_url
    return HttpModel(wire, model, url, sign, stream=stream, name_agent=given)


def _make(info: ProviderInfo, env: Mapping[str, str], given: bool) -> tuple[Wire, Sign]:
    key = _key(info, env)
    match info.name:
        case "openai":
            from leadhand.models.wires.responses import ResponsesWire

            return ResponsesWire(), _bearer(key)
        case "openai-chat":
            from leadhand.models.wires.chat import ChatWire

            return ChatWire(official=not given), _bearer(key)
    raise NotImplementedError(info.name)


def _key(info: ProviderInfo, env: Mapping[str, str]) -> str:
    return next((env[k] for k in info.keys if env.get(k)), "")


def _bearer(key: str) -> Sign:
    return lambda path, body: {"authorization": f"Bearer {key}"} if key else {}
