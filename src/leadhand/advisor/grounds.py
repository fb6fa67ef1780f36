"""What a prediction rests on, and in what respects nothing like it was seen. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from leadhand.advisor.candidates import describe
from leadhand.advisor.features import EASE, Place
from leadhand.advisor.figures import Figure, Metric
from leadhand.advisor.gauss import Weights
from leadhand.advisor.model import Fitted, arm_of
from leadhand.advisor.own import Own
from leadhand.advisor.profile import bare, effort_of, maker, one_agent
from leadhand.advisor.setting import quoted
from leadhand.advisor.values import Citation, Ground
from leadhand.core.design import Design
from leadhand.study.grid import control

MOST_CITED = 3
WORTH_CITING = 0.05
"""A figure is named where the prediction moves with it by at least this much per unit."""

FAR = 0.1
"""Where tasks are so much easier or harder than usual, the figures on how ease matters are named too."""


def evidence(fitted: Fitted, design: Design, setting: str, own: Sequence[Own]) -> tuple[Ground, ...]:
    """For reward, dollars and minutes, and for what a team brings over its lead alone."""
    mine = _mine(fitted, design, setting, own)
    names: tuple[tuple[Metric, str], ...] = (("reward", "reward"), ("usd", "dollars"), ("minutes", "minutes"))
    found = [_ground(name, metric, fitted, design, setting, (mine, len(own) - mine)) for metric, name in names]
    if one_agent(design):
        return tuple(found)
    known = {t.design.strategy for f in fitted.figures for t in f.terms} | {r.design.strategy for r in own}
    lift = "lift over solo"
    if design.strategy in known:
        found.append(of_difference(lift, fitted, design, control(design), setting, own))
    else:
        found.append(Ground(number=lift))
    return tuple(found)


def of_difference(name: str, fitted: Fitted, design: Design, other: Design, setting: str, own: Sequence[Own]) -> Ground:
    """What the difference of two designs' rewards rests on."""
    weights = dict(fitted.weights("reward", design, setting))
    for column, weight in fitted.weights("reward", other, setting).items():
        weights[column] = weights.get(column, 0.0) - weight
    mine = min(_mine(fitted, d, setting, own) for d in (design, other))
    cited = _cited("reward", fitted, weights, mine)
    if abs(fitted.place(other, setting).ease - EASE) > FAR:
        cited = tuple(dict.fromkeys((*cited[:2], *_cited("reward", fitted, {"ease": 1.0}, mine)[:2])))
    return Ground(number=name, own=mine, other_own=len(own) - mine, published=cited)


def _ground(name: str, metric: Metric, fitted: Fitted, design: Design, setting: str, runs: tuple[int, int]) -> Ground:
    mine, others = runs
    if metric == "usd" and fitted.profile(design).free:
        return Ground(number=name, prices=True)
    weights = fitted.weights(metric, design, setting)
    return Ground(
        number=name,
        own=mine,
        other_own=others,
        published=_cited(metric, fitted, weights, mine),
        prices=metric == "usd" and not mine,
    )


def _mine(fitted: Fitted, design: Design, setting: str, own: Sequence[Own]) -> int:
    kind = fitted.arm(design, setting)
    return sum(arm_of(fitted.profile(r.design), r.setting) == kind for r in own)


def _cited(metric: Metric, fitted: Fitted, weights: Weights, mine: int) -> tuple[Citation, ...]:
    """The few figures that move a number most; fewer where own runs of the very design say it."""
    posterior = fitted.posteriors[metric]
    moved = zip(posterior.pull(weights), posterior.rows, strict=True)
    sizes = sorted(((abs(float(w)), r.source) for w, r in moved if r.source >= 0), key=lambda pair: (-pair[0], pair[1]))
    found = [fitted.figures[source] for size, source in sizes if size >= WORTH_CITING]
    return tuple(dict.fromkeys(map(_citation, found)))[: max(0, MOST_CITED - mine // 10)]


def _citation(f: Figure) -> Citation:
    subject = f"{describe(f.terms[0].design)} on {f.setting}: " if f.absolute else ""
    return Citation(
        text=subject + f.text,
        title=f.source.title,
        where=f.where,
        date=f.source.date,
        standing=f.source.standing,
        scope=f.source.scope,
    )


def extrapolated(fitted: Fitted, design: Design, setting: str, own: Sequence[Own]) -> tuple[str, ...]:
    """In what respects nothing like the design was seen, in words."""
    seen = [(t.design, f.setting) for f in fitted.figures for t in f.terms] + [(r.design, r.setting) for r in own]
    benchmark = Place(setting).benchmark
    there = [d for d, s in seen if Place(s).benchmark == benchmark]
    leads = {bare(d.lead) for d, _ in seen}
    found = []
    if not there:
        found.append(f"nothing was ever run on {quoted(setting)}")
    elif design.has_lead and not any(d.has_lead for d in there):
        found.append(f"no team was ever run on {quoted(setting)}")
    if bare(design.lead) not in leads:
        found.append(
            f"{_shown(design.lead)}: no figure and no run, placed by its price and its maker ({maker(design.lead)})"
        )
    if design.has_lead:
        found += _of_team(design, [d for d, _ in seen if d.has_lead])
    elif design.strategy != "team":
        found += _of_strategy(design, [d for d, _ in seen if d.strategy == design.strategy])
    efforts = {effort_of(d.lead_reasoning) for d, _ in seen if bare(d.lead) == bare(design.lead)}
    if efforts and effort_of(design.lead_reasoning) not in efforts:
        found.append(f"{_shown(design.lead)} was never seen at {design.lead_reasoning or 'its default'} effort")
    return tuple(found)


def _of_team(design: Design, teams: Sequence[Design]) -> list[str]:
    found = []
    pair = _pair(design)
    if pair not in {_pair(d) for d in teams}:
        workers = " and ".join(sorted({_shown(k.model) for k in design.worker_kinds}))
        found.append(f"{_shown(design.lead)} leading {workers} was never seen; priced from the price table")
    elif design.workers is not None:
        most = max((d.workers or d.max_workers for d in teams if _pair(d) == pair), default=0)
        if design.workers > most:
            found.append(f"more than {most} such workers were never seen")
    return found


def _of_strategy(design: Design, others: Sequence[Design]) -> list[str]:
    name = "peers" if design.strategy == "peers" else "the best of several"
    if not others:
        return [
            f"{name}: no figure and no run; what they earn over one agent is a guess, k agents cost k times as much"
        ]
    if bare(design.lead) not in {bare(d.lead) for d in others}:
        return [f"{name}: never seen with {_shown(design.lead)}"]
    most = max(d.k for d in others)
    return [f"{name}: never seen with more than {most} agents"] if design.k > most else []


def _shown(model: str) -> str:
    return model.rpartition("/")[2]


def _pair(design: Design) -> tuple[str, frozenset[str]]:
    return bare(design.lead), frozenset(bare(k.model) for k in design.worker_kinds)
