"""Peers and best-of-3 on a shipped task, rehearsed: real sandboxes, commands and grader; in one table with a team."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import polars as pl
import pytest

import leadhand
from leadhand.analysis.collect import scores_of
from leadhand.analysis.study import read_study
from leadhand.analysis.tables import read_tables
from leadhand.benchmarks.rehearsal import TASK, WORKERS, equals, rehearsal
from leadhand.cli.app import app
from leadhand.core.design import Design
from leadhand.core.events import Entry, MessageAdded, NoteAdded, Selected, SlotClaimed, ToolEnded
from leadhand.core.ledger import ledger_of
from leadhand.core.values import Price, ToolResults
from leadhand.testing.scripted import Script, Seen, Step, hurried, step_for

pytestmark = pytest.mark.timeout(400)
PRICE = Price(input=1.0, output=5.0)
SCORE = './compile.sh >/dev/null 2>&1; echo "-$(./check.sh | grep -c ^DIFFERS)"'


def quickly(scripts: Mapping[str, Script]) -> dict[str, Script]:
    return {agent: hurried(script) for agent, script in scripts.items()}


def peers() -> dict[str, Script]:
    return quickly(equals.peers())


def candidates() -> dict[str, Script]:
    return quickly(equals.candidates())


def few() -> dict[str, Script]:
    """Candidates that look into one and two of the four areas."""
    return quickly({"s1": equals.candidate(1), "s2": equals.candidate(2)})


def team() -> dict[str, Script]:
    return quickly(rehearsal())


def design(scripts: str, **more: Any) -> Design:
    return Design(lead=f"scripted/{__name__}:{scripts}", budget_usd=20.0, **more)


DESIGNS = {
    "team": design("team", workers=WORKERS, guidance="P"),
    "peers": design("peers", strategy="peers", k=4),
    "best": design("candidates", strategy="best-of-k", k=3, selector_command=SCORE),
    "oracle": design("few", strategy="best-of-k", k=2, selector="oracle"),
}


class Results(dict[str, leadhand.Result]):
    """Whole runs on the shipped task by design, in one folder of runs; each is made when it is first asked for."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root

    def __missing__(self, name: str) -> leadhand.Result:
        d = DESIGNS[name]
        self[name] = leadhand.run(TASK, d, sandbox="bwrap", folder=self.root, keys={}, prices={d.lead: PRICE})
        return self[name]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return Results(tmp_path_factory.mktemp("runs"))


def events(entries: list[Entry], kind: type) -> list[Any]:
    return [e.event for e in entries if isinstance(e.event, kind)]


def test_four_peers_rebuild_the_program_from_each_others_notes(results: Results) -> None:
    result = results["peers"]
    assert (result.summary.status, result.reward) == ("finished", 1.0)
    (chosen,) = events(result.entries, Selected)
    assert chosen.selector == "first"
    ends = {a.name: a.status for a in result.summary.agents}
    assert ends[chosen.chosen] == "finished"


def test_claims_are_atomic(results: Results) -> None:
    """Four ask for the same slot at the same moment, and go on to the next until each has one of its own."""
    entries = results["peers"].entries
    owners = {e.event.slot: e.agent for e in entries if isinstance(e.event, SlotClaimed)}
    assert sorted(owners) == ["date", "spell", "stamp", "weigh"]
    assert sorted(owners.values()) == ["p1", "p2", "p3", "p4"]
    answers = [e.event.text for e in entries if isinstance(e.event, ToolEnded) and " is taken: " in e.event.text]
    assert len(answers) == 1 + 2 + 3
    for answer in answers:
        slot, _, owner = answer.removesuffix(" has it").partition(" is taken: ")
        assert owners[slot] == owner


def test_the_log_is_complete(results: Results) -> None:
    """What the chosen peer was shown is, in order and whole, what the others had written."""
    result = results["peers"]
    (chosen,) = events(result.entries, Selected)
    notes = {e.event.note: e for e in result.entries if isinstance(e.event, NoteAdded)}
    assert list(notes) == ["n1", "n2", "n3", "n4"]
    shown = "\n".join(
        r.text
        for e in result.entries
        if e.agent == chosen.chosen
        and isinstance(e.event, MessageAdded)
        and isinstance(e.event.message.body, ToolResults)
        for r in e.event.message.body.results
    )
    read = re.findall(r'<leadhand-note id="(n\d)" from="(p\d)">\n(.*?)\n</leadhand-note>', shown, re.DOTALL)
    others = [(n, e.agent, e.event.text) for n, e in notes.items() if e.agent != chosen.chosen]  # type: ignore[union-attr]
    assert read == others


