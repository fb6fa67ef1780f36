"""A grader command's last line, read without mercy: whatever is not a verdict is a fault of the grading, never 0."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from leadhand.core.errors import GradingError
from leadhand.core.values import ExecResult, Grade

SHAPE = '{"reward": 0..1, "passed": n, "total": m}'


def verdict(result: ExecResult) -> Grade:
    """The grade that a grader command printed. Raises `GradingError` where it crashed or printed something else."""
    output = result.head if result.size <= len(result.head) else result.head + b"\n" + result.tail
    if result.ended != "exited":
        raise GradingError(f"the grader {result.ended.replace('_', ' ')}; raise grader.timeout_s or mend the grader")
    if result.exit_code != 0:
        raise GradingError(f"the grader exited with {result.exit_code}: {_end_of(output)}")
    lines = [line for line in output.splitlines() if line.strip()]
    if not lines:
        raise GradingError(f"the grader printed nothing; its last line must be {SHAPE}")
    try:
        said = msgspec.json.decode(lines[-1])
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = None
    if not isinstance(said, dict):
        raise GradingError(f"the grader's last line must be {SHAPE}, not {_end_of(lines[-1])}")
    return _graded(said)


def _graded(said: dict[str, Any]) -> Grade:
    reward = said.get("reward")
    if isinstance(reward, bool) or not isinstance(reward, int | float) or not math.isfinite(reward):
        raise GradingError(f"the grader's reward must be a number in [0, 1], not {str(reward)[:80]}")
    if not 0 <= reward <= 1:
        raise GradingError(f"the grader's reward must be in [0, 1], not {reward}")
    passed, total = _count(said, "passed"), _count(said, "total")
    if passed is not None and total is not None and passed > total:
        raise GradingError(f"the grader counted {passed} passed of {total}; correct its counts")
    detail = {key: value for key, value in said.items() if key not in ("reward", "passed", "total")}
    return Grade(reward=float(reward), passed=passed, total=total, detail=detail)


def _count(said: dict[str, Any], key: str) -> int | None:
    value = said.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise GradingError(f"the grader's {key} must be a count, not {str(value)[:80]}")
    return value


def _end_of(output: bytes) -> str:
    return " ".join(output.decode(errors="replace")[-500:].split()) or "(no output)"
