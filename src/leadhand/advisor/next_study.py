"""The next experiment as a study file, in the study room's own format. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from leadhand.advisor.candidates import describe
from leadhand.advisor.experiment import Trial
from leadhand.advisor.setting import Like
from leadhand.advisor.values import Question
from leadhand.advisor.words import dollars
from leadhand.core.design import Design
from leadhand.study.grid import slug

MARGIN = 3.0
"""A run's budget, and the study's, in units of what is expected: costs of single tasks differ widely."""

LEAST_BUDGET = 0.5
"""Dollars for a run: what a cheap model reserves for a single long reply must fit, or the run would be cut short."""

MARK = "# Written by `leadhand advise`."


def study_text(q: Question, like: Like, designs: Sequence[Design], trial: Trial) -> str:
    """A study file that `leadhand study run` takes, named after what it is about: each experiment is a study of its
    own. Tasks that nobody can name yet are to be put in.
    """
    per_run = trial.usd / max(1, len(trial.tasks) * len(designs))
    budget = max(LEAST_BUDGET, q.max_usd * MARGIN if q.max_usd is not None else per_run * MARGIN * 2)
    total = max(budget, trial.usd * MARGIN)
    tasks: dict[str, Any] = {"source": like.source or ("tasks/*",)}
    repeats = len(trial.tasks) if like.lone else 1
    if not like.lone:
        tasks |= {"ids": trial.tasks} if like.ids else {"shuffle": True, "first": len(trial.tasks)}
    name = study_name(like, designs, trial)
    head = [
        MARK,
        *(f"# {describe(d)}" for d in designs),
        f"# Expected to cost {dollars(trial.usd)}, and to change the advice with {trial.changes:.0%} probability.",
    ]
    if not like.source:
        head += [
            f"# Put {_tasks(repeats, trial)} of yours below tasks/, a folder with a task.toml each.",
            f"# Afterwards: leadhand advise --like studies/{name}",
        ]
    body = {
        "name": name,
        "about": f"What would change the advice for {like.setting}.",
        "seed": 1,
        "repeats": repeats,
        "solo_controls": False,
        "budget_usd": round(total, 4),
    }
    parts = [
        "\n".join(head),
        _table("", body),
        _table("tasks", tasks),
        _table("base", {"budget_usd": round(budget, 4)}),
    ]
    taken: dict[str, Design] = {}
    for design in designs:
        name = _short(design)
        taken[name if name not in taken else f"{name}-{len(taken) + 1}"] = design
    parts += [_table(f"designs.{name}", _settings(design)) for name, design in taken.items()]
    return "\n\n".join(parts) + "\n"


def study_name(like: Like, designs: Sequence[Design], trial: Trial) -> str:
    """The same for the same question and evidence; another one after more runs, even of the same designs and tasks."""
    parts = (like.setting, like.source, trial.tasks, designs, len(like.own))
    return f"advised-{hashlib.sha256(repr(parts).encode()).hexdigest()[:6]}"


def _tasks(repeats: int, trial: Trial) -> str:
    return "that task" if repeats > 1 else f"{len(trial.tasks)} tasks"


def _table(name: str, values: Mapping[str, Any]) -> str:
    lines = [f"[{_key(name)}]"] if name else []
    return "\n".join([*lines, *(f"{key} = {_value(value)}" for key, value in values.items())])


def _key(name: str) -> str:
    """A table's name; what TOML takes for an operator is quoted."""
    table, dot, design = name.partition(".")
    return f"{table}.{json.dumps(design)}" if dot else table


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _settings(design: Design) -> dict[str, Any]:
    """The settings that differ from the defaults."""
    usual = Design(lead="")
    found: dict[str, Any] = {}
    for field in design.__struct_fields__:
        value = getattr(design, field)
        if value != getattr(usual, field) and field not in ("budget_usd", "limits", "retries", "kinds"):
            found[field] = value
    if design.kinds:
        kinds = []
        for kind in design.kinds:
            fields = {f: getattr(kind, f) for f in kind.__struct_fields__}
            kinds.append({f: v for f, v in fields.items() if v not in ("", None)})
        found["kinds"] = kinds
    return found


def _short(design: Design) -> str:
    lead = design.lead.rpartition("/")[2]
    parts = [lead if design.solo or not design.worker else f"{lead}+{design.worker.rpartition('/')[2]}"]
    parts += ["solo"] if design.solo else []
    parts += [design.guidance]
    parts += [f"{design.workers}w"] if design.workers is not None else []
    parts += [design.lead_reasoning] if design.lead_reasoning else []
    return slug("_".join(parts).replace(".", "-").replace("_", "-"))
