"""The answer as text for a terminal: plain, short lines, every number with its interval and its sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from leadhand.advisor.values import Advice, Citation, Estimate, Experiment, Ground, Prediction
from leadhand.core.design import Design

STANDING = {"read": "", "table": "", "note": "; from a note about it, not checked"}
UNKNOWN = 100.0
"""An interval over a factor of more than this is no estimate."""


class Sources:
    """Numbers the sources in the order in which they are cited."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._texts: list[str] = []

    def cite(self, c: Citation) -> str:
        if c.title not in self._numbers:
            self._numbers[c.title] = len(self._numbers) + 1
            self._texts.append(f"{c.title} ({c.date}{STANDING[c.standing]}). Scope: {c.scope}")
        return f"{c.text} [{self._numbers[c.title]}: {c.where}]"

    def listed(self) -> Iterator[str]:
        yield from (f"[{i}] {text}" for i, text in enumerate(self._texts, start=1))


def text_of(a: Advice, study_file: str = "") -> str:
    """The whole answer. `study_file`: where the next experiment was written, if it was."""
    return "\n".join(map(_printable, _lines(a, study_file))) + "\n"


def _printable(line: str) -> str:
    """Names of tasks and folders are other people's: they cannot control a terminal."""
    return "".join(c if c.isprintable() else "?" for c in line)


def _lines(a: Advice, study_file: str) -> Iterator[str]:
    sources = Sources()
    yield f"{_verdict(a.choice.design)}: {a.choice.name}"
    yield f"  {_numbers(a.choice)}"
    yield ""
    yield f"For {a.known}."
    yield from _block("Why", a.why)
    grounds = [*a.choice.evidence, *([a.against_teams] if a.against_teams else [])]
    yield from _titled("What the numbers rest on", [line for g in grounds for line in _ground(g, sources)])
    yield from _block("Extrapolated", a.choice.extrapolated)
    yield from _alternatives(a)
    yield from _block("Disputed", a.disputes)
    yield from _block("What would change it", a.changes)
    yield ""
    yield from _experiment(a, study_file)
    yield from _titled("Sources", sources.listed())
    yield ""
    yield (
        "Reward is the grader's score, 0 to 1. Intervals hold 95 % of what is believed of the mean over such tasks; "
        "single tasks differ more."
    )


def _verdict(design: Design) -> str:
    if design.has_lead:
        return "Run a team"
    return {"peers": "Run peers", "best-of-k": "Run several and keep the best"}.get(
        design.strategy, "Run a single agent (solo)"
    )


def _alternatives(a: Advice) -> Iterator[str]:
    if a.alternatives:
        yield from ("", "Alternatives")
    for other in a.alternatives:
        yield f"- {other.prediction.name} ({other.why})"
        yield f"  {_numbers(other.prediction)}"
        new = [e for e in other.prediction.extrapolated if e not in a.choice.extrapolated]
        if new:
            yield f"  extrapolated: {'; '.join(new)}"


def _numbers(p: Prediction) -> str:
    usd = "free" if p.usd.high == 0 else f"{_wide(p.usd, dollars, 0.01, 'less than a cent')} a task"
    return f"reward {_span(p.reward, lambda v: f'{v:.2f}')}, {usd}, {_wide(p.minutes, _plain, 0.1, 'seconds')} minutes"


def _wide(e: Estimate, form: Callable[[float], str], small: float, said: str) -> str:
    """Dollars or minutes; where they span a factor of `UNKNOWN`, the middle says nothing and is left out. What is below
    `small` is then `said` in words.
    """
    if e.high > UNKNOWN * e.low:
        return f"unknown, between {said if e.low < small else form(e.low)} and {form(e.high)}"
    return _span(e, form)


def _span(e: Estimate, form: Callable[[float], str]) -> str:
    return f"{form(e.mean)} [{form(e.low)}, {form(e.high)}]"


def dollars(usd: float) -> str:
    return f"${usd:.2g}" if usd < 0.1 else f"${usd:.2f}" if usd < 10 else f"${usd:,.0f}"


def _plain(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def _ground(g: Ground, sources: Sources) -> Iterator[str]:
    parts = []
    if g.own:
        parts.append(f"{g.own} own run{'s' if g.own != 1 else ''}")
    if g.other_own:
        parts.append(f"{g.other_own} own run{'s' if g.other_own != 1 else ''} of other designs or tasks")
    if g.prices:
        parts.append("today's price table")
    if g.published:
        parts.append(f"{len(g.published)} published figure{'s' if len(g.published) != 1 else ''}")
    yield f"- {g.number}: {', '.join(parts) or 'none; a guess from the priors of the model'}"
    yield from (f"    {sources.cite(c)}" for c in g.published)


def _block(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield from _titled(title, (f"- {line}" for line in lines))


def _titled(title: str, lines: Iterable[str]) -> Iterator[str]:
    listed = list(lines)
    if listed:
        yield from ("", title, *listed)


def _experiment(a: Advice, study_file: str) -> Iterator[str]:
    e = a.experiment
    if e is None:
        yield "Next experiment: none; nothing that could be run is likely to change this advice."
        return
    where = f"on {e.tasks} tasks" if e.repeats == 1 else f"{e.repeats} times each on that task"
    where += " of yours" if e.needs_tasks and e.repeats == 1 else ""
    what = "one design" if len(e.designs) == 1 else f"{len(e.designs)} designs"
    yield f"Next experiment: {what} {where}, about {dollars(e.usd)}"
    yield from (f"- {name}" for name in e.designs)
    gain = f"; expected gain {100 * e.gain:.2f} points of reward on every later task" if e.gain > 0 else ""
    yield f"- changes this advice with {e.changes:.0%} probability{gain}"
    if study_file:
        first = "put your own tasks below tasks/, a folder each, then " if e.needs_tasks else ""
        yield (
            f"- written to {study_file}: {first}`leadhand study plan {study_file}`, then "
            f"`leadhand study run {study_file}`; ask again afterwards{_again(e)}"
        )


def _again(e: Experiment) -> str:
    """Runs on tasks that have no name yet are found below the study's."""
    return f" with --like studies/{e.name}" if e.needs_tasks else ""
