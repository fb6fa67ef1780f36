"""The next experiment: what is expected to improve the advice most per dollar (a knowledge gradient). Pure.

A new run changes what is believed of every design, as far as they have something in common. What the advice gains is
the mean, over what may be observed, of the best design's worth afterwards, less the worth of the best one now
(correlated beliefs: Frazier, Powell and Dayanik, 2009). A few runs may be too few to change anything while more of them
would pay: so each size of an experiment competes by its gain per dollar (KG(*): Frazier and Powell, 2010).

Designs meet on the same tasks, so that the tasks' difficulty cancels; what was run before on a task is used again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from leadhand.advisor.choose import Choice, Outlook, doublings
from leadhand.advisor.gauss import SYSTEMATIC, TASK, Floats
from leadhand.advisor.model import Fitted
from leadhand.advisor.own import one_task
from leadhand.advisor.values import CONFIDENCE
from leadhand.core.design import Design

SIZES = (5, 10, 20, 40)
DRAWS = 512
FINALISTS = 16
"""So many experiments, the best by a formula for two designs each, are looked at with all designs."""

LEAST_USD = 1e-4
MAY_FIT = 0.2
"""A design that keeps the limits with this confidence may be tried, to see whether it does."""

Done = Mapping[int, Mapping[str, int]]
"""How often each design was run on each task."""


class Trial(NamedTuple):
    """Each of the `designs` once on each of the `tasks`. `usd`: expected cost; `gain`: expected gain of worth;
    `changes`: how often the advice is another one afterwards.
    """

    designs: tuple[int, ...]
    tasks: tuple[str, ...]
    usd: float
    gain: float
    changes: float


class Worth(NamedTuple):
    """What a trial is expected to gain, and how often it changes the advice."""

    gain: float
    changes: float


class Belief(NamedTuple):
    """Covariances of designs' rewards, of tasks' difficulty, and between them; one run's variance of each design.

    A task that was never run is the last of `tasks`, all zero: it has the variance `fresh`.
    """

    designs: Floats
    between: Floats
    tasks: Floats
    at: Mapping[str, int]
    noise: Floats
    fresh: float


def best_trial(
    fitted: Fitted,
    designs: Sequence[Design],
    setting: str,
    outlook: Outlook,
    choice: Choice,
    done: Done,
    fresh: Sequence[str],
    sizes: Sequence[int] = SIZES,
    most_usd: float = math.inf,
) -> Trial | None:
    """The trial with the most expected gain per dollar. `fresh`: tasks on which nothing was run. None where nothing can
    be run within `most_usd`.
    """
    belief = believed(fitted, designs, setting, done)
    dollars = outlook.dollars()
    roughly, exactly = (
        (_keeping, _keeping)
        if not choice.fit.any()
        else (_crossing, _reaching)
        if choice.reached
        else (_pairwise, worth)
    )
    rough = []
    for block, tasks in _blocks(len(designs), choice.best, done, fresh, sizes):
        usd = float(dollars[list(block)].sum()) * len(tasks)
        if usd <= most_usd:
            movement = _movement(belief, done, block, tasks)
            rough.append((Trial(block, tasks, usd, *roughly(movement, outlook, choice, block)), movement))
    aim = "gain" if exactly is worth else "changes"
    rough.sort(key=lambda found: _per_dollar(found[0], aim), reverse=True)
    trials = [
        t._replace(**exactly(movement, outlook, choice, t.designs)._asdict()) for t, movement in rough[:FINALISTS]
    ]
    return max(trials, key=lambda t: _per_dollar(t, aim), default=None)


def _per_dollar(t: Trial, aim: str) -> float:
    return float(getattr(t, aim)) / max(t.usd, LEAST_USD)


def _blocks(
    designs: int, best: int, done: Done, fresh: Sequence[str], sizes: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Each design alone on tasks that it was not run on, first those of the advised design, then those of most others,
    then new ones; and each beside the advised design where neither was run. Where all tasks are used up: once more.
    """
    seen = Counter(t for tasks in done.values() for t in tasks)
    pool = [*(t for t, _ in seen.most_common()), *(t for t in fresh if t not in seen)]
    sizes = [n for n in sizes if n <= len(pool)] or [len(pool)]
    of_best = done.get(best, {})
    for i in range(designs):
        mine = done.get(i, {})
        open_tasks = sorted((t for t in pool if t not in mine), key=lambda t: t not in of_best)
        neither = [] if i == best else [t for t in open_tasks if t not in of_best]
        again = sorted(mine, key=lambda t: (mine[t], t not in of_best))
        for size in sizes:
            if size <= len(neither):
                yield (best, i), tuple(neither[:size])
            if open_tasks and size <= len(open_tasks):
                yield (i,), tuple(open_tasks[:size])
            elif size <= len(again):
                yield (i,), tuple(again[:size])


def believed(fitted: Fitted, designs: Sequence[Design], setting: str, done: Done) -> Belief:
    """What is believed of designs and of the tasks on which they were run."""
    posterior = fitted.posteriors["reward"]
    names = {t: f"{TASK}:{setting}/{t}" for tasks in done.values() for t in tasks}
    seen = [t for t, column in names.items() if column in posterior.columns]
    joint = posterior.predict(
        [*(fitted.weights("reward", d, setting) for d in designs), *({names[t]: 1.0} for t in seen)]
    ).cov
    k = len(designs)
    noise = np.array([posterior.arm_var.get(fitted.arm(d, setting), posterior.run_var) for d in designs])
    at = {t: i for i, t in enumerate(seen)}
    padded = np.pad(joint, (0, 1))
    return Belief(
        joint[:k, :k], padded[:k, k:], padded[k:, k:], at, noise, 0.0 if one_task(setting) else posterior.task_var
    )


