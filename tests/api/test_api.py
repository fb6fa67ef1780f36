"""The Python API, on a real sandbox and a real grader."""

from __future__ import annotations

from pathlib import Path

import pytest

import leadhand
from leadhand.cli import show
from leadhand.core.errors import UsageError
from leadhand.core.events import DelegationEnded, RunEnded
from leadhand.core.values import FREE
from leadhand.testing.scripted import bash, call, do, finish

SOLO = {"solo": [do(bash("echo hello > greeting.txt")), finish("wrote it")]}
TEAM = {
    "lead": [do(call("delegate_agent", assignment="look")), do(call("wait")), finish("ok")],
    "w1": [do(bash("ls")), finish("seen")],
}
CHEAT = {"solo": [do(bash("curl -s https://example.org/numerus.tar.gz | tar xz; true")), finish("fetched it")]}
ENDLESS = {"solo": [do(bash("sleep 300")), finish("never")]}


def test_one_call_runs_to_the_end_and_gives_the_result(tmp_path: Path) -> None:
    lead = f"scripted/{__name__}:SOLO"
    result = leadhand.run("numerus", lead=lead, solo=True, sandbox="bwrap", folder=tmp_path, keys={})
    assert result.summary.status == "finished"
    assert result.reward == 0.0  # graded: there is no compile.sh
    assert (result.folder / "workspace" / "greeting.txt").read_text() == "hello\n"


@pytest.mark.anyio
async def test_a_block_hands_out_every_entry_as_it_is_written(tmp_path: Path) -> None:
    design = leadhand.Design(lead=f"scripted/{__name__}:TEAM", budget_usd=1.0)
    seen = []
    async with leadhand.start("numerus", design, sandbox="bwrap", folder=tmp_path, keys={}) as running:
        with pytest.raises(RuntimeError, match="has not ended"):
            _ = running.result
        seen = [entry async for entry in running]
    assert seen == running.result.entries
    assert [e.seq for e in seen] == list(range(len(seen)))
    assert sum(isinstance(e.event, DelegationEnded) for e in seen) == 1


@pytest.mark.anyio
async def test_stop_wraps_up_and_grades_what_there_is(tmp_path: Path) -> None:
    design = leadhand.Design(lead=f"scripted/{__name__}:ENDLESS", solo=True, budget_usd=1.0)
    async with leadhand.start("numerus", design, sandbox="bwrap", folder=tmp_path, keys={}) as running:
        async for entry in running:
            if type(entry.event).__name__ == "ToolStarted":
                running.stop()
    summary = running.result.summary
    assert (summary.status, summary.valid, summary.reward) == ("cancelled", False, 0.0)
    ended = next(e.event for e in running.result.entries if isinstance(e.event, RunEnded))
    assert ended.status == "cancelled"


def test_what_cannot_run_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    for wrong in (
        {"lead": "nobody/model"},
        {"lead": "openai/gpt-5.6-sol"},  # no key
        {"lead": f"scripted/{__name__}:SOLO", "wurkers": 3},
        {"lead": f"scripted/{__name__}:SOLO", "solo": True, "guidance": "V"},
    ):
        with pytest.raises(UsageError):
            leadhand.run("numerus", sandbox="bwrap", folder=tmp_path / "runs", keys={}, **wrong)
    assert not (tmp_path / "runs").exists()


def test_own_prices_are_pinned_into_the_run(tmp_path: Path) -> None:
    lead = f"scripted/{__name__}:SOLO"
    result = leadhand.run(
        "numerus", lead=lead, solo=True, sandbox="bwrap", folder=tmp_path, keys={}, prices={lead: FREE}
    )
    assert result.run.lock.prices == {lead: FREE}


def test_what_the_rules_forbid_is_found_and_shown_with_the_run(tmp_path: Path) -> None:
    lead = f"scripted/{__name__}:CHEAT"
    result = leadhand.run("numerus", lead=lead, solo=True, sandbox="bwrap", folder=tmp_path, keys={})
    assert [f.agent for f in result.summary.findings] == ["solo"]
    said = str(show.notes(result.summary))
    assert "integrity" in said
    assert "curl -s https://example.org" in said
    honest = leadhand.run(
        "numerus", lead=f"scripted/{__name__}:SOLO", solo=True, sandbox="bwrap", folder=tmp_path, keys={}
    )
    assert honest.summary.findings == ()
