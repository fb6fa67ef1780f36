"""`study export`: its rows say as much of a study as its folders do."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from leadhand.analysis.simulated import write_study
from leadhand.analysis.study import Listed, StudyFile
from leadhand.core.design import Design, Kind
from leadhand.report import summary
from leadhand.report.evidence import Evidence
from leadhand.report.load import load
from leadhand.study import results
from leadhand.study.grid import control_of
from leadhand.study.layout import FORMAT, PlannedRun, Resolved, StudyPaths, StudyRecord
from leadhand.study.state import scan

STRONG, CHEAP = "sim/strong", "sim/cheap"
DESIGNS = {
    "alone-low": Design(lead=STRONG, lead_reasoning="low", solo=True, guidance="PIV"),
    "alone-high": Design(lead=STRONG, lead_reasoning="high", solo=True, guidance="PIV"),
    "team-low": Design(lead=STRONG, lead_reasoning="low", guidance="P", finish_check=True),
    "team-high": Design(lead=STRONG, lead_reasoning="high", worker=CHEAP, worker_reasoning="low", guidance="P"),
    "kinds": Design(
        lead=STRONG,
        lead_reasoning="high",
        guidance="PIV",
        kinds=(Kind(name="dear", reasoning="high"), Kind(name="plain", model=CHEAP)),
    ),
    "last": Design(lead=STRONG, lead_reasoning="low", guidance="PIV", strategy="peers", k=2, collect="last"),
    "bound": Design(
        lead=STRONG, lead_reasoning="high", guidance="PIV", strategy="best-of-k", k=3, selector="oracle"
    ),
}  # fmt: skip


def recorded(folder: Path) -> StudyRecord:
    """Simulated runs of `DESIGNS`, under a plan of theirs."""
    write_study(folder, list(DESIGNS.values()), tasks=4, repeats=2)
    simulated = msgspec.json.decode((folder / "study.json").read_bytes(), type=StudyFile)
    names = list(DESIGNS)

    def planned(runs: Iterable[Listed]) -> Iterable[PlannedRun]:
        for r in runs:
            design = names[int(r.run.partition("-")[0])]
            yield PlannedRun(run=r.run, design=design, task=r.task, repeat=r.repeat, identity="")

    tasks = simulated.study.tasks
    study = Resolved(
        designs=DESIGNS,
        controls={n: c for n in DESIGNS if (c := control_of(n, DESIGNS))},
        tasks=tasks,
        labels={t: {"difficulty": ("easy", "hard")[i % 2], "repository": "ab"[i // 2]} for i, t in enumerate(tasks)},
        repeats=2,
        seed=1,
        budget_usd=None,
        sandbox="simulated",
        about="",
    )
    record = StudyRecord(
        format=FORMAT, name="x", id="x", version="x", study=study, digest="x", runs=tuple(planned(simulated.runs))
    )
    (folder / "study.json").write_bytes(msgspec.json.encode(record))
    return record


def said(e: Evidence) -> str:
    text = summary.as_text(e, base="", designs=(), margin=0.014, saving=None)
    return text.partition("note: ")[0]


def test_the_exported_rows_are_analysed_as_the_study_is(tmp_path: Path) -> None:
    folder, file = tmp_path / "study", tmp_path / "export.csv"
    record = recorded(folder)
    file.write_text(results.as_csv(results.tidy(record, scan(StudyPaths(folder)))))
    study, csv = load(folder, cache=False), load(file)
    assert csv.factors == study.factors
    assert csv.factors["bound"].reachable is False
    assert csv.factors["kinds"].worker == "strong (high) / cheap"
    assert csv.summaries["bound"].frontier is None
    assert said(csv) == said(study)
