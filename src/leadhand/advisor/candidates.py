"""Which designs are considered for the models that one has. Pure, but for the price table that is handed in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from leadhand.advisor.profile import PriceOf, bare, reference_usd
from leadhand.core.design import Design
from leadhand.core.errors import UsageError
from leadhand.core.values import Value
from leadhand.models import check_reasoning, reasoning_settings
from leadhand.models.listing import SUGGESTED
from leadhand.models.providers import PROVIDERS

PLANNERS = (4, 8, 16)
HARDER = "high"
STAGES = {"P": "planning", "I": "implementation", "V": "verification"}


class Asked(Value, frozen=True, kw_only=True):
    """A model that may be used. `effort` None: its default, and higher where it takes that."""

    name: str
    effort: str | None = None


def asked(models: Iterable[str]) -> tuple[Asked, ...]:
    """`PROVIDER/MODEL`, a suggested model's bare name or a distinctive end of it, each with `@EFFORT` if wished."""
    found = []
    for text in models:
        name, at, effort = text.strip().partition("@")
        full = _full(name)
        check_reasoning(full, effort)
        found.append(Asked(name=full, effort=effort if at else None))
    if not found:
        raise UsageError("no models: name those you can use, such as --models openai/gpt-5.6-sol,openai/gpt-5.6-luna")
    return tuple(dict.fromkeys(found))


def _full(name: str) -> str:
    if name.partition("/")[0] in PROVIDERS:
        return name
    exact = [s for s in SUGGESTED if s.rpartition("/")[2] == name]
    near = exact or [s for s in SUGGESTED if s.endswith(f"-{name}")]
    if len(near) == 1:
        return near[0]
    what = f"could be {' or '.join(near)}" if near else "is not a model"
    raise UsageError(f"--models: {name!r} {what}; name it PROVIDER/MODEL, such as {(near or SUGGESTED)[0]}")


def candidates(models: Sequence[Asked], price_of: PriceOf) -> tuple[Design, ...]:
    """Solo agents, teams of one model, and strong leads with cheaper workers. Raises for a model without a price."""
    cost = {m: reference_usd(price_of(m.name)) for m in models}
    found: list[Design] = []
    for lead in models:
        found += _alone(lead)
        found += _teams(lead, lead)
        for worker in models:
            if cost[worker] < cost[lead] and bare(worker.name) != bare(lead.name):
                found += _teams(lead, worker)
    return tuple(dict.fromkeys(found))


def _alone(m: Asked) -> list[Design]:
    plain = Design(lead=m.name, lead_reasoning=m.effort or "", solo=True)
    worded = msgspec.structs.replace(plain, guidance="PIV")
    if m.effort is not None or HARDER not in reasoning_settings(m.name):
        return [plain, worded]
    return [plain, worded, msgspec.structs.replace(worded, lead_reasoning=HARDER)]


def _teams(lead: Asked, worker: Asked) -> list[Design]:
    same = lead.name == worker.name
    base = Design(
        lead=lead.name,
        worker="" if same else worker.name,
        lead_reasoning=lead.effort or "",
        worker_reasoning="" if same else worker.effort or "",
    )
    free = [msgspec.structs.replace(base, guidance=g) for g in ("minimal", "P", "I", "PIV")]
    if same:
        return free
    return [*free, *(msgspec.structs.replace(base, guidance="P", workers=n) for n in PLANNERS)]


def describe(design: Design) -> str:
    """A design in words."""
    lead = _model(design.lead, design.lead_reasoning)
    worded = "" if design.guidance == "minimal" else ", told to plan, implement and verify"
    if design.strategy == "peers":
        return f"{design.k} equal {lead}{worded}"
    if design.strategy == "best-of-k":
        return f"best of {design.k} {lead}{worded}"
    if design.solo:
        return f"{lead} alone{worded}"
    kinds = list(dict.fromkeys(_model(k.model, k.reasoning) for k in design.worker_kinds))
    size = str(design.workers) if design.workers is not None else f"up to {design.max_workers}"
    stages = " and ".join(STAGES[s] for s in design.guidance) if design.guidance != "minimal" else "what it likes"
    if design.guidance == "PIV":
        stages = "every stage"
    only = " only" if len(design.guidance) == 1 else ""
    more = "".join(
        f", {text}"
        for text, there in (
            (f"{design.schedule} reports", design.schedule != "push"),
            ("with messages", design.messaging != "off"),
            ("forked context", design.context == "fork"),
        )
        if there
    )
    return f"{lead} leading {size} {' and '.join(kinds)}, delegating {stages}{only}{more}"


def _model(name: str, effort: str) -> str:
    short = name.rpartition("/")[2]
    return f"{short} ({effort})" if effort not in ("", "medium") else short
