"""What the tests of the team look at: what each agent was told and when, read from the journal alone."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from leadhand.core.events import AttemptReplied, Entry, MessageAdded
from leadhand.core.values import ToolResults, User

T = TypeVar("T")


class Told(NamedTuple):
    """One message of the harness to an agent: seconds since the run began, and the texts (one a tool result)."""

    at: float
    texts: tuple[str, ...]


def told(entries: list[Entry], agent: str) -> list[Told]:
    """Everything that an agent was told, with its time."""
    found = []
    for entry in entries:
        if entry.agent != agent or not isinstance(entry.event, MessageAdded):
            continue
        body = entry.event.message.body
        if isinstance(body, User):
            found.append(Told(since(entries, entry), (body.text,)))
        elif isinstance(body, ToolResults):
            found.append(Told(since(entries, entry), tuple(r.text for r in body.results)))
    return found


def since(entries: list[Entry], entry: Entry) -> float:
    return round(entry.mono - entries[0].mono, 3)


def wall(entries: list[Entry]) -> float:
    """Seconds from the first entry to the last."""
    return round(entries[-1].mono - entries[0].mono, 3)


def of_kind(entries: list[Entry], kind: type[T]) -> list[T]:
    return [e.event for e in entries if isinstance(e.event, kind)]


def replies(entries: list[Entry], agent: str) -> list[float]:
    """When an agent's model answered."""
    return [since(entries, e) for e in entries if e.agent == agent and isinstance(e.event, AttemptReplied)]


def text_of(entries: list[Entry], agent: str) -> str:
    """All that an agent was told, as one text."""
    return "\n".join("\n".join(t.texts) for t in told(entries, agent))
