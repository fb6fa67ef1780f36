"""The reward that Harbor's tests leave behind, read as Harbor reads it."""

from __future__ import annotations

import json
import math
from typing import Any

from leadhand.core.errors import GradingError
from leadhand.core.values import Grade


def reward_of(in_json: str | None, in_text: str | None) -> Grade:
    """The grade in reward.json, which goes before reward.txt (None: there is none). Raises `GradingError`.

    Of several rewards in one file the one called `reward` counts; the others are kept as details.
    """
    if in_json is None:
        return Grade(reward=_number(in_text or "", "reward.txt"))
    try:
        said: Any = json.loads(in_json)
    except ValueError:
        raise GradingError(f"tests/test.sh: reward.json is not JSON: {in_json[:80]!r}") from None
    if not isinstance(said, dict):
        return Grade(reward=_number(said, "reward.json"))
    numbers = {str(key): _number(value, f"reward.json: {key}", any_size=True) for key, value in said.items()}
    name = "reward" if "reward" in numbers or len(numbers) != 1 else next(iter(numbers))
    if name not in numbers:
        raise GradingError(f"tests/test.sh: reward.json has no `reward` among {', '.join(numbers) or 'nothing'}")
    others = {key: value for key, value in numbers.items() if key != name}
    return Grade(reward=_number(numbers[name], f"reward.json: {name}"), detail={"rewards": others} if others else {})


def _number(value: Any, where: str, *, any_size: bool = False) -> float:
    try:
        number = float(value) if isinstance(value, int | float | str) else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or (isinstance(value, str) and where != "reward.txt"):
        raise GradingError(f"tests/test.sh: {where}: {str(value)[:80]!r} is not a number")
    if not any_size and not 0 <= number <= 1:
        raise GradingError(f"tests/test.sh: {where}: {number:g} is not in [0, 1]")
    return number
