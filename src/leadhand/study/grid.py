"""From the factors of a study file to its designs by name, and the order of its runs. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from random import Random
from typing import Any, TypeVar, get_args

import msgspec

from leadhand.core.design import Design, Strategy, foreign
from leadhand.core.errors import UsageError
from leadhand.core.values import Limits
from leadhand.runs.design_file import design_from_settings, nearest
from leadhand.study.file import StudyFile

Designs = dict[str, Design]
Settings = Mapping[str, Any]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
T = TypeVar("T")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9+_-]*")


def designs_of(study: StudyFile) -> Designs:
    """All designs of a study, solo controls included, by name. Designs that are equal are one, under its first name.

    Raises `UsageError` for a design that cannot run, naming it.
    """
    found: Designs = {}
    for name, settings in _asked_for(study):
        design = _design(settings, study.models, name)
        if NAME.fullmatch(name) is None:
            raise UsageError(f"designs: {name!r} is not a name; use letters, digits, '+', '_' and '-'")
        if found.get(name, design) != design:
            raise UsageError(f"designs: two designs are called {name!r}; rename one")
        if design not in found.values():
            found[name] = design
    return _with_controls(found, study.models) if study.solo_controls else found


def _asked_for(study: StudyFile) -> Iterable[tuple[str, Settings]]:
    """Every design by name, each with the settings that its strategy has."""
    asked = list(_combinations(study))
    strategies = {_strategy(study.base, *tables) for _, tables in asked}
    for name, tables in asked:
        base, *levels = _fitting([study.base, *tables], strategies)
        varied = _merged(levels)
        yield name or label(varied), {**base, **varied}


def _combinations(study: StudyFile) -> Iterable[tuple[str, list[Settings]]]:
    """What varies in each design, a table of settings for each level; and its name, "" where its levels name it."""
    if study.grid:
        for values in product(*study.grid.values()):
            yield "", [settings_of(factor, level) for factor, level in zip(study.grid, values, strict=True)]
    if study.vary or not (study.grid or study.designs):
        yield "base", []
    for factor, levels in study.vary.items():
        for level in levels:
            yield "", [settings_of(factor, level)]
    for name, changes in study.designs.items():
        yield name, [changes]


def _strategy(*tables: Settings) -> Any:
    return _merged(tables).get("strategy", "team")


def _fitting(tables: Sequence[Settings], strategies: set[Any]) -> list[Settings]:
    """The tables without what only the other strategies of the study have: a team's `schedule`, the `k` of peers.

    The table that names the strategy is left whole, and so is what no strategy of the study has: that is refused.
    """
    strategy = _strategy(*tables)
    if not strategies <= set(STRATEGIES):
        return list(tables)  # a mistyped one; it is refused where designs are made
    left_out = foreign(strategy) - frozenset.intersection(*map(foreign, strategies))
    naming = next((t for t in reversed(tables) if "strategy" in t), None)
    return [t if t is naming else {k: v for k, v in t.items() if k not in left_out} for t in tables]


def _merged(tables: Iterable[Settings]) -> dict[str, Any]:
    return {key: value for table in tables for key, value in table.items()}


# --- one design ------------------------------------------------------------------------------------------------


def _design(settings: Settings, models: Mapping[str, str], name: str) -> Design:
    given = dict(settings)
    for role in ("lead", "worker"):
        if isinstance(given.get(role), str):
            given[role] = models.get(given[role], given[role])
    if isinstance(given.get("kinds"), list):
        given["kinds"] = [_kind(k, models) for k in given["kinds"]]
    if isinstance(given.get("guidance"), str) and set(given["guidance"]) <= set("PIV"):
        given["guidance"] = "".join(s for s in "PIV" if s in given["guidance"])
    try:
        return design_from_settings(given, name=f"design {name}")
    except UsageError as error:
        text = str(error)
        raise UsageError(text if text.startswith(f"design {name}") else f"design {name}: {text}") from None


def _kind(kind: Any, models: Mapping[str, str]) -> Any:
    if not isinstance(kind, dict) or not isinstance(kind.get("model"), str):
        return kind
    return {**kind, "model": models.get(kind["model"], kind["model"])}


def settings_of(factor: str, level: Any) -> dict[str, Any]:
    """What a level sets. A factor that is no setting of a design has tables as levels, which set several at once."""
    if factor in Design.__struct_fields__:
        return {factor: level}
    if not isinstance(level, dict):
        raise UsageError(
            f"{factor} is no setting of a design; {nearest(factor)} "
            "If it is a factor of your own, give its levels as tables of settings"
        )
    return dict(level)


def label(factors: Mapping[str, Any]) -> str:
    """A short name for what is varied: {"guidance": "P", "workers": 4} is `P_4w`, Sol leading Luna `sol+luna`,
    {"strategy": "best-of-k", "k": 3} `best-of-3`.
    """
    named = dict(factors)
    if named.get("strategy") in ("peers", "best-of-k") and "k" in named:
        k = named.pop("k")
        named["strategy"] = f"best-of-{k}" if named["strategy"] == "best-of-k" else f"{k}-peers"
    parts = [_level(factor, level) for factor, level in named.items()]
    joined = "_".join(parts).replace("_+", "+")
    return joined.replace("+", "worker-", 1) if joined.startswith("+") else joined or "base"


def _level(factor: str, level: Any) -> str:
    if isinstance(level, dict):
        return label(level)
    if factor == "kinds" and isinstance(level, list):
        return "+".join(f"{k.get('count', '')}{slug(str(k.get('name', '')))}" for k in level) or "one-kind"
    text = slug("none" if level is None else str(level).rpartition("/")[2]) or "default"
    match factor:
        case "guidance" | "schedule" | "lead" | "strategy" | "selector":
            return text
        case "k":
            return f"k{text}"
        case "worker":
            return f"+{text}"
        case "workers":
            return f"{text}w"
        case "max_workers":
            return f"cap{text}"
        case "budget_usd":
            return f"usd-{text.removesuffix('-0')}"
        case "messaging":
            return {"off": "silent", "on": "messages", "plus": "messages-plus"}.get(text, text)
    return f"{factor.replace('_', '-')}-{text}"


def slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9+-]+", "-", text).strip("-")[:48]


# --- solo controls ---------------------------------------------------------------------------------------------


def control(design: Design) -> Design:
    """The solo agent that a team is measured against: `minimal` for `minimal` teams, `PIV` for any stage guidance."""
    visible = "own" if design.budget_visibility != "none" else "none"
    return Design(
        lead=design.lead,
        lead_reasoning=design.lead_reasoning,
        lead_cache_ttl=design.lead_cache_ttl,
        compaction=design.compaction,
        finish_check=design.finish_check,
        solo=True,
        guidance="minimal" if design.guidance == "minimal" else "PIV",
        budget_usd=design.budget_usd,
        budget_visibility=visible,  # type: ignore[arg-type]
        max_output_tokens=design.max_output_tokens,
        retries=design.retries,
        limits=design.limits,
    )


def control_of(name: str, designs: Mapping[str, Design]) -> str:
    """The name of a team's solo control among `designs`; "" for a solo design or where there is none."""
    design = designs[name]
    if design.solo:
        return ""
    wanted = control(design)
    return next((n for n, d in designs.items() if d.solo and control(d) == wanted), "")


