"""Synthetic worlds with known truth: does the advice converge, and with how many dollars of runs?

A world says what stages and workers really bring. Tasks differ in difficulty, designs suit tasks by chance, runs vary:
with the published spreads. The learner starts from the published figures, which are wrong here, and buys runs by one of
three policies: the advisor's own next experiments, the grid in the order of a study, or runs at random.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from leadhand.advisor.advise import fit_all, look
from leadhand.advisor.candidates import asked, candidates
from leadhand.advisor.choose import Choice, Outlook, choose
from leadhand.advisor.experiment import best_trial
from leadhand.advisor.features import offset_of
from leadhand.advisor.gauss import Floats
from leadhand.advisor.model import Fitted
from leadhand.advisor.own import Own
from leadhand.advisor.profile import profile
from leadhand.advisor.values import Question
from leadhand.core.design import Design
from leadhand.core.values import Price

SETTING = "study world"
MODELS = ("openai/gpt-5.6-sol@medium", "openai/gpt-5.6-luna@medium")
PRICES = {
    "openai/gpt-5.6-sol": Price(input=4.0, output=20.0, cache_read=0.4),
    "openai/gpt-5.6-luna": Price(input=0.2, output=1.2, cache_read=0.02),
}
QUESTION = Question(models=MODELS, max_usd=1.0, worth=0.0)
TASKS = 60
TASK_SD, SUITS_SD, RUN_SD, USD_SD = 0.18, 0.06, 0.06, 0.4
"""Spread of difficulty, of how designs suit tasks, of a run's reward and of the log of its dollars."""

Buyer = Literal["advisor", "grid", "random"]
BUYERS: tuple[Buyer, ...] = ("advisor", "grid", "random")


class Effects(NamedTuple):
    """What things bring in a world, in reward: teams at all, stages, cheap instead of strong workers, 16 planners, each
    doubling of planners over 4; and Luna alone instead of Sol. `dear`: factor on the cost of teams; `passing`: a run
    earns 1 or 0.
    """

    team: float
    planning: float
    implementing: float
    cheap_planners: float
    cheap_implementers: float
    many: float = 0.0
    crowd: float = 0.0
    luna: float = -0.3
    dear: float = 1.0
    passing: bool = False


WORLDS = {
    "teams pay": Effects(0.04, 0.05, 0.01, -0.01, -0.03, many=0.03),
    "solo wins": Effects(-0.08, -0.01, -0.02, -0.01, -0.04),
    "cheap planners hurt": Effects(0.02, 0.06, 0.0, -0.14, -0.05),
    "implementers pay": Effects(0.0, -0.02, 0.08, -0.03, 0.0),
}
DRAWN = "drawn at random"
HELD_OUT = {
    "fewer is better": Effects(0.03, 0.06, 0.0, 0.0, -0.04, crowd=-0.04),
    "Luna is enough": Effects(-0.03, 0.0, 0.0, 0.0, 0.0, luna=0.03),
    "teams cost more": Effects(0.04, 0.05, 0.04, -0.03, -0.02, dear=2.5),
    "pass or fail": Effects(0.0, -0.02, 0.10, -0.03, -0.02, passing=True),
}
"""Worlds of other shapes. They were first looked at when everything was done, and nothing was changed after that."""

NAMES = (*WORLDS, DRAWN, *HELD_OUT)


def effects_of(name: str, seed: int) -> Effects:
    """A world's effects: its own, or drawn from wide distributions."""
    if name != DRAWN:
        return {**WORLDS, **HELD_OUT}[name]
    gauss = Random(f"drawn {seed}").gauss
    return Effects(
        gauss(0, 0.06), gauss(0.02, 0.05), gauss(0, 0.05), gauss(-0.03, 0.05), gauss(-0.03, 0.05), gauss(0.01, 0.03)
    )


@dataclass
class World:
    """One world: its designs with their true mean reward and dollars, and what they would earn on each task but for the
    noise of a run.
    """

    designs: tuple[Design, ...]
    reward: Floats
    usd: Floats
    level: Floats
    passing: bool
    random: Random
    count: dict[tuple[int, int], int] = field(default_factory=dict)

    def run(self, design: int, task: int) -> Own:
        """Run a design on a task."""
        at = (design, task)
        self.count[at] = self.count.get(at, 0) + 1
        value = float(self.level[at])
        reward = float(self.random.random() < value) if self.passing else value + self.random.gauss(0, RUN_SD)
        usd = self.usd[design] * math.exp(self.random.gauss(-(USD_SD**2) / 2, USD_SD))
        return Own(
            design=self.designs[design],
            setting=SETTING,
            task=f"t{task:02d}",
            reward=min(1.0, max(0.0, reward)),
            usd=float(usd),
            minutes=3.0,
        )

    def regret(self, design: int) -> float:
        """What the best design would earn more, where the money of the question runs out."""
        assert QUESTION.max_usd is not None
        values = self.reward * np.minimum(1.0, QUESTION.max_usd / self.usd)
        return float(values.max() - values[design])

    @property
    def best(self) -> int:
        return min(range(len(self.designs)), key=self.regret)


