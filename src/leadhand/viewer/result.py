"""What a run delivered: its diff, and whether its journal is whole."""

from __future__ import annotations

import difflib
import io
import tarfile
import zlib
from pathlib import Path

from leadhand.core.errors import JournalError
from leadhand.core.journal import read_journal
from leadhand.core.values import Value
from leadhand.core.verify import verify
from leadhand.viewer.index import RunIndex

MOST_FILES = 500
MOST_BYTES = 400_000
MOST_ARCHIVE = 64 << 20


class FileDiff(Value, frozen=True, kw_only=True):
    """One file of the submission. `text` is a unified diff, "" where there is nothing to show; `note` says why."""

    path: str
    status: str
    text: str = ""
    note: str = ""
    added: int = 0
    removed: int = 0


class Result(Value, frozen=True, kw_only=True):
    """The final diff. `source` says what was compared."""

    source: str
    files: tuple[FileDiff, ...] = ()
    note: str = ""


def result(index: RunIndex, *, quoting: bool = True) -> Result:
    """From the run's patch if it has one, else its submission against the workspace that the team was given.

    That workspace lies outside of the run folder. Without `quoting` none of its text is given out, only which files
    differ: an export may be published, and the path to compare with comes from a `run.json` of whatever origin.
    """
    paths = index.paths
    if _own(paths.patch):
        return _of_patch(paths.patch.read_bytes()[: 8 * MOST_BYTES].decode("utf-8", "replace"))
    digest = index.summary().submission
    archive = paths.blob(digest) if digest.isalnum() else None
    if archive is None or not _own(archive):
        return Result(source="none", note="nothing was submitted yet" if not digest else "the submission is not kept")
    start = Path(index.file.lock.task.workspace) if index.file.lock.task.workspace else None
    base = start if start is not None and start.is_dir() else None
    given = "the given workspace" if base else "an empty folder (the given workspace is not on this machine)"
    try:
        files = tuple(_compared(archive, base, quoting))
    except (OSError, tarfile.TarError, zlib.error, EOFError) as error:
        return Result(source="none", note=f"the submission cannot be read: {error}")
    return Result(source=f"the submission against {given}", files=files)


def _own(path: Path) -> bool:
    """Whether a file of a run folder is really in it."""
    return path.is_file() and not path.is_symlink() and not path.parent.is_symlink()


def _compared(archive: Path, base: Path | None, quoting: bool) -> list[FileDiff]:
    """Files of the archive that are new or differ, and files of `base` that are gone. Nothing is unpacked to disk."""
    found: list[FileDiff] = []
    seen: set[str] = set()
    room = MOST_ARCHIVE
    with tarfile.open(archive, "r:gz") as tar:
        for member in tar:
            name = member.name.removeprefix("./")
            seen.add(name)
            room -= member.size
            if len(found) >= MOST_FILES or room < 0:
                found.append(FileDiff(path="…", status="cut", note="more files than are shown here"))
                return found
            if member.isfile():
                file = tar.extractfile(member)
                after = file.read(MOST_BYTES + 1) if file else b""
                before = _given(base, name)
                if before != after:
                    found.append(_diff(name, before, after, member.size, quoting))
    if base is not None:
        gone = [p.relative_to(base).as_posix() for p in sorted(base.rglob("*")) if p.is_file() and not p.is_symlink()]
        found += [_diff(name, _given(base, name), None, 0, quoting) for name in gone if name not in seen]
    return sorted(found, key=lambda f: f.path)


def _given(base: Path | None, name: str) -> bytes | None:
    """A file of the given workspace; None where there is none, or where the name leads out of it."""
    if base is None or name.startswith("/") or ".." in name.split("/"):
        return None
    path = base / name
    if path.is_symlink() or not path.is_file():
        return None
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)


def _diff(name: str, before: bytes | None, after: bytes | None, size: int, quoting: bool) -> FileDiff:
    status = "added" if before is None else "removed" if after is None else "changed"
    old, new = (before or b"" if quoting else b""), after or b""
    if not quoting and before is not None:
        note = "" if after is not None else "what was in it is not part of the run"
        lines = (
            [f"+{x}" for x in _lines(new[:MOST_BYTES].decode("utf-8", "replace"))] if b"\0" not in new[:8192] else []
        )
        return FileDiff(path=name, status=status, text="\n".join(lines), note=note, added=len(lines))
    if b"\0" in old[:8192] or b"\0" in new[:8192]:
        return FileDiff(path=name, status=status, note=f"binary, {size} bytes")
    if len(old) > MOST_BYTES or len(new) > MOST_BYTES:
        return FileDiff(path=name, status=status, note=f"too large to show: {size} bytes")
    a = _lines(old.decode("utf-8", "replace"))
    b = _lines(new.decode("utf-8", "replace"))
    if not a or not b:
        lines = [*(f"-{x}" for x in a), *(f"+{x}" for x in b)]
    else:
        lines = list(difflib.unified_diff(a, b, lineterm="", n=3))[2:]
    added, removed = sum(x.startswith("+") for x in lines), sum(x.startswith("-") for x in lines)
    return FileDiff(path=name, status=status, text="\n".join(lines), added=added, removed=removed)


def _lines(text: str) -> list[str]:
    """By newline alone: what else `splitlines` takes for one may stand in a line of a file."""
    return text.removesuffix("\n").split("\n") if text else []


def _of_patch(text: str) -> Result:
    """A git patch, file by file."""
    files: list[FileDiff] = []
    for part in ("\n" + text).split("\ndiff --git ")[1:]:
        stream = io.StringIO(part)
        name = stream.readline().strip().partition(" b/")[2] or "?"
        body = part[part.find("\n@@") + 1 :] if "\n@@" in part else ""
        status = "added" if "\nnew file" in part else "removed" if "\ndeleted file" in part else "changed"
        lines = _lines(body)
        added, removed = sum(x.startswith("+") for x in lines), sum(x.startswith("-") for x in lines)
        note = "" if body else "no text to show"
        files.append(FileDiff(path=name, status=status, text=body, note=note, added=added, removed=removed))
    return Result(source="result.patch", files=tuple(files[:MOST_FILES]))


def integrity(index: RunIndex) -> dict[str, str | int]:
    """Read the whole journal again and re-derive every message's id from its content."""
    try:
        entries = read_journal(index.paths.journal)
        ids = verify(entries)
    except JournalError as error:
        return {"status": "damaged", "text": str(error)}
    return {"status": "whole", "text": f"{len(entries)} events in sequence, {ids} ids match their content"}
