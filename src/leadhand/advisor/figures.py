"""Published figures, read from the data files in `published/`: points, comparisons, their sources, and disputes."""

from __future__ import annotations

import math
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from leadhand.core.design import Design
from leadhand.core.values import Price, Value

FOLDER = Path(__file__).parent / "published"
Metric = Literal["reward", "usd", "minutes"]
METRICS: tuple[Metric, ...] = ("reward", "usd", "minutes")
Z = 1.959963985
HOME = "programbench"
"""The setting that the others are measured against: most published figures are about it."""


class Source(Value, frozen=True, kw_only=True):
    """Where a figure is from. `standing`: read, table (its tables and captions were read) or note (not checked)."""

    key: str = ""
    title: str
    date: str
    standing: Literal["read", "table", "note"]
    scope: str
    scope_sd: float
    scope_log_sd: float


class Term(Value, frozen=True, kw_only=True):
    """One design in a figure, and its weight in the weighted sum that was published."""

    weight: float
    design: Design


class Figure(Value, frozen=True, kw_only=True):
    """One published number: the weighted sum of the terms' rewards, or of the natural logs of their dollars or minutes.

    `sd`: sampling error and scope together. `solo`: the single agent's reward where it was measured, if stated.
    """

    source: Source
    where: str
    text: str
    metric: Metric
    terms: tuple[Term, ...]
    value: float
    sd: float
    setting: str
    harness: str = ""
    solo: float | None = None

    @property
    def absolute(self) -> bool:
        return len(self.terms) == 1


class Dispute(Value, frozen=True, kw_only=True):
    """Where sources disagree, in plain words; `when` names the advice that it belongs to."""

    when: str
    text: str


class _Point(Value, frozen=True, kw_only=True):
    source: str
    where: str
    setting: str
    design: dict[str, Any]
    harness: str = ""
    reward: float | None = None
    half: float = 0.0
    usd: float | None = None
    minutes: float | None = None


class _Claim(Value, frozen=True, kw_only=True):
    source: str
    where: str
    text: str
    outcome: Metric
    terms: dict[str, float]
    value: float
    low: float
    high: float
    solo: float | None = None


@cache
def sources() -> dict[str, Source]:
    return {key: msgspec.convert({"key": key, **table}, Source) for key, table in _read("sources").items()}


@cache
def figures() -> tuple[Figure, ...]:
    """Every published figure."""
    points = [msgspec.convert(p, _Point) for p in _read("teams")["point"]]
    points += _table_points("leaderboard", "means over 200 tasks")
    points += _table_points("charts", "score, dollars and minutes by effort")
    claims = _read("claims")
    designs = {name: _design(settings) for name, settings in claims["designs"].items()}
    found = [f for p in points for f in _of_point(p)]
    return (*found, *(_of_claim(msgspec.convert(c, _Claim), designs) for c in claims["claim"]))


@cache
def listed_prices() -> dict[str, Price]:
    """Prices of the models in figures, by bare name."""
    return {
        name: Price(input=i, output=o, cache_read=r, source="as published")
        for name, (i, o, r) in _read("models").items()
    }


@cache
def disputes() -> tuple[Dispute, ...]:
    return tuple(msgspec.convert(d, Dispute) for d in _read("dispute")["dispute"])


def settings() -> tuple[str, ...]:
    """Names of the benchmarks (and of tiers of them) that a figure is about."""
    return tuple(dict.fromkeys(f.setting for f in figures() if f.absolute))


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))


def _table_points(name: str, where: str) -> list[_Point]:
    table = _read(name)
    found = []
    for values in table["rows"]:
        row = dict(zip(table["columns"], values, strict=True))
        workers = row.get("workers", 0)
        team = {"worker": row["lead"], "workers": workers, "worker_reasoning": row["effort"]} if workers else {}
        design = {"lead": row["lead"], "lead_reasoning": row["effort"], "solo": not workers, **team}
        numbers = {k: v for k in ("reward", "usd", "minutes") if (v := row[k]) != ""}
        found.append(
            _Point(
                source=table["source"],
                where=where,
                setting=row["setting"],
                design=design,
                harness=table["harness"],
                **numbers,
            )
        )
    return found


def _design(settings: dict[str, Any]) -> Design:
    return msgspec.convert(settings, Design)


def _of_point(p: _Point) -> list[Figure]:
    source = sources()[p.source]
    terms = (Term(weight=1.0, design=_design(p.design)),)
    found: list[Figure] = []
    for metric in METRICS:
        value = getattr(p, metric)
        if value is None:
            continue
        sd = math.hypot(p.half / Z, source.scope_sd) if metric == "reward" else source.scope_log_sd
        found.append(
            Figure(
                source=source,
                where=p.where,
                text=_point_text(metric, value),
                metric=metric,
                terms=terms,
                value=value if metric == "reward" else math.log(value),
                sd=sd,
                setting=p.setting,
                harness=p.harness,
            )
        )
    return found


def _point_text(metric: Metric, value: float) -> str:
    return {"reward": f"reward {value:.3f}", "usd": f"${value:.2f} a task", "minutes": f"{value:.1f} minutes"}[metric]


def _of_claim(c: _Claim, designs: dict[str, Design]) -> Figure:
    source = sources()[c.source]
    low, value, high = (
        (c.low, c.value, c.high) if c.outcome == "reward" else tuple(map(math.log, (c.low, c.value, c.high)))
    )
    scope = source.scope_sd if c.outcome == "reward" else source.scope_log_sd
    return Figure(
        source=source,
        where=c.where,
        text=c.text,
        metric=c.outcome,
        terms=tuple(Term(weight=w, design=designs[d]) for d, w in c.terms.items()),
        value=value,
        sd=math.hypot((high - low) / 2 / Z, scope),
        setting="programbench" if c.source == "cohere" else c.source,
        solo=c.solo,
    )
