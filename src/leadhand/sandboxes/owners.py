"""Which runs have a living harness: a file per run, locked for as long as its process lives, whatever ends it.

`reap` asks this, so that it never touches a run at work, whichever folder that run's journal is in.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from pathlib import Path


def _folder() -> Path:
    folder = Path(tempfile.gettempdir()) / f"leadhand-owners-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


class Hold:
    """This process owns sandboxes of a run until `release`, or until it is gone."""

    def __init__(self, run_id: str) -> None:
        self._fd = os.open(_folder() / run_id, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_SH)

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def held() -> frozenset[str]:
    """The runs that a living process owns sandboxes of. Files that nobody holds are removed."""
    found = set()
    for path in _folder().iterdir():
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)
            except BlockingIOError:
                found.add(path.name)
            finally:
                os.close(fd)
    return frozenset(found)
