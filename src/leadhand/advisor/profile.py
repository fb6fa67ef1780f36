"""What the advisor sees of a design: models on a price scale, effort, stages, size. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import msgspec

from leadhand.core.design import Design
from leadhand.core.values import Limits, Price, Usage, Value

PriceOf = Callable[[str], Price]

REFERENCE = Usage(input=15_000, cache_read=200_000, output=5_000)
"""Tokens of a solo run like the paper's: at GPT-5.6 Sol's prices they cost its published $0.24."""

SOL_USD = 0.24
CHEAPEST = 0.01
"""Where a free model is put on the price scale (dollars of a reference run): below every model that is sold."""

SPAWNED = 4.2
"""Workers that a dynamic team starts on average [X: table 5 of arXiv 2610.17471], if its cap allows."""

GAP = math.log(18.0)
"""Log price ratio of the published cheap pair (Sol and Luna): the unit of how much cheaper workers are."""

EFFORT = {"none": -2.0, "minimal": -1.5, "low": -1.0, "": 0.0, "medium": 0.0, "high": 1.0, "xhigh": 2.0, "max": 3.0}


class Profile(Value, frozen=True, kw_only=True):
    """A design in numbers. `usd`: a reference run of its lead; `ratio`: the workers' price over the lead's, by effort.

    `count`: workers to expect; `stages`: what is delegated ("" for minimal guidance); `kind`: the design's key.
    """

    kind: str
    lead: str
    maker: str
    usd: float
    free: bool
    effort: float
    guided: bool
    team: bool
    stages: str = ""
    count: float = 0.0
    ratio: float = 1.0
    gap: float = 0.0
    messages: bool = False
    fork: bool = False
    schedule: str = ""
    strategy: str = ""
    k: int = 1


def profile(design: Design, price_of: PriceOf) -> Profile:
    """Raises what `price_of` raises for a model without a price."""
    lead = reference_usd(price_of(design.lead))
    effort = effort_of(design.lead_reasoning)
    many = "" if design.strategy == "team" else design.strategy
    alone = Profile(
        kind=key(design),
        lead=bare(design.lead),
        maker=maker(design.lead),
        usd=max(lead, CHEAPEST),
        free=all(reference_usd(price_of(m)) == 0 for m in design.models),
        effort=effort,
        guided=design.guidance != "minimal",
        team=False,
        strategy=many,
        k=design.k if many else 1,
    )
    if not design.has_lead:
        return alone
    kinds = design.worker_kinds
    weights = [float(k.count or 1) for k in kinds]
    prices = [max(reference_usd(price_of(k.model)), CHEAPEST) / max(lead, CHEAPEST) for k in kinds]
    costs = [p * math.exp(0.5 * (effort_of(k.reasoning) - effort)) for p, k in zip(prices, kinds, strict=True)]
    mean_price = math.exp(math.fsum(w * math.log(p) for w, p in zip(weights, prices, strict=True)) / sum(weights))
    return msgspec.structs.replace(
        alone,
        team=True,
        stages="" if design.guidance == "minimal" else design.guidance,
        count=float(design.workers) if design.workers is not None else min(SPAWNED, design.max_workers),
        ratio=math.fsum(w * c for w, c in zip(weights, costs, strict=True)) / sum(weights),
        gap=min(1.3, max(-1.0, -math.log(mean_price) / GAP)),
        messages=design.messaging != "off",
        fork=design.context == "fork",
        schedule="" if design.schedule == "push" else design.schedule,
    )


def one_agent(design: Design) -> bool:
    """Whether it is one agent, with nobody to compare it to."""
    return design.solo and design.strategy == "team"


def reference_usd(price: Price) -> float:
    """Dollars of the reference run at a model's prices."""
    return price.cost(REFERENCE)


def effort_of(reasoning: str) -> float:
    """Steps of effort above medium. A budget of thinking tokens: doublings over 8,000, half a step each."""
    name, _, tokens = reasoning.partition(":")
    if name == "budget" and tokens.isdecimal() and int(tokens) > 0:
        return min(3.0, max(-2.0, math.log2(int(tokens) / 8000) / 2))
    return EFFORT.get(name, 0.0)


def bare(model: str) -> str:
    """A model's name without provider, region, version suffix and the makers' taste in dots."""
    name = model.rpartition("/")[2].lower()
    name = re.sub(r"^(global|us|eu|apac)\.", "", name).removeprefix("anthropic.")
    name = re.sub(r"(-v\d+(:\d+)?|-preview|-latest|-\d{8})$", "", name)
    return name.replace(".", "-")


def maker(model: str) -> str:
    name = bare(model)
    for start, known in (("claude", "anthropic"), ("gpt", "openai"), ("gemini", "google"), ("glm", "zhipu")):
        if name.startswith(start):
            return known
    return re.split(r"[-0-9]", name)[0] or name


def key(design: Design) -> str:
    """Names the kind of a design: everything but what only bounds a run. Model names are bare, so providers are one."""
    kind = msgspec.structs.replace(
        design,
        lead=bare(design.lead),
        worker=bare(design.worker) if design.worker else "",
        kinds=tuple(msgspec.structs.replace(k, model=bare(k.model) if k.model else "") for k in design.kinds),
        lead_reasoning=_plain_effort(design.lead_reasoning),
        worker_reasoning=_plain_effort(design.worker_reasoning),
        budget_usd=None,
        limits=Limits(),
        retries=8,
    )
    if kind.worker == kind.lead:
        kind = msgspec.structs.replace(kind, worker="")
    if kind.worker_reasoning == kind.lead_reasoning:
        kind = msgspec.structs.replace(kind, worker_reasoning="")
    if kind.workers is not None:
        kind = msgspec.structs.replace(kind, max_workers=5)
    return msgspec.json.encode(kind).decode()


def _plain_effort(reasoning: str) -> str:
    return "" if reasoning == "medium" else reasoning
