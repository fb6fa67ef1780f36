"""A grid of designs and tasks at a glance: what every design earns and costs, with intervals over tasks.

Repeats of a task are averaged first: the task is the unit. Runs that are not valid, not graded or degraded, and
attempts that were put aside, are left out of the statistics and counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from leadhand.core.values import Value
from leadhand.viewer.rows import Row


class Interval(Value, frozen=True, kw_only=True):
    """A mean over tasks; `low` and `high` are its 95 % interval (Student's t), None where there is none."""

    mean: float
    low: float | None = None
    high: float | None = None


class DesignLine(Value, frozen=True, kw_only=True):
    """One design of a study. Dollars and seconds are means per task."""

    design: str
    solo: bool
    runs: int
    counted: int
    running: int
    tasks: int
    reward: Interval | None = None
    usd: Interval | None = None
    seconds: Interval | None = None
    workers: float = 0.0
    delegations: float = 0.0
    frontier: bool = False
    total_usd: float = 0.0


class Cell(Value, frozen=True, kw_only=True):
    """One design on one task: means over its counted repeats, and all its runs."""

    design: str
    task: str
    reward: float | None
    usd: float
    seconds: float
    runs: tuple[str, ...]


class Study(Value, frozen=True, kw_only=True):
    """`planned` is how many runs the study file asks for, None where there is no such file."""

    designs: tuple[DesignLine, ...]
    tasks: tuple[str, ...]
    cells: tuple[Cell, ...]
    left_out: int
    planned: int | None = None
    note: str = ""


class _Means(NamedTuple):
    reward: list[float]
    usd: list[float]
    seconds: list[float]


def counts(row: Row) -> bool:
    return row.valid and row.reward is not None and not row.degraded and row.attempt == 0


def study_of(rows: Iterable[Row], planned: int | None = None) -> Study:
    """The fold of a study's rows."""
    groups: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if not row.error:
            groups[row.design][row.task].append(row)
    cells = tuple(_cell(d, t, rs) for d, tasks in groups.items() for t, rs in tasks.items())
    interval, note = _intervals()
    lines = [_line(design, tasks, interval) for design, tasks in groups.items()]
    best = _frontier(lines)
    names = sorted({t for tasks in groups.values() for t in tasks})
    everything = [r for tasks in groups.values() for rs in tasks.values() for r in rs]
    return Study(
        designs=tuple(_on(line, line.design in best) for line in sorted(lines, key=lambda x: x.design)),
        tasks=tuple(names),
        cells=cells,
        left_out=sum(r.status not in ("running", "reading") and not counts(r) for r in everything),
        planned=planned,
        note=note,
    )


def _cell(design: str, task: str, rows: list[Row]) -> Cell:
    counted = [r for r in rows if counts(r)]
    rewards = [r.reward for r in counted if r.reward is not None]
    return Cell(
        design=design,
        task=task,
        reward=_mean(rewards) if rewards else None,
        usd=_mean([r.usd for r in counted or rows]),
        seconds=_mean([r.seconds for r in counted or rows]),
        runs=tuple(r.id for r in rows),
    )


def _line(design: str, tasks: dict[str, list[Row]], interval: Any) -> DesignLine:
    rows = [r for rs in tasks.values() for r in rs]
    counted = {t: [r for r in rs if counts(r)] for t, rs in tasks.items()}
    means = _Means([], [], [])
    for rs in counted.values():
        if rs:
            means.reward.append(_mean([r.reward for r in rs if r.reward is not None]))
            means.usd.append(_mean([r.usd for r in rs]))
            means.seconds.append(_mean([r.seconds for r in rs]))
    ok = [r for rs in counted.values() for r in rs]
    return DesignLine(
        design=design,
        solo=rows[0].solo,
        runs=len(rows),
        counted=len(ok),
        running=sum(r.status == "running" for r in rows),
        tasks=len(means.reward),
        reward=interval(means.reward),
        usd=interval(means.usd),
        seconds=interval(means.seconds),
        workers=_mean([float(r.workers) for r in ok]),
        delegations=_mean([float(r.delegations) for r in ok]),
        total_usd=sum(r.usd for r in rows),
    )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _intervals() -> tuple[Any, str]:
    """How means become intervals: by the statistics room where its libraries are installed, else not at all."""
    try:
        from leadhand.analysis.stats.intervals import mean
    except ImportError:
        return (lambda xs: Interval(mean=_mean(xs)) if xs else None), "no intervals: NumPy and SciPy are not installed"

    def interval(xs: list[float]) -> Interval | None:
        if not xs:
            return None
        e = mean(xs)
        return Interval(mean=e.value, low=e.low, high=e.high)

    return interval, ""


def _frontier(lines: list[DesignLine]) -> set[str]:
    """Designs that no other beats in both reward and dollars (equal ones stay)."""
    known = [(x.design, x.reward.mean, x.usd.mean) for x in lines if x.reward and x.usd]
    return {
        name
        for name, reward, usd in known
        if not any(r >= reward and u <= usd and (r > reward or u < usd) for _, r, u in known)
    }


def _on(line: DesignLine, frontier: bool) -> DesignLine:
    import msgspec

    return msgspec.structs.replace(line, frontier=frontier)
