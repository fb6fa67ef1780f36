"""Reports side by side: how much two of them say the same."""

from __future__ import annotations

import re

from leadhand.core.values import Value

_WORD = re.compile(r"\w+")
MOST_REPORTS = 80


class Report(Value, frozen=True, kw_only=True):
    """One report. `seq` is the event that holds its text."""

    id: str
    worker: str
    seq: int
    chars: int
    words: int


class Similarity(Value, frozen=True, kw_only=True):
    """`pairs[i][j]` for j < i: the Jaccard index of the two reports' sets of words, in [0, 1]."""

    reports: tuple[Report, ...]
    pairs: tuple[tuple[float, ...], ...]


def words(text: str) -> frozenset[str]:
    return frozenset(w.lower() for w in _WORD.findall(text[:200_000]))


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """Shared words over all words of both; two empty texts are alike."""
    union = len(a | b)
    return len(a & b) / union if union else 1.0


def similarity(reports: list[tuple[str, str, int, str]]) -> Similarity:
    """Of (delegation, worker, event, text). Beyond `MOST_REPORTS` only the first are compared."""
    sets = [words(text) for *_, text in reports]
    pairs = [tuple(round(jaccard(a, b), 4) for b in sets[:i]) for i, a in enumerate(sets[:MOST_REPORTS])]
    lines = tuple(
        Report(id=name, worker=worker, seq=seq, chars=len(text), words=len(sets[i]))
        for i, (name, worker, seq, text) in enumerate(reports)
    )
    return Similarity(reports=lines, pairs=tuple(pairs))
