"""Claims: each verdict from data made for it, and from a study too small to say."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_rel

from leadhand.analysis.compare import pairwise_p
from leadhand.report.answer import answer
from leadhand.report.claims import Claim, claims
from leadhand.report.evidence import Evidence
from leadhand.report.load import load

HEAD = "task,design,reward,cost,lead,worker,guidance,workers\n"
SOLO = ("solo", "s", "", "PIV", "0")
FULL = ("team PIV", "s", "s", "PIV", "")
ONLY = ("team P", "s", "s", "P", "")
CHEAP_P = ("mixed P", "s", "c", "P", "")
CHEAP_I = ("mixed I", "s", "c", "I", "")
CHEAP_P4, CHEAP_P16 = ("mixed P 4", "s", "c", "P", "4"), ("mixed P 16", "s", "c", "P", "16")
CHEAP_V4, CHEAP_V16 = ("mixed V 4", "s", "c", "V", "4"), ("mixed V 16", "s", "c", "V", "16")

Arm = tuple[tuple[str, str, str, str, str], float, float]


def evidence(tmp_path: Path, *arms: Arm, tasks: int = 150, noise: float = 0.02) -> Evidence:
    """Arms are (design, mean reward, mean cost) over tasks of varying ease."""
    random = np.random.default_rng(4)
    ease = random.uniform(-0.2, 0.2, tasks)
    rows = []
    for (name, *factors), reward, cost in arms:
        r = np.clip(reward + ease + random.normal(0, noise, tasks), 0, 1)
        c = cost * random.lognormal(0, 0.1, tasks)
        rows += [f"t{i},{name},{r[i]:.6f},{c[i]:.6f},{','.join(factors)}" for i in range(tasks)]
    path = tmp_path / "x.csv"
    path.write_text(HEAD + "\n".join(rows) + "\n")
    return load(path)


def verdict(found: list[Claim], words: str) -> str:
    (claim,) = (c for c in found if words in c.claim)
    return claim.verdict


def test_the_papers_own_picture_is_supported(tmp_path: Path) -> None:
    e = evidence(
        tmp_path,
        (SOLO, 0.50, 0.4), (FULL, 0.60, 2.0), (ONLY, 0.60, 1.0), (CHEAP_P, 0.55, 0.5), (CHEAP_I, 0.47, 0.5),
        (CHEAP_P4, 0.55, 0.45), (CHEAP_P16, 0.60, 0.5), (CHEAP_V4, 0.52, 0.45), (CHEAP_V16, 0.52, 0.5),
    )  # fmt: skip
    found = claims(e)
    assert {c.verdict for c in found} == {"supported"}, [c for c in found if c.verdict != "supported"]
    assert len(found) == 8


def test_the_opposite_is_refuted(tmp_path: Path) -> None:
    e = evidence(
        tmp_path,
        (SOLO, 0.60, 0.4), (FULL, 0.50, 6.0), (ONLY, 0.40, 5.5), (CHEAP_I, 0.66, 0.5),
        (CHEAP_P4, 0.60, 0.45), (CHEAP_P16, 0.50, 5.0), (CHEAP_V4, 0.52, 0.45), (CHEAP_V16, 0.58, 0.5),
    )  # fmt: skip
    found = claims(e)
    for words in (
        "guided to delegate in all",
        "three to seven",
        "planning alone",
        "implementers under",
        "planners keep",
    ):
        assert verdict(found, words) == "refuted", words
    assert verdict(found, "beyond 4 do not help") == "refuted"
    assert verdict(found, "16 cheap planners comes") == "refuted"


def test_cheap_planners_that_recover_less_than_they_cost_are_refuted(tmp_path: Path) -> None:
    e = evidence(tmp_path, (SOLO, 0.5, 0.4), (ONLY, 0.6, 1.4), (CHEAP_P, 0.51, 1.2))
    assert verdict(claims(e), "recover a larger share") == "refuted"


def test_a_small_study_is_undecided_not_refuted(tmp_path: Path) -> None:
    e = evidence(tmp_path, (SOLO, 0.5, 0.4), (FULL, 0.52, 2.2), (ONLY, 0.51, 1.3), tasks=8, noise=0.15)
    found = claims(e)
    for words in ("guided to delegate in all", "planning alone"):
        assert verdict(found, words) == "undecided"
    assert "points (" in next(c.finding for c in found if "planning alone" in c.claim)


def test_without_the_designs_a_claim_is_not_tested_and_says_what_it_needs(tmp_path: Path) -> None:
    found = claims(evidence(tmp_path, (SOLO, 0.5, 0.4)))
    assert {c.verdict for c in found} == {"not tested"}
    assert all(c.finding.startswith("needs ") for c in found)


def test_the_answer_names_the_best_its_rivals_and_what_could_be_seen(tmp_path: Path) -> None:
    text = answer(evidence(tmp_path, (SOLO, 0.5, 0.4), (FULL, 0.6, 2.0), (ONLY, 0.598, 1.0)))
    assert "The highest mean reward is that of team PIV: 0.6" in text
    assert "the cheapest of these is team P at $1." in text
    assert "150 tasks and 1 repeat" in text
    assert "80 % power" in text


def test_the_answer_to_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("task,design,reward\na,x,\n")
    assert answer(load(path)).startswith("No design")


@pytest.mark.parametrize("reward", [0.55, 0.8])
def test_a_clear_winner_is_called_better(tmp_path: Path, reward: float) -> None:
    assert "better than the other (" in answer(evidence(tmp_path, (SOLO, 0.3, 0.4), (FULL, reward, 2.0)))


def test_the_best_is_judged_over_all_pairs(tmp_path: Path) -> None:
    """By scipy and by hand: three pairs, so the smallest p counts three times, the next twice."""
    e = evidence(tmp_path, (SOLO, 0.5, 0.4), (FULL, 0.6, 2.0), (ONLY, 0.598, 1.0))
    names = list(e.scores.designs)
    of = {d: e.scores.per_task(d, "reward") for d in names}
    raw = {pair: float(ttest_rel(of[pair[0]], of[pair[1]]).pvalue) for pair in combinations(names, 2)}
    first, second, third = sorted(raw, key=lambda pair: raw[pair])
    expected = {first: min(1, 3 * raw[first])}
    expected[second] = max(expected[first], min(1, 2 * raw[second]))
    expected[third] = max(expected[second], raw[third])
    found = pairwise_p(e.scores, names)
    for a, b in expected:
        assert found[a, b] == found[b, a] == pytest.approx(expected[a, b], rel=1e-9)
