"""Similarity of reports: the Jaccard index of their word sets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

_WORD = re.compile(r"\w+")


def words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def jaccard(a: frozenset[str], b: frozenset[str]) -> float | None:
    """|a and b| / |a or b|; None where both are empty (nothing is not like nothing)."""
    union = len(a | b)
    return len(a & b) / union if union else None


def pairwise(texts: Sequence[str]) -> tuple[float | None, list[float | None]]:
    """The mean over all pairs, and for each text its highest index with an earlier one."""
    sets = [words(t) for t in texts]
    best: list[float | None] = [None] * len(sets)
    found: list[float] = []
    for i, j in combinations(range(len(sets)), 2):
        index = jaccard(sets[i], sets[j])
        if index is not None:
            found.append(index)
            best[j] = index if best[j] is None else max(index, best[j] or 0.0)
    return (sum(found) / len(found) if found else None), best
