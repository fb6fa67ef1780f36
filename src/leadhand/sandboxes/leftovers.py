"""What killed runs left on this machine: processes, found by the run id in their environment, and folders."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from leadhand.sandboxes import cgroups

MARK = b"LEADHAND_RUN="


def _environments() -> Iterator[tuple[int, list[bytes]]]:
    """(pid, environment) of every process that can be seen, this one and its ancestors left out."""
    own = _ancestors()
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and int(entry.name) not in own:
            with contextlib.suppress(OSError):
                yield int(entry.name), Path(entry.path, "environ").read_bytes().split(b"\0")


def marked() -> Iterator[tuple[int, str]]:
    """(pid, run id) of every process that carries a run's mark."""
    for pid, environment in _environments():
        for part in environment:
            if part.startswith(MARK):
                yield pid, part[len(MARK) :].decode("utf-8", "replace")


def with_variable(text: str) -> set[int]:
    """Every process whose environment holds `NAME=value`."""
    return {pid for pid, environment in _environments() if text.encode() in environment}


def _ancestors() -> set[int]:
    pids, pid, parents = set(), os.getpid(), _parents()
    while pid:
        pids.add(pid)
        pid = parents.get(pid, 0)
    return pids


def _parents() -> dict[int, int]:
    """pid -> parent, of everything alive."""
    parents = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = Path(entry.path, "stat").read_text(errors="replace").rpartition(") ")[2].split()
                if fields[0] not in "ZXx":
                    parents[int(entry.name)] = int(fields[1])
    return parents


def kill(chosen: Callable[[str], bool]) -> int:
    """Kill every process of the runs that are `chosen`, and what hangs below it; the number killed."""
    return kill_found(lambda: {pid for pid, run in [*marked(), *grouped()] if chosen(run)})


def kill_found(find: Callable[[], set[int]], patience_s: float = 10.0) -> int:
    """Kill what `find` finds, and what hangs below it, until it finds nothing; the number killed."""
    killed: set[int] = set()
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline and (alive := _below(find())):
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in alive:
                with contextlib.suppress(OSError):
                    os.kill(pid, number)
        killed |= alive
        time.sleep(0.01)
    return len(killed)


def grouped() -> Iterator[tuple[int, str]]:
    """(pid, run id) of every process in a sandbox's control group: also of those that cleared their environment."""
    for path, pids in cgroups.left():
        yield from ((pid, run_of(path)) for pid in pids)


def run_of(path: str) -> str:
    """The run id in the name of one of our folders, `leadhand-RUN-random`."""
    return Path(path).name.removeprefix("leadhand-").rpartition("-")[0]


def _below(roots: set[int]) -> set[int]:
    parents, hit = _parents(), set(roots)
    hit &= parents.keys()  # zombies are dead
    while more := {pid for pid, parent in parents.items() if parent in hit and pid not in hit}:
        hit |= more
    return hit - _ancestors()


def folders() -> Iterator[tuple[Path, str]]:
    """(folder, run id) of the harness's own sandbox folders."""
    for path in Path(tempfile.gettempdir()).glob("leadhand-*-????????"):
        if path.is_dir() and path.stat().st_uid == os.getuid():
            yield path, run_of(str(path))


def clear(chosen: Callable[[str], bool]) -> tuple[int, int]:
    """Kill the processes and remove the folders of the runs that are `chosen`; the number of each."""
    killed = kill(chosen)
    gone = [path for path, run in folders() if chosen(run)]
    for path in gone:
        shutil.rmtree(path, ignore_errors=True)
    cgroups.Group(paths=tuple(path for path, _ in cgroups.left() if chosen(run_of(path)))).remove()
    return killed, len(gone)
