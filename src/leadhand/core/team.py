"""The team: one task group, the lead in it, its crew of workers beside it.

A worker's failure stops at its own boundary. Only the run's time limit, a dead sandbox or a failed journal write
cancel the whole group.
"""

from __future__ import annotations

import anyio
from anyio.abc import TaskGroup

from leadhand.core import wording
from leadhand.core.agent import Agent, Outcome
from leadhand.core.attempts import settle_cut
from leadhand.core.boundary import at_boundary, cause_of
from leadhand.core.crew import Crew
from leadhand.core.errors import SandboxLost
from leadhand.core.events import AgentEnded, Role
from leadhand.core.finishing import objection
from leadhand.core.framing import merged
from leadhand.core.harness import End, Harness
from leadhand.core.schedule import overview
from leadhand.core.values import User


class Team:
    """Runs a lead (or a solo agent) and its workers to the end. Built anew from the state when a run is resumed."""

    def __init__(self, harness: Harness, *, restarted: bool = False) -> None:
        """`restarted`: an interrupted session's processes are gone, whatever they were doing; the agents are told."""
        self.h = harness
        self.head = "solo" if harness.design.solo else "lead"
        self.crew = Crew(harness, self.head)
        self._note = wording.LEFTOVERS if restarted else ""
        self._group: TaskGroup | None = None
        self._deadline = float("inf")
        self._stopped = False

    async def run(self) -> End:
        """Run to the end. Raises `SandboxLost` and `JournalError`; every other fault is an end or a report."""
        state, limits = self.h.state, self.h.design.limits
        head = state.agents.get(self.head)
        if head is not None and head.ended is not None:
            return End(head.ended.status, head.ended.text, head.ended.fault)
        settle_cut(self.h.journal, state)
        deadline = self._deadline = anyio.current_time() + max(0.0, limits.run_s - state.active_s)
        end: End | None = None
        try:
            with anyio.CancelScope(deadline=deadline):
                async with anyio.create_task_group() as group:
                    self._group = group
                    if self._stopped:
                        group.cancel_scope.cancel()
                    self.crew.open(group, deadline, self._note)
                    end = await self._lead(deadline)
                    group.cancel_scope.cancel()
        except BaseExceptionGroup as raised:
            cause = cause_of(raised)
            if isinstance(cause, SandboxLost):
                self._over(End("failed", fault=f"SandboxLost: {cause}"), "the sandbox is gone")
            raise cause from raised
        if end is None and self._stopped:
            end = End("cancelled", "stopped by the user")
        return self._over(end or End("out_of_time", f"the run's limit of {limits.run_s:g} s is over"), "the run ended")

    def stop(self) -> None:
        """Wrap up: end all agents now; `run` returns `cancelled`."""
        self._stopped = True
        if self._group is not None:
            self._group.cancel_scope.cancel()

    def _over(self, end: End, why: str) -> End:
        """Record that the run's agents are done: the workers first, then the head."""
        self.crew.close(why)
        if self.head in self.h.state.agents:
            self.h.record(self.head, AgentEnded(status=end.status, text=end.text, fault=end.fault))
        return end

    # --- the lead ----------------------------------------------------------------------------------------------

    async def _lead(self, deadline: float) -> End:
        """The head's own work, from the task to its end."""
        state, design = self.h.state, self.h.design
        if self.head not in state.agents:
            role: Role = "solo" if design.solo else "lead"
            self.crew.join(self.head, role, design.lead, design.lead_reasoning, cache_ttl=design.lead_cache_ttl)
        head = state.agents[self.head]
        fresh = not head.conversation.messages
        if fresh:
            self.h.add(head, User(text=self.h.prompts.task))
        agent = Agent(
            self.h,
            head,
            tools=self.crew.tools.of(self.head),
            closing=self._closing,
            cache_key=self.h.key_of(self.head),
            deadline=deadline,
            note="" if fresh else self._note,
        )
        return await at_boundary(agent)

    async def _closing(self) -> Outcome | None:
        """The head wants to finish: None lets it, else what it is told first."""
        instead = await self._reports_first()
        if instead is None:
            instead = await objection(self.h, self.h.state.agents[self.head], self._deadline)
        return instead

    async def _reports_first(self) -> Outcome | None:
        """What the lead has not been told of its workers, as the design has it."""
        state, design = self.h.state, self.h.design
        if not state.running() and not state.undelivered():
            return None
        if design.at_finish == "cancel":
            await self.crew.cancel(state.running(), "the lead finished")
            return None
        if design.at_finish == "refuse":
            return Outcome(wording.REFUSED.format(overview=overview(state)), is_error=True)
        await self.h.changed.until(lambda: not state.running())
        reports = state.undelivered()
        text = merged(reports, design.report_chars, design.merged_chars)
        return Outcome(f"{wording.NOT_YET}\n\n{text}", delivers=tuple(d.id for d in reports))
