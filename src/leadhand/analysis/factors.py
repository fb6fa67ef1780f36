"""What sets designs apart, as far as figures need it: read from a `Design`, or from columns of somebody's CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import get_args

import msgspec

from leadhand.core.design import Design, Strategy
from leadhand.core.errors import UsageError
from leadhand.core.names import short_model
from leadhand.core.values import Value


class Factors(Value, frozen=True, kw_only=True):
    """The factors of one design. `known` is False for a bare name: then only its scores can be compared.

    `workers` is the size of a fixed team (0 for solo), None for a dynamic one, which has a `cap`.
    `lead` and `worker` are models with their reasoning effort, where one is set. A group without a lead (`strategy`
    peers or best-of-k) has `k` agents of the model `lead`, of which `chosen` says whose work counts (first, last;
    tests, majority, oracle). `control` is the solo control that the study itself names; "" where it names none.
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
    finish_check: bool = False
    strategy: str = "team"
    k: int | None = None
    chosen: str = ""
    control: str = ""

    @property
    def group(self) -> bool:
        """Whether these are equal agents without a lead: nobody delegates, so nothing is a lead's or a worker's."""
        return self.strategy != "team"

    @property
    def reachable(self) -> bool:
        """False for what nobody can buy: a choice by the grader itself is an upper bound of what choosing can bring."""
        return self.chosen != "oracle"

    @property
    def homogeneous(self) -> bool:
        return self.solo or self.group or self.lead == self.worker

    @property
    def size(self) -> str:
        """The size of a group without a lead, in words; "" for solo agents and teams."""
        if not self.group:
            return ""
        if self.strategy == "peers":
            return f"{self.k or 'k'} peers" + (", last" if self.chosen == "last" else "")
        by = f" by {self.chosen}" if self.chosen else ""
        return f"best of {self.k or 'k'}{by}"

    @property
    def models(self) -> str:
        """Who is in the team, in words."""
        return self.lead if self.homogeneous else f"{self.lead} + {self.worker}"


def factors_of(design: Design, label: str = "", control: str = "") -> Factors:
    """The factors of a design; without a label it gets one that tells them all."""
    workers = " / ".join(dict.fromkeys(_model(k.model, k.reasoning) for k in design.worker_kinds))
    group = design.strategy != "team"
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
        finish_check=design.finish_check,
        strategy=design.strategy,
        k=design.k if group else None,
        chosen={"peers": design.collect, "best-of-k": design.selector}.get(design.strategy, ""),
        control=control,
    )
    return factors if label else _labelled(factors)


COLUMNS = (
    *("lead", "lead_reasoning", "worker", "worker_reasoning", "solo", "guidance", "schedule", "workers", "cap"),
    *("messaging", "context", "finish_check", "strategy", "k", "collect", "selector", "control"),
)
"""The columns of a CSV that say what a design is."""


def factors_from(row: Mapping[str, object], label: str) -> Factors:
    """The factors named by columns of a CSV; without a `lead` and a `guidance` there is only the label.

    Raises `UsageError` for a strategy that does not exist.
    """

    def text(name: str) -> str:
        value = row.get(name)
        return "" if value is None else str(value).strip()

    def number(name: str) -> int | None:
        value = text(name)
        return int(float(value)) if value else None

    def flag(name: str) -> bool:
        return text(name).lower() in ("1", "true", "yes")

    lead, guidance, strategy = text("lead"), text("guidance"), text("strategy") or "team"
    if strategy not in get_args(Strategy):
        raise UsageError(f"design {label!r}: strategy {strategy!r} is none of {', '.join(get_args(Strategy))}")
    if not lead or not guidance:
        return Factors(label=label, strategy=strategy, chosen=_chosen(strategy, text), control=text("control"))
    workers, group = number("workers"), strategy != "team"
    solo = not group and (flag("solo") or workers == 0)
    alone = solo or group
    return Factors(
        label=label,
        known=True,
        solo=solo,
        lead=_model(lead, text("lead_reasoning")),
        worker="" if alone else _workers(text) or _model(lead, text("lead_reasoning")),
        guidance=guidance,
        schedule="" if alone else text("schedule") or "push",
        workers=0 if solo else (None if group else workers),
        cap=None if alone or workers is not None else number("cap") or 5,
        messaging=text("messaging") or "off",
        context=text("context") or "brief",
        finish_check=flag("finish_check"),
        strategy=strategy,
        k=number("k") if group else None,
        chosen=_chosen(strategy, text),
        control=text("control"),
    )


def _workers(text: Callable[[str], str]) -> str:
    """The kinds of worker of a CSV: models in one cell, with `+` between them, and their efforts likewise."""
    models, efforts = text("worker").split("+"), text("worker_reasoning").split("+")
    if len(efforts) != len(models):
        efforts = [text("worker_reasoning")] * len(models)
    return " / ".join(dict.fromkeys(_model(m, e) for m, e in zip(models, efforts, strict=True) if m))


def _chosen(strategy: str, text: Callable[[str], str]) -> str:
    return {"peers": text("collect") or "first", "best-of-k": text("selector")}.get(strategy, "")


def _model(name: str, reasoning: str) -> str:
    model = short_model(name)
    return f"{model} ({reasoning})" if reasoning else model


def _labelled(f: Factors) -> Factors:
    parts = [f.models]
    if f.solo or f.size:
        parts.append(f"{f.size or 'solo'} {f.guidance}")
        parts += [] if f.reachable else ["upper bound"]
    else:
        parts.append(f"{f.guidance} {f.workers if f.workers is not None else f'up to {f.cap}'}")
        parts += [f.schedule] if f.schedule != "push" else []
        parts += [f"messages {f.messaging}"] if f.messaging != "off" else []
        parts += [f.context] if f.context != "brief" else []
    parts += ["finish check"] if f.finish_check else []
    return msgspec.structs.replace(f, label=" · ".join(parts))


def base_of(design: Factors, all_designs: Mapping[str, Factors]) -> Factors | None:
    """The solo control of a team or a group (DESIGN.md section 5): the same model's solo `minimal` for `minimal` ones,
    its solo `PIV` for every one with stage guidance; the one that the study names, where it names any. None for solo
    designs, or where the control was not run.
    """
    if design.solo:
        return None
    if design.control:
        return all_designs.get(design.control)
    if not design.known:
        return None
    wanted = "minimal" if design.guidance == "minimal" else "PIV"
    return solo_of(design.lead, wanted, all_designs, finish_check=design.finish_check)


def solo_of(
    lead: str, guidance: str, all_designs: Mapping[str, Factors], *, finish_check: bool = False
) -> Factors | None:
    """The solo control of a lead with this guidance; of several the one that is as much checked at its finish."""
    found = [d for d in all_designs.values() if d.known and d.solo and (d.lead, d.guidance) == (lead, guidance)]
    return min(found, key=lambda d: d.finish_check != finish_check, default=None)
