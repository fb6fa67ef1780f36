"""All journals of a study as tables: folded once in parallel, cached, and rebuilt only where a run has changed."""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
import polars as pl

from leadhand.analysis.detector import reference_paths
from leadhand.analysis.fold import Fold
from leadhand.analysis.rows import ROWS, AsideRow, frame, schema
from leadhand.analysis.study import Member, Study
from leadhand.analysis.submission import submission_of
from leadhand.analysis.tabulate import Label, Rows, tabulate
from leadhand.benchmarks.integrity import findings
from leadhand.core.chain import canonical, digest
from leadhand.core.errors import JournalError, LeadhandError
from leadhand.core.journal import read_journal
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import read_run_file

VERSION = 3
CACHE = ".tables"
CHUNK = 250
ALONE = 64
"""Up to so many runs are folded in this process: starting others would take longer."""


@dataclass(frozen=True, slots=True)
class Tables:
    """One data frame per table name of `rows.ROWS`; `unreadable` lists runs with a broken journal, and why.

    `aside` has a row for each folder whose result does not count; no other table knows of it.
    """

    frames: dict[str, pl.DataFrame]
    unreadable: tuple[str, ...]

    def __getitem__(self, table: str) -> pl.DataFrame:
        return self.frames[table]


class Manifest(msgspec.Struct):
    """What the cached tables were made from: a stamp per run."""

    version: int
    stamps: dict[str, str]
    unreadable: list[str]


def read_tables(study: Study, *, cache: bool = True, processes: int | None = None) -> Tables:
    """The tables of a study. The cache lies in the study's folder under `.tables/` and can be deleted at any time."""
    folder = study.folder / CACHE
    stamped = [m._replace(stamp=_stamp(m)) for m in (*study.members, *study.aside)]
    stamps = {m.paths.id: m.stamp for m in stamped}
    manifest = _manifest(folder) if cache else None
    kept = {run for run, stamp in manifest.stamps.items() if stamps.get(run) == stamp} if manifest else set()
    old = _cached(folder) if kept else None
    if manifest and old is not None and kept == set(stamps) == set(manifest.stamps):
        return Tables(old, tuple(manifest.unreadable))
    fresh = [m for m in stamped if m.paths.id not in kept] if old is not None else stamped
    parts, unreadable = _folded(fresh, processes)
    if old is not None:
        keep = pl.Series([m.paths.id for m in stamped if m.paths.id in kept], dtype=pl.String())
        parts.append({name: table.filter(pl.col("run").is_in(keep.implode())) for name, table in old.items()})
        unreadable += [u for u in (manifest.unreadable if manifest else []) if u.partition(":")[0] in kept]
    frames = {name: _joined(name, [p[name] for p in parts]) for name in ROWS}
    if cache:
        _write(folder, frames, Manifest(VERSION, stamps, unreadable))
    return Tables(frames, tuple(unreadable))


def _joined(name: str, parts: list[pl.DataFrame]) -> pl.DataFrame:
    parts = [p for p in parts if len(p)]
    joined = pl.concat(parts, rechunk=True) if parts else frame(name, [])
    return joined.sort("run", maintain_order=True)


def _stamp(member: Member) -> str:
    """Changes when the run's journal grows or is replaced, or when the study calls the run something else."""
    try:
        found = os.stat(member.paths.journal)
    except OSError:
        return ""
    labels = digest(canonical([member.design, member.task, member.repeat, member.aside]))[:8]
    return f"{found.st_size}-{found.st_mtime_ns}-{labels}"


# --- the cache ---------------------------------------------------------------------------------------------------


def _manifest(folder: Path) -> Manifest | None:
    try:
        found = msgspec.json.decode((folder / "manifest.json").read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError):
        return None
    return found if found.version == VERSION else None


def _cached(folder: Path) -> dict[str, pl.DataFrame] | None:
    """The cached tables; None where one is missing or has another schema."""
    try:
        frames = {name: pl.read_ipc(folder / f"{name}.arrow") for name in ROWS}
    except (OSError, pl.exceptions.PolarsError):
        return None
    fits = all(dict(frames[name].schema) == schema(row) for name, row in ROWS.items())
    return frames if fits else None


def _write(folder: Path, frames: dict[str, pl.DataFrame], manifest: Manifest) -> None:
    """The manifest goes last and first away: a cache that was cut off is no cache. A read-only study has none."""
    try:
        folder.mkdir(exist_ok=True)
        (folder / "manifest.json").unlink(missing_ok=True)
        for name, table in frames.items():
            table.write_ipc(folder / f"{name}.arrow", compression="lz4")
        partial = folder / "manifest.partial"
        partial.write_bytes(msgspec.json.encode(manifest))
        partial.rename(folder / "manifest.json")
    except OSError:
        return


# --- folding -----------------------------------------------------------------------------------------------------


