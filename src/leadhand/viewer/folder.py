"""What somebody wants to look at: one run, a folder of runs, or a study."""

from __future__ import annotations

import json
import math
import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

import msgspec

from leadhand.core.errors import UsageError
from leadhand.runs.paths import RunPaths, all_runs
from leadhand.study.layout import attempt_of
from leadhand.viewer.index import RunIndex
from leadhand.viewer.plain import full
from leadhand.viewer.rows import Row, RowReader, row_of
from leadhand.viewer.study import study_of

MOST_OPEN = 6
"""Runs whose index is kept in memory. One of 100,000 events takes about 100 MB."""


class Folder:
    """The runs below a folder, found anew at each look. Reads only; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.expanduser().absolute()
        self.single = (self.folder / "run.json").exists()
        if not self.single and not self.folder.is_dir():
            raise UsageError(f"{folder} is neither a run nor a folder of runs; `leadhand demo` makes one in ./runs")
        self._readers: dict[str, RowReader] = {}
        self._open: OrderedDict[str, RunIndex] = OrderedDict()
        self._lock = threading.Lock()
        self._reading = threading.Lock()

    @property
    def name(self) -> str:
        return self.folder.name

    def runs(self) -> list[RunPaths]:
        """Oldest first. A study keeps its runs in `runs/`."""
        if self.single:
            return [RunPaths(self.folder)]
        return all_runs(self.folder) or all_runs(self.folder / "runs")

    def run(self, run_id: str) -> RunIndex:
        """The index of a run; empty when it is new here, so that the caller decides when to read. Raises `KeyError`."""
        with self._lock:
            if run_id not in self._open:
                self._open[run_id] = RunIndex({p.id: p for p in self.runs()}[run_id])
            self._open.move_to_end(run_id)
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
            return self._open[run_id]

    def rows(self, seconds: float = math.inf) -> list[Row]:
        """One row a run, as far as they can be read in about so long."""
        until = time.monotonic() + seconds
        with self._reading:
            found = self.runs()
            for paths in found:
                if paths.id not in self._readers:
                    self._readers[paths.id] = RowReader(paths)
            return [self._row(p.id, until) for p in found]

    def _row(self, run_id: str, until: float) -> Row:
        """From the run's own page where that is open: no journal is read twice at a time."""
        index = self._open.get(run_id)
        if index is None:
            return self._readers[run_id].row(until)
        index.refresh(max(0.0, until - time.monotonic()))
        index.look(max(0.0, until - time.monotonic()))
        row = row_of(run_id, index.file, index.summary())
        return row if index.reading >= 1 and not index.behind else msgspec.structs.replace(row, status="reading")

    def home(self, seconds: float = math.inf) -> dict[str, Any]:
        """The first page: all runs, and the study that they make where there is more than one design.

        A single run has its own page instead, which reads the journal itself.
        """
        rows = [] if self.single else self.rows(seconds)
        planned = self._planned()
        rows = [_as_planned(row, planned or {}) for row in rows]
        grid = planned is not None or len({r.design for r in rows}) > 1
        return {
            "name": self.name,
            "single": self.folder.name if self.single else "",
            "reading": sum(r.status == "reading" for r in rows),
            "rows": full(rows),
            "study": full(study_of(rows, None if planned is None else len(planned))) if grid else None,
            "running": sum(r.status == "running" for r in rows),
        }

    def _planned(self) -> dict[str, dict[str, Any]] | None:
        """The runs that `study.json` lists, by the names of their folders; None where there is no study."""
        try:
            with (self.folder / "study.json").open("rb") as file:
                found = json.load(file)
            return {str(r["run"]): r for r in found["runs"]}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None


def _as_planned(row: Row, planned: dict[str, dict[str, Any]]) -> Row:
    """A run under the names that its study gave to its design and task; an archived attempt under its run's."""
    run, attempt = attempt_of(row.id)
    listed = planned.get(run, {})
    return msgspec.structs.replace(
        row,
        design=str(listed.get("design", row.design)),
        task=str(listed.get("task", row.task)),
        repeat=int(listed.get("repeat", row.repeat)),
        attempt=attempt,
    )
