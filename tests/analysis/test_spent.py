"""Attempts that failed or were lost have no result, but their money was spent: counted by hand."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from leadhand.analysis.collect import scores_of
from leadhand.analysis.compare import summarise
from leadhand.analysis.scores import standing
from leadhand.analysis.simulated import PRICES, _run_file, grid, write_study
from leadhand.analysis.spent import spending, together
from leadhand.analysis.study import Listed, Planned, StudyFile, read_study
from leadhand.analysis.tables import CACHE, read_tables
from leadhand.analysis.tidy import read_scores
from leadhand.analysis.writing import JournalWriter
from leadhand.core.events import AttemptStarted, RunEnd
from leadhand.core.values import Usage
from leadhand.report.load import load
from leadhand.report.page import _caveats, _where
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import write_run_file

SOLO, PIV = (d for d in grid() if d.solo and d.lead == "sim/strong")
DOLLARS = 1_000_000 / PRICES["sim/strong"].input  # fresh tokens for a million dollars: a run costs what it is asked to


def a_run(
    folder: Path, name: str, usd: float, status: RunEnd | None, reward: float | None = None, *, cut: bool = False
) -> None:
    """One run folder of SOLO that has settled `usd`; `cut`: with one more call whose outcome nobody knows."""
    paths = RunPaths(folder / "runs" / name)
    paths.folder.mkdir(parents=True)
    write_run_file(paths.run_json, _run_file(SOLO, "t", 1))
    w = JournalWriter()
    w.agent("solo", "solo", SOLO.lead)
    w.step("solo", SOLO.lead, Usage(input=round(usd * DOLLARS)), seconds=60.0)
    if cut:  # 1,000,000 tokens at $4 and 50,000 at $20 a million: at most $5
        bounds = {"prompt_bound": 1_000_000, "output_bound": 50_000}
        w.add("solo", AttemptStarted(attempt=99, head="", model=SOLO.lead, **bounds))
    if status is not None:
        w.end(status, reward, "g")
    w.write(paths.journal)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two tasks. `a`: lost twice for $1 and $2 (and up to $5 more), then done for $4. `b`: done for $8. `c`: failed for
    good after an archived attempt ($16 + $32). `d`: an attempt was lost for $64, nothing since. One run for $128 is
    no longer asked for.
    """
    a_run(tmp_path, "a", 4.0, "finished", 0.5)
    a_run(tmp_path, "a.attempt-1", 1.0, "infrastructure")
    a_run(tmp_path, "a.attempt-2", 2.0, None, cut=True)
    a_run(tmp_path, "b", 8.0, "finished", 0.7)
    a_run(tmp_path, "c", 32.0, "infrastructure")
    a_run(tmp_path, "c.attempt-1", 16.0, "infrastructure")
    a_run(tmp_path, "d.attempt-1", 64.0, None)
    a_run(tmp_path, "old", 128.0, "finished", 1.0)
    listed = tuple(Listed(run=name, design="solo", task=name, repeat=1) for name in "abcd")
    plan = Planned(tasks=tuple("abcd"), repeats=1, designs={"solo": SOLO})
    (tmp_path / "study.json").write_bytes(msgspec.json.encode(StudyFile(runs=listed, study=plan)))
    return tmp_path


def test_a_run_costs_what_its_attempts_cost_and_takes_the_time_of_its_own(folder: Path) -> None:
    study = read_study(folder)
    scores = scores_of(study, read_tables(study))
    assert scores.designs == ("solo",), "a run that is no longer asked for makes no design"
    rows = {r["task"]: r for r in scores.frame.iter_rows(named=True)}
    assert {t: (r["cost"], r["earlier"]) for t, r in rows.items()} == {
        "a": (pytest.approx(7.0), pytest.approx(3.0)),
        "b": (pytest.approx(8.0), 0.0),
        "c": (pytest.approx(48.0), pytest.approx(16.0)),
    }
    assert rows["a"]["minutes"] == pytest.approx(1.0)
    (row,) = summarise(scores)
    assert row.cost is not None
    assert row.reward is not None
    assert (row.cost.value, row.reward.value) == (pytest.approx(7.5), pytest.approx(0.6))
    found = standing(scores, "solo")
    assert (found.counted, found.no_reward, found.invalid, found.never_run) == (2, 1, 0, 1)


def test_the_study_has_spent_every_folder(folder: Path) -> None:
    study = read_study(folder)
    rows = spending(read_tables(study), study.factors)
    solo, old = rows
    assert (solo.counted_runs, solo.counted) == (2, pytest.approx(12.0))
    assert (solo.left_out_runs, solo.left_out) == (1, pytest.approx(32.0))
    assert (solo.attempts_made, solo.attempts, solo.attempts_unknown) == (4, pytest.approx(83.0), pytest.approx(5.0))
    assert (solo.total, solo.unknown) == (pytest.approx(127.0), pytest.approx(5.0))
    assert (old.design, old.dropped_runs, old.dropped) == ("strong · solo minimal", 1, pytest.approx(128.0))
    assert together(rows).total == pytest.approx(1 + 2 + 4 + 8 + 16 + 32 + 64 + 128)


def test_the_report_says_so(folder: Path) -> None:
    e = load(folder)
    assert "$255.00 spent" in _where(e)
    caveats = _caveats(e, ())
    assert "4 archived attempts of 1 design failed or were lost: $83.00 settled, and at most $5.00 more" in caveats
    assert "1 run that the study no longer asks for cost $128.00" in caveats
    assert e.runs.sort("task")["cost"].to_list() == pytest.approx([7.0, 8.0])


def test_attempts_are_cached_as_runs_are(folder: Path) -> None:
    study = read_study(folder)
    first = read_tables(study)["aside"]
    assert first.sort("run").select("run", "why", "attempt_of", "status").rows()[0] == (
        "a.attempt-1", "attempt", "a", "infrastructure",
    )  # fmt: skip
    assert read_tables(read_study(folder))["aside"].equals(first)
    (folder / "runs" / "b").rename(folder / "runs" / "b.attempt-1")
    again = read_tables(read_study(folder))
    assert "b" not in again["runs"]["run"].to_list()
    assert len(again["aside"]) == len(first) + 1
    assert (folder / CACHE / "aside.arrow").exists()


def test_an_attempt_that_was_lost_before_its_first_event_has_cost_nothing(folder: Path) -> None:
    (folder / "runs" / "d.attempt-1" / "journal.jsonl").unlink()
    study = read_study(folder)
    tables = read_tables(study)
    assert tables.unreadable == ()
    assert together(spending(tables, study.factors)).total == pytest.approx(255 - 64)


def test_a_csv_of_a_study_costs_the_same(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("task,design,reward,cost,attempts_cost\na,x,0.5,4,3\nb,x,0.7,8,\n")
    (row,) = summarise(read_scores(path))
    assert row.cost is not None
    assert row.cost.value == pytest.approx(7.5)


def test_another_repeat_does_not_replace_a_failed_one(tmp_path: Path) -> None:
    """Only runs that claim the same repeat can stand for each other."""
    write_study(tmp_path, [PIV], tasks=1, repeats=2)
    w = JournalWriter()
    w.agent("solo", "solo", PIV.lead)
    w.step("solo", PIV.lead, Usage(input=1_000_000))
    w.end("infrastructure")
    w.write(tmp_path / "runs" / "00-000-1" / "journal.jsonl")
    study = read_study(tmp_path)
    scores = scores_of(study, read_tables(study))
    assert scores.frame["repeat"].to_list() == [1, 2]
    assert scores.frame["cost"][1] < 1.0
    assert standing(scores, scores.designs[0]).no_reward == 1
