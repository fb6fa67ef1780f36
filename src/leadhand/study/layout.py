"""Where everything of a study lies, and `study.json`: the resolved study and the list of its runs.

STUDY/
  study.json                     what is to be run (written before the first run, atomically)
  study.toml                     the study file as it was given
  runs/<design>.<task>.<repeat>-<digest8>/              a run (see `runs.paths`)
  runs/<design>.<task>.<repeat>-<digest8>.attempt-<n>/  an attempt that failed or was lost; its money counts
  outcomes.json                  derived: what the runs came to; can be deleted
  .lock                          held by the one driver of the study
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

import leadhand
from leadhand.core.chain import canonical, digest
from leadhand.core.design import Design
from leadhand.core.errors import UsageError
from leadhand.core.values import Value
from leadhand.runs.paths import RunPaths

FORMAT = 1
ATTEMPT = re.compile(r"(?P<run>.+)\.attempt-(?P<number>\d+)")


class PlannedRun(Value, frozen=True, kw_only=True):
    """One run of a study. `run` is the name of its folder below `runs/`."""

    run: str
    design: str
    task: str
    repeat: int
    identity: str


class Resolved(Value, frozen=True, kw_only=True):
    """The study with everything resolved. `controls`: each team's solo control by name; `labels`: the tasks' own."""

    designs: dict[str, Design]
    controls: dict[str, str]
    tasks: tuple[str, ...]
    labels: dict[str, dict[str, str]]
    repeats: int
    seed: int
    budget_usd: float | None
    sandbox: str
    about: str


class StudyRecord(Value, frozen=True, kw_only=True):
    """The content of `study.json`. `id` is drawn once per study folder: two copies of a study share no run's name."""

    format: int
    name: str
    id: str
    version: str
    study: Resolved
    digest: str
    runs: tuple[PlannedRun, ...]


@dataclass(frozen=True, slots=True)
class StudyPaths:
    folder: Path

    @property
    def study_json(self) -> Path:
        return self.folder / "study.json"

    @property
    def study_toml(self) -> Path:
        return self.folder / "study.toml"

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    @property
    def outcomes(self) -> Path:
        return self.folder / "outcomes.json"

    @property
    def lock(self) -> Path:
        return self.folder / ".lock"

    def run(self, name: str) -> RunPaths:
        return RunPaths(self.runs / name)

    def folders(self) -> Iterator[str]:
        """Names of everything below `runs/` that is a run, archived attempts too."""
        if self.runs.is_dir():
            with os.scandir(self.runs) as entries:
                names = sorted(e.name for e in entries)
            yield from (name for name in names if (self.runs / name / "run.json").exists())


def folder_name(study_id: str, identity: str, design: str, task: str, repeat: int) -> str:
    """The folder of a run: the same for the same identity in the same study."""
    return f"{design}.{task}.{repeat}-{digest(f'{study_id} {identity}'.encode())[:8]}"


def attempt_of(folder: str) -> tuple[str, int]:
    """(run, number) of an archived attempt's folder; number 0 for a run's own."""
    match = ATTEMPT.fullmatch(folder)
    return (match["run"], int(match["number"])) if match else (folder, 0)


def study_digest(study: Resolved) -> str:
    return digest(canonical(study))


def write_record(paths: StudyPaths, record: StudyRecord) -> None:
    """Write `study.json` whole or not at all."""
    write_whole(paths.study_json, msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")


def write_whole(path: Path, data: bytes) -> None:
    partial = path.with_name(f"{path.name}.partial")
    with partial.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(path)


def read_record(paths: StudyPaths) -> StudyRecord:
    """Raises `UsageError` where there is no study that this version can read."""
    try:
        record = msgspec.json.decode(paths.study_json.read_bytes(), type=StudyRecord)
    except FileNotFoundError:
        raise UsageError(f"no study in {paths.folder}: it has no study.json; `leadhand study run` makes one") from None
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"cannot read {paths.study_json}: {error}") from None
    if record.format != FORMAT:
        raise UsageError(
            f"{paths.study_json} has format {record.format}; leadhand {leadhand.__version__} reads {FORMAT}"
        )
    return record
