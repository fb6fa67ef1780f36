"""A design as TOML with every setting spelled out; `design_file` reads it back to the same design."""

from __future__ import annotations

import json

from leadhand.core.design import Design
from leadhand.core.values import Value
from leadhand.runs.design_file import NONE


def design_to_toml(design: Design) -> str:
    """All settings, defaults included: plain ones first, then limits, then the kinds of worker."""
    parts = [_table("", design), _table("[limits]", design.limits)]
    parts += [_table("[[kinds]]", kind) for kind in design.kinds]
    return "\n".join(parts)


def _table(head: str, values: Value) -> str:
    lines = [head] if head else []
    for key in values.__struct_fields__:
        value = getattr(values, key)
        if not isinstance(value, Value | tuple):
            lines.append(f"{key} = {json.dumps(NONE if value is None else value, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"
