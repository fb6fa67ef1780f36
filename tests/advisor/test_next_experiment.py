"""The next experiment: its formulas against plain linear algebra, and what is proposed."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from advisor_evidence import LUNA, PLANNERS, PRICES, SOLO, own_runs_of

from leadhand.advisor import experiment
from leadhand.advisor.advise import fit_all, look
from leadhand.advisor.choose import Choice, choose
from leadhand.advisor.experiment import believed, best_trial, worth
from leadhand.advisor.gauss import SYSTEMATIC
from leadhand.advisor.model import Fitted
from leadhand.advisor.values import Question
from leadhand.core.design import Design

CHEAP = Design(lead=LUNA, lead_reasoning="medium", solo=True, guidance="PIV")
DESIGNS = [SOLO, PLANNERS, CHEAP]
QUESTION = Question(max_usd=1.0, worth=0.0)
DONE = {0: {f"t{i}": 1 for i in range(6)}, 1: {f"t{i}": 1 for i in range(3)}}


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    """The solo agent was run on six tasks, the planners on three of them."""
    return fit_all([*own_runs_of(SOLO, 6, 0.55, 0.4), *own_runs_of(PLANNERS, 3, 0.6, 0.5)], PRICES.__getitem__)


def updated(fitted: Fitted, runs: list[tuple[int, str, float]]) -> np.ndarray:
    """How much the covariance of the designs' rewards shrinks by runs (design, task, variance): all columns at once."""
    posterior = fitted.posteriors["reward"]
    rows = [fitted.weights("reward", d, "mine") for d in DESIGNS]
    seen = [{**rows[d], f"task:mine/{t}": 1.0} for d, t, _ in runs]
    columns = list(dict.fromkeys([*posterior.columns, *(c for r in [*rows, *seen] for c in r)]))
    k = len(posterior.columns)
    cov = np.zeros((len(columns), len(columns)))
    cov[:k, :k] = posterior.cov
    for i, column in enumerate(columns[k:], start=k):
        of_task = column.startswith("task:")
        cov[i, i] = posterior.task_var if of_task else posterior.predict([{column: 1.0}]).cov[0, 0]

    def matrix(of: list[dict[str, float]]) -> np.ndarray:
        return np.array([[r.get(c, 0.0) for c in columns] for r in of])

    x, a = matrix(seen), matrix(rows)
    after = np.linalg.inv(np.linalg.inv(cov) + x.T @ np.diag([1 / v for *_, v in runs]) @ x)
    return np.asarray(a @ (cov - after) @ a.T)


def noise(fitted: Fitted, design: int) -> float:
    posterior = fitted.posteriors["reward"]
    return posterior.arm_var.get(fitted.arm(DESIGNS[design], "mine"), posterior.run_var)


@pytest.mark.parametrize(
    ("block", "tasks"),
    [((1,), ("t3", "t4", "t5")), ((0, 2), ("new1", "new2")), ((2,), ("t0", "t5", "new1")), ((2, 1), ("t4", "new1"))],
)
def test_beliefs_move_as_much_as_the_covariance_shrinks(
    fitted: Fitted, block: tuple[int, ...], tasks: tuple[str, ...]
) -> None:
    belief = believed(fitted, DESIGNS, "mine", DONE)
    found = experiment._movement(belief, DONE, block, tasks)
    expected = updated(fitted, [(d, t, noise(fitted, d)) for d in block for t in tasks])
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_a_task_that_is_run_again_tells_less(fitted: Fitted) -> None:
    """The part of the noise that stays when a task is repeated is not learned twice: two runs are worth what the model
    makes of the mean of two.
    """
    belief = believed(fitted, DESIGNS, "mine", DONE)
    once, twice = 1.0, SYSTEMATIC + (1 - SYSTEMATIC) / 2
    more = 1 / (1 / twice - 1 / once)
    found = experiment._movement(belief, DONE, (0,), ("t0", "t1"))
    assert found == pytest.approx(updated(fitted, [(0, t, more * noise(fitted, 0)) for t in ("t0", "t1")]), rel=1e-6)
    new = experiment._movement(belief, DONE, (0,), ("new1", "new2"))
    assert found[0, 0] < new[0, 0]


