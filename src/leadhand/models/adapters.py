"""Puts wire, address and authorisation together. Imported only when a model is opened."""

from __future__ import annotations

from collections.abc import Mapping

from leadhand.core.ports import Model
from leadhand.models.catalog import ProviderInfo
from leadhand.models.http_model import HttpModel, Sign


def make_adapter(info: ProviderInfo, base_url: str, env: Mapping[str, str], stream: bool) -> Model:
    given = bool(base_url)
    if info.name == "openai-chat":
        from leadhand.models.wires.chat import ChatWire

        return HttpModel(
            ChatWire(official=not given),
            base_url or info.base_url,
            _bearer(_key(info, env)),
            stream=stream,
            name_agent=given,
        )
    raise NotImplementedError(info.name)


def _key(info: ProviderInfo, env: Mapping[str, str]) -> str:
    return next((env[k] for k in info.keys if env.get(k)), "")


def _bearer(key: str) -> Sign:
    return lambda path, body: {"authorization": f"Bearer {key}"} if key else {}
