"""Bayesian linear regression with named columns, random task effects and a noise of each design's own. Pure numpy.

Each row says: a weighted sum of columns was observed as a value. Columns have independent normal priors, chosen by the
column's full name or by its kind (what stands before the first ":"). The posterior is closed-form; the variances of the
task effects and of the noise are found by expectation maximisation under inverse-gamma priors. docs/advisor.md has it
in formulas.
"""

from __future__ import annotations

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


def fit(rows: Sequence[Row], priors: Mapping[str, Prior], noise: Noise) -> Posterior:
    """The posterior given all rows. No row is fine: then it is the prior."""
    columns = {c: i for i, c in enumerate(dict.fromkeys(c for r in rows for c in r.weights))}
    x = np.zeros((len(rows), len(columns)))
    for i, row in enumerate(rows):
        for column, weight in row.weights.items():
            x[i, columns[column]] += weight
    y = np.array([r.value for r in rows], dtype=np.float64)
    given = [prior_of(c, priors) for c in columns]
    mean0 = np.array([p.mean for p in given], dtype=np.float64)
    var0 = np.array([p.sd**2 for p in given], dtype=np.float64)
    tasks = np.array([c.partition(":")[0] == TASK for c in columns], dtype=bool)
    arms = _arms(rows)
    share = np.array([SYSTEMATIC + (1 - SYSTEMATIC) / r.runs for r in rows], dtype=np.float64)
    fixed = np.array([0.0 if r.sd is None else r.sd**2 for r in rows], dtype=np.float64)
    task_var, run_var = noise.task**2, noise.run**2
    arm_var = dict.fromkeys(arms, run_var)
    for _ in range(ROUNDS if arms else 1):
        variances = fixed.copy()
        for arm, at in arms.items():
            variances[at] = arm_var[arm] * share[at]
        var0[tasks] = task_var
        mean, cov = _solve(x, y, variances, mean0, var0)
        if not arms:
            break
        error = ((y - x @ mean) ** 2 + np.einsum("ij,ij->i", x @ cov, x)) / share
        task_var = _variance(mean[tasks] ** 2 + np.diag(cov)[tasks], noise.task, noise.worth)
        run_var = _variance(np.concatenate([error[at] for at in arms.values()]), noise.run, noise.worth)
        arm_var = {a: _variance(error[at], run_var**0.5, noise.worth) for a, at in arms.items()}
    return Posterior(priors, columns, mean, cov, task_var, run_var, arm_var, tuple(rows), x, variances)


def _arms(rows: Sequence[Row]) -> dict[str, npt.NDArray[np.int64]]:
    """Where the rows of each arm are."""
    found: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        if row.sd is None:
            found.setdefault(row.arm, []).append(i)
    return {arm: np.array(at, dtype=np.int64) for arm, at in found.items()}


def _solve(x: Floats, y: Floats, variances: Floats, mean0: Floats, var0: Floats) -> tuple[Floats, Floats]:
    """Mean and covariance of the coefficients; prior and rows are scaled, so that the factorisation is stable."""
    scale = np.sqrt(var0)
    whitened = x * scale / np.sqrt(variances)[:, None] if len(y) else np.zeros((0, len(var0)))
    residual = (y - x @ mean0) / np.sqrt(variances) if len(y) else np.zeros(0)
    precision = np.eye(len(var0)) + whitened.T @ whitened
    inverse = np.linalg.inv(precision)
    inverse = (inverse + inverse.T) / 2
    mean = mean0 + scale * (inverse @ (whitened.T @ residual))
    return mean, inverse * np.outer(scale, scale)


def _variance(squares: Floats, guess: float, worth: float) -> float:
    """A variance from squared deviations, beside a guess that counts as `worth` of them."""
    return float((worth * guess**2 + squares.sum()) / (worth + len(squares)))
