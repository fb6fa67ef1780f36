"""The question and the answer."""

from __future__ import annotations

from leadhand.core.design import Design
from leadhand.core.errors import UsageError
from leadhand.core.values import Value

LIMITED_WORTH = 0.005
UNLIMITED_WORTH = 0.02
"""Reward that a doubling of the dollars has to bring, with and without a limit on dollars. With a limit the money is
meant to be spent; without one, the published gain of the last doubling that pays (Sol's) is asked for."""

CONFIDENCE = 0.8
"""How sure it must be that a design keeps a limit."""


class Question(Value, frozen=True, kw_only=True):
    """What is asked. Dollars and minutes are means per task; `models` are `PROVIDER/MODEL`, or with `@EFFORT`.

    `worth`: reward that a doubling of dollars has to bring (None: by whether there is a limit).
    """

    like: str = ""
    models: tuple[str, ...] = ()
    max_usd: float | None = None
    max_minutes: float | None = None
    min_reward: float | None = None
    worth: float | None = None

    def __post_init__(self) -> None:
        for name, value, most in (
            ("--max-usd", self.max_usd, float("inf")),
            ("--max-minutes", self.max_minutes, float("inf")),
            ("--min-reward", self.min_reward, 1.0),
        ):
            if value is not None and not 0 < value <= most:
                raise UsageError(f"{name} must be above 0{'' if most > 1 else ' and at most 1'}")
        if self.worth is not None and not 0 <= self.worth <= 1:
            raise UsageError("--worth must be 0 to 100 points")

    @property
    def trade(self) -> float:
        """Reward that a doubling of the cost has to bring."""
        if self.worth is not None:
            return self.worth
        return UNLIMITED_WORTH if self.max_usd is None else LIMITED_WORTH


class Estimate(Value, frozen=True, kw_only=True):
    """An expected value with its 95 % interval."""

    mean: float
    low: float
    high: float


class Citation(Value, frozen=True, kw_only=True):
    """A published figure. `standing`: read, table (tables and captions were read), note (from a note, not checked)."""

    text: str
    title: str
    where: str
    date: str
    standing: str
    scope: str


class Ground(Value, frozen=True, kw_only=True):
    """What one number rests on: own runs of the design there, other own runs, the figures that move it most, and
    whether today's price table enters. With none of them it is a guess from the model's priors.
    """

    number: str
    own: int = 0
    other_own: int = 0
    published: tuple[Citation, ...] = ()
    prices: bool = False


class Prediction(Value, frozen=True, kw_only=True):
    """What a design is expected to do, per task, in the mean over tasks of the setting.

    `lift`: reward over its lead (or one of its agents) alone, with stage wording where it has that; None for a solo
    agent. `fits`: how sure it is that the limits are kept. `runs`: own runs of this very design there. `evidence`: what
    the numbers rest on; `extrapolated`: in what respects nothing like it was seen.
    """

    name: str
    design: Design
    reward: Estimate
    usd: Estimate
    minutes: Estimate
    lift: Estimate | None
    fits: float
    runs: int
    evidence: tuple[Ground, ...] = ()
    extrapolated: tuple[str, ...] = ()


class Alternative(Value, frozen=True, kw_only=True):
    """Another design worth a look, and why."""

    why: str
    prediction: Prediction


class Experiment(Value, frozen=True, kw_only=True):
    """The next study to run: `designs` on `tasks` tasks, each so often, for about `usd` dollars.

    `name`: the study's; `needs_tasks`: whether its tasks are to be put in first (nobody knows their names here).
    `gain`: reward that the advice is expected to gain by it; `changes`: the chance that it changes the advice. `study`:
    a study file.
    """

    name: str
    designs: tuple[str, ...]
    tasks: int
    repeats: int
    needs_tasks: bool
    usd: float
    gain: float
    changes: float
    study: str


class Advice(Value, frozen=True, kw_only=True):
    """The answer. `known`: what is known of the setting, in a sentence; `own_runs`: own runs used, of all settings.
    `against_teams`: what a solo choice's judgement of teams rests on.
    """

    question: Question
    setting: str
    known: str
    own_runs: int
    considered: int
    fitting: int
    choice: Prediction
    alternatives: tuple[Alternative, ...]
    frontier: tuple[str, ...]
    why: tuple[str, ...]
    against_teams: Ground | None
    disputes: tuple[str, ...]
    changes: tuple[str, ...]
    experiment: Experiment | None
