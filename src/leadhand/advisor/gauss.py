"""Bayesian linear regression with named columns, random task effects and a noise of each design's own. Pure numpy.

Each row says: a weighted sum of columns was observed as a value. Columns have independent normal priors, chosen by the
column's full name or by its kind (what stands before the first ":"). The posterior is closed-form; the variances of the
task effects and of the noise are found by expectation maximisation under inverse-gamma priors. docs/advisor.md has it
in formulas.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Weights = dict[str, float]

TASK = "task"
ROUNDS = 10
SYSTEMATIC = 0.6
"""Part of the noise of a single run that stays when a task is repeated (the design suits that task, or does not)."""


class Prior(NamedTuple):
    """A column's normal prior."""

    mean: float
    sd: float


class Row(NamedTuple):
    """One observation: `value` = sum of `weights` x columns + noise.

    `sd`: the noise, where it is published. None: a mean of `runs` own runs of the design `arm`, whose noise is learned.
    """

    weights: Weights
    value: float
    sd: float | None = None
    arm: str = ""
    runs: int = 1
    source: int = -1


class Noise(NamedTuple):
    """Prior guesses of the SD of task effects and of one run's noise, worth so many observations each."""

    task: float
    run: float
    worth: float = 8.0


class Joint(NamedTuple):
    """Normal prediction of several quantities at once."""

    mean: Floats
    cov: Floats

    @property
    def sd(self) -> Floats:
        return np.sqrt(np.diag(self.cov))


def prior_of(column: str, priors: Mapping[str, Prior]) -> Prior:
    """By full name, else by what stands before the first ":"."""
    found = priors.get(column)
    return found if found is not None else priors[column.partition(":")[0]]


@dataclass(frozen=True, slots=True)
class Posterior:
    """Normal over `columns`; variances of task effects, of each arm's noise, and of the noise of an arm never seen."""

    priors: Mapping[str, Prior]
    columns: dict[str, int]
    mean: Floats
    cov: Floats
    task_var: float
    run_var: float
    arm_var: dict[str, float]
    rows: tuple[Row, ...]
    design: Floats
    variances: Floats

    def predict(self, wanted: Sequence[Weights]) -> Joint:
        """The joint prediction of weighted sums; a column never seen has its prior, shared by the sums that hold it."""
        seen = np.zeros((len(wanted), len(self.columns)))
        unseen: dict[str, dict[int, float]] = {}
        for i, weights in enumerate(wanted):
            for column, weight in weights.items():
                at = self.columns.get(column)
                if at is None:
                    unseen.setdefault(column, {})[i] = weight
                else:
                    seen[i, at] += weight
        mean, cov = seen @ self.mean, seen @ self.cov @ seen.T
        for column, by_row in unseen.items():
            prior = prior_of(column, self.priors)
            vector = np.zeros(len(wanted))
            for i, weight in by_row.items():
                vector[i] = weight
            mean = mean + vector * prior.mean
            cov = cov + np.outer(vector, vector) * prior.sd**2
        return Joint(mean, cov)

    def expected(self, weights: Weights) -> float:
        """The mean of one weighted sum."""
        at = self.columns
        return sum(w * (self.mean[at[c]] if c in at else prior_of(c, self.priors).mean) for c, w in weights.items())

    @property
    def runs(self) -> dict[str, int]:
        """How many own observations there are of each arm."""
        return dict(Counter(r.arm for r in self.rows if r.sd is None))

    def spread(self, arm: str) -> float:
        """Variance of single runs of an arm over tasks: task effects and noise."""
        return self.task_var + self.arm_var.get(arm, self.run_var)

    def pull(self, weights: Weights) -> Floats:
        """How much each row moves the prediction of a weighted sum, per unit of the row's value."""
        vector = np.zeros(len(self.columns))
        for column, weight in weights.items():
            if column in self.columns:
                vector[self.columns[column]] += weight
        return np.asarray(self.design @ (self.cov @ vector) / self.variances, dtype=np.float64)


class _Arm(NamedTuple):
    """Own rows of one noise: where they are, and what they add to the precision and its product with the mean, per
    1 / variance.
    """

    rows: npt.NDArray[np.int64]
    gram: Floats
    moment: Floats


class _Variances(NamedTuple):
    task: float
    run: float
    arm: dict[str, float]


