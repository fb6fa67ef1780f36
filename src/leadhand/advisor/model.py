"""The advisor's model: three regressions (reward, log dollars, log minutes) over own runs and published figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np

from leadhand.advisor.features import EASE, NOISE, PRIORS, Place, offset_of, weights_of
from leadhand.advisor.figures import METRICS, Figure, Metric
from leadhand.advisor.gauss import TASK, Floats, Joint, Posterior, Row, Weights, fit
from leadhand.advisor.own import Own, lone
from leadhand.advisor.profile import PriceOf, Profile, profile
from leadhand.core.design import Design

LEAST_MINUTES = 1 / 600
LEAST_USD = 1e-6


class Cell(NamedTuple):
    """All own runs of one design on one task: their mean. Where there is but one task, each run for itself."""

    design: Design
    setting: str
    task: str
    value: float
    runs: int


@dataclass(frozen=True)
class Fitted:
    """What is believed after all evidence. `figures` are what each row's `source` counts."""

    posteriors: Mapping[Metric, Posterior]
    price_of: PriceOf
    figures: tuple[Figure, ...]
    solo: Posterior
    _profiles: dict[Design, Profile] = field(default_factory=dict)
    _weights: dict[tuple[Metric, Design, str, float], Weights] = field(default_factory=dict)

    def profile(self, design: Design) -> Profile:
        found = self._profiles.get(design)
        if found is None:
            found = self._profiles[design] = profile(design, self.price_of)
        return found

    def place(self, design: Design, setting: str, easier: float = 0.0) -> Place:
        return Place(setting, "", min(0.98, ease(self.solo, self.profile(design), setting) + easier))

    def weights(self, metric: Metric, design: Design, setting: str, easier: float = 0.0) -> Weights:
        at = (metric, design, setting, easier)
        if at not in self._weights:
            self._weights[at] = weights_of(metric, self.profile(design), self.place(design, setting, easier))
        return self._weights[at]

    def arm(self, design: Design, setting: str) -> str:
        return arm_of(self.profile(design), setting)

    def predict(self, metric: Metric, designs: Sequence[Design], setting: str, easier: float = 0.0) -> Joint:
        """The joint prediction of the designs' means over tasks of a setting: rewards, or logs of mean dollars or
        minutes. `easier`: as if every single agent earned so much more there.
        """
        posterior = self.posteriors[metric]
        joint = posterior.predict([self.weights(metric, d, setting, easier) for d in designs])
        if metric == "reward":
            return Joint(joint.mean + easier, joint.cov)
        spread = np.array([posterior.spread(self.arm(d, setting)) for d in designs])
        shift = np.array([offset_of(metric, self.profile(d)) for d in designs]) + spread / 2
        # The mean of a skewed quantity hangs on its spread, which is known from few runs as well.
        counts = np.array([posterior.runs.get(self.arm(d, setting), 0) for d in designs])
        unsure = spread**2 / 2 / (NOISE[metric].worth + counts)
        return Joint(joint.mean + shift, joint.cov + np.diag(unsure))


def learn(
    own: Iterable[Own],
    figures: Sequence[Figure],
    price_of: PriceOf,
    figure_price_of: PriceOf,
    metrics: Sequence[Metric] = METRICS,
) -> Fitted:
    """Fit everything. `price_of` knows the models of own runs and of the designs that will be asked about."""
    data = _Data(list(own), tuple(figures), _remembered(price_of), _remembered(figure_price_of))
    solo = _fit("reward", data, None)
    posteriors = {m: _fit(m, data, solo) for m in metrics}
    return Fitted(posteriors, price_of, data.figures, solo)


class _Data(NamedTuple):
    """All evidence, and what tells the profile of an own design and of a figure's."""

    own: list[Own]
    figures: tuple[Figure, ...]
    profile_of: Callable[[Design], Profile]
    figure_profile_of: Callable[[Design], Profile]


def _remembered(price_of: PriceOf) -> Callable[[Design], Profile]:
    return cache(lambda design: profile(design, price_of))


def ease(solo: Posterior | None, p: Profile, setting: str) -> float:
    """The reward that a design's lead is expected to earn alone, with stage wording: how easy the tasks are for it."""
    if solo is None:
        return EASE
    alone = Profile(
        kind="", lead=p.lead, maker=p.maker, usd=p.usd, free=p.free, effort=p.effort, guided=True, team=False
    )
    weights = weights_of("reward", alone, Place(setting))
    return float(np.clip(solo.expected(weights), 0.02, 0.98))


def _fit(metric: Metric, data: _Data, solo: Posterior | None) -> Posterior:
    """One regression. Without `solo` it is the first pass, over single agents only."""
    rows = [
        _published(i, f, data.figure_profile_of, solo)
        for i, f in enumerate(data.figures)
        if f.metric == metric and (solo is not None or (f.absolute and f.terms[0].design.solo))
    ]
    seen: dict[tuple[Design, str], Weights] = {}
    for cell in cells(metric, data.own):
        if solo is None and not cell.design.solo:
            continue
        p = data.profile_of(cell.design)
        at = (cell.design, cell.setting)
        if at not in seen:
            seen[at] = weights_of(metric, p, Place(cell.setting, "", ease(solo, p, cell.setting)))
        if metric == "usd" and p.free:
            continue
        full = seen[at] if lone(cell.setting) else {**seen[at], f"{TASK}:{cell.setting}/{cell.task}": 1.0}
        rows.append(Row(full, cell.value - offset_of(metric, p), None, arm_of(p, cell.setting), cell.runs))
    return fit(rows, PRIORS[metric], NOISE[metric])


def arm_of(p: Profile, setting: str) -> str:
    return f"{p.kind}@{Place(setting).benchmark}"


def _published(number: int, f: Figure, profile_of: Callable[[Design], Profile], solo: Posterior | None) -> Row:
    """A figure as a row. Logs of published means become means of logs, as if runs spread like the prior says."""
    weights: Weights = {}
    value = f.value
    noise = NOISE[f.metric]
    for term in f.terms:
        p = profile_of(term.design)
        at = Place(f.setting, f.harness, f.solo if f.solo is not None else ease(solo, p, f.setting))
        for column, weight in weights_of(f.metric, p, at).items():
            weights[column] = weights.get(column, 0.0) + term.weight * weight
        value -= term.weight * offset_of(f.metric, p)
        if f.metric != "reward":
            value -= term.weight * (noise.task**2 + noise.run**2) / 2
    return Row({c: w for c, w in weights.items() if abs(w) > 1e-12}, value, f.sd, source=number)


def cells(metric: Metric, own: Sequence[Own]) -> list[Cell]:
    """Own runs by design, setting and task. Minutes leave out resumed runs."""
    groups: dict[tuple[Design, str, str, int], list[float]] = {}
    for i, run in enumerate(own):
        value = _value(metric, run)
        if value is not None:
            at = (run.design, run.setting, run.task, i if lone(run.setting) else 0)
            groups.setdefault(at, []).append(value)
    return [Cell(*at[:3], math.fsum(values) / len(values), len(values)) for at, values in groups.items()]


def _value(metric: Metric, run: Own) -> float | None:
    if metric == "reward":
        return run.reward
    if metric == "usd":
        return math.log(max(run.usd, LEAST_USD))
    return None if run.resumed else math.log(max(run.minutes, LEAST_MINUTES))


def below(joint: Joint, limit: float) -> Floats:
    """The probability that each quantity is at most `limit`."""
    sd = np.maximum(joint.sd, 1e-12)
    return np.array([0.5 * math.erfc(-z / math.sqrt(2)) for z in (limit - joint.mean) / sd], dtype=np.float64)
