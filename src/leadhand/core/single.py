"""One agent that has the task to itself, among equals: from its first prompt to its recorded end, once."""

from __future__ import annotations

from collections.abc import Mapping

import anyio

from leadhand.core.agent import Agent, TeamTool
from leadhand.core.boundary import at_boundary
from leadhand.core.design import Design
from leadhand.core.events import AgentEnded, AgentStarted, Role
from leadhand.core.harness import End, Harness
from leadhand.core.state import State
from leadhand.core.values import User


class Single:
    """Runs one of several equal agents. What became of it is read from the journal's view, also after a resume."""

    def __init__(
        self,
        harness: Harness,
        name: str,
        role: Role,
        *,
        tools: Mapping[str, TeamTool] | None = None,
        cwd: str = "",
        note: str = "",
    ) -> None:
        """`note`: what it is told once if it had begun before; `cwd`: where its commands start."""
        self.h = harness
        self.name = name
        self._role = role
        self._tools = tools or {}
        self._cwd = cwd
        self._note = note
        self._scope: anyio.CancelScope | None = None
        self._stopped: End | None = None

    @property
    def ended(self) -> End | None:
        return end_of(self.h.state, self.name)

    def enter(self) -> None:
        """Join the run, unless it has in an earlier session."""
        state, design = self.h.state, self.h.design
        if self.name in state.agents:
            return
        root = self.h.root(self._role, design.lead, design.lead_reasoning, design.lead_cache_ttl)
        new = not state.has_root(root.id)
        event = AgentStarted(
            role=self._role,
            model=design.lead,
            root_id=root.id,
            root=root if new else None,
            reasoning=design.lead_reasoning,
        )
        self.h.record(self.name, event)

    async def run(self, deadline: float) -> None:
        """From wherever it stands to its recorded end. Raises `SandboxLost` and `JournalError`."""
        self.enter()
        if self.ended is not None:
            return
        end = self._over()
        with anyio.CancelScope(deadline=deadline) as self._scope:
            if self._stopped is not None:
                self._scope.cancel()
            end = await at_boundary(self._agent(deadline))
        # An adapter may turn the cancellation into an error of its own.
        if self._scope.cancelled_caught or (self._scope.cancel_called and end.status == "failed"):
            end = self._over()
        self.end(end)

    def stop(self, end: End) -> None:
        """End it now, as `end`, unless it has ended by itself."""
        if self._stopped is None:
            self._stopped = end
        if self._scope is not None:
            self._scope.cancel()

    def end(self, end: End) -> None:
        """Record its end, once."""
        if self.name in self.h.state.agents and self.ended is None:
            self.h.record(self.name, AgentEnded(status=end.status, text=end.text, fault=end.fault))

    def _over(self) -> End:
        limit = self.h.design.limits.run_s
        return self._stopped or End("out_of_time", f"the run's limit of {limit:g} s is over")

    def _agent(self, deadline: float) -> Agent:
        own = self.h.state.agents[self.name]
        fresh = not own.conversation.messages
        if fresh:
            self.h.add(own, User(text=self.h.prompts.task))
        return Agent(
            self.h,
            own,
            tools=self._tools,
            cache_key=self.h.key_of(self.name),
            deadline=deadline,
            note="" if fresh else self._note,
            cwd=self._cwd,
        )


def end_of(state: State, name: str) -> End | None:
    """How an agent ended, if it has."""
    agent = state.agents.get(name)
    if agent is None or agent.ended is None:
        return None
    return End(agent.ended.status, agent.ended.text, agent.ended.fault)


def end_of_run(state: State, design: Design) -> End | None:
    """How a run ends, if the journal says so: as its head did, or as the one that was selected.

    Where all were to come to their ends and the user stopped some, it was cancelled.
    """
    if design.strategy == "team":
        return end_of(state, design.heads[0])
    if state.selected is None:
        return None
    ends = [end_of(state, name) for name in design.heads]
    everybody = design.strategy == "best-of-k" or design.collect == "last"
    if everybody and any(end is not None and end.status == "cancelled" for end in ends):
        return End("cancelled", "stopped by the user")
    return end_of(state, state.selected.chosen)


def eligible(state: State, names: tuple[str, ...]) -> list[str]:
    """Whose work may be taken, the earliest end first: those that finished; else those that did not fail; else all."""
    ended = [(name, end) for name in state.ends if name in names and (end := end_of(state, name)) is not None]
    finished = [name for name, end in ended if end.status == "finished"]
    sound = [name for name, end in ended if end.status != "failed"]
    return finished or sound or [name for name, _ in ended]
