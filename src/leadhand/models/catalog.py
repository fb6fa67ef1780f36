"""How a model is opened by its name. Nothing heavy is imported until then."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from leadhand.core.errors import UsageError
from leadhand.core.ports import Model
from leadhand.models.providers import PROVIDERS, ProviderInfo


def split_name(name: str) -> tuple[ProviderInfo, str]:
    """`provider/model` in two. Raises `UsageError` naming what there is."""
    provider, _, model = name.partition("/")
    info = PROVIDERS.get(provider)
    if info is None or not model:
        raise UsageError(f"{name!r} is not a model: name it PROVIDER/MODEL, with one of {', '.join(PROVIDERS)}")
    return info, model


def open_model(name: str, *, base_url: str = "", env: Mapping[str, str], stream: bool | None = None) -> Model:
    """The adapter for `provider/model`; its requests carry the model's name themselves.

    With a `base_url` of the user's no key is needed, and the agent's name is sent along as `x-leadhand-agent`.
    Raises `UsageError` for an unknown provider, a missing key or a broken URL.
    """
    if name.startswith("scripted/"):
        from leadhand.testing.scripted import load_scripts

        return load_scripts(name.removeprefix("scripted/"))
    info, model = split_name(name)
    if lack := missing_key(name, base_url=base_url, env=env):
        raise UsageError(lack)
    from leadhand.models.adapters import make_adapter

    return make_adapter(info, model, base_url, env, info.stream if stream is None else stream)


def missing_key(name: str, *, base_url: str = "", env: Mapping[str, str]) -> str:
    """What lacks before `provider/model` can be asked; "" if nothing. Raises as `open_model` for all but the key."""
    if name.startswith("scripted/"):
        return ""
    info, _ = split_name(name)
    _check_url(base_url)
    if base_url or any(env.get(k) for k in info.keys):
        return ""
    return f"no key for {info.name}: set {' or '.join(info.keys)}, or pass --base-url"


def _check_url(base_url: str) -> None:
    if not base_url:
        return
    try:
        parts = urlsplit(base_url)
        ok = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        secret = parts.username or parts.password
    except ValueError:
        ok, secret = False, None
    if secret:
        raise UsageError("--base-url must not hold a user or password: set the provider's key variable instead")
    if not ok:
        raise UsageError(f"--base-url {base_url!r} is not an http(s) URL")


def problems(env: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """For `doctor`: (providers, their state, what to do about it). One with a key is enough, so the others are named in
    one line; what to do is said where none has one.
    """
    ready = [p.name for p in PROVIDERS.values() if any(env.get(k) for k in p.keys)]
    found = [(name, "ready", "") for name in ready]
    if ready and (others := [name for name in PROVIDERS if name not in ready]):
        found.append(("other models", f"no key for {', '.join(others)}", ""))
    if not ready:
        keys = dict.fromkeys(k for p in PROVIDERS.values() for k in p.keys)
        found.append(("models", "no key", f"set one of {', '.join(keys)} in the environment or in .env"))
    return found
