"""The answer as text for a terminal: plain, short lines, every number with its interval."""

from __future__ import annotations

from collections.abc import Iterator

from leadhand.advisor.values import Advice, Estimate, Prediction


def text_of(a: Advice, study_file: str = "") -> str:
    """The whole answer. `study_file`: where the next experiment was written, if it was."""
    return "\n".join(_lines(a, study_file)) + "\n"


def _lines(a: Advice, study_file: str) -> Iterator[str]:
    verdict = "Run a team" if a.choice.design.has_lead else "Run a single agent (solo)"
    yield f"{verdict}: {a.choice.name}"
    yield f"  {_numbers(a.choice)}"
    yield ""
    yield f"For {a.known}"
    yield from _block("Why", a.why)
    yield from _block("What the numbers rest on", a.choice.evidence)
    yield from _block("Extrapolated", a.choice.extrapolated)
    if a.alternatives:
        yield ""
        yield "Alternatives"
        for other in a.alternatives:
            yield f"- {other.prediction.name} ({other.why})"
            yield f"  {_numbers(other.prediction)}"
            if other.prediction.extrapolated:
                yield f"  extrapolated: {'; '.join(other.prediction.extrapolated)}"
    for dispute in a.disputes:
        yield ""
        yield dispute
    yield from _block("What would change it", a.changes)
    yield ""
    yield from _experiment(a, study_file)
    yield ""
    yield "Intervals hold 95 % of what is believed of the mean over such tasks; single tasks differ more."


def _numbers(p: Prediction) -> str:
    usd = "free" if p.usd.high == 0 else f"{_span(p.usd, '${:.2g}')} a task"
    return f"reward {_span(p.reward, '{:.2f}')}, {usd}, {_span(p.minutes, '{:.2g}')} minutes"


def _span(e: Estimate, form: str) -> str:
    return f"{form.format(e.mean)} [{form.format(e.low)}, {form.format(e.high)}]"


def _block(title: str, lines: tuple[str, ...]) -> Iterator[str]:
    if lines:
        yield ""
        yield title
        yield from (f"- {line}" for line in lines)


def _experiment(a: Advice, study_file: str) -> Iterator[str]:
    e = a.experiment
    if e is None:
        yield "Next experiment: none; there is nothing left to learn between these designs."
        return
    beside = " beside ".join(e.designs)
    yield f"Next experiment: {beside} on {e.tasks} tasks, about ${e.usd:.2g}"
    yield (
        f"- changes this advice with {e.changes:.0%} probability; expected gain {100 * e.gain:.2f} points of reward "
        "on every later task"
    )
    if study_file:
        yield f"- written to {study_file}: `leadhand study plan {study_file}`, then `leadhand study run {study_file}`"
