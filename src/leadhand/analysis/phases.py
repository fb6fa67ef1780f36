"""An agent's time in phases that follow each other without a gap: model, tool, limited, idle, other, out."""

from __future__ import annotations

from dataclasses import dataclass, field

WAITING = frozenset({"wait", "delegate_agent", "finish"})
"""Time in these tools is the lead waiting for its workers."""


@dataclass(slots=True, kw_only=True)
class PhaseClock:
    """Books seconds by phase. `open_tools`: the tools that have begun and not ended, by call."""

    seconds: dict[str, float] = field(default_factory=dict)
    phase: str = "other"
    since: float = 0.0
    open_tools: dict[str, str] = field(default_factory=dict)

    def turn(self, phase: str, now: float) -> None:
        """Book the time since the last change, and begin another phase."""
        self.seconds[self.phase] = self.seconds.get(self.phase, 0.0) + now - self.since
        self.phase, self.since = phase, now

    def tooling(self) -> str:
        """The phase that its open tools make: a command counts before waiting."""
        if not self.open_tools:
            return "other"
        return "idle" if WAITING.issuperset(self.open_tools.values()) else "tool"