def make_world(name: str, seed: int) -> World:
    """A world of this name; designs deviate from its effects, and costs from the price table, by chance."""
    effects = effects_of(name, seed)
    random = Random(f"world-{seed}-{name}")
    designs = candidates(asked(MODELS), PRICES.__getitem__)
    reward = np.array([0.5 + _solo(d, effects) + _lift(d, effects) + random.gauss(0, 0.008) for d in designs])
    dearer = random.gauss(0, 0.15)
    usd = [math.exp(offset_of("usd", profile(d, PRICES.__getitem__)) + dearer + random.gauss(0, 0.1)) for d in designs]
    usd = [u * effects.dear if d.has_lead else u for u, d in zip(usd, designs, strict=True)]
    tasks = np.array([random.gauss(0, TASK_SD) for _ in range(TASKS)])
    suits = np.array([[random.gauss(0, SUITS_SD) for _ in range(TASKS)] for _ in designs])
    level = reward[:, None] + (tasks - tasks.mean()) + suits - suits.mean(axis=1, keepdims=True)
    return World(designs, _true(level, effects.passing), np.array(usd), level, effects.passing, random)


def _true(level: Floats, passing: bool) -> Floats:
    """Mean reward over tasks, and over the noise of a run: rewards end at 0 and 1."""
    noise = [0.0] if passing else [NormalDist(0, RUN_SD).inv_cdf((i + 0.5) / 50) for i in range(50)]
    means = [np.clip(level + e, 0.0, 1.0).mean(axis=1) for e in noise]
    return np.asarray(np.mean(means, axis=0), dtype=np.float64)


def _solo(design: Design, e: Effects) -> float:
    weaker = e.luna if design.lead.endswith("luna") else 0.0
    return weaker + (0.0 if design.guidance == "minimal" else 0.03)


def _lift(design: Design, e: Effects) -> float:
    if not design.has_lead:
        return 0.0
    cheap = design.worker.endswith("luna") and not design.lead.endswith("luna")
    lift = e.team
    if "P" in design.guidance:
        lift += e.planning + (e.cheap_planners if cheap else 0.0) + (e.many if design.workers == 16 else 0.0)
        lift += e.crowd * math.log2((design.workers or 4) / 4)
    if "I" in design.guidance:
        lift += e.implementing + (e.cheap_implementers if cheap else 0.0)
    return lift


class Point(NamedTuple):
    """After so many runs and dollars: the regret of the advised design, and whether it is a team."""

    runs: int
    usd: float
    regret: float
    best: int


def course(world: World, buyer: Buyer, most_usd: float, seed: int) -> Iterator[Point]:
    """Buy runs until the money is spent; a point for each time the advice is asked for."""
    own: list[Own] = []
    random = Random(f"buyer-{seed}")
    queue = _queue(world, buyer, random)
    while True:
        fitted = fit_all(own, PRICES.__getitem__, ("reward", "usd"))
        outlook = look(fitted, world.designs, SETTING)
        choice = choose(outlook, QUESTION)
        spent = math.fsum(r.usd for r in own)
        yield Point(len(own), spent, world.regret(choice.best), choice.best)
        if spent >= most_usd:
            return
        if buyer == "advisor":
            bought = _experiment(world, fitted, outlook, choice)
        else:
            bought = [run for _, run in zip(range(len(world.designs)), queue, strict=False)]
        if not bought:
            return
        own += [world.run(d, t) for d, t in bought]


def _queue(world: World, buyer: Buyer, random: Random) -> Iterator[tuple[int, int]]:
    """The grid in a study's order (task by task, all designs), or pairs at random without repetition."""
    pairs = [(d, t) for t in range(TASKS) for d in range(len(world.designs))]
    return iter(random.sample(pairs, len(pairs)) if buyer == "random" else pairs)


def _experiment(world: World, fitted: Fitted, outlook: Outlook, choice: Choice) -> list[tuple[int, int]]:
    """The advisor's next experiment, on tasks in a fixed order, so that designs meet on the same ones."""
    done: dict[int, dict[str, int]] = {}
    for (design, task), runs in world.count.items():
        done.setdefault(design, {})[f"t{task:02d}"] = runs
    fresh = [f"t{t:02d}" for t in range(TASKS)]
    trial = best_trial(fitted, world.designs, SETTING, outlook, choice, done, fresh)
    return [] if trial is None else [(d, int(t[1:])) for t in trial.tasks for d in trial.designs]


def at_dollars(points: Sequence[Point], grid: Sequence[float]) -> list[float]:
    """The regret after so many dollars: that of the last advice before they were spent."""
    return [[p for p in points if p.usd <= usd or p is points[0]][-1].regret for usd in grid]


def dollars_to(points: Sequence[Point], regret: float) -> float:
    """Dollars after which the regret stays at or below this; infinite where it does not."""
    last = max((i for i, p in enumerate(points) if p.regret > regret), default=-1)
    return points[last + 1].usd if last + 1 < len(points) else math.inf


def runs_to(points: Sequence[Point], regret: float) -> float:
    """The same in runs."""
    usd = dollars_to(points, regret)
    return next((float(p.runs) for p in points if p.usd >= usd), math.inf)
