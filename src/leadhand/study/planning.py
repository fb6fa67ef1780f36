"""`leadhand study plan`: size, money, time and what it can tell apart, without a key, a sandbox or a dollar."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from leadhand.core.design import Design
from leadhand.core.errors import UsageError
from leadhand.core.values import Value
from leadhand.study.file import StudyFile, load
from leadhand.study.forecast import Forecast, cheaper, forecast
from leadhand.study.grid import control_of, designs_of
from leadhand.study.known import Past, evidence, kind_of, past_runs
from leadhand.study.power import (
    PUBLISHED_SD,
    WITHIN,
    between_of,
    detectable,
    mean_and_sd,
    published_detectable,
    sd_of_difference,
)
from leadhand.study.prepare import Given, budget_of
from leadhand.study.select import select
from leadhand.study.sources import tasks_of


class Detectable(Value, frozen=True, kw_only=True):
    """The smallest difference in reward that a plan finds with 80 % power, and what its spread is known from."""

    reward: float
    source: str


class Smaller(Value, frozen=True, kw_only=True):
    """A cheaper plan: the share of the dollars that it takes, and what it can still see."""

    tasks: int
    repeats: int
    runs: int
    share: float
    detectable: tuple[Detectable, ...]


class Plan(Value, frozen=True, kw_only=True):
    """All that is said of a study before it runs. `note` says what could not be looked at."""

    name: str
    about: str
    designs: dict[str, Design]
    controls: dict[str, str]
    tasks: int
    repeats: int
    runs: int
    concurrency: int
    budget_usd: float | None
    forecast: Forecast
    detectable: tuple[Detectable, ...]
    smaller: tuple[Smaller, ...]
    note: str = ""


def plan_study(path: Path, given: Given, past: Sequence[Path], concurrency: int | None = None) -> Plan:
    """Raises `UsageError` for a file that cannot be run. Blocks."""
    file = load(path)
    designs = designs_of(file)
    tasks, note = _count(file, path)
    slots = concurrency or file.concurrency
    before = past_runs(past)
    known = evidence(designs, tasks * file.repeats, before)
    budgets = {name: d.budget_usd for name, d in designs.items()}
    expected = forecast(dict.fromkeys(designs, tasks * file.repeats), budgets, known, slots)
    spreads = _spreads(designs, before)
    return Plan(
        name=file.name,
        about=file.about,
        designs=designs,
        controls={name: control_of(name, designs) for name in designs},
        tasks=tasks,
        repeats=file.repeats,
        runs=tasks * file.repeats * len(designs),
        concurrency=slots,
        budget_usd=budget_of(file, given),
        forecast=expected,
        detectable=_detectable(tasks, file.repeats, spreads),
        smaller=tuple(
            Smaller(
                tasks=n,
                repeats=k,
                runs=n * k * len(designs),
                share=n * k / (tasks * file.repeats),
                detectable=_detectable(n, k, spreads),
            )
            for n, k in cheaper(tasks, file.repeats)
        ),
        note=note,
    )


def _count(file: StudyFile, path: Path) -> tuple[int, str]:
    """How many tasks there are; the declared count where this machine does not have the benchmark."""
    try:
        return len(select(tasks_of(file.tasks.source, path.parent), file.tasks, file.seed)), ""
    except UsageError as error:
        if file.tasks.count is None:
            raise
        return file.tasks.count, f"the tasks are not on this machine, {file.tasks.count} as declared ({error})"


def _spreads(designs: dict[str, Design], past: Sequence[Past]) -> list[tuple[float, str]]:
    """SD over tasks of the true team - solo difference, from own runs of the very designs where there are enough."""
    found = []
    for name, design in designs.items():
        control = control_of(name, designs)
        if control:
            team, solo = _rewards(design, past), _rewards(designs[control], past)
            differences = [team[t] - solo[t] for t in team if t in solo]
            if len(differences) >= 10:
                sd = mean_and_sd(differences)[1]
                found.append((between_of(sd, WITHIN, 1), f"{len(differences)} tasks of your own, {name} - {control}"))
    return found


def _rewards(design: Design, past: Sequence[Past]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for p in past:
        if p.kind == kind_of(design) and p.reward is not None:
            found.setdefault(p.task, []).append(p.reward)
    return {task: mean_and_sd(values)[0] for task, values in found.items()}


def _detectable(tasks: int, repeats: int, spreads: list[tuple[float, str]]) -> tuple[Detectable, ...]:
    own = [
        Detectable(reward=detectable(sd_of_difference(sd, WITHIN, repeats, repeats), tasks), source=source)
        for sd, source in spreads
    ]
    published = [
        Detectable(reward=published_detectable(kind, tasks, repeats), source=f"{kind} leads, published")
        for kind in PUBLISHED_SD
    ]
    return tuple(own or published)
