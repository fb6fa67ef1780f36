"""The paper's claims (arXiv 2610.17471, in our words), each held against this study."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from leadhand.analysis.factors import Factors
from leadhand.analysis.scores import common
from leadhand.analysis.stats.bootstrap import Bootstrap, bca
from leadhand.analysis.stats.hypotheses import non_inferior
from leadhand.analysis.stats.intervals import Estimate, Floats, paired
from leadhand.core.values import Value
from leadhand.report.evidence import Evidence, plain
from leadhand.report.table import shown

Verdict = Literal["supported", "refuted", "undecided", "not tested"]
MARGIN = 0.014
"""What counts as the same reward: the 1.4 points of the paper's own statement."""


class Claim(Value, frozen=True, kw_only=True):
    """`rule` says what would support and what would refute it; `finding` is what was seen, with its interval."""

    claim: str
    verdict: Verdict
    finding: str
    rule: str


def claims(e: Evidence) -> list[Claim]:
    """Every claim once per lead (and workers) that it can be tested on; `not tested` where the designs are missing."""
    made: list[Claim] = []
    for claim, rule, needs, test in _CLAIMS:
        found = [Claim(claim=claim, verdict=v, finding=f, rule=rule) for v, f in test(e)]
        made += found or [Claim(claim=claim, verdict="not tested", finding=f"needs {needs}", rule=rule)]
    return made


Found = Iterator[tuple[Verdict, str]]


def _team(e: Evidence, lead: str, worker: str, guidance: str) -> Factors | None:
    teams = e.where(lambda f: plain(f) and not f.solo)
    return next((f for f in teams if (f.lead, f.worker, f.guidance) == (lead, worker, guidance)), None)


def _leads(e: Evidence) -> list[str]:
    return list(dict.fromkeys(f.lead for f in e.where(lambda f: not f.solo)))


def _mixes(e: Evidence) -> list[tuple[str, str]]:
    return list(dict.fromkeys((f.lead, f.worker) for f in e.where(lambda f: not f.homogeneous)))


def _aligned(e: Evidence, *designs: Factors) -> tuple[list[Floats], list[Floats]]:
    """Rewards and costs of the designs on the tasks where all have both."""
    rewards = [e.per_task(d.label, "reward") for d in designs]
    costs = [e.per_task(d.label, "cost") for d in designs]
    both = common(*rewards, *costs)
    return [r[both] for r in rewards], [c[both] for c in costs]


def _points(x: Estimate) -> str:
    if x.low is None or x.high is None:
        return f"{shown(x.value, 'points')} points (one task)"
    return f"{shown(x.value, 'points')} points ({shown(x.low, 'points')} to {shown(x.high, 'points')})"


def _ratio(b: Bootstrap) -> str:
    if b.value is None:
        return "no number"
    if b.low is None or b.high is None:
        return f"{b.value:.2f}x (no interval)"
    return f"{b.value:.2f}x ({b.low:.2f} to {b.high:.2f})"


def _percent(b: Bootstrap) -> str:
    """A difference of shares, in percentage points."""
    if b.value is None:
        return "no number"
    whole = f"{shown(b.value, 'points')} percentage points"
    if b.low is None or b.high is None:
        return f"{whole} (no interval)"
    return f"{whole} ({shown(b.low, 'points')} to {shown(b.high, 'points')})"


def _sign(x: Estimate, wanted: int, shift: float = 0.0) -> Verdict:
    """Whether the interval lies on the wanted side of `shift`."""
    if x.low is None or x.high is None:
        return "undecided"
    if (x.low > shift) if wanted > 0 else (x.high < shift):
        return "supported"
    return "refuted" if ((x.high < shift) if wanted > 0 else (x.low > shift)) else "undecided"


def _cost_ratio(cost: Floats, base: Floats) -> Bootstrap:
    return bca(np.column_stack([cost, base]), lambda m: m[:, 0] / np.where(m[:, 1] > 0, m[:, 1], np.nan))


