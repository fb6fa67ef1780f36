"""Upstream's score (its wheel 0.1.8): of a fixed list of tests, those whose call phase passed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from leadhand.core.values import Grade

SHOWN = 200


def outcomes(report: bytes) -> dict[str, str] | None:
    """Outcome of the call phase by test, of a report by pytest-json-report; None where it is none."""
    try:
        said: Any = msgspec.json.decode(report)
        return {str(t["nodeid"]): str(t["call"]["outcome"]) for t in said["tests"] if "call" in t}
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError, RecursionError):
        return None


def score(report: bytes | None, ids: Sequence[str]) -> Grade:
    """The grade over `ids`: missing, skipped, expected to fail, or failed in set-up is not passed; no report is 0."""
    found = outcomes(report) if report is not None else None
    failed = [i for i in ids if found is None or found.get(i) != "passed"]
    passed = len(ids) - len(failed)
    detail: dict[str, Any] = {"failed": failed[:SHOWN]}
    if found is None:
        detail = {"tests": "pytest wrote no report: nothing was collected, or it died"}
    return Grade(reward=passed / len(ids), passed=passed, total=len(ids), detail=detail)
