"""Control groups for `bwrap` and `local`: memory, processor and process limits where this user may set them.

Version 1 and 2, root or a delegated subtree (a systemd user session has one). What cannot be set is left out and
said so: `Group.enforced` names what holds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from leadhand.core.values import Limits, Value

PERIOD = 100_000  # microseconds
NAMES = {"memory": "memory", "pids": "processes", "cpu": "cpus"}

# Joins the groups whose files are given, then becomes the command: the processes below it are in them from the start.
JOIN = 'n=$1; shift; while ((n--)); do echo $$ >"$1" || exit 97; shift; done; exec "$@"'


class Group(Value, frozen=True, kw_only=True):
    """The folders that make up one sandbox's group, and which limits they enforce."""

    paths: tuple[str, ...] = ()
    enforced: tuple[str, ...] = ()

    def join(self, argv: list[str]) -> list[str]:
        """`argv`, started inside the group."""
        if not self.paths:
            return argv
        files = [f"{path}/cgroup.procs" for path in self.paths]
        return ["/bin/bash", "--norc", "--noprofile", "-c", JOIN, "leadhand", str(len(files)), *files, *argv]

    def not_enforced(self, limits: Limits) -> tuple[str, ...]:
        """Of the limits asked for, those that do not hold."""
        asked = {"memory": limits.memory_mb, "cpus": limits.cpus, "processes": limits.processes}
        return tuple(name for name, value in asked.items() if value is not None and name not in self.enforced)

    def processes(self) -> set[int]:
        """Everything in it that can be seen."""
        return {pid for path in self.paths for pid in _processes(path)}

    def remove(self, patience_s: float = 3.0) -> None:
        """Remove the folders; a killed process keeps its folder busy until it is reaped."""
        deadline = time.monotonic() + patience_s
        for path in self.paths:
            while not _remove(path) and time.monotonic() < deadline:
                time.sleep(0.02)


def _remove(path: str) -> bool:
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def make(name: str, limits: Limits) -> Group:
    """Groups of this name with the limits, as far as they can be had. Never raises."""
    paths: list[str] = []
    enforced: list[str] = []
    for parent, controllers, settings in _places(limits):
        wanted = [c for c in controllers if settings[c] and NAMES[c] not in enforced]
        path = parent / name
        if not wanted or not _mkdir(path):
            continue
        held = [c for c in wanted if all(_set(path / file, value) for file, value in settings[c])]
        if held:
            paths.append(str(path))
            enforced += [NAMES[c] for c in held]
        else:
            _remove(str(path))
    return Group(paths=tuple(paths), enforced=tuple(enforced))


Settings = dict[str, list[tuple[str, str]]]


def _places(limits: Limits) -> Iterator[tuple[Path, list[str], Settings]]:
    """(folder to make the group in, controllers there, their settings): every hierarchy that may do."""
    own = _own()
    for mount, kind, options in _mounts():
        if kind == "cgroup":
            here = [c for c in NAMES if c in options.split(",")]
            if here:
                inside = mount / own.get(here[0], "/").lstrip("/")
                yield inside if inside.is_dir() else mount, here, _version1(limits)
        else:
            inside = mount / own.get("", "/").lstrip("/")
            for parent in (inside, inside.parent, mount):
                if mount in (parent, *parent.parents):
                    yield parent, _delegated(parent), _version2(limits)


def _mounts() -> Iterator[tuple[Path, str, str]]:
    """(place, cgroup or cgroup2, options) of every hierarchy."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, at, kind, options, *_ = line.split(" ")
        if kind in ("cgroup", "cgroup2"):
            yield Path(at), kind, options


def _own() -> dict[str, str]:
    """controller ("" in version 2) -> this process's group."""
    groups = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        groups.update(dict.fromkeys(controllers.split(","), path))
    return groups


def _delegated(parent: Path) -> list[str]:
    """The controllers that groups below `parent` have, after asking for them."""
    file = parent / "cgroup.subtree_control"
    for controller in NAMES:
        _set(file, f"+{controller}")
    try:
        return [c for c in NAMES if c in file.read_text().split()]
    except OSError:
        return []


def _version1(limits: Limits) -> Settings:
    memory = str((limits.memory_mb or 0) << 20)
    return {
        "memory": [("memory.limit_in_bytes", memory)] if limits.memory_mb else [],
        "pids": [("pids.max", str(limits.processes))] if limits.processes else [],
        "cpu": [("cpu.cfs_period_us", str(PERIOD)), ("cpu.cfs_quota_us", _quota(limits))] if limits.cpus else [],
    }


def _version2(limits: Limits) -> Settings:
    return {
        "memory": [("memory.max", str((limits.memory_mb or 0) << 20))] if limits.memory_mb else [],
        "pids": [("pids.max", str(limits.processes))] if limits.processes else [],
        "cpu": [("cpu.max", f"{_quota(limits)} {PERIOD}")] if limits.cpus else [],
    }


def _quota(limits: Limits) -> str:
    return str(int((limits.cpus or 0) * PERIOD))


def _mkdir(path: Path) -> bool:
    try:
        path.mkdir()
    except OSError:
        return False
    return True


def _set(file: Path, value: str) -> bool:
    try:
        file.write_text(value)
    except OSError:
        return False
    return True


def state() -> str:
    """Which limits this user can enforce here, in words. Blocks."""
    group = make(f"leadhand-probe-{os.getpid()}", Limits(memory_mb=64, cpus=1, processes=64))
    group.remove()
    return ", ".join(group.enforced)


def left() -> Iterator[tuple[str, list[int]]]:
    """(folder, its processes) of every group of ours, wherever the process that made it stood. Blocks."""
    for mount in {mount for mount, _, _ in _mounts()}:
        for base, folders, _ in os.walk(mount):
            for name in folders:
                if name.startswith("leadhand-"):
                    path = os.path.join(base, name)
                    yield path, _processes(path)


def _processes(path: str) -> list[int]:
    """Those that can be seen: one outside of our process namespace is called 0."""
    try:
        return [int(pid) for pid in Path(path, "cgroup.procs").read_text().split() if pid != "0"]
    except OSError:
        return []
