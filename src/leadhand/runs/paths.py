"""Where everything of a run lies. Nothing else in the project spells a path inside a run folder.

RUN/
  run.json         the request and the lock: everything resolved, written before the first event
  journal.jsonl    the only thing a run produces
  blobs/           large outputs by their SHA-256, the submission among them
  workspace/       what the team works on (bwrap and local bind it)
  scratch/         reports and long outputs, outside the submission
  mounts/          staged copies of what is shown read-only
  candidates/      best of k: of each candidate a workspace/ and a scratch/
  grading/         scratch of one grading, removed after it
  finishing/       of a design with finish_check: the copy that is tried, removed after it
  result.patch     of a run on a repository: the diff (derived)
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from leadhand.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class RunPaths:
    folder: Path

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def run_json(self) -> Path:
        return self.folder / "run.json"

    @property
    def journal(self) -> Path:
        return self.folder / "journal.jsonl"

    @property
    def blobs(self) -> Path:
        return self.folder / "blobs"

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def scratch(self) -> Path:
        return self.folder / "scratch"

    @property
    def mounts(self) -> Path:
        return self.folder / "mounts"

    def candidate(self, name: str) -> RunPaths:
        """Where the workspace and the scratch folder of one candidate are."""
        return RunPaths(self.folder / "candidates" / name)

    @property
    def grading(self) -> Path:
        return self.folder / "grading"

    @property
    def finishing(self) -> Path:
        return self.folder / "finishing"

    @property
    def patch(self) -> Path:
        return self.folder / "result.patch"

    def blob(self, digest: str) -> Path:
        return self.blobs / digest


def runs_root(given: str = "") -> Path:
    """The folder that holds runs: what was given, else $LEADHAND_RUNS, else ./runs."""
    return Path(given or os.environ.get("LEADHAND_RUNS") or "runs").expanduser().absolute()


def all_runs(root: Path) -> list[RunPaths]:
    """Every run below `root`, oldest first."""
    found = [RunPaths(p.parent) for p in root.glob("*/run.json")]
    return sorted(found, key=lambda r: r.id)


def find_run(name: str, root: Path) -> RunPaths:
    """A run by its folder, its id, the beginning of its id, or `last`. Raises `UsageError`."""
    given = Path(name).expanduser()
    if (given / "run.json").exists():
        return RunPaths(given.absolute())
    runs = all_runs(root)
    if name == "last" and runs:
        return runs[-1]
    matches = [r for r in runs if r.id.startswith(name)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UsageError(
            f"{name!r} fits {len(matches)} runs: {', '.join(r.id for r in matches[:5])}; give more of the id"
        )
    of_task = next((r.id for r in reversed(runs) if name and f"-{name.lower()}-" in r.id), "")
    hint = f"the newest run of that task is {of_task}; " if of_task else ""
    raise UsageError(f"no run {name!r} in {root}; {hint}`leadhand runs` lists them, --runs names another folder")
