"""What past runs tell of a design before it is run again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


class Past(Value, frozen=True, kw_only=True):
    """One run that was finished before."""

    kind: Design
    task: str
    usd: float
    minutes: float
    reward: float | None


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


def evidence(designs: Mapping[str, Design], runs: int, past: Iterable[Past]) -> dict[str, Evidence]:
    """What past runs tell of the designs that were run before, each to be run `runs` times."""
    groups: dict[Design, list[Past]] = {}
    for p in past:
        groups.setdefault(p.kind, []).append(p)
    found: dict[str, Evidence] = {}
    for name, design in designs.items():
        if own := groups.get(kind_of(design)):
            rewards = [p.reward for p in own if p.reward is not None]
            found[name] = own_evidence([p.usd for p in own], [p.minutes for p in own], rewards, runs)
    return found
