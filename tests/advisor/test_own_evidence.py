"""Own runs are found in their folders, and left out where they must be."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from advisor_evidence import LUNA, PLANNERS, SOL, SOLO, own_runs_of, write_run

from leadhand.advisor.own import own_runs
from leadhand.advisor.setting import find_like, known_of
from leadhand.core.design import Design
from leadhand.core.values import Task
from leadhand.study.layout import FORMAT, Resolved, StudyRecord
from leadhand.study.outcome import read_outcome

BENCH = Task(id="a", prompt="p", benchmark="programbench", grader_digest="g", labels={"difficulty": "easy"})
REPO = Task(id="shop", prompt="p", benchmark="prompt", grader_digest="g")
FOLDER = Task(id="numerus", prompt="p", benchmark="folder", grader_digest="g")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    root = tmp_path / "runs"
    write_run(root, "r1", SOLO, BENCH, 0.5)
    write_run(root, "r2", PLANNERS, REPO, 0.6)
    write_run(root, "r3", SOLO, FOLDER, 0.7)
    return root


def test_ended_runs_are_evidence(runs: Path) -> None:
    found = {r.task: r for r in own_runs([runs], {})}
    assert {t: r.setting for t, r in found.items()} == {
        "a": "programbench",
        "shop": "repository shop",
        "numerus": "task numerus",
    }
    assert found["a"].reward == 0.5
    assert found["a"].tier == "easy"
    assert found["shop"].design.worker == LUNA
    assert all(r.usd > 0 and r.minutes > 0 and r.design.budget_usd is None for r in found.values())


def test_rehearsals_and_broken_runs_are_none(runs: Path) -> None:
    write_run(runs, "r4", Design(lead="scripted/demo", solo=True), BENCH, 1.0)
    broken = write_run(runs, "r5", SOLO, BENCH, 0.9)
    broken.journal.write_text("not json\n\n")
    unfinished = write_run(runs, "r6", SOLO, BENCH, 0.9)
    lines = unfinished.journal.read_text().splitlines(keepends=True)
    unfinished.journal.write_text("".join(lines[: len(lines) // 2]))
    assert sorted(r.reward for r in own_runs([runs], {})) == [0.5, 0.6, 0.7]


def test_a_run_that_asked_no_model_is_none(runs: Path) -> None:
    """A budget of 0 buys no call, and so says nothing of what a task costs."""
    asked = write_run(runs, "r7", SOLO, BENCH, 0.9)
    entries = [json.loads(line) for line in asked.journal.read_text().splitlines()]
    others = [e for e in entries if "attempt" not in str(e)]
    asked.journal.write_text("".join(json.dumps(e | {"seq": i}) + "\n" for i, e in enumerate(others)))
    outcome = read_outcome(asked)
    assert (outcome.valid, outcome.reward, outcome.steps) == (True, 0.9, 0)
    assert sorted(r.reward for r in own_runs([runs], {})) == [0.5, 0.6, 0.7]


def test_opting_out(runs: Path) -> None:
    assert own_runs([runs], {"LEADHAND_EVIDENCE": "off"}) == []
    (runs / "r1" / ".no-evidence").touch()
    assert sorted(r.task for r in own_runs([runs], {})) == ["numerus", "shop"]
    (runs / ".no-evidence").touch()
    assert own_runs([runs], {}) == []


def test_reading_changes_nothing(runs: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in runs.rglob("*")}
    own_runs([runs], {})
    assert {p: p.stat().st_mtime_ns for p in runs.rglob("*")} == before


def test_what_like_this_means(runs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    own = own_runs([runs], {})
    (tmp_path / "shop").mkdir()
    assert find_like("", own).setting in {r.setting for r in own}
    assert find_like("", []).setting == "your tasks"
    assert find_like("shop", own).setting == "task shop", "a task that was run goes by its name"
    assert find_like("./shop", own).setting == "repository shop"
    easy = find_like("programbench:easy", own)
    assert (easy.setting, easy.source) == ("programbench:easy", ("programbench",))
    assert [r.task for r in easy.own if r.setting == easy.setting] == ["a"]
    assert "1 own run" in known_of(easy)
    numerus = find_like("numerus", own)
    assert [r.task for r in numerus.own if r.setting == numerus.setting] == ["numerus"]
    assert numerus.source == ("numerus",)
    assert "terminal-bench-2.1: 30 published figures" in known_of(find_like("terminal-bench-2.1", []))
    assert SOL in own[0].design.models


def write_study(folder: Path, source: str, tasks: tuple[str, ...]) -> None:
    """A study that was prepared: its record and its file."""
    study = Resolved(
        designs={"solo": SOLO},
        controls={},
        tasks=tasks,
        labels={},
        repeats=1,
        seed=1,
        budget_usd=None,
        sandbox="local",
        about="",
    )
    record = StudyRecord(format=FORMAT, name=folder.name, id="i", version="0", study=study, digest="d", runs=())
    folder.mkdir(parents=True)
    (folder / "study.json").write_bytes(msgspec.json.encode(record))
    (folder / "study.toml").write_text(f'[tasks]\nsource = ["{source}"]\n')


def test_like_a_study_means_its_tasks_whoever_ran_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So what an experiment finds on them, which is a study of its own, counts there; and its tasks are named again."""
    monkeypatch.chdir(tmp_path)
    write_study(tmp_path / "studies" / "mine", "shipped", ("satchel", "gridline"))
    elsewhere = [
        *(msgspec.structs.replace(r, task="satchel", study="advised-1") for r in own_runs_of(SOLO, 2, 0.5, 0.4)),
        *own_runs_of(SOLO, 1, 0.5, 0.4, setting="study other"),
    ]
    like = find_like("mine", elsewhere)
    assert [r.task for r in like.own if r.setting == like.setting == "study mine"] == ["satchel", "satchel"]
    assert like.source == ("shipped",)
    assert set(like.ids) == {"satchel", "gridline"}
    write_study(tmp_path / "studies" / "gone", "nowhere/*", ("a", "b"))
    assert find_like("gone", []).source == (), "its tasks are not to be found from here"
    unnamed = find_like("", [msgspec.structs.replace(r, setting="study mine", study="mine") for r in elsewhere])
    assert (unnamed.setting, unnamed.source) == ("study mine", ("shipped",))
    assert "taken to be like study mine" in unnamed.note