def _folded(members: Sequence[Member], processes: int | None) -> tuple[list[dict[str, pl.DataFrame]], list[str]]:
    unreadable: list[str] = []
    parts: list[dict[str, pl.DataFrame]] = []
    chunks = [members[i : i + CHUNK] for i in range(0, len(members), CHUNK)]
    for encoded, bad in _mapped(chunks, len(members), processes):
        parts.append({name: pl.read_ipc(io.BytesIO(data)) for name, data in encoded.items()})
        unreadable += bad
    return parts, unreadable


Packed = tuple[str, str, str, int, str, Literal["", "attempt", "dropped"], str]
"""A `Member` on its way to another process."""

Folded = tuple[dict[str, bytes], list[str]]


def _mapped(chunks: list[Sequence[Member]], runs: int, processes: int | None) -> Iterator[Folded]:
    count = min(processes or os.cpu_count() or 1, len(chunks))
    if count < 2 or runs <= ALONE:
        yield from map(fold_chunk, chunks)
    else:
        yield from _in_processes(chunks, count)


def _in_processes(chunks: list[Sequence[Member]], count: int) -> Iterator[Folded]:
    """Processes of our own, not `multiprocessing`'s: a fork would copy locks that polars' threads hold, and a spawn
    would run the caller's script again.
    """
    with tempfile.TemporaryDirectory(prefix="leadhand-") as name:
        folders = [Path(name) / str(i) for i in range(count)]
        started = []
        for i, folder in enumerate(folders):
            folder.mkdir()
            work = [[(str(m.paths.folder), *m[1:]) for m in chunk] for chunk in chunks[i::count]]
            (folder / "work.json").write_bytes(msgspec.json.encode(work))
            command = [sys.executable, "-m", "leadhand.analysis.tables", str(folder)]
            started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
        errors = [process.communicate()[1] for process in started]
        for process, error in zip(started, errors, strict=True):
            if process.returncode:
                raise LeadhandError(f"folding journals failed: {error.decode(errors='replace').strip()[-500:]}")
        for folder in folders:
            for part in sorted(folder.glob("*.part"), key=lambda p: int(p.stem)):
                yield {n: (part / n).read_bytes() for n in ROWS}, msgspec.json.decode((part / "bad").read_bytes())


def _work(folder: Path) -> None:
    """What one such process does: fold the chunks it was given, one part each."""
    work = msgspec.json.decode((folder / "work.json").read_bytes(), type=list[list[Packed]])
    for number, chunk in enumerate(work):
        encoded, bad = fold_chunk([Member(RunPaths(Path(m[0])), *m[1:]) for m in chunk])
        part = folder / f"{number}.part"
        part.mkdir()
        for name, data in encoded.items():
            (part / name).write_bytes(data)
        (part / "bad").write_bytes(msgspec.json.encode(bad))


def fold_chunk(members: Sequence[Member]) -> Folded:
    """Rows of some runs, as Arrow bytes by table: what one process hands back."""
    rows: Rows = {name: [] for name in ROWS}
    bad: list[str] = []
    collecting = gc.isenabled()
    gc.disable()  # millions of small acyclic objects: the collector would find nothing, for a third of the time
    try:
        for member in members:
            try:
                for name, made in fold_run(member).items():
                    rows[name] += made
            except (JournalError, KeyError, AssertionError) as error:
                bad.append(f"{member.paths.id}: {error}")
    finally:
        if collecting:
            gc.enable()
    encoded = {}
    for name, made in rows.items():
        buffer = io.BytesIO()
        frame(name, made).write_ipc(buffer)
        encoded[name] = buffer.getvalue()
    return encoded, bad


def fold_run(member: Member) -> Rows:
    """All rows of one run. Raises `JournalError` with file and line for a broken journal."""
    paths = member.paths
    lock = read_run_file(paths.run_json).lock
    fold = Fold(lock.prices, reference_paths(lock.task))
    if member.aside:
        begun = paths.journal.exists()  # one that was lost before its first event has cost nothing
        return {"aside": [aside(fold.apply(read_journal(paths.journal) if begun else []), member)]}
    entries = read_journal(paths.journal)
    fold.apply(entries)
    label = Label(
        run=paths.id,
        design=member.design,
        task=member.task,
        repeat=member.repeat,
        benchmark=lock.task.benchmark,
        grader_digest=lock.task.grader_digest,
    )
    rows = tabulate(fold, label, findings(entries, lock.task))
    submitted = submission_of(paths.id, paths.blob(fold.submission)) if fold.submission else None
    rows["submissions"] = [submitted] if submitted else []
    return rows


def aside(fold: Fold, member: Member) -> AsideRow:
    """What is kept of a folder that does not count: its money, and how it ended."""
    return AsideRow(
        run=member.paths.id,
        why=member.aside,
        attempt_of=member.attempt_of,
        design=member.design,
        task=member.task,
        repeat=member.repeat,
        status=fold.status,
        cost=fold.settled,
        unknown_cost=fold.unknown,
        minutes=fold.ended_s / 60,
        steps=sum(a.steps for a in fold.agents.values()),
    )


if __name__ == "__main__":
    _work(Path(sys.argv[1]))
