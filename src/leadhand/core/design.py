"""A design: all settings of a team, frozen and hashable. What may be combined is checked before money is spent."""

from __future__ import annotations

from typing import Literal

from leadhand.core.errors import UsageError
from leadhand.core.values import Limits, Value

Schedule = Literal["blocking", "push", "notify", "pull"]
Guidance = Literal["minimal", "P", "I", "V", "PI", "PV", "IV", "PIV"]
MOST_WORKERS = 20
LEAD_SHARE = 0.25
"""The part of a team's budget that workers cannot touch."""


class Kind(Value, frozen=True, kw_only=True):
    """One kind of worker. `count` caps (dynamic team) or fixes (fixed team) how many there are; None: no own cap."""

    name: str
    model: str = ""
    reasoning: str = ""
    role: str = ""
    count: int | None = None


class Design(Value, frozen=True, kw_only=True):
    """The team's settings. `workers` fixes the size; else `max_workers` caps the unique workers of a dynamic team.

    Sizes count workers, never the lead. `budget_usd` None is unlimited and must be asked for; 0 is zero.
    """

    lead: str
    worker: str = ""
    solo: bool = False
    workers: int | None = None
    max_workers: int = 5
    kinds: tuple[Kind, ...] = ()
    lead_reasoning: str = ""
    worker_reasoning: str = ""
    guidance: Guidance = "minimal"
    schedule: Schedule = "push"
    messaging: Literal["off", "on", "plus"] = "off"
    context: Literal["brief", "fork"] = "brief"
    at_finish: Literal["wait", "cancel", "refuse"] = "wait"
    budget_usd: float | None = None
    budget_visibility: Literal["none", "own", "team"] = "none"
    max_output_tokens: int = 16_000
    report_chars: int = 20_000
    merged_chars: int = 60_000
    retries: int = 8
    limits: Limits = Limits()

    @property
    def cap(self) -> int:
        """How many unique workers there can be."""
        return 0 if self.solo else (self.workers if self.workers is not None else self.max_workers)

    @property
    def worker_kinds(self) -> tuple[Kind, ...]:
        """The kinds of worker, at least one, with the defaults of the design filled in."""
        kinds = self.kinds or (Kind(name=""),)
        return tuple(
            Kind(
                name=k.name,
                model=k.model or self.worker or self.lead,
                reasoning=k.reasoning
                or self.worker_reasoning
                or ("" if k.model or self.worker else self.lead_reasoning),
                role=k.role,
                count=k.count,
            )
            for k in kinds
        )

    @property
    def models(self) -> tuple[str, ...]:
        """Every model that the design can call, the lead's first."""
        names = [self.lead] if self.solo else [self.lead, *(k.model for k in self.worker_kinds)]
        return tuple(dict.fromkeys(names))


def share_of(budget_usd: float, *, worker: bool) -> float:
    """The part of a run's budget, in dollars, that may be committed when a worker (or the lead) wants to spend."""
    return budget_usd * (1 - LEAD_SHARE) if worker else budget_usd


def check(design: Design) -> None:
    """Raise `UsageError` for a design that cannot run."""
    for wrong, text in _faults(design):
        if wrong:
            raise UsageError(text)


def _faults(d: Design) -> list[tuple[bool, str]]:
    names = [k.name for k in d.kinds]
    counts = [k.count for k in d.kinds if k.count is not None]
    stages = d.guidance not in ("minimal", "PIV")
    return [
        (not d.lead, "no lead model: name one as provider/model with --lead"),
        (d.solo and stages, f"guidance {d.guidance!r} needs a team; a solo agent takes minimal or PIV"),
        (d.solo and d.messaging != "off", "messaging needs a team; leave it off for a solo agent"),
        (d.solo and bool(d.kinds), "kinds of workers need a team; leave them out for a solo agent"),
        (d.workers is not None and not 1 <= d.workers <= MOST_WORKERS, f"workers must be 1 to {MOST_WORKERS}"),
        (not 1 <= d.max_workers <= MOST_WORKERS, f"max_workers must be 1 to {MOST_WORKERS}"),
        (len(set(names)) < len(names) or "" in names, "each kind of worker needs a name of its own"),
        (
            d.workers is not None and len(counts) == len(d.kinds) > 0 and sum(counts) != d.workers,
            f"the kinds of workers add up to {sum(counts)}, the team is fixed at {d.workers}",
        ),
        (any(c < 1 for c in counts), "a kind's count must be at least 1"),
        (d.budget_usd is not None and not d.budget_usd >= 0, "the budget must be 0 or more dollars, or none"),
        (d.max_output_tokens < 1, "max_output_tokens must be at least 1"),
        (d.report_chars < 200 or d.merged_chars < 200, "report caps must be at least 200 characters"),
        (d.limits.output_chars < 200, "limits.output_chars must be at least 200"),
        (d.retries < 0, "retries must be 0 or more"),
        (d.limits.steps < 1, "limits.steps must be at least 1"),
        (
            min(d.limits.command_s, d.limits.delegation_s, d.limits.run_s) <= 0,
            "limits in seconds must be above 0",
        ),
        (
            d.context == "fork"
            and any(k.model != d.lead or k.reasoning != d.lead_reasoning for k in d.worker_kinds if not d.solo),
            "forked context needs workers with the lead's model and reasoning settings",
        ),
        (d.context == "fork" and d.solo, "forked context needs a team"),
    ]
