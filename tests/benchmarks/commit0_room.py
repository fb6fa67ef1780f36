"""Two small libraries of Commit0-Lite, prepared from the package index once for all test processes."""

from __future__ import annotations

import fcntl
import os
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from leadhand.benchmarks.commit0.prepare import prepare
from leadhand.benchmarks.commit0.prepared import Place
from leadhand.benchmarks.commit0.rows import row
from leadhand.core.errors import LeadhandError

SMALL = ("cachetools", "voluptuous")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def prepared_root(shared: Path) -> Path:
    """Where they lie: $LEADHAND_CACHE if it is set, else a folder of this test session. Skips without an index."""
    root = (Path(os.environ["LEADHAND_CACHE"]) if "LEADHAND_CACHE" in os.environ else shared) / "commit0"
    root.mkdir(parents=True, exist_ok=True)
    with locked(root / "lock"):
        for name in SMALL:
            prepare_or_skip(name, root)
    return root


def prepare_or_skip(name: str, root: Path) -> None:
    async def work() -> None:
        await prepare(row(name), lambda step: None, root=root)

    try:
        anyio.run(work)
    except LeadhandError as error:
        if os.environ.get("CI"):
            pytest.fail(f"cannot prepare {name} in CI: {error}")
        pytest.skip(f"cannot prepare {name}: {error}")


def pack_tree(tree: Path, archive: Path, change: Callable[[Path], None] | None = None) -> Path:
    """A tree as a submission; `change` is made to a copy of it first."""
    import shutil

    if change is not None:
        copy = archive.with_suffix(".tree")
        shutil.copytree(tree, copy, symlinks=True)
        change(copy)
        tree = copy
    with tarfile.open(archive, "w:gz", compresslevel=1) as packed:
        for child in sorted(tree.iterdir()):
            packed.add(child, child.name)
    return archive


def place(root: Path, name: str) -> Place:
    return Place(row(name), root)
