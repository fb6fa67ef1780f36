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
        path = _folder() / run_id
        while True:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            fcntl.flock(self._fd, fcntl.LOCK_SH)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(self._fd), path.lstat()):
                    return
            os.close(self._fd)  # `is_held` removed it before it was locked

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def is_held(run_id: str) -> bool:
    """Whether a living process owns sandboxes of the run. A file that nobody holds is removed."""
    path = _folder() / run_id
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
