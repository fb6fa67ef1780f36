"""What sets designs apart, as far as figures need it: read from a `Design`, or from columns of somebody's CSV."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from leadhand.core.design import Design
from leadhand.core.values import Value


class Factors(Value, frozen=True, kw_only=True):
    """The factors of one design. `known` is False for a bare name: then only its scores can be compared.

    `workers` is the size of a fixed team (0 for solo), None for a dynamic one, which has a `cap`.
    `lead` and `worker` are models with their reasoning effort, where one is set. `size` is that of a group without
    a lead (`strategy` peers or best-of-k), in words.
    """

    label: str
    known: bool = False
    solo: bool = False
    lead: str = ""
    worker: str = ""
    guidance: str = ""
    schedule: str = ""
    workers: int | None = None
    cap: int | None = None
    messaging: str = "off"
    context: str = "brief"
    strategy: str = "team"
    size: str = ""

    @property
    def homogeneous(self) -> bool:
        return self.solo or self.strategy != "team" or self.lead == self.worker

    @property
    def models(self) -> str:
        """Who is in the team, in words."""
        return self.lead if self.homogeneous else f"{self.lead} + {self.worker}"


def factors_of(design: Design, label: str = "") -> Factors:
    """The factors of a design; without a label it gets one that tells them all."""
    workers = " / ".join(dict.fromkeys(_model(k.model, k.reasoning) for k in design.worker_kinds))
    factors = Factors(
        label=label,
        known=True,
        solo=design.solo,
        lead=_model(design.lead, design.lead_reasoning),
        worker=workers if design.has_lead else "",
        guidance=design.guidance,
        schedule=design.schedule if design.has_lead else "",
        workers=0 if design.solo else design.workers,
        cap=design.max_workers if design.has_lead and design.workers is None else None,
        messaging=design.messaging,
        context=design.context,
        strategy=design.strategy,
        size=_group(design),
    )
    return factors if label else _labelled(factors)


def factors_from(row: Mapping[str, object], label: str) -> Factors:
    """The factors named by columns of a CSV; without a `lead` and a `guidance` there is only the label."""

    def text(name: str) -> str:
        value = row.get(name)
        return "" if value is None else str(value).strip()

    def number(name: str) -> int | None:
        value = text(name)
        return int(float(value)) if value else None

    lead, guidance = text("lead"), text("guidance")
    if not lead or not guidance:
        return Factors(label=label)
    workers = number("workers")
    solo = text("solo").lower() in ("1", "true", "yes") or workers == 0
    return Factors(
        label=label,
        known=True,
        solo=solo,
        lead=lead,
        worker="" if solo else text("worker") or lead,
        guidance=guidance,
        schedule="" if solo else text("schedule") or "push",
        workers=0 if solo else workers,
        cap=None if solo or workers is not None else number("cap") or 5,
        messaging=text("messaging") or "off",
        context=text("context") or "brief",
    )


def _model(name: str, reasoning: str) -> str:
    short = name.rsplit("/", 1)[-1]
    return f"{short} ({reasoning})" if reasoning else short


def _group(design: Design) -> str:
    """A group without a lead, in words; an oracle's choice is called what it is."""
    if design.strategy == "team":
        return ""
    if design.strategy == "peers":
        return f"{design.k} peers" + (", last" if design.collect == "last" else "")
    bound = ", an upper bound" if design.selector == "oracle" else ""
    return f"best of {design.k} by {design.selector}{bound}"


def _labelled(f: Factors) -> Factors:
    parts = [f.models]
    if f.solo or f.size:
        parts.append(f"{f.size or 'solo'} {f.guidance}")
    else:
        parts.append(f"{f.guidance} {f.workers if f.workers is not None else f'up to {f.cap}'}")
        parts += [f.schedule] if f.schedule != "push" else []
        parts += [f"messages {f.messaging}"] if f.messaging != "off" else []
        parts += [f.context] if f.context != "brief" else []
    return msgspec.structs.replace(f, label=" · ".join(parts))


def base_of(design: Factors, all_designs: Mapping[str, Factors]) -> Factors | None:
    """The solo control of a team (DESIGN.md section 5): the same lead's solo `minimal` for `minimal` teams, its solo
    `PIV` for every team with stage guidance. None for solo designs, or where the control was not run.
    """
    if not design.known or design.solo:
        return None
    wanted = "minimal" if design.guidance == "minimal" else "PIV"
    return solo_of(design.lead, wanted, all_designs)


def solo_of(lead: str, guidance: str, all_designs: Mapping[str, Factors]) -> Factors | None:
    """The solo control of a lead with this guidance."""
    found = (d for d in all_designs.values() if d.known and d.solo and d.lead == lead and d.guidance == guidance)
    return next(found, None)
