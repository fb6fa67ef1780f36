"""The back-test: models of the public ProgramBench leaderboard as designs, half of the tasks held out.

The advisor learns from runs on one half (no published figure is used) and chooses a design for each of 20 budgets per
task. On the other half, money that runs out ends it: a design that costs more than the budget is only run on that share
of the tasks, the rest earn 0. Regret: what the best design would have earned there, less what the chosen one earns.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from leadhand.advisor.advise import look, published_price
from leadhand.advisor.choose import choose
from leadhand.advisor.figures import Z
from leadhand.advisor.gauss import Floats
from leadhand.advisor.model import Fitted, learn
from leadhand.advisor.own import Own
from leadhand.advisor.values import Question
from leadhand.core.design import Design

SETTING = "programbench"
BUDGETS = tuple(float(b) for b in np.geomspace(0.03, 30.0, 20))
MODELS = {
    "gemini-3-1-pro": "gemini-3-1-pro", "gemini-3-flash": "gemini-3-flash", "gpt-5-4-mini": "gpt-5.4-mini",
    "gpt-5-4": "gpt-5.4", "gpt-5-mini": "gpt-5-mini", "haiku-4-5": "claude-haiku-4-5", "opus-4-7": "claude-opus-4-7",
    "sonnet-4-6": "claude-sonnet-4-6", "opus-4-6": "claude-opus-4-6", "gpt-5-5": "gpt-5.5",
}  # fmt: skip
"""The leaderboard's names of those models that have scores, to ours."""


class Board(NamedTuple):
    """Rewards and dollars by (design, task). A missing score is 0 (the leaderboard's rule), a missing cost is NaN."""

    designs: tuple[Design, ...]
    tasks: tuple[str, ...]
    reward: Floats
    usd: Floats


class Truth(NamedTuple):
    """Mean reward and mean dollars of each design on the held-out tasks."""

    reward: Floats
    usd: Floats

    def value(self, budget: float) -> Floats:
        """What each design earns a task where only so many dollars a task are there."""
        return self.reward * np.minimum(1.0, budget / self.usd)


class Split(NamedTuple):
    """One split: regret of each policy (mean over budgets), and how many held-out means lay inside their intervals."""

    regret: dict[str, float]
    covered_reward: int
    covered_usd: int
    means: int


