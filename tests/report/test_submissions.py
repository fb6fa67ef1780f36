"""Figure 28: submissions by their dominant language, against the language of the original."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import msgspec
import pytest

from leadhand.analysis.simulated import grid, write_study
from leadhand.analysis.study import Listed, Planned, StudyFile
from leadhand.analysis.submission import language_of
from leadhand.core.events import Collected
from leadhand.core.journal import read_journal
from leadhand.report.exhibit import Exhibit
from leadhand.report.exhibits.fixed import exhibits
from leadhand.report.load import load
from leadhand.runs.paths import RunPaths

SOURCES = (
    {"src/main.rs": 900, "run.py": 100, "compile.sh": 5000},
    {"main.py": 50, "helper.c": 20, "README.md": 999},
    {"main.go": 10},
    {"notes.txt": 10},
)


def archive(paths: RunPaths, files: dict[str, int]) -> str:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, size in files.items():
            info = tarfile.TarInfo(name)
            info.size = size
            tar.addfile(info, io.BytesIO(b"x" * size))
    paths.blobs.mkdir(exist_ok=True)
    paths.blob("b" * 64).write_bytes(out.getvalue())
    return "b" * 64


@pytest.fixture
def shown(tmp_path: Path) -> Exhibit:
    """Four tasks of which the originals are in Rust; one language is not known."""
    write_study(tmp_path, [grid()[0]], tasks=4, repeats=1, seed=3)
    runs = [RunPaths(p) for p in sorted((tmp_path / "runs").iterdir()) if ".attempt" not in p.name]
    for paths, files in zip(runs, SOURCES, strict=True):
        entries = read_journal(paths.journal)
        last = entries[-1]
        collected = Collected(blob=archive(paths, files), bytes=1)
        entries.append(msgspec.structs.replace(last, seq=last.seq + 1, event=collected))
        paths.journal.write_bytes(b"".join(msgspec.json.encode(e) + b"\n" for e in entries))
    tasks = tuple(f"task-{i:03}" for i in range(4))
    listed = tuple(Listed(run=p.id, design="solo", task=t) for p, t in zip(runs, tasks, strict=True))
    labels = {t: {"language": "rs"} for t in tasks[:3]}
    plan = Planned(tasks=tasks, repeats=1, labels=labels)
    (tmp_path / "study.json").write_bytes(msgspec.json.encode(StudyFile(runs=listed, study=plan)))
    found = next(x for x in exhibits(load(tmp_path, with_degraded=True)) if x.slug == "submissions")
    assert isinstance(found, Exhibit)
    return found


def test_submissions_are_told_apart_by_language(shown: Exhibit) -> None:
    (row,) = shown.table.dicts()
    assert [row[k] for k in ("original", "python", "other", "none")] == [0.25, 0.25, 0.25, 0.25]
    assert (row["n"], row["files"]) == (4, 1.5)
    assert any("Of 1 task the original's language is not known" in n for n in shown.table.notes)


MEANT = (("rs", "Rust"), ("rust", "Rust"), ("python", "Python"), ("cpp", "C++"), ("hs", "Haskell"), ("Elm", "Elm"))


@pytest.mark.parametrize(("label", "language"), MEANT)
def test_a_label_means_a_language(label: str, language: str) -> None:
    assert language_of(label) == language
