"""The reward-cost frontier, and how sure it is that a design is on it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leadhand.analysis.stats.bootstrap import DRAWS, SEED, resampled
from leadhand.analysis.stats.intervals import Floats

Mask = npt.NDArray[np.bool_]


def on_frontier(reward: Floats, cost: Floats) -> Mask:
    """Which designs nobody dominates. Arrays of shape (..., designs); the mask has the same shape.

    A design is dominated by one that is at least as good and at most as dear, and better in one of the two. Of equal
    designs all are kept.
    """
    r, c = np.asarray(reward), np.asarray(cost)
    no_worse = (r[..., None, :] >= r[..., :, None]) & (c[..., None, :] <= c[..., :, None])
    better = (r[..., None, :] > r[..., :, None]) | (c[..., None, :] < c[..., :, None])
    dominated: Mask = np.asarray((no_worse & better).any(axis=-1))
    return ~dominated


def probability_on_frontier(reward: Floats, cost: Floats, draws: int = DRAWS, seed: int = SEED) -> Floats:
    """For each design the share of bootstrap draws over tasks in which it is on the frontier.

    `reward` and `cost` have shape (tasks, designs), without NaN: all designs are compared on the same tasks.
    """
    designs = reward.shape[1]
    means = resampled(np.hstack([reward, cost]), draws, seed)
    share = np.zeros(designs)
    for start in range(0, draws, 1000):
        part = means[start : start + 1000]
        share += on_frontier(part[:, :designs], part[:, designs:]).sum(axis=0)
    result: Floats = share / draws
    return result
