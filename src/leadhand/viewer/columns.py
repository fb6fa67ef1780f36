"""What a run's pages are drawn from: append-only columns, and a small state that is given anew each time.

Append-only means that a page which has seen the first n rows needs only what follows: a live page, a first load and an
export all take the same `delta`, from different cursors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, get_args

from leadhand.core.events import AnyEvent, ToolStarted

KINDS = (
    *sorted(str(kind.__struct_config__.tag) for kind in get_args(AnyEvent) if kind is not ToolStarted),
    "command",
    "wait",
    "finish",
    "tool",
    "assignment",
    "results",
    "delivery",
)
"""Kinds of row: the events' own, but `tool_started` is told apart by its tool, `message_added` by what it brings."""

CODE = {kind: code for code, kind in enumerate(KINDS)}

ROWS_PER_PART = 200


@dataclass(slots=True)
class Columns:
    """One list per column; all lists of a group have the same length.

    Events: `t` (milliseconds of active time), `agent` (index into `agents`, -1 for the run), `kind`, `bad` (1 where
    something went wrong), `of` (the event that it belongs to or follows in its conversation, -1 for none).
    Spans: `start` and `end` are events: an attempt or a tool call, and its outcome.
    Waits: an agent held back by limits or retries, from `t0` to `t1`. Spends: dollars (millionths) and tokens of an
    attempt's outcome. Arrows: what passed between agents. Marks: what a reader should not miss. Writes: a command
    (its start) that wrote a file. References: a command (its start) that ran the task's reference.
    """

    agents: list[dict[str, str]] = field(default_factory=list)
    t: list[int] = field(default_factory=list)
    agent: list[int] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    bad: list[int] = field(default_factory=list)
    of: list[int] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    waits: list[tuple[int, int, int, int]] = field(default_factory=list)
    spends: list[tuple[int, int, int]] = field(default_factory=list)
    arrows: list[tuple[str, int, int, int, int, int, str]] = field(default_factory=list)
    marks: list[tuple[int, str, str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    writes: list[tuple[int, int, int]] = field(default_factory=list)
    references: list[tuple[int, int]] = field(default_factory=list)

    def cursor(self) -> tuple[int, ...]:
        return tuple(len(getattr(self, name)) for name in CURSOR)

    def since(self, cursor: tuple[int, ...]) -> dict[str, Any]:
        """Everything that was appended after `cursor`, by column."""
        at = dict(zip(CURSOR, cursor, strict=True))
        return {name: getattr(self, name)[at[lead] :] for name, lead in LED_BY.items()}


CURSOR = ("agents", "t", "start", "waits", "spends", "arrows", "marks", "paths", "writes", "references")
LED_BY = {name: name for name in CURSOR} | {"agent": "t", "kind": "t", "bad": "t", "of": "t", "end": "start"}


def read_cursor(text: str) -> tuple[int, ...]:
    """The cursor in a request; all zeros where it is missing or makes no sense."""
    parts = text.split("-")
    if len(parts) != len(CURSOR) or not all(p.isdigit() and len(p) < 12 for p in parts):
        return (0,) * len(CURSOR)
    return tuple(int(p) for p in parts)
