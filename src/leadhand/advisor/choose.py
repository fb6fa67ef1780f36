"""Which design to take: the rule, and how likely each design keeps the limits. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from leadhand.advisor.gauss import Floats, Joint
from leadhand.advisor.model import below
from leadhand.advisor.values import CONFIDENCE, Question

Bools = npt.NDArray[np.bool_]


class Outlook(NamedTuple):
    """What is believed of the designs: rewards, logs of mean dollars and of mean minutes; `free` cost nothing."""

    reward: Joint
    usd: Joint
    minutes: Joint
    free: Floats

    def dollars(self) -> Floats:
        """Expected mean dollars, as a median: half the belief lies on either side."""
        return np.where(self.free > 0, 0.0, np.exp(self.usd.mean))


class Choice(NamedTuple):
    """Index of the design, which ones keep the limits, how sure that is of each, and what each is worth.

    `reach`: the reward to reach, and `reached`: whether any design does that with confidence.
    """

    best: int
    fit: Bools
    sure: Floats
    utility: Floats
    reach: float | None = None
    reached: bool = False


def choose(o: Outlook, q: Question) -> Choice:
    """Among designs that keep every limit with 80 % confidence: the best reward, less the price of dollars.

    With a reward to reach: the cheapest that reaches it with that confidence; the first rule where none does. Where
    nothing keeps the limits, what is expected to exceed them by the smallest factor.
    """
    sure = np.ones(len(o.reward.mean))
    over = np.zeros(len(o.reward.mean))
    if q.max_usd is not None:
        sure = np.where(o.free > 0, 1.0, below(o.usd, math.log(q.max_usd)))
        over = np.where(o.free > 0, 0.0, o.usd.mean - math.log(q.max_usd))
    if q.max_minutes is not None:
        sure = np.minimum(sure, below(o.minutes, math.log(q.max_minutes)))
        over = np.maximum(over, o.minutes.mean - math.log(q.max_minutes))
    fit = sure >= CONFIDENCE
    utility = np.minimum(o.reward.mean, 1.0) - q.trade * doublings(o)
    if not fit.any():
        return Choice(int(np.argmin(over)), fit, sure, utility)
    if q.min_reward is not None:
        enough = fit & (1 - below(o.reward, q.min_reward) >= CONFIDENCE)
        best = _first(-doublings(o), enough) if enough.any() else _first(utility, fit)
        return Choice(best, fit, sure, utility, q.min_reward, bool(enough.any()))
    return Choice(_first(utility, fit), fit, sure, utility)


def best_among(choice: Choice, among: Sequence[int]) -> int:
    """The worthiest of some designs, of those that keep the limits if any does."""
    keep = [i for i in among if choice.fit[i]] or list(among)
    return max(keep, key=lambda i: choice.utility[i])


def doublings(o: Outlook) -> Floats:
    """Log2 of what a design takes: of its dollars; where one is free, of minutes."""
    if (o.free > 0).any():
        return np.asarray(o.minutes.mean / math.log(2), dtype=np.float64)
    return np.asarray(o.usd.mean / math.log(2), dtype=np.float64)


def frontier(o: Outlook) -> list[int]:
    """Designs that no other beats in expected reward at their expected dollars, from cheap to dear."""
    usd = o.dollars()
    best: list[int] = []
    for i in sorted(range(len(usd)), key=lambda i: (usd[i], -o.reward.mean[i])):
        if not best or o.reward.mean[i] > o.reward.mean[best[-1]] + 1e-9:
            best.append(i)
    return best


def better(o: Outlook, a: int, b: int) -> float:
    """The probability that design `a` earns more than `b`."""
    mean = o.reward.mean[a] - o.reward.mean[b]
    variance = o.reward.cov[a, a] + o.reward.cov[b, b] - 2 * o.reward.cov[a, b]
    return 0.5 * math.erfc(-mean / math.sqrt(2 * max(float(variance), 1e-12)))


def _first(values: Floats, among: Bools) -> int:
    return int(np.argmax(np.where(among, values, -np.inf)))
