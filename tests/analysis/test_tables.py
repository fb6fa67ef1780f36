"""Studies and tables: found, folded, cached, rebuilt; what is broken is named, what is rare is kept."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from leadhand.analysis.collect import scores_of
from leadhand.analysis.compare import summarise
from leadhand.analysis.factors import base_of, factors_of
from leadhand.analysis.rows import ROWS
from leadhand.analysis.simulated import grid, write_study
from leadhand.analysis.study import Listed, Planned, StudyFile, read_study
from leadhand.analysis.tables import CACHE, CHUNK, Tables, read_tables
from leadhand.analysis.writing import JournalWriter
from leadhand.core.design import Design, Kind
from leadhand.core.errors import UsageError
from leadhand.core.values import Usage
from leadhand.runs.spec import read_run_file, write_run_file

SOLO = [d for d in grid() if d.solo]
SOME = [SOLO[0], SOLO[1], *(d for d in grid() if not d.solo)][:4]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_study(tmp_path / "study", SOME, tasks=4, repeats=2)
    return tmp_path / "study"


def same(a: Tables, b: Tables) -> None:
    for name in ROWS:
        assert_frame_equal(a[name], b[name])


def test_the_cache_gives_what_the_journals_gave(folder: Path) -> None:
    study = read_study(folder)
    first = read_tables(study)
    assert len(first["runs"]) == len(SOME) * 4 * 2
    same(first, read_tables(study))
    shutil.rmtree(folder / CACHE)
    same(first, read_tables(study))
    same(first, read_tables(study, cache=False))


def test_only_what_changed_is_folded_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = read_study(folder)
    before = read_tables(study)
    changed, gone = study.members[0], study.members[-1]
    writer = JournalWriter()
    writer.agent("solo", "solo", SOME[0].lead)
    writer.end("finished", 0.125, "g")
    writer.write(changed.paths.journal)
    shutil.rmtree(gone.paths.folder)
    folded: list[str] = []
    import leadhand.analysis.tables as module

    real = module.fold_run

    def counted(member):  # type: ignore[no-untyped-def]
        folded.append(member.paths.id)
        return real(member)

    monkeypatch.setattr(module, "fold_run", counted)
    after = read_tables(read_study(folder))
    assert folded == [changed.paths.id]
    rows = {r["run"]: r for r in after["runs"].iter_rows(named=True)}
    assert rows[changed.paths.id]["reward"] == 0.125
    assert gone.paths.id not in rows
    kept = [m.paths.id for m in study.members[1:-1]]
    only = pl.col("run").is_in(kept)
    assert_frame_equal(before["attempts"].filter(only), after["attempts"].filter(only))


def test_a_cut_off_cache_is_no_cache(folder: Path) -> None:
    study = read_study(folder)
    first = read_tables(study)
    (folder / CACHE / "runs.arrow").write_bytes(b"cut")
    same(first, read_tables(study))
    (folder / CACHE / "manifest.json").write_bytes(b"{")
    same(first, read_tables(study))


def test_a_broken_journal_is_named_and_the_others_stand(folder: Path) -> None:
    study = read_study(folder)
    broken = study.members[2].paths
    lines = broken.journal.read_bytes().splitlines(keepends=True)
    lines[1] = b'{"seq": nonsense}\n'
    broken.journal.write_bytes(b"".join(lines))
    tables = read_tables(study)
    assert len(tables["runs"]) == len(study.members) - 1
    (reason,) = tables.unreadable
    assert f"{broken.journal}:2" in reason
    assert tables.unreadable == read_tables(study).unreadable, "the cache remembers it"
    assert any("cannot be read" in n for n in scores_of(study, tables).notes)


def test_processes_give_what_one_process_gives(tmp_path: Path) -> None:
    write_study(tmp_path, SOLO[:2], tasks=(CHUNK + 20) // 4, repeats=2)
    study = read_study(tmp_path)
    assert len(study.members) > CHUNK
    same(read_tables(study, cache=False, processes=1), read_tables(study, cache=False, processes=2))


def test_a_rare_row_at_the_very_end_is_kept(folder: Path) -> None:
    """No design here has messages; the last run gets one, with every optional column filled."""
    study = read_study(folder)
    last = max(study.members, key=lambda m: m.paths.id).paths
    w = JournalWriter()
    w.agent("lead", "lead", SOME[-1].lead)
    w.agent("w1", "worker", SOME[-1].lead)
    w.results("lead", mail=(w.mail("w1", "lead", "rare?"),))
    w.end("finished", 0.5, "g")
    w.write(last.journal)
    messages = read_tables(study)["messages"]
    assert messages.select("run", "question", "replied", "delivered_s").rows() == [(last.id, True, False, 0.0)]


def test_a_folder_of_runs_without_a_study_file(folder: Path) -> None:
    """Designs are named by their factors; runs that claim one repeat are numbered in the order of their start."""
    (folder / "study.json").unlink()
    study = read_study(folder / "runs")
    assert set(study.factors) == {factors_of(d).label for d in SOME}
    assert study.repeats == 2
    for member in study.members:
        run = read_run_file(member.paths.run_json)
        again = msgspec.structs.replace(run, request=msgspec.structs.replace(run.request, repeat=1))
        write_run_file(member.paths.run_json, again)
    study = read_study(folder / "runs")
    assert {m.repeat for m in study.members} == {1, 2}
    assert any("numbered" in n for n in study.notes)


def test_two_designs_never_share_a_name() -> None:
    a = Design(lead="p/m", kinds=(Kind(name="a", role="read"),))
    b = Design(lead="p/m", kinds=(Kind(name="a", role="write"),))
    assert factors_of(a).label == factors_of(b).label
    from leadhand.analysis.study import _labels

    names = _labels([(a, ""), (b, ""), (a, "")]).names
    assert names[0] == names[2] != names[1]


def test_a_folder_without_runs_says_what_is_wanted(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"run\.json"):
        read_study(tmp_path)
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(UsageError, match=r"study\.json"):
        read_study(tmp_path)


def test_runs_that_were_listed_and_never_started_are_missed(folder: Path) -> None:
    study = read_study(folder)
    shutil.rmtree(study.members[0].paths.folder)
    study = read_study(folder)
    first = summarise(scores_of(study, read_tables(study)))[0]
    assert (first.standing.expected, first.standing.never_run) == (8, 1)
    assert first.standing.left_out >= 1


def test_a_design_that_was_never_started_is_in_the_table(folder: Path) -> None:
    plan = msgspec.json.decode((folder / "study.json").read_bytes(), type=StudyFile)
    more = Listed(run="zz", design="planned", task=plan.study.tasks[0], repeat=1)
    (folder / "study.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(plan, runs=(*plan.runs, more))))
    study = read_study(folder)
    row = next(r for r in summarise(scores_of(study, read_tables(study))) if r.design == "planned")
    assert (row.reward, row.standing.never_run, row.reward_bounds) == (None, 8, (0.0, 1.0))


def test_what_a_failed_attempt_cost_is_paid_by_the_run_that_replaced_it(tmp_path: Path) -> None:
    write_study(tmp_path, SOLO[:1], tasks=1, repeats=2)
    listed = tuple(Listed(run=f"00-000-{r}", design="solo", task="t", repeat=1) for r in (1, 2))
    (tmp_path / "study.json").write_bytes(
        msgspec.json.encode(StudyFile(runs=listed, study=Planned(tasks=("t",), repeats=1)))
    )
    for number, (status, reward) in enumerate((("infrastructure", None), ("finished", 0.5)), start=1):
        w = JournalWriter()
        w.agent("solo", "solo", SOLO[0].lead)
        w.step("solo", SOLO[0].lead, Usage(input=1_000_000))
        w.end(status, reward, "g")  # type: ignore[arg-type]
        w.write(tmp_path / "runs" / f"00-000-{number}" / "journal.jsonl")
    study = read_study(tmp_path)
    scores = scores_of(study, read_tables(study))
    (row,) = scores.frame.iter_rows(named=True)
    assert (row["reward"], row["cost"]) == (0.5, 8.0)


def test_bases_of_lift() -> None:
    """Solo minimal for minimal teams, the lead's solo PIV for every team with stage guidance."""
    every = {f.label: f for f in map(factors_of, grid())}

    def base(**settings: object) -> str | None:
        found = base_of(factors_of(Design(**settings)), every)  # type: ignore[arg-type]
        return found.label if found else None

    assert base(lead="sim/strong", guidance="minimal") == "strong · solo minimal"
    assert base(lead="sim/strong", worker="sim/cheap", guidance="P") == "strong · solo PIV"
    assert base(lead="sim/strong", solo=True, guidance="PIV") is None
    assert base(lead="other", guidance="P") is None