def test_the_gain_of_two_designs_is_the_closed_form(fitted: Fitted) -> None:
    outlook = look(fitted, DESIGNS, "mine")
    movement = np.diag([0.03**2, 0.04**2, 0.0])
    choice = Choice(0, np.ones(3, dtype=bool), np.ones(3), np.array([0.50, 0.48, -9.0]))
    sd, gap = 0.05, 0.02
    normal = NormalDist()
    expected = sd * normal.pdf(gap / sd) - gap * normal.cdf(-gap / sd)
    exact = experiment._pairwise(movement, outlook, choice, (1,))
    assert exact.gain == pytest.approx(expected, rel=1e-9)
    assert exact.changes == pytest.approx(normal.cdf(-gap / sd), rel=1e-9)
    drawn = worth(movement, outlook, choice, (1,))
    assert drawn.gain == pytest.approx(expected, rel=0.1)
    assert drawn.changes == pytest.approx(exact.changes, abs=0.05)


def test_what_was_run_is_used_again_and_every_trial_is_a_full_grid() -> None:
    blocks = list(experiment._blocks(3, 0, DONE, [f"t{i}" for i in range(12)], [3, 5]))
    alone = {(block, len(tasks)): tasks for block, tasks in blocks if len(block) == 1}
    assert set(alone[(1,), 3]) == {"t3", "t4", "t5"}, "where the advised design was run and the planners were not"
    assert set(alone[(2,), 5]) <= {f"t{i}" for i in range(6)}
    beside = [tasks for block, tasks in blocks if block == (0, 1)]
    assert beside
    assert all(not set(tasks) & set(DONE[0]) for tasks in beside), "neither of the two was run there"


def test_where_all_tasks_are_used_up_they_are_run_again() -> None:
    done = {0: {"a": 2, "b": 1}, 1: {"a": 1, "b": 1}}
    blocks = dict(experiment._blocks(2, 0, done, ["a", "b"], [1, 5]))
    assert blocks[(0,)] == ("b",), "first where it was run least"
    few = dict(experiment._blocks(2, 0, {}, ["a", "b"], [5, 10]))
    assert set(few[(1,)]) == {"a", "b"}, "fewer tasks than the smallest size are taken whole"


def test_the_same_knowledge_for_less_money_is_proposed(fitted: Fitted) -> None:
    outlook = look(fitted, DESIGNS, "mine")
    choice = choose(outlook, QUESTION)
    tasks = [f"t{i}" for i in range(60)]

    def proposed(factor: float) -> experiment.Trial:
        dear = np.log([1.0, factor, 1.0])
        usd = outlook.usd._replace(mean=outlook.usd.mean + dear)
        found = best_trial(fitted, DESIGNS, "mine", outlook._replace(usd=usd), choice, DONE, tasks)
        assert found is not None
        return found

    assert proposed(0.01).designs == (1,)
    assert proposed(1000.0).designs != (1,)
    assert proposed(1.0).usd == pytest.approx(
        sum(outlook.dollars()[d] for d in proposed(1.0).designs) * len(proposed(1.0).tasks)
    )


def test_nothing_is_proposed_that_costs_too_much(fitted: Fitted) -> None:
    outlook = look(fitted, DESIGNS, "mine")
    choice = choose(outlook, QUESTION)
    fresh = [f"t{i}" for i in range(60)]
    assert best_trial(fitted, DESIGNS, "mine", outlook, choice, {}, fresh, most_usd=0.0) is None
    some = best_trial(fitted, DESIGNS, "mine", outlook, choice, {}, fresh, most_usd=2.0)
    assert some is not None
    assert some.usd <= 2.0


def test_where_nothing_keeps_the_limits_only_dollars_and_minutes_matter(fitted: Fitted) -> None:
    outlook = look(fitted, DESIGNS, "mine")
    fresh = [f"t{i}" for i in range(60)]
    usd = float(outlook.dollars()[2])
    near = choose(outlook, Question(max_usd=usd * 1.05))
    assert not near.fit.any()
    found = best_trial(fitted, DESIGNS, "mine", outlook, near, {}, fresh)
    assert found is not None
    assert 2 in found.designs
    assert found.changes == pytest.approx(near.sure[2])
    hopeless = best_trial(fitted, DESIGNS, "mine", outlook, choose(outlook, Question(max_usd=usd / 100)), {}, fresh)
    assert hopeless is None or hopeless.changes == 0.0


def test_with_a_reward_to_reach_it_asks_what_changes_the_choice(fitted: Fitted) -> None:
    """Where solo reaches it for certain, only a cheaper design can change the advice."""
    outlook = look(fitted, DESIGNS, "mine")
    question = Question(min_reward=0.3)
    choice = choose(outlook, question)
    assert choice.reached
    found = best_trial(fitted, DESIGNS, "mine", outlook, choice, DONE, [f"t{i}" for i in range(60)])
    assert found is not None
    assert found.gain == 0.0
    assert 0 < found.changes <= 1
    dollars = outlook.dollars()
    assert max(dollars[d] for d in found.designs) <= dollars[choice.best], "what is dearer cannot become the cheapest"
