"""What a container has changed of its image's file system, in the form that an image's layers have: the changed files,
and an empty file `.wh.NAME` for each that was removed. Collected by the engine, so that nothing in the container has a
say in it, and laid over a fresh container of the same image.
"""

from __future__ import annotations

import re
import tarfile
import tempfile
from collections.abc import Collection, Iterable
from pathlib import Path, PurePosixPath
from typing import IO, Any

from leadhand.core.errors import SandboxError
from leadhand.core.values import Mount
from leadhand.sandboxes import engine
from leadhand.sandboxes.engine import Engine

WHITEOUT = ".wh."
IMAGE = "leadhand.image"
"""The header that names the image (by content) whose layer this is."""

NOT_OURS = (
    "run/leadhand",
    "scratch",
    "dev",
    "proc",
    "sys",
    ".dockerenv",
    "etc/hostname",
    "etc/hosts",
    "etc/resolv.conf",
)
"""Mounted by the engine or by us: never part of a layer."""

REMOVED = 2  # the engine's word; 0 is modified, 1 added
TIMEOUT_S = 3600.0
AT_ONCE = 400  # names to a call of rm


def below(name: str, places: Iterable[str]) -> bool:
    """Whether `name` (relative to the root, as `places` are) is one of the places or lies in one."""
    return any(name == place or name.startswith(f"{place}/") for place in places)


# --- out of a container ------------------------------------------------------------------------------------------


def collect(found: Engine, container: str, image: str, destination: Path) -> None:
    """Write all that `container` has changed as a .tar.gz. Nothing may run in it any more. Blocks."""
    told = found.get(engine.path_of("containers", container, "changes")) or ()
    changed, removed = changes(told)
    destination.parent.mkdir(parents=True, exist_ok=True)
    headers = {IMAGE: image}
    with tarfile.open(destination, "w:gz", compresslevel=3, format=tarfile.PAX_FORMAT, pax_headers=headers) as layer:
        for name in removed:
            layer.addfile(tarfile.TarInfo(_whiteout(name)))
        if changed:
            path = engine.path_of("containers", container, "export")
            with (
                found.answer("GET", path, timeout=TIMEOUT_S) as stream,
                tarfile.open(fileobj=stream, mode="r|") as everything,
            ):
                lost = _copy(everything, layer, changed)
            for member in lost:
                _fetch(found, container, member, layer)


def changes(told: Iterable[dict[str, Any]]) -> tuple[frozenset[str], tuple[str, ...]]:
    """The engine's list of changes as names relative to the root: what is there now, and what is there no more."""
    kinds = {str(one["Path"]).strip("/"): one["Kind"] for one in told}
    kept = {name: kind for name, kind in kinds.items() if name and not below(name, NOT_OURS)}
    changed = frozenset(name for name, kind in kept.items() if kind != REMOVED)
    removed = sorted(name for name, kind in kept.items() if kind == REMOVED)
    return changed, tuple(removed)


def _copy(everything: tarfile.TarFile, layer: tarfile.TarFile, changed: Collection[str]) -> list[tarfile.TarInfo]:
    """Copy the changed members; those left over are links to a file that has not changed."""
    have, lost = set[str](), list[tarfile.TarInfo]()
    for member in everything:
        name = _clean(member.name)
        if _spelled(name) not in changed or not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
            continue
        member.name = name
        if member.islnk():
            member.linkname = _clean(member.linkname)
            if member.linkname not in have:
                lost.append(member)
                continue
        have.add(name)
        layer.addfile(member, everything.extractfile(member) if member.isreg() else None)
    return lost


def _fetch(found: Engine, container: str, member: tarfile.TarInfo, layer: tarfile.TarFile) -> None:
    """Add one file by itself, with its content instead of a link."""
    path = engine.path_of("containers", container, "archive")
    with (
        found.answer("GET", path, query={"path": f"/{member.name}"}, timeout=TIMEOUT_S) as stream,
        tarfile.open(fileobj=stream, mode="r|") as one,
    ):
        for got in one:
            if got.isreg():
                got.name = member.name
                layer.addfile(got, one.extractfile(got))


