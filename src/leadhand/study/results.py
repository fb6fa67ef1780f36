"""What a study found, from its run folders: a line per design with its lift over its solo control; tidy rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from leadhand.core.values import Value
from leadhand.study.layout import PlannedRun, StudyRecord, attempt_of
from leadhand.study.outcome import Outcome
from leadhand.study.power import detected, half_width, mean_and_sd

COLUMNS = (
    "study", "run", "task", "design", "repeat", "status", "valid", "reward", "cost", "unknown_cost",
    "attempts_cost", "minutes", "steps", "attempts", "degraded", "resumed", "lead", "lead_reasoning", "worker",
    "worker_reasoning", "solo", "guidance", "schedule", "workers", "cap", "messaging", "context", "finish_check",
    "strategy", "k", "collect", "selector", "control", "tier", "cluster",
)  # fmt: skip


class Lift(Value, frozen=True, kw_only=True):
    """Mean paired difference to the solo control over the tasks both have; `half` is half its 95 % interval (Student
    t), `detectable` the smallest true difference that so many tasks of this spread find with 80 % power.
    """

    control: str
    tasks: int
    mean: float
    half: float | None
    detectable: float | None


class Row(Value, frozen=True, kw_only=True):
    """One design. Means over tasks, each task's repeats averaged first. `cost` and `minutes` per run."""

    design: str
    planned: int
    counted: int
    degraded: int
    broke_rules: int
    reward: float | None
    half: float | None
    cost: float | None
    minutes: float | None
    lift: Lift | None


def rows(record: StudyRecord, outcomes: Mapping[str, Outcome], *, with_degraded: bool = False) -> list[Row]:
    """Degraded runs, runs that broke a rule and runs without a reward are left out of the means, and counted."""
    rewards = {name: by_task(record.runs, outcomes, name, with_degraded) for name in record.study.designs}
    return [_row(name, record, outcomes, rewards, with_degraded) for name in record.study.designs]


def counts(outcome: Outcome | None, with_degraded: bool) -> bool:
    return (
        outcome is not None and outcome.valid and outcome.reward is not None and (with_degraded or not outcome.degraded)
    )


def by_task(
    runs: Iterable[PlannedRun], outcomes: Mapping[str, Outcome], design: str, with_degraded: bool
) -> dict[str, float]:
    """Mean reward of a design by task."""
    found: dict[str, list[float]] = {}
    for run in runs:
        outcome = outcomes.get(run.run)
        if run.design == design and counts(outcome, with_degraded):
            assert outcome is not None
            assert outcome.reward is not None
            found.setdefault(run.task, []).append(outcome.reward)
    return {task: mean_and_sd(values)[0] for task, values in found.items()}


def _row(
    name: str,
    record: StudyRecord,
    outcomes: Mapping[str, Outcome],
    rewards: Mapping[str, dict[str, float]],
    with_degraded: bool,
) -> Row:
    own = [r for r in record.runs if r.design == name]
    there = [o for r in own if (o := outcomes.get(r.run)) is not None]
    counted = [o for o in there if counts(o, with_degraded)]
    values = list(rewards[name].values())
    control = record.study.controls.get(name, "")
    return Row(
        design=name,
        planned=len(own),
        counted=len(counted),
        degraded=sum(o.degraded and o.valid for o in there),
        broke_rules=sum(o.broke_rules for o in there),
        reward=mean_and_sd(values)[0] if values else None,
        half=half_width(values) if len(values) > 1 else None,
        cost=mean_and_sd([o.settled_usd for o in counted])[0] if counted else None,
        minutes=mean_and_sd([o.seconds / 60 for o in counted])[0] if counted else None,
        lift=lift(control, rewards[name], rewards[control]) if control else None,
    )


def lift(control: str, team: Mapping[str, float], solo: Mapping[str, float]) -> Lift | None:
    differences = [team[task] - solo[task] for task in team if task in solo]
    if not differences:
        return None
    mean = mean_and_sd(differences)[0]
    several = len(differences) > 1
    return Lift(
        control=control,
        tasks=len(differences),
        mean=mean,
        half=half_width(differences) if several else None,
        detectable=detected(differences) if several else None,
    )


def tidy(record: StudyRecord, outcomes: Mapping[str, Outcome]) -> list[dict[str, Any]]:
    """One row per planned run that exists. `cost` is the run's own (all its candidates), `attempts_cost` that of its
    failed attempts; `k` is empty for a team and a solo agent. What a design is has the names that `analyse` reads.
    """
    spent: dict[str, list[float]] = {}
    for name, o in outcomes.items():
        run, number = attempt_of(name)
        if number:
            spent.setdefault(run, []).append(o.settled_usd)
    return [_tidy(record, run, outcomes[run.run], spent.get(run.run, [])) for run in record.runs if run.run in outcomes]


def _tidy(record: StudyRecord, run: PlannedRun, o: Outcome, attempts: list[float]) -> dict[str, Any]:
    design = record.study.designs[run.design]
    # Kinds of worker in one cell: models and efforts keep the same places.
    workers = list(dict.fromkeys((k.model, k.reasoning) for k in design.worker_kinds)) if design.has_lead else []
    efforts = [effort for _, effort in workers]
    labels = record.study.labels.get(run.task, {})
    return {
        "study": record.name,
        "run": run.run,
        "task": run.task,
        "design": run.design,
        "repeat": run.repeat,
        "status": o.status,
        "valid": o.valid,
        "reward": o.reward,
        "cost": o.settled_usd,
        "unknown_cost": o.unknown_usd,
        "attempts_cost": sum(attempts),
        "minutes": o.seconds / 60,
        "steps": o.steps,
        "attempts": len(attempts) + 1,
        "degraded": o.degraded,
        "resumed": o.resumed,
        "lead": design.lead,
        "lead_reasoning": design.lead_reasoning,
        "worker": "+".join(model for model, _ in workers),
        "worker_reasoning": "+".join(efforts) if any(efforts) else "",
        "solo": design.solo,
        "guidance": design.guidance,
        "schedule": design.schedule if design.has_lead else "",
        "workers": design.workers,
        "cap": design.cap,
        "messaging": design.messaging,
        "context": design.context,
        "finish_check": design.finish_check,
        "strategy": design.strategy,
        "k": None if design.strategy == "team" else design.k,
        "collect": design.collect if design.strategy == "peers" else "",
        "selector": design.selector if design.strategy == "best-of-k" else "",
        "control": record.study.controls.get(run.design, ""),
        "tier": labels.get("difficulty") or labels.get("tier", ""),
        "cluster": labels.get("cluster") or labels.get("repository") or labels.get("repo", ""),
    }


def as_csv(table: Iterable[Mapping[str, Any]]) -> str:
    """Tidy rows as CSV; what is not known is an empty cell."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: "" if v is None else v for k, v in row.items()} for row in table)
    return out.getvalue()