def _teams_help(e: Evidence) -> Found:
    for lead in _leads(e):
        team, solo = _team(e, lead, lead, "PIV"), e.solo(lead)
        if team and solo:
            (a, b), _ = _aligned(e, team, solo)
            if len(a):
                found = paired(a, b, e.method)
                yield _sign(found, 1), f"{team.label} − {solo.label}: {_points(found)}"


def _teams_cost(e: Evidence) -> Found:
    for lead in _leads(e):
        team, solo = _team(e, lead, lead, "PIV"), e.solo(lead)
        if not (team and solo):
            continue
        _, (a, b) = _aligned(e, team, solo)
        if len(a) and b.mean() > 0:
            found = _cost_ratio(a, b)
            yield _within(found, 3, 7), f"{team.label} costs {_ratio(found)} of {solo.label}"


def _within(b: Bootstrap, low: float, high: float) -> Verdict:
    if b.low is None or b.high is None:
        return "undecided"
    if b.low >= low and b.high <= high:
        return "supported"
    return "refuted" if b.high < low or b.low > high else "undecided"


def _planning_only(e: Evidence) -> Found:
    for lead in _leads(e):
        only, full = _team(e, lead, lead, "P"), _team(e, lead, lead, "PIV")
        if only and full:
            yield from _cheaper_alike(e, only, full, saving=0.4)


def _cheaper_alike(e: Evidence, new: Factors, base: Factors, saving: float) -> Found:
    (r, r0), (c, c0) = _aligned(e, new, base)
    if len(r) < 2 or not c0.mean() > 0:
        return
    test = non_inferior(r, r0, c, c0, margin=MARGIN, saving=saving)
    difference, ratio = paired(r, r0, e.method), _cost_ratio(c, c0)
    verdict: Verdict = "supported" if test.holds else "undecided"
    if (difference.high is not None and difference.high < -MARGIN) or (ratio.low or 0.0) > 1 - saving:
        verdict = "refuted"
    yield verdict, f"{new.label} − {base.label}: {_points(difference)} at {_ratio(ratio)} of the cost; p = {test.p:.3f}"


def _cheap_planners(e: Evidence) -> Found:
    for lead, worker in _mixes(e):
        mixed, strong, solo = _team(e, lead, worker, "P"), _team(e, lead, lead, "P"), e.solo(lead)
        if not (mixed and strong and solo):
            continue
        (rm, rs, r0), (cm, cs, c0) = _aligned(e, mixed, strong, solo)
        if len(rm) < 2:
            continue
        data = np.column_stack([rm, rs, r0, cm, cs, c0])

        def surplus(m: Floats) -> Floats:
            gain, cost = m[:, 1] - m[:, 2], m[:, 4] - m[:, 5]
            ok = (gain > 0) & (cost > 0)
            shares = (m[:, 0] - m[:, 2]) / np.where(ok, gain, 1) - (m[:, 3] - m[:, 5]) / np.where(ok, cost, 1)
            return np.where(ok, shares, np.inf)

        found = bca(data, surplus)
        verdict: Verdict = "undecided"
        if found.low is not None and found.high is not None:
            verdict = "supported" if found.low > 0 else ("refuted" if found.high < 0 else "undecided")
        shares = f"share of {strong.label}'s gain minus share of its added cost"
        yield verdict, f"{mixed.label}: {shares} {_percent(found)}"


def _cheap_implementers(e: Evidence) -> Found:
    for lead, worker in _mixes(e):
        mixed, solo = _team(e, lead, worker, "I"), e.solo(lead)
        if mixed and solo:
            (a, b), _ = _aligned(e, mixed, solo)
            if len(a):
                found = paired(a, b, e.method)
                yield _sign(found, -1), f"{mixed.label} − {solo.label}: {_points(found)}"


