"""Why a design was chosen, and what would change that, in words. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from leadhand.advisor.candidates import describe
from leadhand.advisor.choose import Choice, Outlook, best_among, choose
from leadhand.advisor.figures import Z
from leadhand.advisor.values import CONFIDENCE, Estimate, Prediction, Question
from leadhand.core.design import Design

FACTORS = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0)


def reasons(q: Question, chosen: Prediction, designs: Sequence[Design], o: Outlook, choice: Choice) -> tuple[str, ...]:
    """The rule that chose it, and what it is expected to bring over its lead alone."""
    limits = _limits(q)
    n = len(designs)
    fitting = int(choice.fit.sum())
    if limits and not fitting:
        first = (
            f"none of {n} designs keeps {limits} with {CONFIDENCE:.0%} confidence; this one comes nearest "
            f"({chosen.fits:.0%})"
        )
    elif q.min_reward is not None:
        first = _reaching(q, o, choice, n)
    elif q.max_usd is not None:
        first = (
            f"of {n} designs {fitting} keep {limits} with {CONFIDENCE:.0%} confidence; of these it is expected to earn "
            f"most{_trade(q, o)}"
        )
    else:
        kept = f", of which {fitting} keep {limits}" if limits else ""
        first = f"of {n} designs{kept} it is expected to earn most{_trade(q, o)}"
    found = [first]
    if chosen.lift is not None:
        lift = chosen.lift
        whom = "its lead" if chosen.design.has_lead else "one of its agents"
        found.append(
            f"over {whom} alone it is expected to bring {100 * lift.mean:+.1f} points "
            f"[{100 * lift.low:+.1f}, {100 * lift.high:+.1f}]; above 0 with "
            f"{_positive(lift):.0%} probability"
        )
    else:
        found.append(_against_teams(chosen, designs, o, choice))
    return tuple(text for text in found if text)


def _positive(lift: Estimate) -> float:
    """The probability that a difference is above 0."""
    sd = (lift.high - lift.low) / 2 / Z
    return 0.5 * math.erfc(-lift.mean / sd / math.sqrt(2)) if sd > 0 else float(lift.mean > 0)


def _against_teams(chosen: Prediction, designs: Sequence[Design], o: Outlook, choice: Choice) -> str:
    """Why not a team: what the best one would bring, and what it would cost."""
    teams = [i for i, d in enumerate(designs) if d.has_lead]
    if not teams:
        return ""
    best = best_among(choice, teams)
    gain = 100 * float(o.reward.mean[best] - o.reward.mean[choice.best])
    usd = o.dollars()
    times = f"{usd[best] / usd[choice.best]:.1f} times the dollars" if usd[choice.best] > 0 else "no dollars more"
    fits = "" if choice.fit[best] or not choice.fit.any() else ", and does not keep the limits"
    return (
        f"{_verdict(choice, gain)}: the best one ({describe(designs[best])}) is expected to bring {gain:+.1f} points "
        f"for {times}{fits}"
    )


def _verdict(choice: Choice, gain: float) -> str:
    """What is said of teams where one agent is advised."""
    if not choice.fit.any():
        return "one agent comes nearer to the limits than a team"
    if choice.reached and gain > 0:
        return "one agent is enough, and a team costs more"
    return "a team does not pay here"


def _reaching(q: Question, o: Outlook, choice: Choice, n: int) -> str:
    limits = f" and keeps {_limits(q)}" if _limits(q) else ""
    reaches = f"reaches a reward of {q.min_reward:g}{limits} with {CONFIDENCE:.0%} confidence"
    if choice.reached:
        return f"of {n} designs it is the cheapest that {reaches}"
    return f"none of {n} designs {reaches}; this one is expected to earn most{_trade(q, o)}"


def _trade(q: Question, o: Outlook) -> str:
    what = "minutes" if o.free.any() else "cost"
    return f", where each doubling of the {what} has to bring {_points(q.trade)}" if q.trade else ""


def _limits(q: Question) -> str:
    parts = []
    if q.max_usd is not None:
        parts.append(f"${q.max_usd:g}")
    if q.max_minutes is not None:
        parts.append(f"{q.max_minutes:g} minutes")
    return " and ".join(parts)


def changes(q: Question, designs: Sequence[Design], o: Outlook, choice: Choice) -> tuple[str, ...]:
    """The nearest limits at which another design would be advised, and what a reward has to be worth for one."""
    found = []
    for field, unit in (("max_usd", "${:.3g} a task"), ("max_minutes", "{:.3g} minutes a task")):
        found += _by_limit(field, unit, q, designs, o, choice)
    if q.max_usd is None:
        for factor in (0.5, 0.25, 0.0, 2.0, 4.0):
            other = choose(o, msgspec.structs.replace(q, worth=q.trade * factor))
            if other.best != choice.best:
                what = (
                    f"if a doubling of the cost had to bring only {_points(q.trade * factor)}"
                    if factor < 1
                    else (f"if a doubling of the cost had to bring {_points(q.trade * factor)}")
                )
                found.append(f"{what}: {describe(designs[other.best])}")
                break
    return tuple(found)


def _by_limit(field: str, unit: str, q: Question, designs: Sequence[Design], o: Outlook, choice: Choice) -> list[str]:
    """Loosen and tighten one limit until the advice changes."""
    limit = getattr(q, field)
    now = limit
    if now is None:
        taken = o.dollars() if field == "max_usd" else o.minutes.mean
        now = float(taken[choice.best]) * 4 if field == "max_usd" else None
    found: list[str] = []
    for word, factors in (("with", FACTORS), ("with", tuple(1 / f for f in FACTORS))):
        if now is None or now == 0 or (limit is None and factors[0] > 1):
            continue
        for factor in factors:
            asked = msgspec.structs.replace(q, worth=q.trade, **{field: now * factor})
            other = choose(o, asked)
            if other.best != choice.best and other.fit.any():
                found.append(f"{word} {unit.format(now * factor)}: {describe(designs[other.best])}")
                break
    return found


def _points(reward: float) -> str:
    return f"{100 * reward:g} point{'' if math.isclose(reward, 0.01) else 's'}"