def read_board(path: Path) -> Board:
    """The official single agents with scores from `leaderboard.csv` (or an excerpt of it)."""
    cells: dict[tuple[Design, str], tuple[float, float]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            design = _design(row["submission"])
            if design is not None:
                cells[design, row["task"]] = (float(row["score"] or 0), float(row["cost_usd"] or "nan"))
    designs = tuple(dict.fromkeys(d for d, _ in cells))
    tasks = tuple(dict.fromkeys(t for _, t in cells))
    table = np.array([[cells.get((d, t), (0.0, math.nan)) for t in tasks] for d in designs])
    return Board(designs, tasks, table[:, :, 0], table[:, :, 1])


def _design(submission: str) -> Design | None:
    name = submission.rpartition("mini-v2.2.6_")[2]
    if name == submission:
        return None
    for effort in ("-xhigh", "-high", ""):
        if name.endswith(effort) and name.removesuffix(effort) in MODELS:
            return Design(lead=MODELS[name.removesuffix(effort)], lead_reasoning=effort[1:], solo=True)
    return None


def split(board: Board, seed: int, per_design: int | None = None) -> Split:
    """Train on half of the tasks, judge on the other, resampled. `per_design`: so many runs of each design only, each
    on tasks of its own choice: what a user has, rather than a leaderboard.
    """
    random = Random(f"leaderboard-{seed}")
    shuffled = random.sample(range(len(board.tasks)), len(board.tasks))
    half = len(shuffled) // 2
    train, held = shuffled[:half], shuffled[half:]
    runs = {i: random.sample(train, per_design) if per_design else train for i in range(len(board.designs))}
    fitted = learn(_own(board, runs), (), published_price, published_price)
    resampled = random.choices(held, k=len(held))
    truth = _truth(board, resampled)
    policies = policies_of(board, runs, fitted)
    regret = dict.fromkeys(policies, 0.0)
    for budget in BUDGETS:
        values = truth.value(budget)
        for name, policy in policies.items():
            regret[name] += float(values.max() - values[policy(budget)]) / len(BUDGETS)
    inside = _covered(fitted, board, _truth(board, held), len(held))
    return Split(regret, *inside, len(board.designs))


def _own(board: Board, runs: Mapping[int, Sequence[int]]) -> list[Own]:
    return [
        Own(
            design=board.designs[i],
            setting=SETTING,
            task=board.tasks[t],
            reward=float(board.reward[i, t]),
            usd=float(board.usd[i, t]),
            minutes=1.0,
        )
        for i, tasks in runs.items()
        for t in tasks
        if not math.isnan(board.usd[i, t])
    ]


def _truth(board: Board, tasks: Sequence[int]) -> Truth:
    return Truth(board.reward[:, tasks].mean(axis=1), np.nanmean(board.usd[:, tasks], axis=1))


Policy = Callable[[float], int]


def policies_of(board: Board, runs: Mapping[int, Sequence[int]], fitted: Fitted) -> dict[str, Policy]:
    """The advisor, the three baselines, and beside them the best plain mean that seems affordable. All see the same
    runs.

    The paper's rule of thumb, for single agents: spend where a dollar brings most. Of the designs that seem affordable,
    the one with the highest gain per added dollar over the cheapest.
    """
    reward = np.array([board.reward[i, list(t)].mean() for i, t in runs.items()])
    usd = np.array([np.nanmean(board.usd[i, list(t)]) for i, t in runs.items()])
    outlook = look(fitted, board.designs, SETTING)
    cheapest = int(np.argmin(usd))

    def affordable(values: Floats, budget: float) -> int:
        among = np.where(usd <= budget, values, -np.inf)
        return int(np.argmax(among)) if np.isfinite(among).any() else cheapest

    added = np.maximum(usd - usd[cheapest], 1e-9)
    gain = np.where(np.arange(len(usd)) == cheapest, -np.inf, (reward - reward[cheapest]) / added)
    return {
        "advisor": lambda budget: choose(outlook, Question(max_usd=budget, worth=0.0)).best,
        "always the strongest": lambda budget: int(np.argmax(reward)),
        "always the cheapest": lambda budget: cheapest,
        "rule of thumb": lambda budget: affordable(gain, budget),
        "best affordable mean": lambda budget: affordable(reward, budget),
    }


BASELINES = ("always the strongest", "always the cheapest", "rule of thumb")


def _covered(fitted: Fitted, board: Board, truth: Truth, tasks: int) -> tuple[int, int]:
    """How many held-out mean rewards and mean dollars lie inside their 95 % prediction intervals."""
    found = []
    for metric, values in (("reward", truth.reward), ("usd", np.log(truth.usd))):
        joint = fitted.predict(metric, board.designs, SETTING)  # type: ignore[arg-type]
        posterior = fitted.posteriors[metric]  # type: ignore[index]
        spread = np.array([posterior.spread(fitted.arm(d, SETTING)) for d in board.designs])
        single = spread if metric == "reward" else np.expm1(spread)  # of a lognormal, relative to its mean
        half = Z * np.sqrt(np.diag(joint.cov) + single / tasks)
        found.append(int((np.abs(values - joint.mean) <= half).sum()))
    return found[0], found[1]


class Verdict(NamedTuple):
    """Means over splits. `margin`: the advisor's regret less half of the best baseline's, with its 95 % interval over
    splits (below 0: at most half). `coverage`: share of held-out means inside their intervals.
    """

    regret: dict[str, float]
    best_baseline: str
    margin: tuple[float, float, float]
    coverage_reward: float
    coverage_usd: float
    splits: int


def back_test(board: Board, splits: int, per_design: int | None = None) -> Verdict:
    """`splits` splits with fixed seeds."""
    found = [split(board, seed, per_design) for seed in range(splits)]
    regret = {name: float(np.mean([s.regret[name] for s in found])) for name in found[0].regret}
    best = min(BASELINES, key=regret.__getitem__)
    margins = np.array([s.regret["advisor"] - s.regret[best] / 2 for s in found])
    low, high = np.quantile(margins, (0.025, 0.975))
    return Verdict(
        regret=regret,
        best_baseline=best,
        margin=(float(margins.mean()), float(low), float(high)),
        coverage_reward=sum(s.covered_reward for s in found) / sum(s.means for s in found),
        coverage_usd=sum(s.covered_usd for s in found) / sum(s.means for s in found),
        splits=splits,
    )
