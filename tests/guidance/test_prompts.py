"""The wording: which texts a design gets, what they may say, and users' own."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import get_args

import pytest

from leadhand.core import wording
from leadhand.core.chain import digest
from leadhand.core.design import Design, Guidance, check
from leadhand.core.errors import UsageError
from leadhand.core.harness import Prompts
from leadhand.core.tools import specs
from leadhand.guidance import TEXTS, prompts

STAGES = {"P": "plan", "I": "implement", "V": "verify"}
SUBSETS = ["".join(c) for n in (1, 2, 3) for c in combinations("PIV", n)]
TEAM_WORDS = re.compile(r"worker|team|delegat|\blead\b|other agent|report|message", re.IGNORECASE)


def texts(name: str) -> str:
    return (TEXTS / f"{name}.md").read_text("utf-8")


def made(**more: object) -> Prompts:
    design = Design(lead="m", **more)  # type: ignore[arg-type]
    check(design)
    return prompts(design, "Build it.", "/workspace")


def test_every_subset_of_the_stages_is_a_guidance() -> None:
    assert set(get_args(Guidance)) == {"minimal", *SUBSETS}


@pytest.mark.parametrize("guidance", ["minimal", "PIV"])
def test_a_solo_agent_reads_nothing_of_a_team(guidance: str) -> None:
    solo = made(solo=True, guidance=guidance)
    assert not TEAM_WORDS.search(solo.lead)
    assert solo.worker == solo.role == ""
    for tool in specs(Design(lead="m", solo=True), "solo"):
        assert not re.search(r"worker|team|delegat|\blead\b", tool.description)


def test_candidates_read_what_a_solo_agent_reads() -> None:
    for guidance in ("minimal", "PIV"):
        best = made(strategy="best-of-k", selector="oracle", guidance=guidance)
        assert best == made(solo=True, guidance=guidance)
    assert specs(Design(lead="m", strategy="best-of-k"), "solo") == specs(Design(lead="m", solo=True), "solo")


def test_peers_read_of_no_lead_and_of_no_worker() -> None:
    peers = made(strategy="peers", guidance="PIV")
    assert "Nobody leads." in peers.lead
    assert not re.search(r"worker|delegat|report", peers.lead, re.IGNORECASE)
    assert peers.worker == peers.role == ""
    for tool in specs(Design(lead="m", strategy="peers"), "peer"):
        assert not re.search(r"worker|delegat|\blead\b", tool.description)


def test_minimal_says_nothing_of_stages() -> None:
    for prompt in (made(solo=True), made()):
        assert not re.search(r"stage|planning|verification", prompt.lead, re.IGNORECASE)


@pytest.mark.parametrize("guidance", SUBSETS)
def test_a_lead_delegates_the_stages_of_its_guidance_and_keeps_the_others(guidance: str) -> None:
    lead = made(guidance=guidance).lead
    for letter in "PIV":
        assert (texts(f"delegate_{letter}") in lead) == (letter in guidance)
        assert texts(STAGES[letter]) in lead
    assert (texts("keep") in lead) == (guidance != "PIV")
    assert (
        lead.index("You are a software engineer") < lead.index("You lead a team") < lead.index("Work in three stages")
    )


def test_a_solo_agent_has_the_very_stage_wording_of_a_team() -> None:
    solo, team = made(solo=True, guidance="PIV").lead, made(guidance="PIV").lead
    common = texts("common").replace("{workspace}", "/workspace")
    stages = solo.removeprefix(common)
    assert stages.strip()
    assert stages in team
    assert team.startswith(common)


def test_workers_share_one_prompt_whatever_the_lead_is_told() -> None:
    assert len({made(guidance=g).worker for g in get_args(Guidance)}) == 1


def test_plus_adds_one_encouragement_to_the_workers_and_nothing_else() -> None:
    on, plus = made(messaging="on"), made(messaging="plus")
    assert plus.lead == on.lead == made().lead
    assert plus.worker == f"{on.worker}\n{texts('plus')}"
    assert made().worker == on.worker


def test_a_forked_worker_is_told_what_the_workers_prompt_says_beyond_the_leads() -> None:
    forked = made(context="fork", messaging="plus")
    assert forked.role == f"{texts('worker')}\n{texts('plus')}"
    assert made().role == ""


def test_the_workspace_is_filled_in_and_nothing_is_left_open() -> None:
    for prompt in (made(guidance="PIV", messaging="plus", context="fork"), made(solo=True)):
        for text in (prompt.lead, prompt.worker, prompt.role):
            assert not re.search(r"\{\w*\}", text)
    assert "Your working directory is /workspace." in made().lead


def test_texts_are_short() -> None:
    assert all(len(p.read_text("utf-8")) < 1300 for p in TEXTS.glob("*.md"))
    assert len(made(guidance="PIV").lead) < 4500


def test_every_text_is_used_by_some_design() -> None:
    used = set()
    for more in ({"guidance": "P"}, {"guidance": "PIV", "messaging": "plus"}, {"strategy": "peers"}):
        used |= set(made(**more).digests)
    assert used == {p.stem for p in TEXTS.glob("*.md")} | {"harness"}


def test_the_digests_name_the_texts_by_content() -> None:
    found = made(guidance="P").digests
    assert found["plan"] == digest((TEXTS / "plan.md").read_bytes())
    assert found["harness"] == wording.DIGEST
    assert "plan" not in made().digests


def test_users_may_replace_some_of_the_texts(tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("Planning: think twice in {workspace}.\n")
    own = prompts(Design(lead="m", guidance="P"), "t", "/w", tmp_path)
    assert "Planning: think twice in /w." in own.lead
    assert "You lead a team." in own.lead
    assert own.digests["plan"] != made(guidance="P").digests["plan"]
    assert own.digests["lead"] == made(guidance="P").digests["lead"]


@pytest.mark.parametrize(
    "text", ["{nobody}", "{", "{0}", "{worker.x}", "{assignment[0]}", "{worker!z}", "{assignment:9q}"]
)
def test_a_users_assignment_that_cannot_be_filled_in_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "assignment.md").write_text(text)
    with pytest.raises(UsageError, match=r"use only|must hold"):
        prompts(Design(lead="m"), "t", "/w", tmp_path)


@pytest.mark.parametrize("text", ["Just do it.", "{worker}: work"])
def test_an_assignment_text_that_leaves_the_assignment_out_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "assignment.md").write_text(text)
    with pytest.raises(UsageError, match="must hold"):
        prompts(Design(lead="m"), "t", "/w", tmp_path)


def test_a_text_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lead.md").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="cannot read the wording"):
        prompts(Design(lead="m"), "t", "/w", tmp_path)
