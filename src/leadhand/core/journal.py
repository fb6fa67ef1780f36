"""The journal: one JSON object a line, appended, never changed. Everything else is a fold of it.

Invariants: one writer (an exclusive lock on the file); each append is one `write(2)`; nothing is awaited between
building an event and writing it; `seq` is dense. Only an incomplete last line may be cut off, and
only when a run is resumed.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from leadhand.core.clean import encoded
from leadhand.core.errors import JournalError
from leadhand.core.events import FORMAT, AnyEvent, Entry, Recovered, SessionStarted

_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(Entry)


class Journal:
    """The one writer of a run's journal. Subscribers see each entry after it is on disk."""

    def __init__(self, path: Path, now: Callable[[], float]) -> None:
        self.path = path
        self._now = now
        self._subscribers: list[Callable[[Entry], None]] = []
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise JournalError(f"cannot open journal {path}: {error.strerror}") from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._fd)
            raise JournalError(f"{path} is in use: another process is working on this run") from None
        self.seq = 0
        self.session = 0
        self._broken = ""

    def open_session(self, version: str) -> list[Entry]:
        """Read what is there, cut a torn last line, start a session; the journal so far, with how the session began."""
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        entries = list(decode_lines(data[:whole], self.path))
        if whole < len(data):
            os.ftruncate(self._fd, whole)
        self.seq = len(entries)
        self.session = entries[-1].session + 1 if entries else 0
        if whole < len(data):
            entries.append(self.append("", Recovered(bytes_cut=len(data) - whole)))
        if self.session:
            entries.append(self.append("", SessionStarted(version=version)))
        return entries

    def subscribe(self, subscriber: Callable[[Entry], None]) -> None:
        self._subscribers.append(subscriber)

    def append(self, agent: str, event: AnyEvent) -> Entry:
        entry = Entry(
            v=FORMAT,
            seq=self.seq,
            at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            session=self.session,
            mono=round(self._now(), 6),
            agent=agent,
            event=event,
        )
        try:
            line = _encode(entry)
        except UnicodeEncodeError:
            entry, line = encoded(entry, Entry)
        self._write(line + b"\n")
        self.seq += 1
        for subscriber in self._subscribers:
            subscriber(entry)
        return entry

    def _write(self, line: bytes) -> None:
        """One write(2). After one that failed there is no other: a later line would hide the torn one."""
        if self._broken:
            raise JournalError(self._broken)
        try:
            written = os.write(self._fd, line)
        except OSError as error:
            self._broken = f"cannot write journal {self.path}: {error.strerror}"
        else:
            if written == len(line):
                return
            self._broken = f"cannot write journal {self.path}: disk full ({written} of {len(line)} bytes)"
        raise JournalError(self._broken)

    def sync(self) -> None:
        """Force the file to disk. Blocks: call it off the event loop."""
        os.fsync(self._fd)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def decode_lines(data: bytes, path: Path) -> Iterator[Entry]:
    """Entries of whole lines. A bad line, a gap in `seq` or an unknown format is an error with its line number."""
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            entry = _decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise JournalError(f"{path}:{number}: not a journal entry: {error}") from error
        if entry.v != FORMAT:
            raise JournalError(f"{path}:{number}: journal format {entry.v}; this version reads format {FORMAT}")
        if entry.seq != number - 1:
            raise JournalError(f"{path}:{number}: sequence number {entry.seq}, expected {number - 1}")
        yield entry


def read_journal(path: Path) -> list[Entry]:
    """All whole entries of a journal, without locking it; a line still being written is left out."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise JournalError(f"cannot read journal {path}: {error.strerror}") from error
    return list(decode_lines(data[: data.rfind(b"\n") + 1], path))
