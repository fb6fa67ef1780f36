"""Two of a kind beside each other: runs and trajectories by their counts, studies and CSVs paired over tasks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from leadhand.analysis.compare import compare, summarise
from leadhand.analysis.exchange.export import read_trajectory
from leadhand.analysis.exchange.run import of_run
from leadhand.analysis.exchange.trajectory import Trajectory
from leadhand.analysis.scores import Scores
from leadhand.analysis.stats.intervals import Method
from leadhand.core.errors import UsageError
from leadhand.report.exhibits.overview import comparison_row
from leadhand.report.load import load
from leadhand.report.table import as_text, table
from leadhand.runs.paths import find_run, runs_root


def compared(a: str, b: str, *, runs: str = "", method: Method = "t") -> str:
    """The comparison as text. Raises `UsageError` where the two are not of one kind."""
    many = [_is_many(Path(x)) for x in (a, b)]
    if all(many):
        return _paired(Path(a), Path(b), method)
    if any(many):
        raise UsageError("compare two runs or trajectories, or two studies or CSVs, not one of each")
    return _side_by_side(_one(a, runs), _one(b, runs))


def _is_many(path: Path) -> bool:
    return path.suffix == ".csv" or (path.is_dir() and not (path / "run.json").exists())


def _one(name: str, runs: str) -> Trajectory:
    path = Path(name)
    return read_trajectory(path) if path.is_file() else of_run(find_run(name, runs_root(runs)))


def counts(t: Trajectory) -> dict[str, Any]:
    """What can be said of any trajectory, workers included."""
    agents = t.everyone()
    turns = [turn for agent in agents for turn in agent.turns if turn.source == "agent" and not turn.copied]
    usages = [turn.usage for turn in turns if turn.usage is not None]
    costs = [agent.cost for agent in agents if agent.cost is not None]
    calls = [call.name for turn in turns for call in turn.calls]
    return {
        "agent": f"{t.agent} {t.version}".strip(),
        "model": t.model,
        "status": t.status,
        "reward": t.reward,
        "cost": sum(costs) if costs else None,
        "agents": len(agents),
        "steps": len(turns),
        "tool calls": len(calls),
        "of these bash": calls.count("bash"),
        "delegations": calls.count("delegate_agent"),
        "prompt tokens": sum(u.prompt for u in usages) if usages else None,
        "cached": sum(u.cache_read for u in usages) if usages else None,
        "output tokens": sum(u.output for u in usages) if usages else None,
    }


def _side_by_side(a: Trajectory, b: Trajectory) -> str:
    left, right = counts(a), counts(b)
    rows = [(key, _shown(key, left[key]), _shown(key, right[key])) for key in left]
    return as_text(table([("what", "", "text"), ("a", a.id, "text"), ("b", b.id, "text")], rows))


def _shown(key: str, value: Any) -> str:
    if value is None:
        return "–"
    if key == "cost":
        return f"${value:.4f}" if value else "$0"
    return f"{value:.3f}" if isinstance(value, float) else (f"{value:,}" if isinstance(value, int) else str(value))


def _paired(a: Path, b: Path, method: Method) -> str:
    """Every design of A against the design of the same name in B; where each has one design, these two."""
    left, right = load(a, method=method).scores, load(b, method=method).scores
    shared = [d for d in left.designs if d in right.designs]
    if not shared and len(left.designs) == len(right.designs) == 1:
        family = [(left.designs[0], right.designs[0])]
    else:
        family = [(d, d) for d in shared]
    if not family:
        raise UsageError(f"{a} and {b} have no design in common, and not one design each")
    both = _joined(left, right)
    found = compare(both, [(f"A: {x}", f"B: {y}") for x, y in family], method)
    means = [
        (s.design, s.reward.value if s.reward else None, s.cost.value if s.cost else None) for s in summarise(both)
    ]
    head = table([("design", "design", "text"), ("reward", "reward", "reward"), ("cost", "cost", "usd")], means)
    rows = [(*row[:5], row[6], *row[7:9]) for row in map(comparison_row, found)]
    tests = table(
        [
            ("design", "comparison", "text"), ("reward", "points", "points"), ("low", "low", "points"),
            ("high", "high", "points"), ("p", "p", "p"), ("mde", "detectable", "points"), ("n", "tasks", "count"),
            ("out", "left out", "count"),
        ],
        rows,
    )  # fmt: skip
    return as_text(head) + "\n" + as_text(tests)


def _joined(a: Scores, b: Scores) -> Scores:
    frames = [
        s.frame.with_columns(pl.format(f"{side}: {{}}", "design").alias("design")) for side, s in (("A", a), ("B", b))
    ]
    factors = {f"{side}: {d}": f for side, s in (("A", a), ("B", b)) for d, f in s.factors.items()}
    tasks = tuple(sorted({*a.tasks, *b.tasks}))
    return replace(a, frame=pl.concat(frames), factors=factors, tasks=tasks, repeats=max(a.repeats, b.repeats))
