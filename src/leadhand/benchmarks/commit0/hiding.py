"""Copies of the libraries that lie on a host: hidden from sandboxes that show the host's programs."""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from leadhand.benchmarks.commit0.rows import Row, rows
from leadhand.core.values import Mount

# Packages of the system's Pythons, wheels that virtual environments are seeded from (pip up to 23 holds a chardet),
# and whatever was put below /opt.
PLACES = (
    "/usr/lib/python*/dist-packages",
    "/usr/lib/python*/site-packages",
    "/usr/lib64/python*/site-packages",
    "/usr/local/lib/python*/dist-packages",
    "/usr/local/lib/python*/site-packages",
    "/usr/local/lib64/python*/site-packages",
    "/usr/lib/python*/ensurepip/_bundled",
    "/usr/lib64/python*/ensurepip/_bundled",
    "/usr/local/lib/python*/ensurepip/_bundled",
    "/usr/share/python-wheels",
    "/usr/share/python3/wheels",
    "/usr/lib/pypy*/dist-packages",
    "/usr/share/pyshared",
    "/opt",
)
SHOWN = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""What a `bwrap` sandbox shows of its host, but for /opt."""
HOLDS = {"pip": "chardet"}
"""Releases of something else with a copy of a library in them."""
ARCHIVES = (".whl", ".tar.gz", ".zip", ".egg", ".tgz")


def hidden(one: Row, empty: Path) -> tuple[Mount, ...]:
    """Mounts of empty host folders and files (below `empty`) over all copies of a library that this machine has.

    Known places are covered whole; everywhere else the machine was searched: programs bring copies of their own.
    """
    folder, file = empty / "folder", empty / "file"
    folder.mkdir(parents=True, exist_ok=True)
    file.touch()
    return tuple(
        Mount(source=str(folder if os.path.isdir(path) else file), target=path)
        for path in (*_places(), *copies(SHOWN)[one.name])
    )


def _places() -> tuple[str, ...]:
    found = sorted(path for place in PLACES for path in glob.glob(place))
    return tuple(path for path in found if os.path.isdir(path) and not os.path.islink(path))


@cache
def copies(roots: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Copies by library, outside of the known places: packages and archives, by their names. Takes a second or two."""
    libraries = {one.package: one.name for one in rows()}
    archives = {release: one.name for one in rows() for release in _releases(one)} | HOLDS
    covered = frozenset(_places())
    found: dict[str, list[str]] = {one.name: [] for one in rows()}
    for root in roots:
        if not os.path.islink(root):
            for name, path in _search(root, libraries, archives, covered):
                found[name].append(path)
    return {name: tuple(sorted(paths)) for name, paths in found.items()}


def _releases(one: Row) -> set[str]:
    """How the files of a library's releases begin: up to the version, in small letters."""
    return {name.lower().replace("_", "-") for name in (one.name, one.package, one.sdist.partition("==")[0]) if name}


def _search(
    root: str, libraries: dict[str, str], archives: dict[str, str], covered: Collection[str]
) -> Iterator[tuple[str, str]]:
    for folder, folders, files in os.walk(root):
        for name in list(folders):
            path = os.path.join(folder, name)
            if path in covered:
                folders.remove(name)
            elif name in libraries and _is_python(path):
                folders.remove(name)
                yield libraries[name], path
        for name in files:
            if name.endswith(ARCHIVES) and (library := archives.get(_distribution(name))) is not None:
                yield library, os.path.join(folder, name)


def _distribution(file: str) -> str:
    """The distribution that an archive's name tells: what comes before its version."""
    parts = file.lower().replace("_", "-").split("-")
    number = next((i for i, part in enumerate(parts) if part[:1].isdigit()), len(parts))
    return "-".join(parts[:number])


def _is_python(folder: str) -> bool:
    """Whether Python files lie somewhere in it."""
    return any(name.endswith((".py", ".pyc")) for _, _, files in os.walk(folder) for name in files)
