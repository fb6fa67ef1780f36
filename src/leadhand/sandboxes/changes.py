"""Which files of a workspace change, as the kernel tells it (inotify): one system call per command where nothing did.

For workspaces that are a folder of this machine (`bwrap`, `local`). A file counts when it was closed after writing,
moved, made or removed. Not seen: writes to a file that stays open, and what is below `.git`.
"""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

CLOSE_WRITE, MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x8, 0x40, 0x80, 0x100, 0x200
OVERFLOW, IGNORED, IS_DIR = 0x4000, 0x8000, 0x40000000
WANTED = CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | 0x1000000 | 0x2000000  # only folders, never links
MOST_FOLDERS = 20_000
MOST_PATHS = 1_000  # told at once
UNSEEN = (b".git",)


class Changes:
    """Watches one folder and everything below it. Single-threaded; `take` belongs on the event loop (microseconds)."""

    def __init__(self, root: str) -> None:
        """Raises `OSError` where the kernel gives no more watches."""
        self._root = os.fsencode(os.path.realpath(root))
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._folders: dict[int, bytes] = {}
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        try:
            self._watch(b"")
        except BaseException:
            self.close()
            raise

    def take(self) -> tuple[str, ...]:
        """Paths below the root that changed since the last call, sorted; at most `MOST_PATHS`."""
        changed: set[bytes] = set()
        while data := self._read():
            at = 0
            while at < len(data):
                number, mask, _, length = struct.unpack_from("iIII", data, at)
                name = data[at + 16 : at + 16 + length].rstrip(b"\0")
                at += 16 + length
                self._see(number, mask, name, changed)
        return tuple(sorted(path.decode("utf-8", "replace") for path in changed)[:MOST_PATHS])

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _read(self) -> bytes:
        if self._fd < 0:
            return b""
        try:
            return os.read(self._fd, 1 << 16)
        except BlockingIOError:
            return b""

    def _see(self, number: int, mask: int, name: bytes, changed: set[bytes]) -> None:
        if mask & OVERFLOW:
            self._watch(b"")  # folders may have been made unseen
        elif mask & IGNORED:
            self._folders.pop(number, None)
        elif name not in UNSEEN and (folder := self._folders.get(number)) is not None:
            path = folder + name
            if not mask & IS_DIR:
                changed.add(path)
            elif mask & (CREATE | MOVED_TO):
                changed |= self._watch(path + b"/")

    def _watch(self, folder: bytes) -> set[bytes]:
        """Watch a folder and those below it; the files that are in them already."""
        files: set[bytes] = set()
        stack = [folder]
        while stack and len(self._folders) < MOST_FOLDERS:
            here = stack.pop()
            full = self._root + b"/" + here
            number = self._libc.inotify_add_watch(self._fd, full, WANTED)
            if number < 0:
                if not here:
                    raise OSError(ctypes.get_errno(), "inotify_add_watch")
                continue
            self._folders[number] = here
            try:
                entries = list(os.scandir(full))
            except OSError:
                continue
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in UNSEEN:
                        stack.append(here + entry.name + b"/")
                else:
                    files.add(here + entry.name)
        return files


def watch(root: str) -> Changes | None:
    """`Changes` of a folder, or None where the kernel gives none."""
    try:
        return Changes(root) if Path(root).is_dir() else None
    except (OSError, AttributeError):
        return None
