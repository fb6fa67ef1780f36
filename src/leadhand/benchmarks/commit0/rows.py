"""The 16 tasks of Commit0-Lite as data: what upstream's data set says of each, and what was measured."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from leadhand.core.errors import UsageError
from leadhand.core.values import Value

FILE = Path(__file__).with_name("rows.json")
CLOCK_BOUND = {"portalocker": 2, "simpy": 1}
"""How many tests have deadlines of a second, which the reference misses on a busy machine."""


class Row(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One library. Field names and values are upstream's where it has them.

    `sdist` is the release on PyPI that equals the reference commit ("" = none), `sha256` its archive's. `install` and
    `packages` (requirement files) are what upstream's environment is made of; `instead` is what is installed where a
    release lacks such a file (the tests' own needs; the rest are formatters and the like). `ids` counts the tests that
    are scored, `stubbed` the functions to be written. `stub_passes` and `reference_passes`: tests that pass before any
    work, and with the reference, without network (measured).
    """

    name: str
    repo: str
    base_commit: str
    reference_commit: str
    src_dir: str
    python: str
    install: str
    test_cmd: str
    test_dir: str
    ids: int
    stubbed: int
    stub_passes: int
    reference_passes: int
    packages: tuple[str, ...] = ()
    pip_packages: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    sdist: str = ""
    sha256: str = ""
    note: str = ""

    @property
    def package(self) -> str:
        """The folder that `import` finds: what no agent may find elsewhere."""
        return Path(self.src_dir).name

    @property
    def clock_bound(self) -> int:
        """How many of `reference_passes` a busy machine fails."""
        return CLOCK_BOUND.get(self.name, 0)

    @property
    def version(self) -> str:
        return self.sdist.partition("==")[2]


@cache
def rows() -> tuple[Row, ...]:
    return tuple(msgspec.json.decode(FILE.read_bytes(), type=list[Row]))


def row(name: str) -> Row:
    """Raises `UsageError` for a name that is none of the 16."""
    for one in rows():
        if one.name == name:
            return one
    raise UsageError(f"Commit0-Lite has no task {name!r}; it has: {', '.join(r.name for r in rows())}")
