"""The submitted workspace as an archive: files, folders and links only, links never followed."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO


def _walk(folder: Path) -> Iterator[tuple[Path, str]]:
    """(path, name below `folder`) of everything in it, folders before their content, in order; links not followed."""
    for base, folders, names in os.walk(folder, followlinks=False, onerror=_fail):
        here = Path(base)
        folders.sort()
        for name in folders:
            _readable(here / name)
        for name in sorted(folders + names):
            yield here / name, str((here / name).relative_to(folder))


def pack(folder: Path, destination: Path) -> None:
    """Write `folder` as a .tar.gz. Nothing may run in it any more; what cannot be read is made readable first."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(destination, "w:gz", compresslevel=3, format=tarfile.PAX_FORMAT) as archive:
        _readable(folder)
        for path, name in _walk(folder):
            add(archive, path, name)


def pack_plain(folder: Path, into: IO[bytes], *, owner: tuple[int, int], links: dict[str, str]) -> None:
    """Write what is in `folder` and further `links` (name -> target) as a plain tar, all owned by `owner`."""
    with tarfile.open(fileobj=into, mode="w:", format=tarfile.PAX_FORMAT) as archive:
        for path, name in _walk(folder):
            if name not in links:
                add(archive, path, name, owner=owner)
        for name, target in links.items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            member.uid, member.gid = owner
            archive.addfile(member)


def add(archive: tarfile.TarFile, path: Path, name: str, *, owner: tuple[int, int] = (0, 0)) -> None:
    """Add one file, folder (without its content) or link; leave out devices, sockets and pipes."""
    _readable(path)
    try:
        member = archive.gettarinfo(path, name)
    except OSError as failure:  # e.g. a name that is no longer there
        raise tarfile.TarError(f"cannot archive {name}: {failure.strerror}") from failure
    if member is None or not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        return
    member.uid, member.gid = owner
    member.uname = member.gname = ""
    if member.isreg():
        with path.open("rb") as content:
            archive.addfile(member, content)
    else:
        archive.addfile(member)


def _readable(path: Path) -> None:
    """Give the owner back what an agent took away from itself (root needs it too where it has no capabilities)."""
    if path.is_symlink() or os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        return
    path.chmod(path.stat().st_mode | (0o700 if path.is_dir() else 0o400))


def _fail(failure: OSError) -> None:
    raise failure


def filtered(source: Path, destination: Path, prefix: str) -> None:
    """Copy a plain tar archive to a .tar.gz, with names relative to `prefix`, by the same rule as `pack`."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    with (
        tarfile.open(source, "r:") as old,
        tarfile.open(destination, "w:gz", compresslevel=3, format=tarfile.PAX_FORMAT) as new,
    ):
        for member in old:
            name = _below(member.name, prefix)
            if not name or not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
                continue
            if member.islnk():
                member.linkname = _below(member.linkname, prefix)
            member.name = name
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            new.addfile(member, old.extractfile(member) if member.isreg() else None)


def _below(name: str, prefix: str) -> str:
    clean = name.lstrip("/").removeprefix("./").rstrip("/")
    return "" if clean == prefix else clean.removeprefix(prefix + "/")
