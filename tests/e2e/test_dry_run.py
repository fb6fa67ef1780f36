"""`--dry-run` shows exactly what a run would send, and makes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e_cli import HERE, PRICE, Leadhand

from leadhand.core.chain import Root
from leadhand.core.events import AgentStarted, MessageAdded
from leadhand.core.journal import read_journal
from leadhand.core.values import User
from leadhand.runs.paths import all_runs
from leadhand.testing.provider import in_process

TEAM = ("run", "numerus", "--lead", "openai-chat/fake", "--price", PRICE, "--workers", "2", "--guidance", "PIV")
NOWHERE = ("--base-url", "http://127.0.0.1:9/v1")


@pytest.mark.parametrize("more", [(), ("-s", "schedule=blocking", "-s", "messaging=plus")])
def test_the_prompts_are_those_of_the_run(leadhand: Leadhand, tmp_path: Path, more: tuple[str, ...]) -> None:
    dry = leadhand(*TEAM, *more, "--sandbox", "bwrap", *NOWHERE, "--dry-run", "--json")
    assert dry.code == 0, dry.err
    assert not (tmp_path / "runs").exists()
    lead, worker = dry.json["agents"]
    with in_process("e2e_teams:NUMERUS", pythonpath=str(HERE)) as url:
        assert leadhand(*TEAM, *more, "--sandbox", "bwrap", "--base-url", url).code in (0, 1)
    entries = read_journal(all_runs(tmp_path / "runs")[0].journal)
    roots = {e.agent: e.event.root for e in entries if isinstance(e.event, AgentStarted) and e.event.root}
    told: dict[str, str] = {}
    for e in entries:
        if isinstance(e.event, MessageAdded) and isinstance(e.event.message.body, User):
            told.setdefault(e.agent, e.event.message.body.text)
    for shown, name in ((lead, "lead"), (worker, "w1")):
        root = roots[name]
        assert isinstance(root, Root)
        assert shown["system"] == root.system
        assert [t["name"] for t in shown["tools"]] == [t.name for t in root.tools]
        assert shown["settings"] == root.settings
    assert lead["first_message"] == told["lead"]
    assignment = "Find out how the program reads numbers."
    assert worker["first_message"].replace("<the lead's assignment>", assignment) == told["w1"]


def test_the_worst_case_is_the_budget(leadhand: Leadhand) -> None:
    for budget, says in (("2.5", "at most $2.50"), ("none", "there is no worst case"), ("0", "at most $0")):
        done = leadhand(*TEAM, "--sandbox", "local", *NOWHERE, "--max-usd", budget, "--dry-run")
        assert done.code == 0, done.err
        assert says in done.out


def test_no_key_is_needed(leadhand: Leadhand) -> None:
    done = leadhand("run", "numerus", "--lead", "openai/gpt-5.6-sol", "--sandbox", "local", "--dry-run")
    assert done.code == 0, done.err
    assert "before it can run: no key for openai: set OPENAI_API_KEY" in done.out


def test_a_design_file_with_overrides_is_the_design(leadhand: Leadhand, tmp_path: Path) -> None:
    tmp_path.joinpath("team.toml").write_text(
        'lead = "openai-chat/fake"\nworkers = 3\nschedule = "pull"\nbudget_usd = 1.5\n'
    )
    shown = leadhand("design", "show", "team.toml", "-s", "limits.steps=7")
    assert shown.code == 0, shown.err
    tmp_path.joinpath("again.toml").write_text(shown.out)
    assert leadhand("design", "show", "again.toml").out == shown.out
    same = ("run", "numerus", "--price", PRICE, "--sandbox", "local", *NOWHERE, "--dry-run", "--json")
    first = leadhand(*same, "--design", "team.toml", "-s", "limits.steps=7").json
    second = leadhand(*same, "--design", "again.toml").json
    assert first == second
    assert first["worst_case_usd"] == 1.5
    assert [t["name"] for t in first["agents"][0]["tools"]][-3:] == ["list_workers", "cancel_worker", "finish"]
    assert leadhand(*same, "--design", "team.toml", "--workers", "2").json["digest"] != first["digest"]
