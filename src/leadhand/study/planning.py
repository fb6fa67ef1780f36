"""`leadhand study plan`: size, money, time, rewards, what it can tell apart; without a key, a sandbox or a dollar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from leadhand.core.design import Design
from leadhand.core.errors import UsageError
from leadhand.core.values import Price, Task, Value
from leadhand.models import find_price
from leadhand.study.cheaper import dominated, saved, smaller
from leadhand.study.file import StudyFile, load
from leadhand.study.forecast import Advise, Evidence, Forecast, forecast
from leadhand.study.grid import control_of
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
from leadhand.study.prepare import Given, budget_of, designs_in, no_budget, prices_of
from leadhand.study.select import select
from leadhand.study.sources import selected_of


class Detectable(Value, frozen=True, kw_only=True):
    """The smallest difference in reward that a plan finds with 80 % power, and what its spread is known from."""

    reward: float
    source: str


class Smaller(Value, frozen=True, kw_only=True):
    """A cheaper plan: what it saves (a share of the expected dollars, and dollars where they are known), what it can
    still see, and the designs it does without, each with one that is expected to be cheaper and no worse.
    """

    tasks: int
    repeats: int
    runs: int
    saves: float
    saves_usd: float | None
    detectable: tuple[Detectable, ...]
    without: dict[str, str] = {}


class Plan(Value, frozen=True, kw_only=True):
    """All that is said of a study before it runs. `note` says what could not be looked at; `like` is the setting that
    the forecast is for. `refused`: why `study run` would refuse it as it stands, such as a model without a price.
    """

    name: str
    about: str
    designs: dict[str, Design]
    controls: dict[str, str]
    tasks: int
    repeats: int
    runs: int
    concurrency: int
    budget_usd: float | None
    like: str
    forecast: Forecast
    detectable: tuple[Detectable, ...]
    smaller: tuple[Smaller, ...]
    note: str = ""
    refused: tuple[str, ...] = ()


def nothing_known(designs: Mapping[str, Design], like: str, prices: Mapping[str, Price]) -> Mapping[str, Evidence]:
    """An `Advise` that knows nothing."""
    return {}


def plan_study(
    path: Path,
    given: Given,
    past: Sequence[Path],
    concurrency: int | None = None,
    advise: Advise = nothing_known,
) -> Plan:
    """Designs that were run before (in the folders `past`) are known from that, the others by `advise`.

    Raises `UsageError` for a file that cannot be run. Blocks.
    """
    file = load(path)
    designs = designs_in(file, path)
    chosen, tasks, note = _tasks(file, path)
    runs_each = tasks * file.repeats
    slots = concurrency or file.concurrency
    before = past_runs(past)
    known = evidence(designs, runs_each, before)
    rest = {name: d for name, d in designs.items() if name not in known}
    like = setting(file, chosen)
    prices = prices_of(file, designs.values())
    if rest:
        known |= advise(rest, like, prices)
    expected = forecast(designs, runs_each, known, slots)
    controls = {name: control_of(name, designs) for name in designs}
    spreads = _spreads(designs, before)
    return Plan(
        name=file.name,
        about=file.about,
        designs=designs,
        controls=controls,
        tasks=tasks,
        repeats=file.repeats,
        runs=runs_each * len(designs),
        concurrency=slots,
        budget_usd=budget_of(file, given),
        like=like,
        forecast=expected,
        detectable=_detectable(tasks, file.repeats, spreads),
        smaller=_smaller(tasks, file.repeats, expected, controls, spreads),
        note=note,
        refused=tuple(filter(None, (no_budget(file, given), *_unpriced(designs, prices)))),
    )


def _unpriced(designs: Mapping[str, Design], prices: Mapping[str, Price]) -> tuple[str, ...]:
    """A line for each model without a price: a run with it would be refused, a plan is not."""
    now, found = datetime.now(UTC), list[str]()
    for name in dict.fromkeys(model for d in designs.values() for model in d.models):
        try:
            find_price(name, now, prices)
        except UsageError as error:
            found.append(str(error))
    return tuple(found)


def _tasks(file: StudyFile, path: Path) -> tuple[list[Task], int, str]:
    """The tasks and how many there are; none and the declared count where this machine does not have the benchmark."""
    try:
        chosen = select(selected_of(file.tasks, path.parent), file.tasks, file.seed)
    except UsageError as error:
        if file.tasks.count is None:
            raise
        return [], file.tasks.count, f"the tasks are not on this machine, {file.tasks.count} as declared ({error})"
    return chosen, len(chosen), ""


def setting(file: StudyFile, tasks: Sequence[Task]) -> str:
    """What the tasks are, as the advisor's `--like` has it: their benchmark, with their tier where they have but one;
    the study itself where they are folders, or from several benchmarks.
    """
    benchmarks = {t.benchmark for t in tasks} or set(file.tasks.source)
    if len(benchmarks) != 1 or benchmarks & {"folder", "prompt"}:
        return file.name
    asked = file.tasks.where.get("difficulty", "")
    tiers = {t.labels.get("difficulty", "") for t in tasks} or ({asked} if isinstance(asked, str) else set(asked))
    tier = next(iter(tiers)) if len(tiers) == 1 else ""
    name = benchmarks.pop()
    return f"{name}:{tier}" if tier else name


def _smaller(
    tasks: int, repeats: int, f: Forecast, controls: Mapping[str, str], spreads: list[tuple[float, str]]
) -> tuple[Smaller, ...]:
    designs = len(f.lines)
    whole = f.usd_priced or f.usd
    found = []
    for n, k in smaller(tasks, repeats):
        less = 1 - n * k / (tasks * repeats)
        found.append(
            Smaller(
                tasks=n,
                repeats=k,
                runs=n * k * designs,
                saves=less,
                saves_usd=None if whole is None else less * whole.expected,
                detectable=_detectable(n, k, spreads),
            )
        )
    if without := dominated(f, controls):
        usd, share = saved(f, without)
        plan = Smaller(
            tasks=tasks,
            repeats=repeats,
            runs=tasks * repeats * (designs - len(without)),
            saves=share,
            saves_usd=usd,
            detectable=_detectable(tasks, repeats, spreads),
            without=without,
        )
        found.append(plan)
    return tuple(found)


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
