"""A design as TOML, with `key=value` overrides: every key is checked, an unknown one is told the nearest known one.

lead = "openai-chat/strong"
worker = "openai-chat/cheap"
workers = 4
schedule = "push"
budget_usd = 5.0            # or "none": unlimited must be said

[limits]
steps = 200

[[kinds]]
name = "planner"
count = 12
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from leadhand.core.design import Design, Kind, check
from leadhand.core.errors import UsageError
from leadhand.core.values import Limits, Value

NONE = "none"
"""How a setting that may be absent is written where TOML has no null."""

_TABLES: dict[str, type[Value]] = {"limits": Limits, "kinds": Kind}


def design_from_toml(text: str, overrides: Sequence[str] = (), *, name: str = "the design") -> Design:
    """The design that `text` and the overrides (`key=value`, `limits.key=value`, `kinds.NAME.key=value`) describe.

    Later overrides win. Raises `UsageError` (one line, with the remedy) for what is not a design that can run.
    `name` stands for the file in errors.
    """
    try:
        settings = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{name} is not TOML: {error}") from None
    if of_study(settings):
        raise UsageError(f"{name} is a study file, not a design: `leadhand study plan {name}` takes it")
    _known(settings, name)
    for override in overrides:
        _override(settings, override)
    return design_from_settings(settings, name=name)


def of_study(settings: dict[str, Any]) -> bool:
    """Whether these are a study's: no design names tasks."""
    return isinstance(settings.get("tasks"), dict)


def is_study_file(path: Path) -> bool:
    try:
        return path.suffix == ".toml" and of_study(tomllib.loads(path.read_text("utf-8")))
    except (OSError, ValueError, RecursionError):
        return False


def design_from_settings(settings: dict[str, Any], *, name: str) -> Design:
    """The design that a table of settings describes. Raises `UsageError`, as `design_from_toml` does."""
    _known(settings, name)
    if "lead" not in settings:
        raise UsageError(f'{name} names no lead: add lead = "provider/model"')
    if "budget_usd" not in settings:
        raise UsageError(f'{name} has no budget: add budget_usd = DOLLARS, or budget_usd = "none" for no limit')
    try:
        design = msgspec.convert(_without_none(settings), Design)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: {_plain(error)}") from None
    check(design)
    return design


def _known(settings: dict[str, Any], name: str) -> None:
    """Refuse keys that no design has, at every level."""
    _only(settings, Design, "", name)
    for table, kind in _TABLES.items():
        value = settings.get(table, {})
        for part in value if isinstance(value, list) else [value]:
            if not isinstance(part, dict):
                raise UsageError(f"{name}: {table} must be a table")
            _only(part, kind, f"{table}.", name)


def _only(part: dict[str, Any], kind: type[Value], prefix: str, name: str) -> None:
    for key in part:
        if key not in kind.__struct_fields__:
            raise UsageError(f"{name}: there is no setting {(prefix + key)[:80]!r}; {nearest(key, kind, prefix)}")


def nearest(key: str, kind: type[Value] = Design, prefix: str = "") -> str:
    """The remedy for an unknown key. A key of a table that was written without its table is found too."""
    names = {f"{prefix}{field}": field for field in kind.__struct_fields__}
    if not prefix:
        names |= {f"{table}.{field}": field for table, k in _TABLES.items() for field in k.__struct_fields__}
    exact = [full for full, field in names.items() if field == key]
    close = exact or [f for n in difflib.get_close_matches(key, names.values(), 1, 0.0) for f in names if names[f] == n]
    return f"did you mean {close[0]!r}?"


def _override(settings: dict[str, Any], override: str) -> None:
    """Put one `key=value` into the settings."""
    key, equals, value = override.partition("=")
    path = [p.strip() for p in key.split(".")]
    if not equals or not all(path):
        raise UsageError(f"-s {override[:80]!r}: write key=value, such as -s schedule=pull or -s limits.steps=50")
    if len(path) == 1:
        settings[path[0]] = _value(Design, path[0], value)
    elif len(path) == 2 and path[0] == "limits":
        settings.setdefault("limits", {})[path[1]] = _value(Limits, path[1], value)
    elif len(path) == 3 and path[0] == "kinds":
        kinds = {k.get("name"): k for k in settings.get("kinds", [])}
        if path[1] not in kinds:
            named = ", ".join(str(k) for k in kinds) or "none"
            raise UsageError(f"-s {override[:80]!r}: there is no kind of worker {path[1]!r}; kinds: {named}")
        kinds[path[1]][path[2]] = _value(Kind, path[2], value)
    else:
        raise UsageError(f"-s {override[:80]!r}: there is no setting {key[:80]!r}; {nearest(path[-1])}")


def _value(kind: type[Value], key: str, text: str) -> Any:
    """A value as it is typed in a shell: text needs no quotes, everything else is TOML."""
    text = text.strip()
    hint = get_type_hints(kind).get(key)
    if hint is str or text == NONE:
        return text
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text


def _without_none(value: Any) -> Any:
    """Settings with "none" as null, where it is a table's value and may be absent."""
    if not isinstance(value, dict):
        return [_without_none(v) for v in value] if isinstance(value, list) else value
    return {k: None if v == NONE and k in _MAY_BE_NONE else _without_none(v) for k, v in value.items()}


_MAY_BE_NONE = frozenset(
    field.encode_name
    for kind in (Design, Kind, Limits)
    for field in msgspec.structs.fields(kind)
    if "None" in str(field.type)
)


def _plain(error: msgspec.ValidationError) -> str:
    """A validation error without its jargon: `Expected ..., got ... - at `$.limits.steps``."""
    text = str(error)
    what, at, where = text.partition(" - at `$.")
    return f"{where.rstrip('`')}: {what[0].lower()}{what[1:]}" if at else text
