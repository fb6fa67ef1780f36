"""One short line per event: what a list of 100,000 of them shows before anything is opened."""

from __future__ import annotations

from typing import Any

import msgspec

from leadhand.analysis.summary import check_words
from leadhand.core.events import (
    AgentEnded,
    AgentStarted,
    AttemptFailed,
    AttemptReplied,
    AttemptStarted,
    CallRejected,
    CandidateGraded,
    CandidateKept,
    CheckEnded,
    CheckStarted,
    Collected,
    CommandEnded,
    Compacted,
    DelegationEnded,
    DelegationStarted,
    Event,
    Graded,
    GradingFailed,
    GradingStarted,
    MailSent,
    MessageAdded,
    NoteAdded,
    ProcessesKilled,
    Recovered,
    RunEnded,
    RunStarted,
    SandboxStarted,
    Selected,
    SessionStarted,
    SlotClaimed,
    ToolEnded,
    Warned,
)
from leadhand.core.values import Assistant, ToolCall, ToolResults, User

WIDTH = 140
_decode = msgspec.json.Decoder().decode


def line(text: str, width: int = WIDTH) -> str:
    """The beginning of a text on one line."""
    joined = " ".join(text[: 4 * width].split())
    return joined if len(joined) <= width else joined[: width - 1] + "…"


def arguments(call: ToolCall) -> dict[str, Any]:
    """A call's arguments; {} where the model wrote broken JSON."""
    try:
        found = _decode(call.arguments)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def call_label(name: str, found: dict[str, Any], raw: str) -> str:
    """A tool call: the command of a shell call, else the tool and what matters of its arguments."""
    if name == "bash":
        return line(str(found.get("command", raw)))
    said = " ".join(str(v) for v in found.values() if isinstance(v, str | int | float))
    return line(f"{name} {said}")


def size(count: int) -> str:
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def _message(e: MessageAdded) -> str:
    news = [
        *(f"report {d}" for d in e.delivers),
        *(f"news of {d}" for d in e.announces),
        *(f"mail {m}" for m in e.mail),
    ]
    news += [f"notes up to n{e.notes}"] if e.notes else []
    brings = f" with {', '.join(news)}" if news else ""
    body = e.message.body
    if isinstance(body, ToolResults):
        results = body.results
        return line(f"{len(results)} {'result' if len(results) == 1 else 'results'} given back{brings}")
    text = body.text if isinstance(body, User | Assistant) else ""
    return line((f"assignment {e.assigns}: " if e.assigns else "") + text[: 2 * WIDTH] + brings)


def _reply(e: AttemptReplied) -> str:
    body = e.message.body
    assert isinstance(body, Assistant)
    if body.text:
        return line(body.text)
    names = [c.name for c in body.calls]
    return ", ".join(f"{n} ×{names.count(n)}" if names.count(n) > 1 else n for n in dict.fromkeys(names)) or "(empty)"


def _failed(e: AttemptFailed) -> str:
    again = f", next try in {e.retry_in_s:.1f} s" if e.retry_in_s is not None else ""
    return line(f"{e.fault}{again}: {e.error}")


def label(event: Event) -> str:  # one flat table
    """What an event is, in a line. Tool calls are labelled by `call_label`: their text is in an earlier event."""
    match event:
        case AttemptStarted() as e:
            tries = f", try {e.tries}" if e.tries > 1 else ""
            waited = f", held back {e.waited_s:.1f} s" if e.waited_s >= 0.05 else ""
            return f"model call {e.attempt}{tries}{waited}"
        case AttemptReplied() as e:
            return _reply(e)
        case CommandEnded() as e:
            how = f"exit {e.exit_code}" if e.ended == "exited" else e.ended.replace("_", " ")
            return f"{how} · {e.seconds:.2f} s · {size(e.size)}"
        case MessageAdded() as e:
            return _message(e)
        case ToolEnded() as e:
            return line(e.text)
        case CallRejected() as e:
            return line(f"{e.tool} rejected: {e.reason}")
        case DelegationStarted() as e:
            return line(f"{e.delegation} to {e.worker}{' (resumed)' if e.resumed else ''}: {e.assignment}")
        case DelegationEnded() as e:
            return line(f"{e.delegation} of {e.worker} {e.status}: {e.report}")
        case MailSent() as e:
            return line(f"{e.mail} to {e.to}: {e.text}")
        case AgentStarted() as e:
            return line(f"{e.role} joined · {e.model}")
        case AgentEnded() as e:
            return line(f"{e.status}{' · ' + e.fault if e.fault else ''}: {e.text}")
        case AttemptFailed() as e:
            return _failed(e)
    return _of_run(event)


def _of_run(event: Event) -> str:
    match event:
        case RunStarted() as e:
            return f"run started · leadhand {e.version}"
        case SessionStarted():
            return "resumed: a new session began"
        case Recovered() as e:
            return f"a torn last line of {e.bytes_cut} bytes was cut off"
        case SandboxStarted() as e:
            return f"sandbox {e.info.kind} {'reattached' if e.reattached else 'started'}"
        case ProcessesKilled() as e:
            return line(f"{e.count} processes killed: {e.why}")
        case Warned() as e:
            return line(e.text)
        case Collected() as e:
            return f"submission collected · {size(e.bytes)}"
        case RunEnded() as e:
            return line(f"run {e.status}: {e.text}")
        case GradingStarted():
            return "grading started"
        case Graded() as e:
            counts = f" ({e.grade.passed} of {e.grade.total} passed)" if e.grade.total is not None else ""
            return f"reward {e.grade.reward:.3f}{counts}"
        case GradingFailed() as e:
            return line(f"grading failed: {e.error}")
    return _of_others(event)


def _of_others(event: Event) -> str:
    match event:
        case Compacted() as e:
            what = "output is" if len(e.elided) == 1 else "outputs are"
            return f"to make room, {len(e.elided)} old {what} left out of what follows"
        case CheckStarted() as e:
            return f"{e.check}: what would be handed in is tried in a clean copy"
        case CheckEnded() as e:
            return line(f"{e.check}: {check_words(e)}")
        case NoteAdded() as e:
            return line(f"{e.note}: {e.text}")
        case SlotClaimed() as e:
            return line(f"claims {e.slot}")
        case CandidateKept() as e:
            return f"its work is kept · {size(e.bytes)}"
        case CandidateGraded() as e:
            return f"reward {e.grade.reward:.3f} as a candidate" if e.grade else line(f"not graded: {e.error}")
        case Selected() as e:
            return line(f"the work of {e.chosen} is chosen, by {e.selector}")
    fields = (getattr(event, name) for name in event.__struct_fields__)
    return line(" ".join(str(f) for f in fields if isinstance(f, str | int | float)))
