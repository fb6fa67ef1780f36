"""What commands did, against the analysis and the integrity checks on the whole journal."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from viewer_runs import suspect_run

from leadhand.analysis.detector import reference_paths
from leadhand.analysis.fold import Fold
from leadhand.analysis.measures import critical_path, detected_span, references
from leadhand.benchmarks.integrity import findings
from leadhand.core.journal import read_journal
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import read_run_file
from leadhand.viewer.deeds import Deeds
from leadhand.viewer.folder import Folder
from leadhand.viewer.index import RunIndex, open_run


def folded(folder: Path) -> Fold:
    lock = read_run_file(folder / "run.json").lock
    return Fold(lock.prices, reference_paths(lock.task)).apply(read_journal(folder / "journal.jsonl"))


def test_findings_are_the_same_however_the_journal_is_cut(tmp_path: Path) -> None:
    file = read_run_file(suspect_run(tmp_path) / "run.json")
    entries = read_journal(tmp_path / "journal.jsonl")
    whole = findings(entries, file.lock.task)
    assert {(f.kind, f.severity) for f in whole} == {
        ("decompiling", "invalid"),
        ("reference", "flag"),
        ("network", "flag"),
    }
    for seed in range(20):
        random, deeds, at = Random(seed), Deeds(file), 0
        while at < len(entries):
            step = random.randint(1, 9)
            deeds.apply(entries[at : at + step])
            at += step
        assert deeds.found == whole


def test_findings_stand_out_and_name_their_event(tmp_path: Path) -> None:
    index = open_run(suspect_run(tmp_path))
    found = [m for m in index._fold.columns.marks if m[2].startswith("integrity")]
    assert [(level, what) for _, level, what, _ in found[:3]] == [
        ("error", "integrity: decompiling"),
        ("warning", "integrity: reference"),
        ("warning", "integrity: network"),
    ]
    entry = index.entry(found[0][0])
    assert (entry.agent, entry.event.__struct_config__.tag) == ("w1", "command_ended")
    assert "strings /reference/executable # w1" in found[0][3]
    summary = index.summary()
    assert (summary.status, summary.valid, len(summary.findings)) == ("finished", False, 6)


def test_a_list_of_runs_says_which_do_not_count(tmp_path: Path) -> None:
    suspect_run(tmp_path / "a")
    row = Folder(tmp_path).rows()[0]
    assert (row.status, row.valid, row.findings) == ("finished", False, 6)
    folder = Folder(tmp_path)
    folder.run("a")  # its page is open: the row is made from that
    assert folder.rows() == [row]


def test_writes_and_reference_runs_are_the_detectors(tmp_path: Path) -> None:
    index, fold = open_run(suspect_run(tmp_path)), folded(tmp_path)
    c = index._fold.columns
    names = [agent["name"] for agent in c.agents]
    assert {(names[agent], c.paths[path]) for _, agent, path in c.writes} == {
        (worker, path) for worker in ("w1", "w2") for path in ("src/main.rs", "src/lib.rs")
    }
    for seq, agent, _ in c.writes:
        assert (index.entry(seq).agent, index.entry(seq).event.__struct_config__.tag) == (names[agent], "tool_started")
    for i, name in enumerate(names):
        assert sum(agent == i for _, agent in c.references) == references(fold, {name})
    assert len(c.references) == 2
    assert index.delta((0,) * 10)["phases"] == [round(1000 * at) for at in detected_span(fold) if at is not None]


def test_the_critical_path_has_no_gap_and_its_workers_part_is_the_tables(tmp_path: Path) -> None:
    fold = folded(suspect_run(tmp_path))
    path = critical_path(fold)
    assert path[0].started == 0
    assert path[-1].ended == pytest.approx(40.0)
    assert all(a.ended == b.started for a, b in pairwise(path))
    assert [(s.agent, round(s.started), round(s.ended)) for s in path] == [
        ("lead", 0, 5),
        ("w2", 5, 35),
        ("lead", 35, 40),
    ]
    assert sum(s.ended - s.started for s in path if s.agent != "lead") == pytest.approx(fold.idle_worked)


def test_a_journal_that_cannot_be_looked_at_is_still_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = RunIndex(RunPaths(suspect_run(tmp_path)))
    index.refresh()
    monkeypatch.setattr(index._deeds._fold, "apply", lambda _: {}["missing"])
    index.look()
    delta = index.delta((0,) * 10)
    assert delta["count"] == len(read_journal(tmp_path / "journal.jsonl"))
    assert "could not be looked at" in delta["unlooked"]
    assert (delta["looked"], index.behind) == (1.0, 0)
