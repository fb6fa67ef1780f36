"""A design: all settings of a team, frozen and hashable. What may be combined is checked before money is spent."""

from __future__ import annotations

from typing import Literal

from leadhand.core.errors import UsageError
from leadhand.core.events import Role
from leadhand.core.values import CacheTtl, Limits, Value

Schedule = Literal["blocking", "push", "notify", "pull"]
Guidance = Literal["minimal", "P", "I", "V", "PI", "PV", "IV", "PIV"]
Strategy = Literal["team", "peers", "best-of-k"]
MOST_WORKERS = 20
LEAD_SHARE = 0.25
"""The part of a team's budget that workers cannot touch."""


class Kind(Value, frozen=True, kw_only=True):
    """One kind of worker. `count` caps (dynamic team) or fixes (fixed team) how many there are; None: no own cap."""

    name: str
    model: str = ""
    reasoning: str = ""
    cache_ttl: CacheTtl = ""
    role: str = ""
    count: int | None = None


class Design(Value, frozen=True, kw_only=True):
    """The team's settings. `workers` fixes the size; else `max_workers` caps the unique workers of a dynamic team.

    Sizes count workers, never the lead. `budget_usd` None is unlimited and must be asked for; 0 is zero.
    `finish_check`: when the head finishes, its work is tried, and it is told where that fails (see `finishing`).
    `strategy`: a team (or a solo agent); `k` equal peers, of which the `collect` one to finish gives the result; or the
    best of `k` solo candidates, chosen by `selector` (with `selector_command`, which runs in each one's sandbox).
    """

    lead: str
    worker: str = ""
    solo: bool = False
    workers: int | None = None
    max_workers: int = 5
    kinds: tuple[Kind, ...] = ()
    lead_reasoning: str = ""
    worker_reasoning: str = ""
    lead_cache_ttl: CacheTtl = ""
    worker_cache_ttl: CacheTtl = ""
    guidance: Guidance = "minimal"
    schedule: Schedule = "push"
    messaging: Literal["off", "on", "plus"] = "off"
    context: Literal["brief", "fork"] = "brief"
    compaction: Literal["off", "elide"] = "off"
    at_finish: Literal["wait", "cancel", "refuse"] = "wait"
    finish_check: bool = False
    budget_usd: float | None = None
    budget_visibility: Literal["none", "own", "team"] = "none"
    max_output_tokens: int = 16_000
    report_chars: int = 20_000
    merged_chars: int = 60_000
    retries: int = 8
    strategy: Strategy = "team"
    k: int = 4
    collect: Literal["first", "last"] = "first"
    selector: Literal["tests", "majority", "oracle"] = "tests"
    selector_command: str = ""
    limits: Limits = Limits()

    @property
    def has_lead(self) -> bool:
        """Whether there is a lead, which may have workers."""
        return self.strategy == "team" and not self.solo

    @property
    def heads(self) -> tuple[str, ...]:
        """The agents that are given the task itself, by name."""
        if self.strategy == "team":
            return ("solo",) if self.solo else ("lead",)
        letter = "p" if self.strategy == "peers" else "s"
        return tuple(f"{letter}{i}" for i in range(1, self.k + 1))

    @property
    def roles(self) -> tuple[Role, ...]:
        """The parts that agents can have, that of the heads first."""
        if self.has_lead:
            return ("lead", "worker")
        return ("peer",) if self.strategy == "peers" else ("solo",)

    @property
    def cap(self) -> int:
        """How many unique workers there can be."""
        return 0 if not self.has_lead else (self.workers if self.workers is not None else self.max_workers)

    @property
    def sandboxes(self) -> int:
        """How many sandboxes a run has open at once."""
        return self.k if self.strategy == "best-of-k" else 1

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
                cache_ttl=k.cache_ttl
                or self.worker_cache_ttl
                or ("" if k.model or self.worker else self.lead_cache_ttl),
                role=k.role,
                count=k.count,
            )
            for k in kinds
        )

    @property
    def models(self) -> tuple[str, ...]:
        """Every model that the design can call, the lead's first."""
        names = [self.lead, *(k.model for k in self.worker_kinds)] if self.has_lead else [self.lead]
        return tuple(dict.fromkeys(names))


def share_of(budget_usd: float, *, worker: bool) -> float:
    """The part of a run's budget, in dollars, that may be committed when a worker (or the lead) wants to spend."""
    return budget_usd * (1 - LEAD_SHARE) if worker else budget_usd


def check(design: Design) -> None:
    """Raise `UsageError` for a design that cannot run."""
    for wrong, text in (*_faults(design), *_faults_of_strategy(design)):
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
            and any(
                (k.model, k.reasoning, k.cache_ttl) != (d.lead, d.lead_reasoning, d.lead_cache_ttl)
                for k in d.worker_kinds
                if not d.solo
            ),
            "forked context needs workers with the lead's model, reasoning and cache_ttl settings",
        ),
        (d.context == "fork" and d.solo, "forked context needs a team"),
    ]


_ONLY_TEAMS = (
    *("solo", "worker", "worker_reasoning", "worker_cache_ttl", "workers", "max_workers", "kinds"),
    *("schedule", "messaging", "context", "at_finish", "finish_check"),
)
_ONLY: dict[str, tuple[Strategy, ...]] = {
    "k": ("peers", "best-of-k"),
    "collect": ("peers",),
    "selector": ("best-of-k",),
    "selector_command": ("best-of-k",),
}


def foreign(strategy: Strategy) -> frozenset[str]:
    """The settings that a strategy does not have."""
    teams = () if strategy == "team" else _ONLY_TEAMS
    return frozenset((*teams, *(f for f, known in _ONLY.items() if strategy not in known)))


def _faults_of_strategy(d: Design) -> list[tuple[bool, str]]:
    """What does not go with the strategy is refused rather than silently without effect."""
    usual = Design(lead=d.lead)
    strange = foreign(d.strategy)
    changed = [f for f in d.__struct_fields__ if f in strange and getattr(d, f) != getattr(usual, f)]
    teams = [f for f in changed if f in _ONLY_TEAMS]
    others = [f for f in changed if f in _ONLY]
    chosen_by_command = d.strategy == "best-of-k" and d.selector != "oracle"
    return [
        (bool(teams), f"strategy {d.strategy!r} has no lead and no workers: leave {', '.join(teams)} out"),
        (bool(others), f"strategy {d.strategy!r} knows no {', '.join(others)}: leave it out, or set strategy"),
        (d.strategy != "team" and not 2 <= d.k <= MOST_WORKERS, f"k must be 2 to {MOST_WORKERS}"),
        (
            d.strategy != "team" and d.guidance not in ("minimal", "PIV"),
            f"guidance {d.guidance!r} needs a lead; strategy {d.strategy!r} takes minimal or PIV",
        ),
        (
            chosen_by_command and not d.selector_command.strip(),
            f"selector {d.selector!r} needs selector_command: the command that is run in each candidate's sandbox",
        ),
        (
            d.selector == "oracle" and bool(d.selector_command),
            "selector 'oracle' grades the candidates and runs no command: leave selector_command out",
        ),
        ("\0" in d.selector_command, "selector_command cannot hold a NUL byte"),
    ]
