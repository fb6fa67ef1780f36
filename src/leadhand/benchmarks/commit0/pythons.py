"""Interpreters: found on this machine, and copied without anything that could hold a copy of a task's library."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from leadhand.core.errors import UsageError

# Of a Python's own library: what holds copies of packages, and what tests of other libraries never need.
LEFT_OUT = ("site-packages", "dist-packages", "ensurepip", "test", "tests", "idlelib", "EXTERNALLY-MANAGED")


def uv() -> str:
    """The uv program itself, not a shim. Raises `UsageError` with the remedy."""
    try:
        from uv import find_uv_bin

        return os.fspath(find_uv_bin())
    except (ImportError, FileNotFoundError):
        pass
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        found = Path(folder) / "uv"
        if os.access(found, os.X_OK) and found.read_bytes()[:4] == b"\x7fELF":
            return str(found.resolve())
    raise UsageError("preparing Commit0 needs uv: pip install leadhand[commit0]")


def find(versions: Sequence[str]) -> Path:
    """An interpreter of the first of these versions ("3.12") that is here. Raises `UsageError`."""
    for version in versions:
        for candidate in _candidates(version):
            if _version(candidate) == version:
                return candidate
    raise UsageError(
        f"no Python {' or '.join(versions)} on this machine: install one, such as by `uv python install {versions[0]}`"
    )


def _candidates(version: str) -> Iterator[Path]:
    name = f"python{version}"
    if ".".join(map(str, sys.version_info[:2])) == version:
        yield Path(sys.executable)
    for pyenv in (os.environ.get("PYENV_ROOT", ""), "~/.pyenv"):
        for found in sorted(glob.glob(os.path.expanduser(f"{pyenv}/versions/{version}.*/bin/{name}")), reverse=True):
            yield Path(found)
    for pattern in ("~/.local/share/uv/python/cpython-{}.*/bin/{}", "/usr/local/bin/{1}", "/usr/bin/{1}"):
        for found in sorted(glob.glob(os.path.expanduser(pattern.format(version, name))), reverse=True):
            yield Path(found)
    if on_path := shutil.which(name):
        yield Path(on_path)


def _version(python: Path) -> str:
    return _ask(python, "import sys; print('%d.%d' % sys.version_info[:2])")


class Described(NamedTuple):
    """`minor` is such as 3.12, `version` such as 3.12.1."""

    minor: str
    version: str


def describe(python: Path) -> Described:
    version = _ask(python, "import sys; print('%d.%d.%d' % sys.version_info[:3])")
    return Described(".".join(version.split(".")[:2]), version)


def _ask(python: Path, code: str) -> str:
    try:
        done = subprocess.run([str(python), "-I", "-c", code], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def stripped(python: Path, folder: Path, shown_at: str) -> None:
    """Copy an interpreter with its standard library, and no package, to the new folder.

    `shown_at`: the path that sandboxes show the folder at; the program finds its own shared library there.
    """
    base = Path(_ask(python, "import sys; print(sys.base_prefix)"))
    program = library = f"python{_version(python)}"
    if not (base / "bin" / program).exists():
        raise UsageError(f"cannot copy the Python at {base}: it has no bin/{program}; install one with uv")
    (folder / "bin").mkdir(parents=True)
    code = (base / "bin" / program).read_bytes()
    (folder / "bin" / program).write_bytes(_moved(code, f"{base}/lib", f"{shown_at}/lib"))
    (folder / "bin" / program).chmod(0o755)
    ignore = shutil.ignore_patterns(*LEFT_OUT, "config-*", "__pycache__")
    shutil.copytree(base / "lib" / library, folder / "lib" / library, symlinks=True, ignore=ignore)
    (folder / "lib" / library / "site-packages").mkdir()
    for shared in base.glob("lib/libpython*.so*"):
        shutil.copy2(shared, folder / "lib" / shared.name, follow_symlinks=False)
    if (base / "include" / library).is_dir():
        shutil.copytree(base / "include" / library, folder / "include" / library)


def _moved(code: bytes, here: str, there: str) -> bytes:
    """A program with its search path for libraries changed in place: a text that ends with a zero byte."""
    old, new = b"\0" + os.fsencode(here) + b"\0", b"\0" + os.fsencode(there)
    return code.replace(old, new.ljust(len(old), b"\0")) if len(new) < len(old) else code
