"""ProgramBench's tasks as its package lists them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from leadhand.core.chain import canonical, digest
from leadhand.core.errors import UsageError
from leadhand.core.values import Value

VERSION = "1.2.5"
FIXTURE = "testorg__"
UNLABELLED = "unlabelled"
"""The difficulty of a task to which the package gives none. These are the hardest on average."""

IMAGE_TAG = "task_cleanroom_v6"
DECLARED = 200
"""A run's mean is over all of them; one without a score is 0 (`leadhand report --missing-zero`)."""


class Instance(Value, frozen=True, kw_only=True):
    """One task. `tests` counts what decides the score: active branches, without ignored tests.

    `difficulty` is the package's label: easy, medium, hard, or "" where it gives none (the hardest on average).
    `tasks_dir`: where it is listed, "" = in the package.
    """

    id: str
    language: str
    difficulty: str
    repository: str
    image: str
    tests: int
    raw: dict[str, Any]
    tasks_dir: str = ""

    @property
    def branches(self) -> tuple[str, ...]:
        return tuple(name for name, info in self.raw.get("branches", {}).items() if not info.get("ignored"))

    @property
    def tests_digest(self) -> str:
        """Covers what decides the score."""
        return digest(canonical([self.raw.get("branches", {}), self.raw.get("eval_clean_hashes", [])]))


def instances(tasks_dir: Path | None = None, *, fixture: bool = False) -> tuple[Instance, ...]:
    """All tasks, by id; of the package's own folder without the bundled fixture, unless it is asked for.

    Raises `UsageError` where the package is not installed, or is another version than the one that is pinned.
    """
    package = _package()
    if tasks_dir is not None:
        return tuple(_instance(raw, tasks_dir) for raw in package.load_all_instances(tasks_dir))
    return tuple(i for i in _packaged() if fixture or not i.id.startswith(FIXTURE))


@cache
def _packaged() -> tuple[Instance, ...]:
    """The package's own: 300,000 names of tests, read once."""
    return tuple(_instance(raw, None) for raw in _package().load_all_instances())


def instance(name: str, tasks_dir: Path | None = None) -> Instance:
    """One task by its id. Raises `UsageError`."""
    for one in instances(tasks_dir, fixture=True):
        if one.id == name:
            return one
    raise UsageError(f"ProgramBench has no task {name!r}; `leadhand bench list programbench` shows all")


def _package() -> Any:
    from importlib.metadata import PackageNotFoundError, version

    try:
        here = version("programbench")
    except PackageNotFoundError:
        raise UsageError("ProgramBench is not installed: pip install leadhand[programbench]") from None
    if here != VERSION:
        raise UsageError(
            f"programbench {here} is installed; scores are those of {VERSION}: pip install leadhand[programbench]"
        )
    from programbench.utils import load_data

    return load_data


def _instance(raw: dict[str, Any], tasks_dir: Path | None) -> Instance:
    data = _package()
    ignored = data.get_ignored_tests(raw)
    active = data.get_active_branches(raw)
    names = {f"{branch}/{test}" for branch in active for test in raw["branches"][branch]["tests"]}
    return Instance(
        id=raw["instance_id"],
        language=raw.get("language", ""),
        difficulty=raw.get("difficulty") or "",
        repository=raw.get("repository", ""),
        image=raw["image_name"],
        tests=len(names - ignored),
        raw=raw,
        tasks_dir="" if tasks_dir is None else str(tasks_dir),
    )