def worth(movement: Floats, outlook: Outlook, choice: Choice, block: Sequence[int]) -> Worth:
    """The expected gain of choosing anew when beliefs move so, and how often the choice is another one."""
    after = choice.utility + _draws(len(movement)) @ _root(movement).T
    among = choice.fit
    found = _better(np.where(among, after, -np.inf), choice)
    for i in _may_fit(choice, block):
        # The runs also show what it costs: by then it is known whether it keeps the limits.
        could = _better(np.where(among | (np.arange(len(among)) == i), after, -np.inf), choice)
        sure = float(choice.sure[i])
        found = Worth(*(sure * a + (1 - sure) * b for a, b in zip(could, found, strict=True)))
    return found


def _may_fit(choice: Choice, block: Sequence[int]) -> list[int]:
    return [i for i in block if not choice.fit[i] and choice.sure[i] >= MAY_FIT]


def _pairwise(movement: Floats, outlook: Outlook, choice: Choice, block: Sequence[int]) -> Worth:
    """The same if only one other design could be chosen: that which gains most. Exact for two, else too low."""
    best, variance = choice.best, np.diag(movement)
    sd = np.sqrt(np.maximum(variance + variance[best] - 2 * movement[best], 1e-18))
    behind = np.maximum(choice.utility[best] - choice.utility, 0.0)
    changes = np.array([0.5 * math.erfc(z / math.sqrt(2)) for z in behind / sd])
    gain = sd * np.exp(-((behind / sd) ** 2) / 2) / math.sqrt(2 * math.pi) - behind * changes
    odds = np.where(choice.fit, 1.0, 0.0)
    for i in _may_fit(choice, block):
        odds[i] = choice.sure[i]
    odds[best] = 0.0
    at = int(np.argmax(gain * odds))
    return Worth(float(gain[at] * odds[at]), float(changes[at] * odds[at]))


def _movement(b: Belief, done: Done, block: Sequence[int], tasks: Sequence[str]) -> Floats:
    """Covariance of how the designs' expected rewards move with the runs of a block."""
    of = np.repeat(block, len(tasks))
    task = np.tile(np.arange(len(tasks)), len(block))
    known = np.tile([b.at.get(t, -1) for t in tasks], len(block))
    between = b.between[:, known]
    cross = b.designs[:, of] + between
    observed = b.designs[np.ix_(of, of)] + between[of] + between[of].T + b.tasks[np.ix_(known, known)]
    observed += np.where((task[:, None] == task) & (known < 0), b.fresh, 0.0)
    again = np.array([_again(done.get(d, {}).get(t, 0)) for d in block for t in tasks])
    observed += np.diag(b.noise[of] * again)
    return np.asarray(cross @ np.linalg.solve(observed, cross.T), dtype=np.float64)


def _again(times: int) -> float:
    """Variance of what one run more tells, in units of a first run's: the part of the noise that stays is known."""
    if times == 0:
        return 1.0
    now, then = (SYSTEMATIC + (1 - SYSTEMATIC) / n for n in (times, times + 1))
    return 1 / (1 / then - 1 / now)


def _reaching(movement: Floats, outlook: Outlook, choice: Choice, block: Sequence[int]) -> Worth:
    """Where a reward is to be reached: how often another design is the cheapest that does. No reward is gained."""
    means = outlook.reward.mean + _draws(len(movement)) @ _root(movement).T
    enough = choice.fit & (means >= _needed(movement, outlook, choice))
    cheapest = np.where(enough, -doublings(outlook), -np.inf).argmax(axis=1)
    picks = np.where(enough.any(axis=1), cheapest, -1)
    return Worth(0.0, float((picks != choice.best).mean()))


def _crossing(movement: Floats, outlook: Outlook, choice: Choice, block: Sequence[int]) -> Worth:
    """The same for one design alone, of that which most likely comes to be, or ceases to be, one that reaches it."""
    cost = doublings(outlook)
    matters = choice.fit & (cost <= cost[choice.best])
    far = np.abs(outlook.reward.mean - _needed(movement, outlook, choice))
    z = far / np.sqrt(np.maximum(np.diag(movement), 1e-18))
    return Worth(0.0, max((0.5 * math.erfc(z[i] / math.sqrt(2)) for i in np.flatnonzero(matters)), default=0.0))


def _keeping(movement: Floats, outlook: Outlook, choice: Choice, block: Sequence[int]) -> Worth:
    """Where nothing keeps the limits for sure: how likely it is that a design turns out to keep them."""
    return Worth(0.0, max((float(choice.sure[i]) for i in block if choice.sure[i] >= MAY_FIT), default=0.0))


def _needed(movement: Floats, outlook: Outlook, choice: Choice) -> Floats:
    """What has to be expected of each design after the runs, so that it reaches the reward with confidence."""
    left = np.sqrt(np.maximum(np.diag(outlook.reward.cov) - np.diag(movement), 0.0))
    return np.asarray((choice.reach or 0.0) + NormalDist().inv_cdf(CONFIDENCE) * left, dtype=np.float64)


def _better(after: Floats, choice: Choice) -> Worth:
    best = choice.best
    return Worth(float(after.max(axis=1).mean() - choice.utility[best]), float((after.argmax(axis=1) != best).mean()))


def _root(covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)), dtype=np.float64)


@cache
def _draws(k: int) -> Floats:
    """Standard normal draws, each with its mirror image, the same for the same size."""
    half = np.random.default_rng(20610).standard_normal((DRAWS // 2, k))
    return np.concatenate([half, -half])
