"""Unpacks a submission: an archive that a hostile team may have written."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tarfile
import zlib
from collections.abc import Collection
from pathlib import Path, PurePosixPath
from typing import IO

from leadhand.core.errors import GradingError

MAX_BYTES = 2 << 30
MAX_ENTRIES = 200_000
CHUNK = 1 << 20
IMPOSSIBLE = (errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENOENT)


class BadSubmission(Exception):
    """The submission itself is unacceptable: reward 0, not a fault of the grading."""


def unpack(
    archive: Path, folder: Path, *, forbidden: Collection[str] = (), max_bytes: int = MAX_BYTES
) -> tuple[str, ...]:
    """Unpack `archive` (.tar.gz) into the new folder `folder`; the names of what was left out.

    Left out are: absolute names and names with "..", devices, pipes, links that lead out of the folder, and files
    whose SHA-256 is in `forbidden` (copies of the reference). Raises `BadSubmission` where a size cap is passed and
    `GradingError` where the archive cannot be read.
    """
    folder.mkdir(parents=True)
    try:
        with tarfile.open(archive, "r:gz") as tar:
            return _Unpacking(folder, frozenset(forbidden), max_bytes).all_of(tar)
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise GradingError(
            f"submission {archive} cannot be unpacked: {error}; collect it again or free disk space"
        ) from error


class _Unpacking:
    """One archive going into one folder. Links are made last, so nothing is ever written through one."""

    def __init__(self, root: Path, forbidden: frozenset[str], max_bytes: int) -> None:
        self.root = root
        self.forbidden = forbidden
        self.room = max_bytes
        self.links: dict[Path, str] = {}
        self.left_out: list[str] = []

    def all_of(self, tar: tarfile.TarFile) -> tuple[str, ...]:
        for count, member in enumerate(tar):
            if count >= MAX_ENTRIES:
                raise BadSubmission(f"the submission has more than {MAX_ENTRIES} entries")
            if not self._takes(tar, member):
                self.left_out.append(member.name)
        self._make_links()
        return tuple(printable(name) for name in self.left_out)

    def _takes(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> bool:
        """Take a member; what its own name makes impossible here is left out, as a team can make such names."""
        try:
            return self._take(tar, member)
        except OSError as error:
            if error.errno in IMPOSSIBLE:
                return False
            raise

    def _take(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> bool:
        path = self._inside(member.name)
        if path is None:
            return False
        if member.isdir():
            return self._folder(path)
        if path == self.root or not self._folder(path.parent):
            return False
        if member.issym():
            self.links[path] = member.linkname
            return True
        if member.isfile():
            source = tar.extractfile(member)
            return source is not None and self._file(path, source, member.mode)
        if member.islnk():
            return self._copy(path, self._inside(member.linkname))
        return False

    def _inside(self, name: str) -> Path | None:
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts or "\0" in name:
            return None
        return self.root / pure

    def _folder(self, path: Path) -> bool:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            return False
        return True

    def _file(self, path: Path, source: IO[bytes], mode: int) -> bool:
        """Write one file, by the bytes that really come, not by the size that the header claims."""
        if path.is_dir():
            return False
        self.links.pop(path, None)
        hashed = hashlib.sha256()
        with path.open("wb") as target:
            while chunk := source.read(CHUNK):
                self.room -= len(chunk)
                if self.room < 0:
                    raise BadSubmission("the submission is larger than may be unpacked")
                hashed.update(chunk)
                target.write(chunk)
        if hashed.hexdigest() in self.forbidden:
            path.unlink()
            return False
        path.chmod(0o755 if mode & 0o100 else 0o644)
        return True

    def _copy(self, path: Path, original: Path | None) -> bool:
        if original is None or not original.is_file():
            return False
        if original == path:
            return True
        with original.open("rb") as source:
            return self._file(path, source, original.stat().st_mode)

    def _make_links(self) -> None:
        made = [path for path, target in self.links.items() if self._make_link(path, target)]
        while out := [path for path in made if not self._leads_inside(path)]:
            for path in out:
                path.unlink()
                made.remove(path)
                self.left_out.append(path.relative_to(self.root).as_posix())

    def _make_link(self, path: Path, target: str) -> bool:
        if path.is_dir() or path.exists() or os.path.isabs(target):
            self.left_out.append(path.relative_to(self.root).as_posix())
            return False
        try:
            path.symlink_to(target)
        except OSError as error:
            if error.errno not in IMPOSSIBLE:
                raise
            self.left_out.append(path.relative_to(self.root).as_posix())
            return False
        return True

    def _leads_inside(self, path: Path) -> bool:
        root = os.path.realpath(self.root)
        return os.path.commonpath([root, os.path.realpath(path)]) == root


def printable(name: str) -> str:
    """A file name as text that can be stored: bytes that are not UTF-8 are shown as escapes."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def discard(folder: Path) -> None:
    """Remove what was unpacked; a folder that its program made unreadable is no reason to fail a grading."""
    shutil.rmtree(folder, ignore_errors=True)
