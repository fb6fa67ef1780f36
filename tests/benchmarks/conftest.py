"""Sandboxes and submissions for the tests of the benchmarks room."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from programbench_room import Room

from leadhand import sandboxes
from leadhand.core.ports import Sandbox, StartSandbox
from leadhand.core.values import SandboxSpec
from needs import require

Pack = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def start() -> StartSandbox:
    """Starts a real, isolated sandbox."""

    async def bwrap(spec: SandboxSpec) -> Sandbox:
        return await sandboxes.start(spec, "bwrap")

    return bwrap


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    """Packs texts by name into a submission; names that end in .sh are executable."""

    def packed(files: Mapping[str, str]) -> Path:
        archive = tmp_path / "submission.tar.gz"
        with tarfile.open(archive, "w:gz") as tar:
            for name, text in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(text.encode())
                member.mode = 0o755 if name.endswith(".sh") else 0o644
                tar.addfile(member, io.BytesIO(text.encode()))
        return archive

    return packed


@pytest.fixture(scope="session")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    """A Docker Engine with images for ProgramBench's tasks and ours."""
    require("docker")
    made = Room(tmp_path_factory.mktemp("programbench"))
    made.open()
    yield made
    made.close()
