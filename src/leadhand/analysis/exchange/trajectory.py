"""One neutral trajectory between all formats: what an agent was told, what it did, what came back, what it cost."""

from __future__ import annotations

from typing import Any, Literal

from leadhand.core.values import Usage, Value


class Call(Value, frozen=True, kw_only=True):
    """A tool call; `arguments` is the text that the model wrote (JSON, unless the model got it wrong)."""

    id: str
    name: str
    arguments: str


class Result(Value, frozen=True, kw_only=True):
    """What a call gave back. `worker`: the trajectory of the worker that did it."""

    call_id: str
    text: str
    exit_code: int | None = None
    worker: str = ""


class Turn(Value, frozen=True, kw_only=True):
    """Text to the agent (`system`, `user`), or the agent's own turn with its calls and their results.

    `copied`: inherited from another agent's conversation, not billed here. `raw`: the foreign messages it was read
    from, kept so that writing the same format again loses nothing.
    """

    source: Literal["system", "user", "agent"]
    text: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()
    usage: Usage | None = None
    cost: float | None = None
    model: str = ""
    at: str = ""
    copied: bool = False
    raw: tuple[dict[str, Any], ...] = ()


class Trajectory(Value, frozen=True, kw_only=True):
    """One agent's way, with its workers' beside it. `cost` is in dollars; `info` is what else the file said."""

    id: str
    agent: str
    version: str = ""
    model: str = ""
    turns: tuple[Turn, ...] = ()
    status: str = ""
    submission: str = ""
    cost: float | None = None
    reward: float | None = None
    workers: tuple[Trajectory, ...] = ()
    info: dict[str, Any] = {}

    @property
    def steps(self) -> int:
        """Model responses of this agent alone."""
        return sum(t.source == "agent" and not t.copied for t in self.turns)

    def everyone(self) -> tuple[Trajectory, ...]:
        return (self, *(t for w in self.workers for t in w.everyone()))