def _with_controls(teams: Designs, models: Mapping[str, str]) -> Designs:
    """Solo controls first, so that a study that stops early has them."""
    wanted = list(dict.fromkeys(control(d) for d in teams.values() if not d.solo))
    missing = [c for c in wanted if not any(d.solo and control(d) == c for d in teams.values())]
    short = {long: slug(name) for name, long in models.items()}
    leads = {d.lead for d in missing}
    efforts = {(d.lead, d.lead_reasoning) for d in missing}
    controls: Designs = {}
    for design in missing:
        lead = short.get(design.lead, slug(design.lead.rpartition("/")[2])) if len(leads) > 1 else ""
        effort = design.lead_reasoning if len(efforts) > len(leads) else ""
        name = "_".join(p for p in (lead, effort, "solo", design.guidance, _apart(design, missing[0])) if p)
        controls[_unused(name, {*teams, *controls})] = design
    return {**controls, **teams}


def _apart(design: Design, first: Design) -> str:
    """What a control has, beside lead, effort and guidance, that the first one has not: a budget, a limit."""
    named = ("lead", "lead_reasoning", "guidance")
    changed = {f: getattr(design, f) for f in design.__struct_fields__ if f not in named}
    changed = {f: value for f, value in changed.items() if value != getattr(first, f)}
    if isinstance(limits := changed.pop("limits", None), Limits):
        changed |= {f: v for f, v in msgspec.structs.asdict(limits).items() if v != getattr(first.limits, f)}
    return label(changed) if changed else ""


def _unused(name: str, taken: set[str]) -> str:
    number = 2
    free = name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free


# --- order -----------------------------------------------------------------------------------------------------


def in_order(designs: Sequence[str], tasks: Sequence[T], repeats: int, seed: int) -> list[tuple[str, T, int]]:
    """(design, task, repeat) of every run: by repeat, then task (shuffled by the seed, the same in each repeat), then
    all designs of that task. Wherever it stops, what is done is paired but for one task.
    """
    shuffled = Random(f"order-{seed}").sample(list(tasks), len(tasks))
    return [(design, task, repeat) for repeat in range(1, repeats + 1) for task in shuffled for design in designs]