def fit(rows: Sequence[Row], priors: Mapping[str, Prior], noise: Noise) -> Posterior:
    """The posterior given all rows. No row is fine: then it is the prior."""
    columns = {c: i for i, c in enumerate(dict.fromkeys(c for r in rows for c in r.weights))}
    x = np.zeros((len(rows), len(columns)))
    for i, row in enumerate(rows):
        for column, weight in row.weights.items():
            x[i, columns[column]] += weight
    given = [prior_of(c, priors) for c in columns]
    mean0 = np.array([p.mean for p in given], dtype=np.float64)
    var0 = np.array([p.sd**2 for p in given], dtype=np.float64)
    residual = np.array([r.value for r in rows], dtype=np.float64) - x @ mean0
    # In units of the noise: published rows have their own, an arm's rows share a learned one.
    share = np.array([SYSTEMATIC + (1 - SYSTEMATIC) / r.runs if r.sd is None else r.sd**2 for r in rows])
    tasks = np.array([c.partition(":")[0] == TASK for c in columns], dtype=bool)
    arms = _arms(rows)
    at = np.flatnonzero([r.sd is not None for r in rows])
    shift, cov = _solve(x[at], residual[at], share[at], var0)
    found, variances = _Variances(noise.task**2, noise.run**2, {}), share.copy()
    if arms:
        used, found = _variances(x, residual, share, tasks, arms, (shift, cov), noise)
        for arm, of in arms.items():
            variances[of] *= used.arm[arm]
        var0[tasks] = used.task
        shift, cov = _solve(x, residual, variances, var0)
    return Posterior(priors, columns, mean0 + shift, cov, *found, tuple(rows), x, variances)


def _variances(
    x: Floats,
    residual: Floats,
    share: Floats,
    tasks: npt.NDArray[np.bool_],
    arms: Mapping[str, Sequence[int]],
    published: tuple[Floats, Floats],
    noise: Noise,
) -> tuple[_Variances, _Variances]:
    """Expectation maximisation: the variances of the last round, and what comes after it.

    Published rows do not change: what they say of the columns that own rows have is taken as those columns' prior, so
    that each round is small.
    """
    own = np.array([i for at in arms.values() for i in at], dtype=np.int64)
    shared = np.flatnonzero((x[own] != 0).any(axis=0) & ~tasks)
    mine = np.concatenate([shared, np.flatnonzero(tasks)])
    k = len(shared)
    before = np.zeros((len(mine), len(mine)))
    before[:k, :k] = np.linalg.inv(published[1][np.ix_(shared, shared)])
    moment = np.concatenate([before[:k, :k] @ published[0][shared], np.zeros(len(mine) - k)])
    x, diagonal = x[:, mine], np.arange(k, len(mine))
    sums = {arm: _sums(x, residual, share, at) for arm, at in arms.items()}
    after = _Variances(noise.task**2, noise.run**2, dict.fromkeys(arms, noise.run**2))
    for _ in range(ROUNDS):
        used = after
        precision = before.copy()
        precision[diagonal, diagonal] = 1 / used.task
        pull = moment.copy()
        for arm, s in sums.items():
            precision += s.gram / used.arm[arm]
            pull += s.moment / used.arm[arm]
        cov = np.linalg.inv(precision)
        mean = cov @ pull
        squares = {}
        for arm, s in sums.items():
            error = (residual[s.rows] - x[s.rows] @ mean) ** 2 / share[s.rows]
            squares[arm] = float(error.sum() + (cov * s.gram).sum())
        effects = mean[k:] ** 2 + np.diag(cov)[k:]
        run = _variance(math.fsum(squares.values()), len(own), noise.run, noise.worth)
        after = _Variances(
            _variance(float(effects.sum()), len(effects), noise.task, noise.worth),
            run,
            {a: _variance(squares[a], len(s.rows), run**0.5, noise.worth) for a, s in sums.items()},
        )
    return used, after


def _arms(rows: Sequence[Row]) -> dict[str, list[int]]:
    """Where the rows of each arm are."""
    found: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        if row.sd is None:
            found.setdefault(row.arm, []).append(i)
    return found


def _sums(x: Floats, residual: Floats, share: Floats, at: Sequence[int]) -> _Arm:
    rows = np.array(at, dtype=np.int64)
    weighted = x[rows] / share[rows, None]
    return _Arm(rows, x[rows].T @ weighted, weighted.T @ residual[rows])


def _solve(x: Floats, residual: Floats, variances: Floats, var0: Floats) -> tuple[Floats, Floats]:
    """How far rows move the coefficients from their priors' means, and the covariance; scaled, so that it is stable."""
    scale = np.sqrt(var0)
    whitened = x * scale / np.sqrt(variances)[:, None]
    inverse = np.linalg.inv(np.eye(len(var0)) + whitened.T @ whitened)
    cov = (inverse + inverse.T) / 2 * np.outer(scale, scale)
    return cov @ (x.T @ (residual / variances)), cov


def _variance(squares: float, count: int, guess: float, worth: float) -> float:
    """A variance from a sum of squared deviations, beside a guess that counts as `worth` of them."""
    return (worth * guess**2 + squares) / (worth + count)
