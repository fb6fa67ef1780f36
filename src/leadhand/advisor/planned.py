"""What is known of a study's designs beyond its own runs, as the study's plan wants it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from leadhand.advisor.advise import predict, prices_by
from leadhand.advisor.figures import figures
from leadhand.advisor.own import Own
from leadhand.advisor.profile import PriceOf, bare
from leadhand.advisor.values import Citation, Estimate, Ground, Prediction
from leadhand.core.design import Design
from leadhand.core.errors import UsageError
from leadhand.core.values import Price
from leadhand.study.forecast import Evidence, Range


def evidence_for(
    designs: Mapping[str, Design],
    like: str,
    prices: Mapping[str, Price],
    own: Sequence[Own] = (),
    when: datetime | None = None,
) -> dict[str, Evidence]:
    """By design; one that has a model without a price is left out: nothing can be said of it.

    Where no run and no figure tells anything of its lead, that is said (`prices`) and no reward is given.
    """
    when = when or datetime.now(UTC)
    price_of = prices_by(when, prices)
    priced = {name: d for name, d in designs.items() if _has_prices(d, price_of)}
    if not priced:
        return {}
    # Comparisons have nameless models in them; points are about a named one.
    seen = {bare(t.design.lead) for f in figures() if f.absolute for t in f.terms} | {bare(r.design.lead) for r in own}
    found = predict(priced, like, own, prices, when)
    return {name: _evidence(p, seen=bare(priced[name].lead) in seen) for name, p in found.items()}


def _has_prices(design: Design, price_of: PriceOf) -> bool:
    try:
        for model in design.models:
            price_of(model)
    except UsageError:
        return False
    return True


def _evidence(p: Prediction, *, seen: bool) -> Evidence:
    grounds = {g.number: g for g in p.evidence}
    dollars, reward = grounds["dollars"], grounds["reward"]
    notes = list(p.extrapolated)
    if seen:
        cited = [*dollars.published[:1], *reward.published[:1]]
        notes = [*dict.fromkeys(map(_note, cited)), *notes]
    return Evidence(
        kind="published" if seen else "prices",
        usd=_range(p.usd),
        minutes=_range(p.minutes),
        reward=_range(p.reward) if seen and _rests_on_something(reward) else None,
        source=_source(dollars) if seen else "price alone",
        notes=tuple(notes),
    )


def _rests_on_something(g: Ground) -> bool:
    return bool(g.own or g.other_own or g.published)


def _source(g: Ground) -> str:
    count = g.own or g.other_own
    runs = "own run" if count == 1 else "own runs"
    parts = [f"{count} {runs} {'there' if g.own else 'of others'}"] if count else []
    return ", ".join([*parts, *(["published"] if g.published else [])]) or "price table"


def _note(c: Citation) -> str:
    return f"{c.text} ({c.title}, {c.where})"


def _range(e: Estimate) -> Range:
    return Range(expected=e.mean, low=e.low, high=e.high)
