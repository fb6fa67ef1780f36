"""Which candidate is the best: scores from what the user's command said, and a choice that has no ties. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from leadhand.core.events import CommandEnded, output_bytes
from leadhand.core.single import end_of
from leadhand.core.state import State


def call_of(name: str) -> str:
    """The call under which the journal holds the user's command on a candidate."""
    return f"select.{name}"


def by_tests(answers: Mapping[str, CommandEnded]) -> dict[str, float | None]:
    """A command's score: the number on the last line that it prints, else 1 for exit code 0 and 0 for any other.

    One that was broken off (time, flood of output) has none.
    """
    return {name: _score(ended) for name, ended in answers.items()}


def by_majority(answers: Mapping[str, CommandEnded]) -> dict[str, float | None]:
    """How many candidates gave the same output; none for those whose command did not exit with 0."""
    outputs = {
        name: (ended.size, *(part.strip() for part in output_bytes(ended)))
        for name, ended in answers.items()
        if ended.ended == "exited" and ended.exit_code == 0
    }
    votes = Counter(outputs.values())
    return {name: float(votes[outputs[name]]) if name in outputs else None for name in answers}


def best(scores: Mapping[str, float | None], state: State) -> str:
    """The candidate with the highest score. Ties go to one that finished, then to the first.

    One that died of a fault of the provider's or the sandbox's is taken only where there is no other.
    """
    ends = {name: end_of(state, name) for name in scores}
    sound = [name for name, end in ends.items() if end is not None and end.status != "failed"] or list(scores)

    def merit(name: str) -> tuple[float, bool]:
        score, end = scores[name], ends[name]
        return (-math.inf if score is None else score, end is not None and end.status == "finished")

    return max(sound, key=merit)  # the first of equals


def _score(ended: CommandEnded) -> float | None:
    if ended.ended != "exited":
        return None
    head, tail = output_bytes(ended)
    lines = (tail or head).decode("utf-8", "replace").strip().splitlines()
    try:
        number = float(lines[-1]) if lines else math.nan
    except ValueError:
        number = math.nan
    if math.isfinite(number):
        return number
    return 1.0 if ended.exit_code == 0 else 0.0
