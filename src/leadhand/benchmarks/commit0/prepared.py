"""A prepared library on disk.

HOME/commit0/
  archives/           releases, by hash
  pythons/3.10-.../   interpreters without packages
  scratch/            uv's cache and environments in the making
  NAME/
    prepared.json     written last: a folder without it is not prepared
    stub/             what a team starts with, with a git history of one commit
    reference/        the library as it was; no agent and no grading ever sees it
    venv/             its environment, the library installed as a link to /workspace
    ids.txt           the tests that are scored
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from leadhand.benchmarks import home
from leadhand.benchmarks.commit0.rows import Row
from leadhand.core.chain import canonical, digest
from leadhand.core.errors import UsageError
from leadhand.core.values import Value

FORMAT = 1
CUTOFF = "2024-10-15T00:00:00Z"
"""Packages uploaded later are not installed: the environment is the one of the benchmark's making."""

VENV, PYTHON = "/c0/venv", "/c0/py"
"""Where every sandbox shows them; links in the environment hold these paths, and /workspace."""


class Prepared(Value, frozen=True, kw_only=True):
    """`prepared.json`. `files`: the digest of each file of the stub; `packages`: what is installed, sorted."""

    format: int
    name: str
    source: Literal["pypi", "git"]
    row: str
    cutoff: str
    python: str
    interpreter: str
    packages: tuple[str, ...]
    files: dict[str, str]
    ids: str
    seconds: float = 0.0

    @property
    def content(self) -> str:
        """Covers all that a team is given; not where or when it was prepared."""
        return digest(canonical([self.row, self.python, self.packages, self.files]))

    @property
    def scoring(self) -> str:
        """Covers all that decides the score, but the mode."""
        return digest(canonical([self.ids, self.python, self.packages, self.files]))


def row_digest(row: Row) -> str:
    """Covers what preparation reads of a row."""
    told = [row.base_commit, row.reference_commit, row.src_dir, row.python, row.install, row.test_cmd, row.test_dir]
    return digest(canonical([*told, row.packages, row.pip_packages, row.instead, row.sdist, row.sha256]))


def root() -> Path:
    return home.cache() / "commit0"


class Place:
    """The folder of one prepared library."""

    def __init__(self, row: Row, root_: Path | None = None) -> None:
        self.row = row
        self.root = root_ or root()
        self.folder = self.root / row.name

    def read(self) -> Prepared | None:
        """What is there; None where it is not prepared, or was by other rules than ours."""
        try:
            found = msgspec.json.decode((self.folder / "prepared.json").read_bytes(), type=Prepared)
        except (OSError, msgspec.DecodeError):
            return None
        current = (found.format, found.row, found.cutoff) == (FORMAT, row_digest(self.row), CUTOFF)
        return found if current and self.interpreter(found).is_dir() else None

    def need(self) -> Prepared:
        """Raises `UsageError` with the remedy where it is not prepared."""
        found = self.read()
        if found is None:
            raise UsageError(
                f"commit0/{self.row.name} is not prepared: `leadhand bench prepare commit0/{self.row.name}`"
            )
        return found

    def interpreter(self, found: Prepared) -> Path:
        return self.root / "pythons" / found.interpreter

    @property
    def stub(self) -> Path:
        return self.folder / "stub"

    @property
    def reference(self) -> Path:
        return self.folder / "reference"

    @property
    def venv(self) -> Path:
        return self.folder / "venv"

    def ids(self) -> tuple[str, ...]:
        """The fixed list. Raises `OSError`."""
        return tuple((self.folder / "ids.txt").read_text(encoding="utf-8").splitlines())
