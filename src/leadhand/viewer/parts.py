"""Pieces of a run that a page asks for when it needs them: by name, the same from the server and in an export."""

from __future__ import annotations

from typing import Any

from leadhand.viewer.index import RunIndex
from leadhand.viewer.plain import full
from leadhand.viewer.reports import similarity
from leadhand.viewer.result import integrity, result


def part(run: RunIndex, name: str) -> Any:
    """`rows-K` (labels of events), `reports`, `result`, `integrity`. Raises `KeyError` for any other name."""
    kind, _, number = name.partition("-")
    if kind == "rows" and number.isdigit() and len(number) < 9:
        return run.rows(int(number))
    match name:
        case "reports":
            return full(similarity(run.reports()))
        case "result":
            return full(result(run))
        case "integrity":
            return integrity(run)
    raise KeyError(name)
