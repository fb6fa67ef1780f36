"""Where a library's reference tree comes from: its release on PyPI, or upstream's own repository."""

from __future__ import annotations

import hashlib
import os
import shutil
import ssl
import subprocess
import tarfile
import tomllib
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

from leadhand.benchmarks.commit0.pythons import uv
from leadhand.benchmarks.commit0.rows import Row
from leadhand.core.errors import UsageError

IDS = ("commit0==0.1.8", "b5369d7c814d2f2b82f39da60849f7b8519f277a05c5ed91a591b800c4b4d431")
"""Upstream's wheel: the lists of scored tests are in it."""

GIT = "https://github.com/{repo}"
GENERATED = {"babel": ("babel/global.dat", "babel/locale-data/*.dat")}
"""Files that a library's repository makes of something that it downloads. Its release has them."""
TIMEOUT_S = 120.0
PROBE_S = 20.0


_host_answers: dict[str, bool] = {}


def reachable(url: str) -> bool:
    """Whether a repository can be read from here. Asked once for all that lie on the same host."""
    host = url.rpartition("/")[0].rpartition("/")[0]
    if host not in _host_answers:
        command = ["git", "ls-remote", "--exit-code", "-q", url, "HEAD"]
        env = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
        try:
            done = subprocess.run(command, capture_output=True, timeout=PROBE_S, env=env)
            _host_answers[host] = done.returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            _host_answers[host] = False
    return _host_answers[host]


def add(release: Path, patterns: tuple[str, ...], *trees: Path) -> None:
    """Copy what a release has by these patterns into each tree."""
    for pattern in patterns:
        for path in release.glob(pattern):
            for tree in trees:
                target = tree / path.relative_to(release)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)


def fetch(requirement: str, sha256: str, kind: str, folder: Path) -> Path:
    """Download an exact release ("sdist" or "wheel") into `folder`, unless it is there; checked by its hash.

    uv says where it lies, so that indexes, mirrors and credentials are those of uv's own settings.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for there in folder.glob(f"{sha256}-*"):
        return there
    url = _url(requirement, sha256, kind)
    target = folder / f"{sha256}-{url.rpartition('/')[2]}"
    partial = target.with_suffix(".partial")
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S, context=ssl.create_default_context()) as answer:
            partial.write_bytes(answer.read())
    except OSError as error:
        raise UsageError(f"cannot download {requirement}: {error}; try again when the network is there") from None
    if hashlib.sha256(partial.read_bytes()).hexdigest() != sha256:
        raise UsageError(f"{requirement}: what {url} gives is not the file that was published; nothing was kept")
    return partial.rename(target)


def _url(requirement: str, sha256: str, kind: str) -> str:
    command = [uv(), "pip", "compile", "--quiet", "--no-deps", "--no-header", "--format", "pylock.toml"]
    done = subprocess.run([*command, "-"], input=requirement, capture_output=True, text=True)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["uv failed"])[-1]
        raise UsageError(f"cannot find {requirement} on the package index: {last.strip()}")
    package: dict[str, Any] = tomllib.loads(done.stdout)["packages"][0]
    for file in [package.get("sdist", {})] if kind == "sdist" else package.get("wheels", []):
        if file.get("hashes", {}).get("sha256") == sha256:
            return str(file["url"])
    raise UsageError(f"{requirement}: the package index has no {kind} with the published hash {sha256[:12]}...")


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a release's one folder as the new `folder`."""
    scratch = folder.with_name(folder.name + ".unpacking")
    if archive.suffix in (".zip", ".whl"):
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(scratch)
    else:
        with tarfile.open(archive) as tar:
            tar.extractall(scratch, filter="data")
    (top,) = scratch.iterdir()
    top.rename(folder)
    scratch.rmdir()


def ids(wheel: Path, name: str) -> tuple[str, ...]:
    """The tests that a library is scored by, from upstream's wheel."""
    import bz2

    with zipfile.ZipFile(wheel) as packed:
        text = bz2.decompress(packed.read(f"commit0/data/test_ids/{name}.bz2")).decode()
    return tuple(line for line in text.split("\n") if line)


def clone(row: Row, reference: Path, stub: Path, url: str = "") -> None:
    """Both trees from upstream's repository: files only, none of its history. Raises `UsageError`."""
    scratch = reference.with_name("clone")
    where = url or GIT.format(repo=row.repo)
    try:
        subprocess.run(["git", "init", "-q", str(scratch)], check=True, capture_output=True)
        for commit, tree in ((row.reference_commit, reference), (row.base_commit, stub)):
            for step in (["fetch", "-q", "--depth", "1", where, commit], ["checkout", "-q", "-f", "FETCH_HEAD"]):
                subprocess.run(["git", "-C", str(scratch), *step], check=True, capture_output=True, text=True)
            shutil.copytree(scratch, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
            subprocess.run(["git", "-C", str(scratch), "rm", "-rfq", "--ignore-unmatch", "."], check=False)
    except subprocess.CalledProcessError as error:
        said = str(error.stderr or "").strip().splitlines() or ["git failed"]
        raise UsageError(f"cannot fetch {row.name} from {where}: {said[-1]}") from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
