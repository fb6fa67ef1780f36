"""The next experiment: what is expected to improve the advice most per dollar (a knowledge gradient). Pure.

A new run changes what is believed of every design, as far as they have something in common. What the advice gains is
the mean, over what may be observed, of the best design's worth afterwards, less the worth of the best one now.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from leadhand.advisor.choose import Choice, Outlook
from leadhand.advisor.gauss import TASK, Floats, Weights
from leadhand.advisor.model import Fitted
from leadhand.core.design import Design

SIZES = (5, 10, 20, 40)
DRAWS = 512
MAY_FIT = 0.2
"""A design that keeps the limits with this confidence may be tried, to see whether it does."""

LIKELY = 0.1
"""An experiment that changes the advice less often than this is not proposed while another does."""


class Trial(NamedTuple):
    """`design` on so many tasks, beside the advised design on those tasks where that has not been run.

    `tasks`: names; `both`: those of them that the advised design is run on too. `usd`: expected cost.
    """

    design: int
    tasks: tuple[str, ...]
    both: tuple[str, ...]
    usd: float
    gain: float
    changes: float


def best_trial(
    fitted: Fitted,
    designs: Sequence[Design],
    setting: str,
    outlook: Outlook,
    choice: Choice,
    done: Mapping[int, set[str]],
    fresh: Sequence[str],
    sizes: Sequence[int] = SIZES,
    most_usd: float = math.inf,
) -> Trial | None:
    """The trial with the most expected gain per dollar. `done`: on which tasks each design was run; `fresh`: tasks to
    take where those are used up. None where nothing can be learned within `most_usd`.
    """
    trials = [
        trial
        for i in range(len(designs))
        for n in sizes
        if (trial := _trial(fitted, designs, setting, outlook, choice, done, fresh, i, n)) is not None
        and trial.usd <= most_usd
    ]
    likely = [t for t in trials if t.changes >= LIKELY]
    if likely:
        return max(likely, key=lambda t: t.gain / max(t.usd, 1e-4))
    return max(trials, key=lambda t: t.gain, default=None)


def _trial(
    fitted: Fitted,
    designs: Sequence[Design],
    setting: str,
    outlook: Outlook,
    choice: Choice,
    done: Mapping[int, set[str]],
    fresh: Sequence[str],
    i: int,
    n: int,
) -> Trial | None:
    mine, best = done.get(i, set()), done.get(choice.best, set())
    shared = sorted(best - mine)[:n]
    new = [t for t in fresh if t not in mine and t not in best][: n - len(shared)]
    if len(shared) + len(new) < n:
        return None
    both = () if i == choice.best else tuple(new)
    observed = [(i, t) for t in (*shared, *new)] + [(choice.best, t) for t in both]
    dollars = outlook.dollars()
    usd = float(sum(dollars[d] for d, _ in observed))
    after = choice.utility + _changes(fitted, designs, setting, observed)
    without = np.where(choice.fit, after, -np.inf) if choice.fit.any() else after
    gain, changes = _better(without, choice)
    if choice.fit.any() and not choice.fit[i] and choice.sure[i] >= MAY_FIT:
        # The runs also show what it costs: by then it is known whether it keeps the limits.
        could = _better(np.where(choice.fit | (np.arange(len(designs)) == i), after, -np.inf), choice)
        sure = float(choice.sure[i])
        gain, changes = (sure * a + (1 - sure) * b for a, b in zip(could, (gain, changes), strict=True))
    return Trial(i, (*shared, *new), both, usd, gain, changes)


def _better(after: Floats, choice: Choice) -> tuple[float, float]:
    """The expected gain of choosing anew, and how often the choice is another one."""
    best = choice.best
    return float(after.max(axis=1).mean() - choice.utility[best]), float((after.argmax(axis=1) != best).mean())


def _changes(fitted: Fitted, designs: Sequence[Design], setting: str, observed: Sequence[tuple[int, str]]) -> Floats:
    """Draws of how the expected rewards of the designs change with what is observed. Shape (draws, designs)."""
    posterior = fitted.posteriors["reward"]
    of = [fitted.weights("reward", d, setting) for d in designs]
    rows: list[Weights] = [{**of[d], f"{TASK}:{setting}/{task}": 1.0} for d, task in observed]
    joint = posterior.predict([*of, *rows])
    k = len(designs)
    noise = [posterior.arm_var.get(fitted.arm(designs[d], setting), posterior.run_var) for d, _ in observed]
    cross = joint.cov[:k, k:]
    change = cross @ np.linalg.solve(joint.cov[k:, k:] + np.diag(noise), cross.T)
    values, vectors = np.linalg.eigh((change + change.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(_draws(k) @ root.T, dtype=np.float64)


@cache
def _draws(k: int) -> Floats:
    """Standard normal draws, each with its mirror image, the same for the same size."""
    half = np.random.default_rng(20610).standard_normal((DRAWS // 2, k))
    return np.concatenate([half, -half])