def _clean(name: str) -> str:
    return name.removeprefix("./").strip("/")


def _spelled(name: str) -> str:
    """A name as the engine's JSON spells it: each byte that is not UTF-8 as U+FFFD."""
    return re.sub("[\udc80-\udcff]", "\ufffd", name)


def _whiteout(name: str) -> str:
    pure = PurePosixPath(name)
    return str(pure.with_name(f"{WHITEOUT}{pure.name}"))


# --- into a container --------------------------------------------------------------------------------------------


def image_of(archive: Path) -> str:
    """The image whose layer this is."""
    with tarfile.open(archive, "r:gz") as layer:
        layer.next()
        return layer.pax_headers.get(IMAGE, "")


def restore(found: Engine, container: str, archive: str, copies: tuple[Mount, ...]) -> None:
    """Lay `archive` ("" = none) over a fresh, running container, then `copies`; nothing of the archive is left there.

    First is removed what is in the way, by the image's own rm, before anything of the archive has come. Blocks.
    """
    places = tuple(mount.target.strip("/") for mount in copies)
    with tempfile.TemporaryFile() as packed:
        removed = _unwrapped(archive, packed, places) if archive else []
        _remove(found, container, [*removed, *places])
        if archive:
            _put(found, container, packed)
    for mount in copies:
        with tempfile.TemporaryFile() as packed:
            _pack(mount, packed)
            _put(found, container, packed)


def _unwrapped(archive: str, into: IO[bytes], places: tuple[str, ...]) -> list[str]:
    """Write the layer's files as a plain tar, except those at `places`; the names that it removes."""
    removed = []
    with (
        tarfile.open(archive, "r:gz") as layer,
        tarfile.open(fileobj=into, mode="w:", format=tarfile.PAX_FORMAT) as plain,
    ):
        for member in layer:
            pure = PurePosixPath(member.name)
            if pure.is_absolute() or ".." in pure.parts or below(member.name, (*NOT_OURS, *places)):
                continue
            if pure.name.startswith(WHITEOUT):
                removed.append(str(pure.with_name(pure.name.removeprefix(WHITEOUT))))
            else:
                plain.addfile(member, layer.extractfile(member) if member.isreg() else None)
    return removed


def _pack(mount: Mount, into: IO[bytes]) -> None:
    """A mount's files as root's, below their target. Each folder above is named too: it takes the place of any link."""

    def rooted(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        return member

    target = PurePosixPath(mount.target.strip("/"))
    with tarfile.open(fileobj=into, mode="w:", format=tarfile.PAX_FORMAT) as tar:
        for parent in reversed(target.parents[:-1]):
            member = tarfile.TarInfo(str(parent))
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(member)
        tar.add(mount.source, str(target), filter=rooted)


def _put(found: Engine, container: str, packed: IO[bytes]) -> None:
    packed.seek(0)
    path = engine.path_of("containers", container, "archive")
    found.call("PUT", path, query={"path": "/"}, data=packed, timeout=TIMEOUT_S)


def _remove(found: Engine, container: str, names: list[str]) -> None:
    """As root, whoever the container's user is."""
    for start in range(0, len(names), AT_ONCE):
        some = [f"/{name}" for name in names[start : start + AT_ONCE]]
        command = ["rm", "-rf", "--", *some]
        streams = {"AttachStdout": True, "AttachStderr": True, "Tty": False}
        made = found.post(
            engine.path_of("containers", container, "exec"),
            {"User": "0:0", "WorkingDir": "/", "Cmd": command, **streams},
        )["Id"]
        said = found.call("POST", engine.path_of("exec", made, "start"), body={"Detach": False, "Tty": False})
        code = found.get(engine.path_of("exec", made, "json"))["ExitCode"]
        if code:
            raise SandboxError(f"cannot remove {some[0]}... in container {container}: {said[-200:]!r}")
