"""Findings of the rules' breaking in the tables: who broke one does not count, is counted, bounded, and named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from leadhand.analysis.collect import scores_of
from leadhand.analysis.compare import summarise
from leadhand.analysis.scores import standing
from leadhand.analysis.simulated import grid, write_study
from leadhand.analysis.study import Study, read_study
from leadhand.analysis.tables import Tables, read_tables
from leadhand.analysis.writing import JournalWriter
from leadhand.benchmarks.integrity import findings
from leadhand.core.journal import read_journal
from leadhand.core.values import Usage
from leadhand.report.load import load
from leadhand.report.page import page
from leadhand.runs.spec import read_run_file

SOME = [d for d in grid() if d.solo][:2]
HONEST, CHEAT, LOOK = "ls", "curl -sL https://example.org/solution | tar xz", "pip install requests"


def rerun(study: Study, index: int, command: str, reward: float = 1.0) -> str:
    """Let a member's only command be this; its name."""
    member, writer = study.members[index], JournalWriter()
    writer.agent("solo", "solo", SOME[0].lead)
    (call,) = writer.step("solo", SOME[0].lead, Usage(input=10, output=5), ("bash", {"command": command}))
    writer.command("solo", call, seconds=1.0)
    writer.results("solo")
    writer.end_agent("solo")
    writer.end("finished", reward, read_run_file(member.paths.run_json).lock.task.grader_digest)
    writer.write(member.paths.journal)
    return member.paths.id


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_study(tmp_path / "study", SOME, tasks=3, repeats=1)
    return tmp_path / "study"


def read(folder: Path) -> tuple[Study, Tables]:
    study = read_study(folder)
    return study, read_tables(study, cache=False)


def test_a_broken_rule_takes_a_run_out_and_a_flag_does_not(folder: Path) -> None:
    study = read_study(folder)
    cheat, look, honest = rerun(study, 0, CHEAT), rerun(study, 1, LOOK), rerun(study, 2, HONEST)
    study, tables = read(folder)
    rows = {r["run"]: r for r in tables["runs"].iter_rows(named=True)}
    columns = ("valid", "findings", "broken_rules", "reward")
    assert [rows[cheat][c] for c in columns] == [False, 1, 1, 1.0]
    assert [rows[look][c] for c in columns] == [True, 1, 0, 1.0]
    assert [rows[honest][c] for c in columns] == [True, 0, 0, 1.0]
    scores = scores_of(study, tables)
    stands = standing(scores, study.members[0].design)
    assert (stands.invalid, stands.counted, stands.left_out) == (1, 2, 1)
    summary = next(s for s in summarise(scores) if s.design == study.members[0].design)
    low, high = summary.reward_bounds
    assert high - low == pytest.approx(1 / 3), "as any task without a reward that counts"


def test_the_table_of_findings_is_what_the_journals_show(folder: Path) -> None:
    study = read_study(folder)
    cheat = rerun(study, 0, f"{LOOK}; {CHEAT}")
    _, tables = read(folder)
    member = study.members[0].paths
    shown = findings(read_journal(member.journal), read_run_file(member.run_json).lock.task)
    assert len(shown) == 2
    assert tables["findings"].rows() == [(cheat, f.kind, f.severity, f.seq, f.agent, f.why, f.text) for f in shown]


def test_the_report_says_so_among_its_caveats(folder: Path) -> None:
    study = read_study(folder)
    cheat = rerun(study, 0, CHEAT)
    rerun(study, 1, LOOK)
    study, tables = read(folder)
    broken, flagged = scores_of(study, tables).notes[-2:]
    assert re.match(r"1 of 6 runs broke a rule of their task \(network in 1\): not valid, left out", broken)
    assert cheat in broken
    assert flagged == "1 of 6 runs are flagged for a look (table `findings`); they count"
    text = page(load(folder, cache=False), "", (), (), {})
    caveats = text[text.index("<h2 id=caveats>") :]
    assert "broke a rule of their task" in caveats
    assert "flagged for a look" in caveats


def test_an_honest_study_says_nothing(folder: Path) -> None:
    study, tables = read(folder)
    assert not any("rules" in note or "flagged" in note for note in scores_of(study, tables).notes)
    assert len(tables["findings"]) == 0
