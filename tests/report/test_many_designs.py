"""A leaderboard: many designs, no teams, some without a run. What is worth reading goes first, and not all pairs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from leadhand.report import summary
from leadhand.report.answer import answer
from leadhand.report.claims import claims
from leadhand.report.evidence import Evidence
from leadhand.report.load import load
from leadhand.report.page import page

MANY, EMPTY = 8, 4
COLUMNS = ("design", "task", "reward", "cost", "lead", "guidance", "workers")


def leaderboard(path: Path, designs: int) -> Evidence:
    """Designs d0, d1, ...: each a little better than the one before; then some of which nothing is known."""
    rows = [
        f"d{d},t{t},{0.1 * d + 0.01 * ((t * (d + 3)) % 7):.3f},{d + 1},,,\n" for d in range(designs) for t in range(6)
    ]
    rows += [f"none{d},t{t},,,,,\n" for d in range(EMPTY) for t in range(6)]
    path.write_text(",".join(COLUMNS) + "\n" + "".join(rows))
    return load(path)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    return leaderboard(tmp_path_factory.mktemp("board") / "board.csv", MANY)


def text(e: Evidence, base: str = "") -> str:
    return summary.as_text(e, base=base, designs=(), margin=0.014, saving=None)


def compared(said: str) -> list[tuple[str, str]]:
    return re.findall(r"^(d\d) − (d\d)", said, re.MULTILINE)


def test_of_many_pairs_those_with_the_best_are_printed_and_said_to_be_some(many: Evidence) -> None:
    said = text(many)
    assert compared(said) == [(f"d{i}", "d7") for i in range(7)]
    assert "28 pairs of 8 designs: only those with the highest mean, d7, are printed" in said
    assert compared(text(many, base="d2")) == [(f"d{i}", "d2") for i in (0, 1, 3, 4, 5, 6, 7)]
    assert "are printed" not in text(many, base="d2")


def test_their_p_is_corrected_for_every_pair_as_in_json(many: Evidence) -> None:
    found = json.loads(summary.as_json(many, base="", designs=(), margin=0.014, saving=None))["comparisons"]
    assert len(found) == 28
    whole = {frozenset((c["design"], c["base"])): c["p_adjusted"] for c in found}
    printed, _ = summary._compared(many, "")
    assert printed
    assert all(c.p_adjusted == whole[frozenset((c.design, c.base))] for c in printed)


def test_few_pairs_are_all_printed(tmp_path: Path) -> None:
    said = text(leaderboard(tmp_path / "few.csv", 5))
    assert len(compared(said)) == 10
    assert "are printed" not in said


def test_designs_without_a_run_are_counted_in_one_line(many: Evidence) -> None:
    said = text(many)
    assert "4 designs have no run that counts: none0, none1, none2 and 1 more" in said
    assert not re.search(r"^none", said, re.MULTILINE)
    assert "minutes" not in said.partition("Differences")[2], "a column of nothing"


def test_a_page_without_teams_begins_with_what_it_can_show(many: Evidence) -> None:
    found = claims(many)
    html = page(many, answer(many), found, [], {})
    assert "None of the paper's 8 claims can be tested with these data: no teams." in html
    assert html.index("id=frontier-section>") < html.index("id=claims>")
    assert html.index("<details>") < html.index("<table class=claims>")
    assert html.index("href=#frontier-section") < html.index("href=#claims")
    assert "tests are read together" not in html
    assert "A <b>team</b> is" not in html
    assert "12 designs (4 without a run that counts)" in html


def test_what_cannot_be_tested_is_folded_below_what_can(evidence: Evidence) -> None:
    found = claims(evidence)[:4]
    lost = msgspec.structs.replace(found[0], verdict="not tested", finding="needs more")
    html = page(evidence, "", [*found, lost], [], {})
    assert "Of the paper's claims, 1 cannot be tested" in html
    assert html.index("tests are read together") < html.index("<details>") < html.index("needs more")


def test_claims_that_can_be_tested_go_first(evidence: Evidence) -> None:
    found = claims(evidence)
    tested = sum(c.verdict != "not tested" for c in found)
    html = page(evidence, "", found, [], {})
    assert tested > 1
    assert f"{tested} tests are read together" in html
    assert html.index("id=claims>") < html.index("id=frontier-section>")
    rest = len(found) - tested
    assert ("cannot be tested with these data" in html) is (rest > 0)
    assert html.count(">not tested<") == rest
    assert "A <b>team</b> is" in html
