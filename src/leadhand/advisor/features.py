"""From a design and a setting to named columns: the regression behind every prediction. Pure; docs/advisor.md has the
table. A column is `kind` or `kind:which`; its prior stands under its name or its kind.

Reward is linear. Dollars and minutes are in natural logs around an offset: the price table's for dollars, the paper's
solo run for minutes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from leadhand.advisor.figures import HOME, Metric
from leadhand.advisor.gauss import Noise, Prior, Weights
from leadhand.advisor.profile import SOL_USD, Profile

SOLO_MINUTES = 1.9
EASE = 0.5
"""Solo reward at which the `ease` column is zero."""


PAPER_SOLO = 0.577
MOST_ROOM = 1.3
"""Whatever a team adds, it adds to what its lead leaves undone: lifts are in units of the paper's room, 1 - 0.577."""


class Place(NamedTuple):
    """Where a design runs: setting, harness ("" for ours and the paper's), and the lead's own solo reward there."""

    setting: str
    harness: str = ""
    ease: float = EASE

    @property
    def benchmark(self) -> str:
        """The setting without its tier: `programbench` of `programbench:easy`."""
        return self.setting.partition(":")[0]


class Shape(NamedTuple):
    """Cost of a team in units of its lead's solo run: the lead's overhead, and each worker's part."""

    lead: float
    worker: float


SHAPES = {"P": Shape(0.20, 0.25), "I": Shape(0.10, 0.35), "V": Shape(0.05, 0.15)}
UNGUIDED = Shape(0.30, 0.60)

PRIORS: dict[Metric, dict[str, Prior]] = {
    "reward": {
        "base": Prior(0.52, 0.05),
        "price": Prior(0.07, 0.04),
        "free": Prior(0.0, 0.15),
        "lead": Prior(0.0, 0.08),
        "setting": Prior(0.0, 0.25),
        "tier": Prior(0.0, 0.2),
        "harness": Prior(0.0, 0.03),
        "effort": Prior(0.04, 0.03),
        "effort@": Prior(0.0, 0.02),
        "guided": Prior(0.02, 0.03),
        "guided@": Prior(0.0, 0.025),
        "team": Prior(0.0, 0.05),
        "team@": Prior(0.0, 0.04),
        "team in": Prior(0.0, 0.06),
        "team of": Prior(0.0, 0.05),
        "ease in": Prior(0.0, 0.2),
        "ease": Prior(-0.20, 0.12),
        "P": Prior(0.02, 0.03),
        "I": Prior(0.0, 0.03),
        "V": Prior(0.0, 0.03),
        "stage@": Prior(0.0, 0.03),
        "stage of": Prior(0.0, 0.03),
        "together": Prior(-0.01, 0.03),
        "cheap": Prior(-0.02, 0.03),
        "cheap@": Prior(0.0, 0.04),
        "size:P": Prior(0.006, 0.006),
        "size:other": Prior(0.0, 0.006),
        "messages": Prior(-0.005, 0.02),
        "schedule": Prior(0.0, 0.02),
        "fork": Prior(0.0, 0.02),
        "strategy": Prior(0.0, 0.05),
        "strategy:best-of-k": Prior(0.02, 0.04),
        "design": Prior(0.0, 0.025),
        "task": Prior(0.0, 0.22),
    },
    "usd": {
        "base": Prior(0.0, 0.3),
        "lead": Prior(0.0, 0.5),
        "maker": Prior(0.0, 1.0),
        "setting": Prior(0.0, 0.8),
        "tier": Prior(0.0, 0.35),
        "harness": Prior(0.0, 1.0),
        "habit": Prior(0.0, 0.5),
        "effort": Prior(0.6, 0.3),
        "effort@": Prior(0.0, 0.25),
        "guided": Prior(0.3, 0.25),
        "guided@": Prior(0.0, 0.25),
        "team": Prior(0.0, 0.25),
        "team@": Prior(0.0, 0.15),
        "team in": Prior(0.0, 0.3),
        "P": Prior(0.0, 0.2),
        "I": Prior(0.0, 0.2),
        "V": Prior(0.0, 0.2),
        "together": Prior(0.0, 0.2),
        "cheap": Prior(0.0, 0.2),
        "size": Prior(0.0, 0.1),
        "messages": Prior(0.1, 0.1),
        "schedule": Prior(0.0, 0.15),
        "fork": Prior(0.2, 0.3),
        "strategy": Prior(0.0, 0.3),
        "design": Prior(0.0, 0.12),
        "task": Prior(0.0, 0.45),
    },
    "minutes": {
        "base": Prior(0.0, 0.3),
        "lead": Prior(0.0, 0.5),
        "maker": Prior(0.0, 0.8),
        "setting": Prior(0.0, 0.8),
        "tier": Prior(0.0, 0.35),
        "harness": Prior(0.0, 1.5),
        "habit": Prior(0.0, 0.5),
        "effort": Prior(0.4, 0.25),
        "effort@": Prior(0.0, 0.2),
        "guided": Prior(0.2, 0.2),
        "guided@": Prior(0.0, 0.15),
        "team": Prior(0.25, 0.25),
        "team@": Prior(0.0, 0.15),
        "team in": Prior(0.0, 0.3),
        "P": Prior(0.0, 0.15),
        "I": Prior(0.0, 0.15),
        "V": Prior(0.0, 0.15),
        "together": Prior(0.0, 0.15),
        "cheap": Prior(0.0, 0.15),
        "size": Prior(0.03, 0.08),
        "messages": Prior(0.1, 0.1),
        "schedule": Prior(0.2, 0.25),
        "fork": Prior(0.0, 0.15),
        "strategy": Prior(0.1, 0.3),
        "design": Prior(0.0, 0.12),
        "task": Prior(0.0, 0.45),
    },
}

