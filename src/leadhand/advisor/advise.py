"""From a question and the evidence to an answer. Pure but for reading task sources; the command line reads the runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec
import numpy as np

from leadhand.advisor.candidates import Asked, asked, candidates, describe
from leadhand.advisor.choose import Choice, Outlook, best_among, better, choose, frontier
from leadhand.advisor.experiment import Trial, best_trial
from leadhand.advisor.figures import METRICS, Metric, Z, disputes, figures, listed_prices
from leadhand.advisor.gauss import Joint
from leadhand.advisor.grounds import evidence, extrapolated, of_difference
from leadhand.advisor.model import Fitted, learn
from leadhand.advisor.next_study import study_name, study_text
from leadhand.advisor.own import Own
from leadhand.advisor.profile import PriceOf, one_agent
from leadhand.advisor.reasons import changes, reasons
from leadhand.advisor.setting import Like, find_like, known_of
from leadhand.advisor.values import Advice, Alternative, Estimate, Experiment, Ground, Prediction, Question
from leadhand.core.design import Design
from leadhand.core.errors import UsageError
from leadhand.core.values import Price
from leadhand.models import find_price
from leadhand.study.grid import control

LEAST_ALTERNATIVES, MOST_ALTERNATIVES = 2, 3
LEAST_CHANGE = 0.005
"""What changes the advice less often than this is no experiment worth a proposal."""

FRESH_TASKS = 200
CHEAPER = 0.1
"""Workers this much cheaper than their lead (in units of Sol and Luna's distance) are cheap ones."""


def advise(
    question: Question, own: Sequence[Own] = (), prices: Mapping[str, Price] | None = None, when: datetime | None = None
) -> Advice:
    """What to run. `own`: own runs (`own.own_runs`); `prices` override the price table, as `--price` does.

    Raises `UsageError` where no model is named, or one has no price.
    """
    models = asked(question.models)
    price_of = prices_by(when or datetime.now(UTC), prices or {})
    like = find_like(question.like, own)
    like = like._replace(own=_priced(like.own, price_of))
    fitted = fit_all(like.own, price_of)
    designs = _designs(models, like, price_of)
    outlook = look(fitted, designs, like.setting)
    return _answer(question, like, fitted, designs, outlook)


def predict(
    designs: Mapping[str, Design],
    like: str = "",
    own: Sequence[Own] = (),
    prices: Mapping[str, Price] | None = None,
    when: datetime | None = None,
) -> dict[str, Prediction]:
    """What given designs are expected to do on tasks like these: for a study's forecast. Raises as `advise` does."""
    price_of = prices_by(when or datetime.now(UTC), prices or {})
    found = find_like(like, own)
    found = found._replace(own=_priced(found.own, price_of))
    fitted = fit_all(found.own, price_of)
    listed = list(designs.values())
    outlook = look(fitted, listed, found.setting)
    choice = choose(outlook, Question())
    return {name: prediction(fitted, listed, i, found, outlook, choice) for i, name in enumerate(designs)}


def design_of(advice: Advice, default_usd: float) -> Design:
    """The advised design, ready to run: its budget is the limit that was asked for, or else what such a run is unlikely
    to exceed, but `default_usd` at least.
    """
    limit = advice.question.max_usd
    budget = limit if limit is not None else max(default_usd, round(3 * advice.choice.usd.mean, 2))
    return msgspec.structs.replace(advice.choice.design, budget_usd=budget)


def prices_by(when: datetime, overrides: Mapping[str, Price]) -> PriceOf:
    """The price table at a date, under overrides; each price is looked up once."""
    known: dict[str, Price] = {}

    def price_of(name: str) -> Price:
        if name not in known:
            known[name] = find_price(name, when, overrides)
        return known[name]

    return price_of


def fit_all(own: Sequence[Own], price_of: PriceOf, metrics: Sequence[Metric] = METRICS) -> Fitted:
    """The model over all evidence: published figures and these own runs, whose models must have a price."""
    return learn(own, figures(), price_of, published_price, metrics)


def published_price(name: str) -> Price:
    return listed_prices()[name]


def _priced(own: Sequence[Own], price_of: PriceOf) -> list[Own]:
    """Own runs whose models have a price. The others cannot be set beside them."""

    def known(design: Design) -> bool:
        try:
            return all(price_of(m) is not None for m in design.models)
        except UsageError:
            return False

    verdicts = {design: known(design) for design in {r.design for r in own}}
    return [r for r in own if verdicts[r.design]]


def _designs(models: Sequence[Asked], like: Like, price_of: PriceOf) -> list[Design]:
    """The usual candidates, and own designs of these models that were run in this setting."""
    names = {m.name for m in models}
    mine = [r.design for r in like.own if r.setting == like.setting and set(r.design.models) <= names]
    return list(dict.fromkeys((*candidates(models, price_of), *mine)))


def look(fitted: Fitted, designs: Sequence[Design], setting: str) -> Outlook:
    """What is believed of the designs in a setting."""
    known = fitted.posteriors
    joints = {m: fitted.predict(m if m in known else "usd", designs, setting) for m in METRICS}
    free = np.array([float(fitted.profile(d).free) for d in designs])
    return Outlook(joints["reward"], joints["usd"], joints["minutes"], free)


def prediction(
    fitted: Fitted, designs: Sequence[Design], i: int, like: Like, outlook: Outlook, choice: Choice
) -> Prediction:
    """One design's numbers, with what they rest on."""
    design = designs[i]
    kind = fitted.arm(design, like.setting)
    runs = sum(r.setting == like.setting and fitted.arm(r.design, r.setting) == kind for r in like.own)
    return Prediction(
        name=describe(design),
        design=design,
        reward=_rewards(outlook.reward, i),
        usd=Estimate(mean=0.0, low=0.0, high=0.0) if outlook.free[i] else _logs(outlook.usd, i),
        minutes=_logs(outlook.minutes, i),
        lift=None if one_agent(design) else _lift(fitted, design, like.setting),
        fits=float(choice.sure[i]),
        runs=runs,
        evidence=evidence(fitted, design, like.setting, like.own),
        extrapolated=extrapolated(fitted, design, like.setting, like.own),
    )


def _rewards(joint: Joint, i: int) -> Estimate:
    mean, half = float(joint.mean[i]), Z * float(joint.sd[i])
    low, mean, high = (min(1.0, max(0.0, v)) for v in (mean - half, mean, mean + half))
    return Estimate(mean=mean, low=low, high=high)


def _logs(joint: Joint, i: int) -> Estimate:
    mean, half = float(joint.mean[i]), Z * float(joint.sd[i])
    return Estimate(mean=math.exp(mean), low=math.exp(mean - half), high=math.exp(mean + half))


def _lift(fitted: Fitted, design: Design, setting: str) -> Estimate:
    joint = fitted.predict("reward", [design, control(design)], setting)
    mean = float(joint.mean[0] - joint.mean[1])
    variance = joint.cov[0, 0] + joint.cov[1, 1] - 2 * joint.cov[0, 1]
    half = Z * math.sqrt(max(float(variance), 0.0))
    return Estimate(mean=mean, low=mean - half, high=mean + half)


def _answer(q: Question, like: Like, fitted: Fitted, designs: list[Design], outlook: Outlook) -> Advice:
    choice = choose(outlook, q)
    front = frontier(outlook)

    def of(i: int) -> Prediction:
        return prediction(fitted, designs, i, like, outlook, choice)

    chosen = of(choice.best)
    others = _alternatives(q, designs, outlook, choice, front)
    done = _done(fitted, designs, like) if like.ids else {}
    trial = best_trial(fitted, designs, like.setting, outlook, choice, done, _fresh(like))
    return Advice(
        question=q,
        setting=like.setting,
        known=known_of(like) + (f" ({like.note})" if like.note else ""),
        own_runs=len(like.own),
        considered=len(designs),
        fitting=int(choice.fit.sum()),
        choice=chosen,
        alternatives=tuple(Alternative(why=why, prediction=of(i)) for why, i in others),
        frontier=tuple(describe(designs[i]) for i in front),
        why=reasons(q, chosen, designs, outlook, choice),
        against_teams=_against(fitted, designs, like, choice),
        disputes=_disputes([designs[i] for i in (choice.best, *(i for _, i in others))], fitted),
        changes=(*changes(q, designs, outlook, choice), *_by_difficulty(q, fitted, designs, outlook, choice, like)),
        experiment=_experiment(q, like, designs, trial)
        if trial is not None and trial.changes >= LEAST_CHANGE
        else None,
    )


def _alternatives(
    q: Question, designs: Sequence[Design], o: Outlook, choice: Choice, front: Sequence[int]
) -> list[tuple[str, int]]:
    """The next dearer and the next cheaper one on the frontier, and the other side of "is a team worth it"."""
    usd = o.dollars()
    best = choice.best
    dearer = [i for i in front if usd[i] > usd[best] and o.reward.mean[i] > o.reward.mean[best]]
    cheaper = [i for i in front if usd[i] < usd[best] * 0.95 and i != best]
    found: list[tuple[str, int]] = []
    if dearer:
        i = best_among(choice, dearer)
        fits = "" if choice.fit[i] else f"; keeps the limits with {choice.sure[i]:.0%} only"
        found.append((f"more reward for more money{fits}", i))
    if cheaper:
        found.append(("less money", cheaper[-1]))
    other = [i for i in range(len(designs)) if designs[i].has_lead != designs[best].has_lead]
    if other:
        i = best_among(choice, other)
        if i not in {j for _, j in found}:
            text = "the best team" if designs[i].has_lead else "the best single agent"
            found.append((f"{text}; earns more with {better(o, i, best):.0%} probability", i))
    picked = len(found)
    # The frontier's next ones, dearer or cheaper, where these are few.
    rest = [i for i in front if i != best and i not in {j for _, j in found}]
    nearest = sorted(rest, key=lambda i: abs(o.usd.mean[i] - o.usd.mean[best]))
    found += [("less money" if usd[i] < usd[best] else "more money", i) for i in nearest]
    return found[: max(LEAST_ALTERNATIVES, min(picked, MOST_ALTERNATIVES))]


def _by_difficulty(
    q: Question, fitted: Fitted, designs: Sequence[Design], outlook: Outlook, choice: Choice, like: Like
) -> list[str]:
    """How easy or hard the tasks would have to be for the other answer to "team or solo?"."""
    chosen = designs[choice.best]
    alone = control(chosen) if chosen.has_lead else chosen
    now = float(fitted.predict("reward", [alone], like.setting).mean[0])
    for step in range(1, 20):
        shift = 0.05 * step * (1 if chosen.has_lead else -1)
        if not 0.03 <= now + shift <= 0.97:
            break
        other = choose(outlook._replace(reward=fitted.predict("reward", designs, like.setting, shift)), q)
        if designs[other.best].has_lead != chosen.has_lead and other.fit.any():
            than = "above" if shift > 0 else "below"
            model = chosen.lead.rpartition("/")[2]
            return [f"if {model} alone earned {than} {now + shift:.2f} on such tasks: {describe(designs[other.best])}"]
    return []


def _against(fitted: Fitted, designs: Sequence[Design], like: Like, choice: Choice) -> Ground | None:
    """What it rests on that no team is advised."""
    teams = [i for i, d in enumerate(designs) if d.has_lead]
    chosen = designs[choice.best]
    if chosen.has_lead or not teams:
        return None
    team = designs[best_among(choice, teams)]
    return of_difference("the best team's lift", fitted, team, chosen, like.setting, like.own)


def _disputes(named: Sequence[Design], fitted: Fitted) -> tuple[str, ...]:
    """Where sources disagree on what is advised, or named beside it."""
    wanted = {"team"}
    if any(d.has_lead and "P" in d.guidance and fitted.profile(d).gap > CHEAPER for d in named):
        wanted.add("cheap planners")
    return tuple(d.text for d in disputes() if d.when in wanted)


def _done(fitted: Fitted, designs: Sequence[Design], like: Like) -> dict[int, dict[str, int]]:
    """How often each design was run on each task that a study can name."""
    by_arm = {fitted.arm(d, like.setting): i for i, d in enumerate(designs)}
    found: dict[int, dict[str, int]] = {}
    for r in like.own:
        at = by_arm.get(fitted.arm(r.design, r.setting))
        if r.setting == like.setting and at is not None and r.task in like.ids:
            tasks = found.setdefault(at, {})
            tasks[r.task] = tasks.get(r.task, 0) + 1
    return found


def _fresh(like: Like) -> Sequence[str]:
    """Tasks for an experiment: those that are known, or so many that nobody can name yet (repeats of a lone one)."""
    return like.ids or [f"new task {i}" for i in range(FRESH_TASKS)]


def _experiment(q: Question, like: Like, designs: Sequence[Design], trial: Trial) -> Experiment:
    tried = [designs[i] for i in trial.designs]
    return Experiment(
        name=study_name(like, tried, trial),
        needs_tasks=not like.source,
        designs=tuple(map(describe, tried)),
        tasks=1 if like.lone else len(trial.tasks),
        repeats=len(trial.tasks) if like.lone else 1,
        usd=trial.usd,
        gain=max(0.0, trial.gain),
        changes=trial.changes,
        study=study_text(q, like, tried, trial),
    )
