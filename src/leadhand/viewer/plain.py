"""Values as plain data with their defaults written out: pages should not have to know defaults."""

from __future__ import annotations

from typing import Any

import msgspec


def full(value: Any) -> Any:
    """Lists, dicts, text and numbers. Array-like values become lists."""
    if isinstance(value, msgspec.Struct):
        if value.__struct_config__.array_like:
            return [full(getattr(value, name)) for name in value.__struct_fields__]
        return {name: full(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple | list):
        return [full(v) for v in value]
    if isinstance(value, dict):
        return {k: full(v) for k, v in value.items()}
    return value