NOISE: dict[Metric, Noise] = {"reward": Noise(0.22, 0.11), "usd": Noise(0.45, 0.35), "minutes": Noise(0.45, 0.35)}


def weights_of(metric: Metric, p: Profile, at: Place) -> Weights:
    """The columns of a design in a place. Zero weights are left out."""
    found: dict[str, float] = {"base": 1.0, f"lead:{p.lead}": 1.0, f"design:{p.kind}@{at.benchmark}": 1.0}
    if at.benchmark != HOME:
        found[f"setting:{at.benchmark}"] = 1.0
    if at.setting != at.benchmark:
        found[f"tier:{at.setting}"] = 1.0
    if at.harness:
        found[f"harness:{at.harness}"] = 1.0
    if metric == "reward":
        found["price"] = math.log(p.usd / SOL_USD)
        found["free"] = float(p.free)
    else:
        found[f"maker:{p.maker}"] = 1.0
        if at.harness:
            found[f"habit:{p.lead} in {at.harness}"] = 1.0
    found["effort"] = p.effort
    found[f"effort@:{at.setting}"] = p.effort
    found["guided"] = float(p.guided)
    found[f"guided@:{p.lead}"] = float(p.guided)
    if p.strategy:
        # Four agents are the unit: what the best of several gains grows about with the doublings of their number.
        found[f"strategy:{p.strategy}"] = math.log2(p.k) / 2 if metric == "reward" else 1.0
    if p.team:
        found |= _team(metric, p, at)
    return {column: weight for column, weight in found.items() if weight}


def _team(metric: Metric, p: Profile, at: Place) -> Weights:
    doublings = math.log2(max(p.count, 1.0) / 4)
    found: Weights = {"team": 1.0, f"team@:{at.benchmark}": 1.0}
    if at.harness:
        found[f"team in:{at.harness}"] = 1.0
    found |= dict.fromkeys(p.stages, 1.0)
    found["together"] = float(max(0, len(p.stages) - 1))
    if metric == "reward":
        found |= {f"cheap:{stage}": p.gap for stage in p.stages or ("minimal",)}
        found[f"cheap@:{at.benchmark}"] = p.gap
        # Sources differ by points on what a stage brings, and so do models: here, and with this lead, it may differ.
        found |= {f"stage@:{stage}:{at.benchmark}": 1.0 for stage in p.stages}
        found |= {f"stage of:{stage}:{p.lead}": 1.0 for stage in p.stages}
        # Planners go on paying; others stop at four, and fewer than four of them are fewer hands.
        found["size:P" if "P" in p.stages else "size:other"] = doublings
    else:
        found["cheap"] = p.gap
        found["size"] = doublings
    if p.schedule:
        found[f"schedule:{p.schedule}"] = 1.0
    found |= {"messages": float(p.messages), "fork": float(p.fork)}
    if metric != "reward":
        return found
    found[f"team of:{p.lead}"] = 1.0
    room = min(MOST_ROOM, (1 - at.ease) / (1 - PAPER_SOLO))
    found = {column: room * weight for column, weight in found.items()} | {"ease": at.ease - EASE}
    return found | {f"ease in:{at.harness}": at.ease - EASE} if at.harness else found


def offset_of(metric: Metric, p: Profile) -> float:
    """The log of dollars or minutes that a design is expected to take, before anything is learned; 0 for reward."""
    if metric == "reward":
        return 0.0
    if metric == "minutes":
        return math.log(SOLO_MINUTES)
    return math.log(p.usd) + math.log(team_factor(p)) + math.log(p.k)


def team_factor(p: Profile) -> float:
    """How many solo runs of its lead a team costs, by the price table."""
    if not p.team:
        return 1.0
    shapes = [SHAPES[stage] for stage in p.stages] or [UNGUIDED]
    return 1.0 + math.fsum(s.lead + s.worker * p.count * p.ratio for s in shapes)
