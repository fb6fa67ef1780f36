"""What a prediction rests on, and in what respects nothing like it was seen. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from leadhand.advisor.features import Place
from leadhand.advisor.figures import Figure, Metric
from leadhand.advisor.model import Fitted, arm_of
from leadhand.advisor.own import Own
from leadhand.advisor.profile import bare, effort_of, maker
from leadhand.core.design import Design

LABELS = {"reward": "reward", "usd": "dollars", "minutes": "minutes"}
NOTHING = "no evidence, a guess from the model's priors"
MOST_CITED = 2
WORTH_CITING = 0.06
"""A figure is named where the prediction moves with it by at least this much per unit."""


def evidence(fitted: Fitted, design: Design, setting: str, own: Sequence[Own]) -> tuple[str, ...]:
    """One line per number: own runs of this design there, other own runs, published figures that move it most."""
    return tuple(_line(m, fitted, design, setting, own) for m in ("reward", "usd", "minutes"))


def _line(metric: Metric, fitted: Fitted, design: Design, setting: str, own: Sequence[Own]) -> str:
    posterior = fitted.posteriors[metric]
    pull = posterior.pull(fitted.weights(metric, design, setting))
    kind = fitted.arm(design, setting)
    mine = [r for r in own if arm_of(fitted.profile(r.design), r.setting) == kind]
    others = len({id(r) for r in own}) - len(mine)
    parts = []
    if mine:
        parts.append(f"{len(mine)} own run{'s' if len(mine) != 1 else ''} of it")
    if others:
        parts.append(f"{others} own runs of other designs or tasks")
    by_size = sorted(
        ((abs(float(w)), fitted.figures[r.source]) for w, r in zip(pull, posterior.rows, strict=True) if r.source >= 0),
        key=lambda pair: -pair[0],
    )
    cited = _cited([f for size, f in by_size if size >= WORTH_CITING])
    if cited and len(mine) < 30:
        parts.append("published: " + "; ".join(cited))
    if metric == "usd" and not mine:
        parts.append("today's price table")
    return f"{LABELS[metric]}: {'; '.join(parts) or NOTHING}"


def _cited(found: Sequence[Figure]) -> list[str]:
    """The few figures that move a number most, one per text."""
    texts = list(dict.fromkeys(f"{f.text} [{f.cited}]" for f in found))
    return texts[:MOST_CITED]


def extrapolated(fitted: Fitted, design: Design, setting: str, own: Sequence[Own]) -> tuple[str, ...]:
    """In what respects nothing like the design was seen, in words."""
    seen = [(t.design, f.setting) for f in fitted.figures for t in f.terms] + [(r.design, r.setting) for r in own]
    benchmark = Place(setting).benchmark
    there = [d for d, s in seen if Place(s).benchmark == benchmark]
    leads = {bare(d.lead) for d, _ in seen}
    found = []
    if not there:
        found.append(f"nothing was ever run on {setting}")
    elif design.has_lead and not any(d.has_lead for d in there):
        found.append(f"no team was ever run on {setting}")
    if bare(design.lead) not in leads:
        found.append(
            f"{bare(design.lead)}: no figure and no run, placed by its price and its maker ({maker(design.lead)})"
        )
    if design.has_lead:
        found += _of_team(design, [d for d, _ in seen if d.has_lead])
    efforts = {effort_of(d.lead_reasoning) for d, _ in seen if bare(d.lead) == bare(design.lead)}
    if efforts and effort_of(design.lead_reasoning) not in efforts:
        found.append(f"{bare(design.lead)} was never seen at {design.lead_reasoning or 'its default'} effort")
    return tuple(found)


def _of_team(design: Design, teams: Sequence[Design]) -> list[str]:
    found = []
    pair = _pair(design)
    if pair not in {_pair(d) for d in teams}:
        found.append(f"{pair[0]} leading {' and '.join(sorted(pair[1]))} was never seen; priced from the price table")
    elif design.workers is not None:
        most = max((d.workers or d.max_workers for d in teams if _pair(d) == pair), default=0)
        if design.workers > most:
            found.append(f"more than {most} such workers were never seen")
    return found


def _pair(design: Design) -> tuple[str, frozenset[str]]:
    return bare(design.lead), frozenset(bare(k.model) for k in design.worker_kinds)
