"""What is known of a design before it is run: past runs of its kind, else a published figure, else nothing."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import msgspec

from leadhand.core.design import Design
from leadhand.core.errors import JournalError
from leadhand.core.values import Limits, Value
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import read_run_file
from leadhand.study import state
from leadhand.study.forecast import Evidence, own_evidence
from leadhand.study.layout import StudyPaths
from leadhand.study.outcome import Outcome, read_outcome

TABLE = Path(__file__).with_name("published.toml")


class Past(Value, frozen=True, kw_only=True):
    """One run that was finished before."""

    kind: Design
    task: str
    usd: float
    minutes: float
    reward: float | None


class Figure(Value, frozen=True, kw_only=True):
    """A published figure, per task. Model names are bare; `workers` None: a dynamic team."""

    lead: str
    usd: float
    source: str
    worker: str = ""
    solo: bool = False
    guidance: str = "minimal"
    workers: int | None = None
    low: float | None = None
    high: float | None = None
    minutes: float | None = None


def kind_of(design: Design) -> Design:
    """A design without what only bounds it: runs that were given other limits or budgets are still of its kind."""
    return msgspec.structs.replace(design, budget_usd=None, limits=Limits(), retries=8)


def past_runs(folders: Iterable[Path]) -> list[Past]:
    """Finished runs of studies and of folders that hold runs. Unreadable runs are passed over. Blocks."""
    found = []
    for folder in folders:
        if (folder / "study.json").exists():
            paths = StudyPaths(folder)
            found += [_past(paths.run(name), o) for name, o in state.scan(paths).items() if o.valid]
        elif folder.is_dir():
            for file in sorted(folder.glob("*/run.json")):
                run = RunPaths(file.parent)
                try:
                    outcome = read_outcome(run)
                except JournalError:
                    continue
                if outcome.valid:
                    found.append(_past(run, outcome))
    return found


def _past(run: RunPaths, outcome: Outcome) -> Past:
    lock = read_run_file(run.run_json).lock
    return Past(
        kind=kind_of(lock.design),
        task=lock.task.id,
        usd=outcome.settled_usd,
        minutes=outcome.seconds / 60,
        reward=outcome.reward,
    )


def evidence(designs: Mapping[str, Design], runs: int, past: Iterable[Past]) -> dict[str, Evidence | None]:
    """What is known of each design that is to be run `runs` times."""
    groups: dict[Design, list[Past]] = {}
    for p in past:
        groups.setdefault(p.kind, []).append(p)
    found: dict[str, Evidence | None] = {}
    for name, design in designs.items():
        own = groups.get(kind_of(design), [])
        if own:
            found[name] = own_evidence([p.usd for p in own], [p.minutes for p in own], runs)
        else:
            found[name] = published(design)
    return found


def published(design: Design) -> Evidence | None:
    """A published figure for a design, where there is one."""
    lead, *others = (name.partition("/")[2] for name in (design.lead, *(k.model for k in design.worker_kinds)))
    workers = [] if design.solo else sorted(set(others))
    for f in figures():
        same = (f.lead, [f.worker] if f.worker else [], f.solo, f.guidance) == (
            lead,
            workers,
            design.solo,
            design.guidance,
        )
        if same and design.messaging == "off" and (f.workers == design.workers or design.solo):
            low, high = (f.usd / 2 if f.low is None else f.low), (f.usd * 2 if f.high is None else f.high)
            m = f.minutes
            return Evidence(
                kind="published",
                usd=f.usd,
                usd_low=low,
                usd_high=high,
                minutes=m,
                minutes_low=None if m is None else m / 2,
                minutes_high=None if m is None else m * 2,
                source=f.source,
            )
    return None


@cache
def figures() -> tuple[Figure, ...]:
    return tuple(msgspec.convert(f, Figure) for f in tomllib.loads(TABLE.read_text("utf-8"))["figure"])
