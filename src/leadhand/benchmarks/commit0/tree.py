"""A team's tree as it is scored: what is no work is dropped; in guarded mode tests and their settings are put back.

Everything here was written by a hostile team: nothing is followed through a link, nothing is run.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from leadhand.benchmarks.commit0.rows import Row
from leadhand.benchmarks.submission import printable

# Never part of the work: what runs leave behind, git's own, and upstream's specification, which no diff carries.
DROPPED_FILES = ("report.json", ".report.json", "test_output.txt", "spec.pdf.bz2", ".coverage", "*.pyc", "*.pyo")
DROPPED_FOLDERS = (".git", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis")
# What steers pytest or every Python that has the tree on its path.
STEERING = ("conftest.py", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "pytest.toml")
HOOKS = ("sitecustomize.py", "usercustomize.py", "*.egg-info", "*.dist-info", "*.pth")
SHOWN = 100


class Changes(NamedTuple):
    """What was found. `tests`: tests or their settings that were changed, added or removed; `binary`: changed files
    that upstream's text diff cannot carry (one makes its whole patch fail); `report`: a report was handed in.
    """

    tests: tuple[str, ...]
    binary: tuple[str, ...]
    report: bool


def settle(tree: Path, pristine: Path, row: Row, ids: Iterable[str], guarded: bool) -> Changes:
    """Bring the unpacked submission `tree` into the state that is scored."""
    report = any(_there(tree / name) for name in ("report.json", ".report.json"))
    drop(tree)
    if _there(pristine / "spec.pdf.bz2"):
        shutil.copy2(pristine / "spec.pdf.bz2", tree / "spec.pdf.bz2")
    paths = test_paths(row, ids)
    mine, theirs = _files(tree), _files(pristine)
    steering = {name for name in mine | theirs if _steers(name, paths)}
    changed = {name for name in mine | theirs if not _unchanged(name, tree, pristine)}
    edited = sorted(changed & steering)
    binary = sorted(name for name in changed & mine if _is_binary(tree / name))
    if guarded:
        for name in edited:
            _put_back(tree, pristine, name)
    return Changes(tuple(map(printable, edited[:SHOWN])), tuple(map(printable, binary[:SHOWN])), report)


def drop(tree: Path) -> None:
    """Remove what is no work."""
    for folder, folders, files in os.walk(tree):
        for name in [f for f in folders if f in DROPPED_FOLDERS]:
            _remove(Path(folder, name))
            folders.remove(name)
        for name in files:
            at_root = Path(folder) == tree
            if any(fnmatch(name, d) for d in DROPPED_FILES if at_root or d.startswith("*")):
                _remove(Path(folder, name))


def test_paths(row: Row, ids: Iterable[str]) -> tuple[str, ...]:
    """The files and folders that hold the tests, relative to the tree, without a final "/"."""
    if os.path.normpath(row.test_dir) != ".":
        return (os.path.normpath(row.test_dir),)
    return tuple(sorted({i.partition("::")[0].partition("/")[0] for i in ids}))


def _steers(name: str, tests: tuple[str, ...]) -> bool:
    path = PurePosixPath(name)
    if any(path.is_relative_to(test) for test in tests) or path.name in STEERING:
        return True
    return any(fnmatch(part, hook) for part in path.parts for hook in HOOKS)


def _files(tree: Path) -> set[str]:
    """Files and links, by name."""
    found = set()
    for folder, folders, files in os.walk(tree):
        if Path(folder) == tree and ".git" in folders:
            folders.remove(".git")
        links = [f for f in folders if os.path.islink(os.path.join(folder, f))]
        found |= {Path(folder, name).relative_to(tree).as_posix() for name in [*files, *links]}
    return found


def _there(path: Path) -> bool:
    return os.path.lexists(path)


def _unchanged(name: str, tree: Path, pristine: Path) -> bool:
    """Whether a file or link is in both trees, the same, and not behind a link that the team has made."""
    one, other = tree / name, pristine / name
    if any((tree / parent).is_symlink() for parent in PurePosixPath(name).parents):
        return False
    if one.is_symlink() or other.is_symlink():
        return one.is_symlink() and other.is_symlink() and os.readlink(one) == os.readlink(other)
    return one.is_file() and other.is_file() and one.read_bytes() == other.read_bytes()


def _is_binary(path: Path) -> bool:
    """As git decides it."""
    if path.is_symlink():
        return False
    with path.open("rb") as stream:
        return b"\0" in stream.read(8000)


def _put_back(tree: Path, pristine: Path, name: str) -> None:
    """One file as it was; one that was not there goes. Links on the way to it, which the team made, go too."""
    for parent in reversed(PurePosixPath(name).parents):
        step = tree / parent
        if parent != PurePosixPath(".") and _there(step) and (step.is_symlink() or not step.is_dir()):
            _remove(step)
    _remove(tree / name)
    if (pristine / name).is_symlink() or (pristine / name).is_file():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(pristine / name, tree / name, follow_symlinks=False)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    elif _there(path):
        path.unlink()