def test_the_best_of_three_is_chosen_by_the_users_tests(results: Results) -> None:
    result = results["best"]
    (chosen,) = events(result.entries, Selected)
    assert (chosen.chosen, chosen.scores["s2"]) == ("s2", 0.0)
    assert chosen.scores["s3"] == -1.0
    assert chosen.scores["s1"] < -1.0
    assert (result.summary.status, result.reward) == ("finished", 1.0)


def test_the_oracle_finds_the_better_one_and_says_what_it_is(
    results: Results, capsys: pytest.CaptureFixture[str]
) -> None:
    result = results["oracle"]
    (chosen,) = events(result.entries, Selected)
    assert chosen.chosen == "s2"
    assert 0 < chosen.scores["s1"] < chosen.scores["s2"] == result.reward < 1
    app(["show", str(result.folder)], standalone_mode=False)
    shown = capsys.readouterr().out
    assert "best of 2 solo scripted few (oracle: an upper bound)" in shown
    assert "s2 was chosen by oracle: an upper bound" in shown
    app(["runs", "--json", "--runs", str(result.folder.parent)], standalone_mode=False)
    listed = [row["team"] for row in json.loads(capsys.readouterr().out)]
    assert "oracle of 2 (upper bound) minimal" in listed
    assert set(listed) <= {"oracle of 2 (upper bound) minimal", "4 peers minimal", "best of 3 by tests minimal"}


def test_costs_and_rewards_stand_in_the_same_tables_as_those_of_the_team(results: Results) -> None:
    for name in DESIGNS:
        assert results[name].summary.valid
    study = read_study(results.root)
    tables = read_tables(study, cache=False, processes=1)
    assert tables.unreadable == ()
    runs = {row["run"]: row for row in tables["runs"].to_dicts()}
    agents = tables["agents"].group_by("run").agg(pl.col("agent"), pl.col("role"), pl.col("cost").sum())
    spent = {row["run"]: row for row in agents.to_dicts()}
    for name, result in results.items():
        ledger = ledger_of(result.entries, {DESIGNS[name].lead: PRICE})
        row = runs[result.folder.name]
        assert row["reward"] == result.reward
        assert row["valid"]
        assert row["cost"] == pytest.approx(ledger.settled, abs=1e-9)
        assert row["cost"] == pytest.approx(sum(s.settled for s in ledger.agents.values()), abs=1e-9)
        assert 0 < row["cost"] <= DESIGNS[name].budget_usd
        assert spent[result.folder.name]["cost"] == pytest.approx(ledger.settled, abs=1e-9)
    assert sorted(spent[results["peers"].folder.name]["agent"]) == ["p1", "p2", "p3", "p4"]
    assert set(spent[results["peers"].folder.name]["role"]) == {"peer"}
    assert sorted(spent[results["best"].folder.name]["agent"]) == ["s1", "s2", "s3"]
    scores = scores_of(study, tables)
    assert len(scores.frame) == len(results)
    assert {re.split(r"^scripted \w+\W+", d)[-1] for d in scores.frame["design"]} == {
        "best of 2 by oracle minimal · upper bound",
        "best of 3 by tests minimal",
        "4 peers minimal",
        "P 4",
    }
    assert (scores.frame["cost"] > 0).all()


@pytest.mark.parametrize("name", list(DESIGNS))
def test_where_the_time_went_adds_up(results: Results, name: str) -> None:
    for a in results[name].summary.agents:
        parts = (a.model_s, a.tool_s, a.limited_s, a.idle_s, a.other_s)
        assert all(p >= 0 for p in parts)
        assert sum(parts) <= results[name].summary.wall_s + 1e-6


def test_a_peer_whose_note_is_missing_leaves_a_gap(tmp_path: Path) -> None:
    """The program is built from the notes and from nothing else."""

    async def run() -> leadhand.Result:
        d = design("silent", strategy="peers", k=4)
        async with leadhand.start(TASK, d, sandbox="bwrap", folder=tmp_path, keys={}) as running:
            async for _ in running:
                pass
        return running.result

    result = anyio.run(run)
    assert result.summary.status == "finished"
    assert result.reward is not None
    assert 0.5 < result.reward < 1.0


def silent() -> dict[str, Script]:
    """p1 to p4, but whoever has `date` dies before it notes anything down; the others soon stop waiting."""
    quick = peers()["p1"]

    def step(seen: Seen) -> Step:
        found = step_for(quick, seen)
        if found.text == "What I have found, for all." and '"area":"date"' in str(found.calls[0].arguments["text"]):
            return Step(fault="quota")
        polled = sum(getattr(b, "text", "") == equals.GATHER for b in seen.bodies)
        if found.text == equals.GATHER and polled > 12:
            known = equals.tables(equals.NOTE.findall(seen.text))
            return equals.build(seen, known)
        return found

    return {f"p{i}": step for i in range(1, 5)}
