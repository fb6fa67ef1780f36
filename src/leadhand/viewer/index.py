"""A journal opened for looking: read twice (what is drawn first, then what commands did), tailed by offset; bodies are
read from the file when somebody opens them.
"""

from __future__ import annotations

import bisect
import gc
import math
import threading
import time
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from leadhand.analysis.summary import Summary
from leadhand.core.errors import JournalError
from leadhand.core.events import FORMAT, AttemptReplied, Entry, ToolStarted
from leadhand.core.values import Assistant
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import RunFile, read_run_file
from leadhand.viewer.columns import KINDS, ROWS_PER_PART
from leadhand.viewer.deeds import Deeds
from leadhand.viewer.fold import ViewFold
from leadhand.viewer.labels import arguments, call_label, label, line
from leadhand.viewer.plain import full
from leadhand.viewer.rows import judged

PIECE = 1 << 18
_decode = msgspec.json.Decoder(Entry).decode


class _Fair:
    """A lock whose holder cannot take it again before one who waits: a thread that lets go of a plain lock and takes it
    at once keeps all others out.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._turn:
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class RunIndex:
    """One run. `refresh()` reads what was appended since the last time, `look()` looks at its commands; everything
    else answers from memory or by one read at a known offset. Safe to use from several threads.
    """

    def __init__(self, paths: RunPaths) -> None:
        self.paths = paths
        self.file: RunFile = read_run_file(paths.run_json)
        self.error = ""
        self.unlooked = ""
        self._fold = ViewFold(self.file.lock.prices, blocking=self.file.lock.design.schedule == "blocking")
        self._deeds = Deeds(self.file)
        self._did = self._deeds.state()
        self._paths: dict[str, int] = {}
        self._offsets = array("Q", [0])
        self._looked = 0
        self._lock = _Fair()
        self._reading = threading.Lock()
        self._looking = threading.Lock()

    @property
    def size(self) -> int:
        """Bytes of the journal that are folded."""
        return self._offsets[-1]

    @property
    def reading(self) -> float:
        """How much of the journal is folded, from 0 to 1. A line that is still being written may be left."""
        try:
            total = self.paths.journal.stat().st_size
        except OSError:
            return 1.0
        return min(1.0, self.size / total) if total else 1.0

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def refresh(self, seconds: float = math.inf) -> None:
        """Fold what is new, for about so long; `reading` tells whether that was all. A bad line stops it for good:
        `error` names it.
        """
        until = time.monotonic() + seconds
        # Whoever else reads already reads for this caller too.
        if self.error or not self._reading.acquire(timeout=min(seconds, threading.TIMEOUT_MAX)):
            return
        collecting = gc.isenabled()
        gc.disable()  # what is kept has no circles, and there is much of it to go through
        try:
            for data in self._pieces():
                with self._lock:  # let go between pieces: who wants to draw what is there comes first
                    self._take(data)
                if time.monotonic() > until:
                    return
        except JournalError as error:
            self.error = str(error)
        finally:
            if collecting:
                gc.enable()
            self._reading.release()

    def _pieces(self) -> Iterator[bytes]:
        """Whole lines after what is folded, a few megabytes at a time."""
        try:
            with self.paths.journal.open("rb") as file:
                file.seek(self.size)
                rest = b""
                while data := file.read(PIECE):
                    whole = data.rfind(b"\n") + 1
                    if whole:
                        yield rest + data[:whole]
                        rest = data[whole:]
                    else:
                        rest += data
        except FileNotFoundError:
            return
        except OSError as error:
            raise JournalError(f"cannot read journal {self.paths.journal}: {error.strerror}") from error

    def _take(self, data: bytes) -> None:
        apply, offsets, at = self._fold.apply, self._offsets, self.size
        lines = data.split(b"\n")
        lines.pop()  # what is after the last line's end: nothing
        for number, raw in enumerate(lines, start=len(offsets)):
            try:
                entry = _decode(raw)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise JournalError(f"{self.paths.journal}:{number}: not a journal entry: {error}") from error
            if entry.v != FORMAT or entry.seq != number - 1:
                raise JournalError(f"{self.paths.journal}:{number}: format {entry.v}, sequence number {entry.seq}")
            try:
                apply(entry)
            except (KeyError, IndexError, ValueError, AssertionError) as error:
                raise JournalError(f"{self.paths.journal}:{number}: does not follow from what is before it") from error
            at += len(raw) + 1
            offsets.append(at)

    # --- a second reading ----------------------------------------------------------------------------------------

    @property
    def looked(self) -> int:
        """How many events were looked at again, for what their commands did."""
        return self._looked

    @property
    def behind(self) -> int:
        """How many events still have to be looked at."""
        return 0 if self.unlooked else len(self) - self._looked

    def look(self, seconds: float = math.inf) -> None:
        """Look at the commands in what is read, for about so long. What it finds joins the columns and `delta`."""
        until = time.monotonic() + seconds
        if not self._looking.acquire(timeout=min(seconds, threading.TIMEOUT_MAX)):
            return
        try:
            while self.behind:
                self._look(self._next())
                if time.monotonic() > until:
                    return
        finally:
            state = self._deeds.state()
            with self._lock:
                self._did = state
            self._looking.release()

    def _next(self) -> list[Entry]:
        """Some entries after those that were looked at."""
        with self._lock:
            first, start = self._looked, self._offsets[self._looked]
            last = max(first + 1, bisect.bisect_right(self._offsets, start + PIECE) - 1)
            end = self._offsets[last]
        with self.paths.journal.open("rb") as file:
            file.seek(start)
            return [_decode(line) for line in file.read(end - start).split(b"\n")[:-1]]

    def _look(self, entries: list[Entry]) -> None:
        try:
            news = self._deeds.apply(entries)
        except Exception as error:  # whatever a journal may do to what looks at it, the run is drawn
            self.unlooked = f"commands after event {entries[0].seq} could not be looked at: {error!r}"
            return
        with self._lock:
            c = self._fold.columns
            numbers = {agent["name"]: i for i, agent in enumerate(c.agents)}
            for seq, agent, path in news.writes:
                if path not in self._paths:
                    self._paths[path] = len(c.paths)
                    c.paths.append(path)
                c.writes.append((seq, numbers[agent], self._paths[path]))
            c.references += [(seq, numbers[agent]) for seq, agent in news.references]
            for f in news.found:
                level = "error" if f.severity == "invalid" else "warning"
                c.marks.append(
                    (f.seq, level, f"integrity: {f.kind}", line(f"{f.why}: {f.text}" if f.text else f.why, 240))
                )
            self._looked = entries[-1].seq + 1

    # --- answers -----------------------------------------------------------------------------------------------

    def delta(self, cursor: tuple[int, ...]) -> dict[str, Any]:
        """Everything after `cursor`, the state now, and the cursor to ask with next time."""
        with self._lock:
            c = self._fold.columns
            return {
                "cursor": "-".join(map(str, c.cursor())),
                "count": len(self),
                "error": self.error,
                "reading": self.reading,
                "looked": self._looked / max(1, len(self)) if not self.unlooked else 1.0,
                "unlooked": self.unlooked,
                "columns": c.since(cursor),
                **self._fold.now(),
                "summary": full(self._summary()),
                **self._did,
            }

    def head(self) -> dict[str, Any]:
        """What does not change: names, settings, the vocabulary of the columns."""
        lock = self.file.lock
        return {
            "id": self.paths.id,
            "kinds": KINDS,
            "rows_per_part": ROWS_PER_PART,
            "task": lock.task.id,
            "benchmark": lock.task.benchmark,
            "prompt": lock.task.prompt,
            "reference": lock.task.reference,
            "design": full(lock.design),
            "digest": lock.digest,
            "version": lock.version,
            "created": lock.created,
            "prices": full(lock.prices),
            "sandbox": [lock.sandbox, lock.sandbox_reason],
        }

    def rows(self, part: int) -> list[str]:
        """The labels of one part of the event list, read from the file."""
        with self._lock:
            first, last = min(part * ROWS_PER_PART, len(self)), min((part + 1) * ROWS_PER_PART, len(self))
            of = self._fold.columns.of[first:last]
            at, end = self._offsets[first], self._offsets[last]
        if first >= last:
            return []
        with self.paths.journal.open("rb") as file:
            file.seek(at)
            entries = [_decode(line) for line in file.read(end - at).splitlines()]
        return [self._label(entry, of[i], entries) for i, entry in enumerate(entries)]

    def _label(self, entry: Entry, of: int, near: list[Entry]) -> str:
        """A tool call is labelled by its arguments, which are in the reply that made it."""
        if not isinstance(entry.event, ToolStarted):
            return label(entry.event)
        if of < 0:
            return entry.event.tool
        reply = near[of - near[0].seq] if of >= near[0].seq else self.entry(of)
        index = int(entry.event.call.rpartition(".")[2])
        body = reply.event.message.body if isinstance(reply.event, AttemptReplied) else None
        made = body.calls[index] if isinstance(body, Assistant) and index < len(body.calls) else None
        return call_label(entry.event.tool, arguments(made) if made else {}, made.arguments if made else "")

    def line(self, seq: int) -> bytes:
        """One event as it stands in the journal. Raises `KeyError` where there is none."""
        with self._lock:
            if not 0 <= seq < len(self):
                raise KeyError(seq)
            start, end = self._offsets[seq], self._offsets[seq + 1]
        with self.paths.journal.open("rb") as file:
            file.seek(start)
            return file.read(end - start - 1)

    def entry(self, seq: int) -> Entry:
        return _decode(self.line(seq))

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """All events as they stand in the journal, in order."""
        with self._lock:
            offsets = self._offsets[:]
        with self.paths.journal.open("rb") as file:
            for seq in range(len(offsets) - 1):
                yield seq, file.read(offsets[seq + 1] - offsets[seq])[:-1]

    def summary(self) -> Summary:
        """As far as it is read; findings and what they mean for its validity as far as it was looked at."""
        with self._lock:
            return self._summary()

    def _summary(self) -> Summary:
        return judged(self._fold.run.summary(), self._deeds.found)

    def reports(self) -> list[tuple[str, str, int, str]]:
        """Ended delegations: id, worker, event, report."""
        with self._lock:
            found = self._fold.now()["delegations"]
        entries = [(name, self.entry(ended), ended) for name, (_, ended, _) in found.items() if ended >= 0]
        return [(name, e.event.worker, seq, e.event.report) for name, e, seq in entries]  # type: ignore[union-attr]


def open_run(folder: Path) -> RunIndex:
    """A run folder, read and looked at. Raises `JournalError` where its `run.json` cannot be read."""
    index = RunIndex(RunPaths(folder))
    index.refresh()
    index.look()
    return index
