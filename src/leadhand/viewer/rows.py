"""One line per run: what lists and study pages are made of. Kept up to date by reading only what was appended."""

from __future__ import annotations

import math
import time

import msgspec

from leadhand.analysis.factors import factors_of
from leadhand.analysis.summary import RunFold, Summary
from leadhand.benchmarks.integrity import Finding, is_invalid
from leadhand.core.errors import JournalError
from leadhand.core.events import Entry
from leadhand.core.values import Value
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import RunFile, read_run_file
from leadhand.viewer.judge import Judge

_decode = msgspec.json.Decoder(Entry).decode
MOST_BARS = 400
PIECE = 1 << 20


class Bar(Value, frozen=True, kw_only=True, array_like=True):
    """One delegation: the worker's number, seconds from the run's start, and whether the worker was resumed."""

    worker: int
    start: float
    end: float
    resumed: bool


class Row(Value, frozen=True, kw_only=True):
    """A run in a table. Dollars, seconds of active time; `reward` is None where there is no grade (yet).

    `attempt` is above 0 for an attempt that a study put aside: its money was spent, its result does not count.
    """

    id: str
    task: str = ""
    design: str = ""
    solo: bool = False
    repeat: int = 1
    attempt: int = 0
    created: str = ""
    status: str = ""
    reward: float | None = None
    passed: int | None = None
    total: int | None = None
    usd: float = 0.0
    unknown_usd: float = 0.0
    seconds: float = 0.0
    steps: int = 0
    tokens: int = 0
    workers: int = 0
    delegations: int = 0
    valid: bool = False
    degraded: bool = False
    resumed: bool = False
    warnings: int = 0
    findings: int = 0
    bars: tuple[Bar, ...] = ()
    error: str = ""


class RowReader:
    """Keeps one run's row. A run that ended and does not grow costs one `stat` a look."""

    def __init__(self, paths: RunPaths) -> None:
        self._paths = paths
        self._file: RunFile | None = None
        self._fold: RunFold | None = None
        self._judge: Judge | None = None
        self._size = 0
        self._left = 0
        self._row = Row(id=paths.id)

    def row(self, until: float = math.inf) -> Row:
        """The row as far as the journal is read, which goes on until about this time (`time.monotonic`). What is not
        read to its end says so: its status is "reading".
        """
        try:
            if self._file is None:
                self._file = read_run_file(self._paths.run_json)
                self._fold = RunFold(self._file.lock.prices)
                self._judge = Judge(self._file.lock.task)
                self._row = row_of(self._paths.id, self._file, self._summary())
            if self._read(until):
                self._row = row_of(self._paths.id, self._file, self._summary())
                if self._left:
                    self._row = msgspec.structs.replace(self._row, status="reading")
        except JournalError as error:
            self._row = Row(id=self._paths.id, status="unreadable", error=str(error))
        return self._row

    def _read(self, until: float) -> bool:
        """Fold what was appended; whether there was anything."""
        before = self._size, self._left
        try:
            total = self._paths.journal.stat().st_size
            if total <= self._size:
                return False
            self._left = total - self._size
            with self._paths.journal.open("rb") as file:
                file.seek(self._size)
                rest = b""
                while time.monotonic() < until and (data := file.read(PIECE)):
                    whole = data.rfind(b"\n") + 1
                    if whole:
                        self._take(rest + data[:whole])
                        rest = b""
                    rest += data[whole:]
                    self._left -= len(data)
        except OSError:
            return False
        return (self._size, self._left) != before

    def _take(self, data: bytes) -> None:
        assert self._fold is not None
        assert self._judge is not None
        try:
            entries = [_decode(line) for line in data.splitlines()]
            for entry in entries:
                self._fold.apply(entry)
            self._judge.look(entries)
        except (msgspec.MsgspecError, ValueError, LookupError, AssertionError, RecursionError) as error:
            raise JournalError(f"{self._paths.journal}: not a journal: {error}") from error
        self._size += len(data)

    def _summary(self) -> Summary:
        assert self._fold is not None
        assert self._judge is not None
        return judged(self._fold.summary(), self._judge.found)


def judged(summary: Summary, found: tuple[Finding, ...]) -> Summary:
    """A summary with what integrity checks found, and what that means for its validity."""
    return msgspec.structs.replace(summary, findings=found, valid=summary.valid and not is_invalid(found))


def row_of(run_id: str, file: RunFile, s: Summary) -> Row:
    numbers = {a.name: i for i, a in enumerate(a for a in s.agents if a.role == "worker")}
    bars = tuple(
        Bar(
            worker=numbers.get(d.worker, 0),
            start=round(d.started_s, 2),
            end=round(s.team_s if d.ended_s is None else d.ended_s, 2),
            resumed=d.resumed,
        )
        for d in s.delegations[:MOST_BARS]
    )
    return Row(
        id=run_id,
        task=file.lock.task.id,
        design=factors_of(file.lock.design).label,
        solo=file.lock.design.solo,
        repeat=file.request.repeat,
        created=file.lock.created,
        status=s.status,
        reward=s.reward,
        passed=s.passed,
        total=s.total,
        usd=s.settled_usd,
        unknown_usd=s.unknown_usd,
        seconds=s.team_s,
        steps=s.steps,
        tokens=s.usage.total,
        workers=len(numbers),
        delegations=len(s.delegations),
        valid=s.valid,
        degraded=s.degraded,
        resumed=s.resumed,
        warnings=len(s.warnings) + len(s.rejected),
        findings=len(s.findings),
        bars=bars,
    )
