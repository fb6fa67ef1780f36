"""What commands did, against the analysis and the integrity checks on the whole journal."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from viewer_runs import LEAD, WORKER, Maker, run_file

from leadhand.analysis.detector import reference_paths
from leadhand.analysis.fold import Fold
from leadhand.analysis.measures import critical_path, detected_span, references
from leadhand.benchmarks.integrity import findings
from leadhand.core.design import Design
from leadhand.core.events import AgentEnded, DelegationEnded, DelegationStarted, ToolEnded, ToolStarted
from leadhand.core.journal import read_journal
from leadhand.core.values import ToolResult, ToolResults, User
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import RunFile, read_run_file, write_run_file
from leadhand.viewer.deeds import Deeds
from leadhand.viewer.index import RunIndex, open_run

REFERENCE = "/reference/executable"
COMMANDS = [
    ("ls -la", 0),
    (f"{REFERENCE} --help", 0),
    ("cat > src/main.rs <<'EOF'\nfn main() {}\nEOF", 0),
    (f"strings {REFERENCE}", 0),
    ("cp /reference/executable ./executable", 1),
    ("cd src && sed -i 's/a/b/' main.rs lib.rs", 0),
    ("curl https://example.com/x.tar.gz", 6),
]


def with_reference(folder: Path) -> RunFile:
    run_file(folder, Design(lead=LEAD, worker=WORKER, workers=2))
    file = read_run_file(folder / "run.json")
    task = msgspec.structs.replace(file.lock.task, reference=REFERENCE)
    file = msgspec.structs.replace(file, lock=msgspec.structs.replace(file.lock, task=task))
    write_run_file(folder / "run.json", file)
    return file


def delegate(maker: Maker, at: float, workers: list[str]) -> list[str]:
    """The calls of a blocking delegation to each worker."""
    calls: list[tuple[str, dict[str, Any]]] = [("delegate_agent", {"assignment": w}) for w in workers]
    keys = maker.reply(at, "lead", LEAD, "", calls)
    for i, (worker, key) in enumerate(zip(workers, keys, strict=True)):
        maker.event(at + 1, "lead", ToolStarted(call=key, tool="delegate_agent"))
        maker.join(at + 1, worker, "worker", WORKER)
        name = f"d{i + 1}"
        maker.event(at + 1, "lead", DelegationStarted(delegation=name, worker=worker, call=key, assignment=worker))
        maker.add(at + 1, worker, User(text=worker), assigns=name)
    return keys


def made(folder: Path) -> Path:
    """w1 works for 10 s and w2 for 30 s, each at its commands; the lead waits for both."""
    with_reference(folder)
    maker = Maker(folder)
    maker.begin()
    maker.join(0.2, "lead", "lead", LEAD)
    maker.add(0.2, "lead", User(text="Rebuild it."))
    keys = delegate(maker, 4.0, ["w1", "w2"])
    for worker, end in (("w1", 15.0), ("w2", 35.0)):
        at = 5.5 if worker == "w1" else 16.0
        for command, code in COMMANDS:
            (key,) = maker.reply(at, worker, WORKER, "", [("bash", {"command": f"{command} # {worker}"})], 0.2)
            result = maker.command(at + 0.3, key, "out", 0.5, code)
            maker.add(at + 0.9, worker, ToolResults(results=(result,)))
            at += 1.0
        maker.event(end, worker, AgentEnded(status="finished", text="done"))
        name = f"d{worker[1]}"
        maker.event(end, worker, DelegationEnded(delegation=name, worker=worker, status="finished", report="done"))
        maker.event(end, "lead", ToolEnded(call=keys[int(worker[1]) - 1], text="done"))
    results = tuple(ToolResult(call_id=f"c1_{i}", name="delegate_agent", text="done") for i in range(2))
    maker.add(35.0, "lead", ToolResults(results=results), delivers=("d1", "d2"))
    maker.reply(36.0, "lead", LEAD, "Done.", [("finish", {"text": "Done."})], 4.0)
    maker.event(40.0, "lead", AgentEnded(status="finished", text="Done."))
    maker.end(40.0)
    return folder


def folded(folder: Path) -> Fold:
    lock = read_run_file(folder / "run.json").lock
    return Fold(lock.prices, reference_paths(lock.task)).apply(read_journal(folder / "journal.jsonl"))


def test_findings_are_the_same_however_the_journal_is_cut(tmp_path: Path) -> None:
    file = read_run_file(made(tmp_path) / "run.json")
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
    index = open_run(made(tmp_path))
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


def test_writes_and_reference_runs_are_the_detectors(tmp_path: Path) -> None:
    index, fold = open_run(made(tmp_path)), folded(tmp_path)
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
    fold = folded(made(tmp_path))
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
    index = RunIndex(RunPaths(made(tmp_path)))
    index.refresh()
    monkeypatch.setattr(index._deeds._fold, "apply", lambda _: {}["missing"])
    index.look()
    delta = index.delta((0,) * 10)
    assert delta["count"] == len(read_journal(tmp_path / "journal.jsonl"))
    assert "could not be looked at" in delta["unlooked"]
    assert (delta["looked"], index.behind) == (1.0, 0)