def _sizes(e: Evidence, guidance: str) -> Iterator[tuple[Factors, Factors]]:
    """Pairs (4 workers, 16 workers) of fixed teams alike."""
    fixed = e.where(lambda f: f.guidance == guidance and f.workers in (4, 16) and f.messaging == "off")
    for small in fixed:
        for large in fixed:
            if (small.workers, large.workers) == (4, 16) and small.models == large.models:
                yield small, large


def _planners_scale(e: Evidence) -> Found:
    for small, large in _sizes(e, "P"):
        (a, b), _ = _aligned(e, large, small)
        if len(a):
            found = paired(a, b, e.method)
            yield _sign(found, 1), f"{large.label} − {small.label}: {_points(found)}"


def _others_flat(e: Evidence) -> Found:
    for guidance in ("I", "V"):
        for small, large in _sizes(e, guidance):
            (a, b), _ = _aligned(e, large, small)
            if not len(a):
                continue
            found = paired(a, b, e.method)
            verdict: Verdict = "undecided"
            if found.low is not None and found.high is not None:
                verdict = "refuted" if found.low > 0 else ("supported" if found.high < MARGIN else "undecided")
            yield verdict, f"{large.label} − {small.label}: {_points(found)}"


def _many_cheap(e: Evidence) -> Found:
    for lead, worker in _mixes(e):
        strong = _team(e, lead, lead, "PIV")
        many = next(
            (f for f in e.where(lambda f: f.workers == 16 and f.guidance == "P")
             if (f.lead, f.worker) == (lead, worker)),
            None,
        )  # fmt: skip
        if many and strong:
            yield from _cheaper_alike(e, many, strong, saving=0.7)


_CLAIMS = (
    (
        "A team guided to delegate in all stages earns more than its lead alone.",
        "Supported where the 95 % interval of the paired difference to the lead's solo PIV lies above zero; refuted "
        "where below.",
        "a homogeneous PIV team and the lead's solo PIV",
        _teams_help,
    ),
    (
        "Such teams cost three to seven times as much as the lead alone.",
        "Supported where the interval of the ratio of mean costs lies within 3 to 7; refuted where outside.",
        "a homogeneous PIV team and the lead's solo PIV, with costs",
        _teams_cost,
    ),
    (
        "Delegating planning alone earns as much as delegating everything, at about half the cost.",
        "Supported where both hold: reward at most 1.4 points lower, cost at least 40 % lower (one-sided tests, 5 %). "
        "Refuted where reward is surely more than 1.4 points lower, or cost surely less than 40 % lower.",
        "homogeneous P and PIV teams of one lead",
        _planning_only,
    ),
    (
        "Cheap planners under a strong lead recover a larger share of the strong team's gain than of its added cost.",
        "Supported where the interval of (share of gain − share of added cost) lies above zero; refuted where below.",
        "P teams of a strong lead with strong and with cheap workers, and its solo PIV",
        _cheap_planners,
    ),
    (
        "Cheap implementers under a strong lead lower reward.",
        "Supported where the interval of the difference to the lead's solo PIV lies below zero; refuted where above.",
        "a mixed I team and the lead's solo PIV",
        _cheap_implementers,
    ),
    (
        "More planners keep helping, from 4 to 16 workers.",
        "Supported where the interval of the difference lies above zero; refuted where below.",
        "fixed P teams of 4 and 16 workers",
        _planners_scale,
    ),
    (
        "More implementers or verifiers beyond 4 do not help.",
        "Supported where the upper limit of the gain from 4 to 16 is below 1.4 points; refuted where the interval lies "
        "above zero.",
        "fixed I or V teams of 4 and 16 workers",
        _others_flat,
    ),
    (
        "One strong lead with 16 cheap planners comes within 1.4 points of the strong team at 70 % lower cost.",
        "Supported where both hold (one-sided tests, 5 %): reward at most 1.4 points lower, cost at least 70 % lower. "
        "Refuted where reward is surely more than 1.4 points lower, or cost surely less than 70 % lower.",
        "a mixed P team of 16 workers and the homogeneous PIV team",
        _many_cheap,
    ),
)
