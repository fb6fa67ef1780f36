"""The team: one task group, the lead in it, a task per delegation. Every delegation ends exactly once.

A worker's failure stops at its own boundary. Only the run's time limit, a dead sandbox or a failed journal write
cancel the whole group.
"""

from __future__ import annotations

import anyio
from anyio.abc import TaskGroup

from leadhand.core import delegation as rules
from leadhand.core import wording
from leadhand.core.agent import Agent, Outcome
from leadhand.core.errors import JournalError, SandboxError, SandboxLost
from leadhand.core.events import (
    AgentEnded,
    AgentStarted,
    DelegationEnd,
    DelegationEnded,
    DelegationStarted,
    Role,
)
from leadhand.core.framing import merged
from leadhand.core.harness import End, Harness
from leadhand.core.schedule import overview
from leadhand.core.state import Delegation
from leadhand.core.team_tools import TeamTools
from leadhand.core.values import User

GRACE_S = 30.0
"""How long a stopped worker has to come to rest before it is abandoned."""


class Team:
    """Runs a lead (or a solo agent) and its workers to the end. Built anew from the state when a run is resumed."""

    def __init__(self, harness: Harness, leftovers: int = 0) -> None:
        self.h = harness
        self.head = "solo" if harness.design.solo else "lead"
        self._leftovers = leftovers
        self._group: TaskGroup | None = None
        self._scopes: dict[str, anyio.CancelScope] = {}
        self._why: dict[str, tuple[DelegationEnd, str]] = {}
        self._deadline = float("inf")
        self._stopped = False
        self._tools = TeamTools(self)

    async def run(self) -> End:
        """Run to the end. Raises `SandboxLost` and `JournalError`; every other fault is an end or a report."""
        state, limits = self.h.state, self.h.design.limits
        self._deadline = anyio.current_time() + max(0.0, limits.run_s - state.active_s)
        end = End("out_of_time")
        try:
            with anyio.CancelScope(deadline=self._deadline) as limit:
                async with anyio.create_task_group() as group:
                    self._group = group
                    for running in state.running():
                        group.start_soon(self._work, running)
                        group.start_soon(self._watch, running)
                    end = await self._run_head()
                    group.cancel_scope.cancel()
        except BaseExceptionGroup as raised:
            raise _first_cause(raised) from raised
        if self._stopped:
            end = End("cancelled", "stopped by the user")
        elif limit.cancelled_caught:
            end = End("out_of_time", f"the run's limit of {limits.run_s:g} s is over")
        for left in state.running():
            self._end(left, "cancelled", rules.broken_off(state.agents[left.worker], "cancelled", "the run ended"))
        self.h.record(self.head, AgentEnded(status=end.status, text=end.text, fault=end.fault))
        return end

    def stop(self) -> None:
        """Wrap up: end all agents now; `run` returns `cancelled`."""
        self._stopped = True
        if self._group is not None:
            self._group.cancel_scope.cancel()

    # --- the lead ----------------------------------------------------------------------------------------------

    async def _run_head(self) -> End:
        state = self.h.state
        if self.head not in state.agents:
            role: Role = "solo" if self.h.design.solo else "lead"
            self._join(self.head, role, self.h.design.lead, self.h.design.lead_reasoning)
        head = state.agents[self.head]
        if not head.conversation.messages:
            self.h.add(head, User(text=self.h.prompts.task))
        elif self._leftovers and isinstance(head.conversation.messages[-1].body, User):
            self.h.add(head, User(text=wording.LEFTOVERS.format(count=self._leftovers)))
        if head.ended is not None:
            return End(head.ended.status, head.ended.text, head.ended.fault)
        agent = Agent(
            self.h,
            head,
            tools=self._tools.of(self.head),
            closing=None if self.h.design.solo else self._closing,
            cache_key=self._cache_key(self.head),
            deadline=self._deadline,
        )
        return await self._at_boundary(agent)

    async def _closing(self) -> Outcome | None:
        """The lead wants to finish: None lets it, else what it is told first."""
        state, design = self.h.state, self.h.design
        if not state.running() and not state.undelivered():
            return None
        if design.at_finish == "cancel":
            for running in state.running():
                await self.cancel(running, "the lead finished")
            return None
        if design.at_finish == "refuse":
            return Outcome(wording.REFUSED.format(overview=overview(state)), is_error=True)
        await self.h.changed.until(lambda: not state.running())
        reports = state.undelivered()
        text = merged(reports, design.report_chars, design.merged_chars)
        return Outcome(f"{wording.NOT_YET}\n\n{text}", delivers=tuple(d.id for d in reports))

    async def _at_boundary(self, agent: Agent) -> End:
        """Run an agent; a fault of its own ends it alone."""
        try:
            return await agent.run()
        except (SandboxLost, JournalError):
            raise
        except Exception as error:
            return End("failed", fault=f"{type(error).__name__}: {error}"[:2000])

    # --- delegations -------------------------------------------------------------------------------------------

    def delegate(self, call: str, choice: rules.Choice, assignment: str, conventions: str) -> Delegation:
        """Start an accepted delegation; it runs in the team's own task group."""
        state = self.h.state
        if choice.worker not in state.agents:
            at = ""
            if self.h.design.context == "fork":
                at = state.agents[self.head].conversation.messages[-1].parent
            self._join(choice.worker, "worker", choice.kind.model, choice.kind.reasoning, choice.kind.name, at=at)
        number = f"d{len(state.delegations) + 1}"
        self.h.record(
            self.head,
            DelegationStarted(
                delegation=number,
                worker=choice.worker,
                call=call,
                assignment=assignment,
                resumed=choice.resumed,
                worker_kind=choice.kind.name,
                conventions=conventions,
            ),
        )
        started = state.delegations[number]
        assert self._group is not None
        self._group.start_soon(self._work, started)
        self._group.start_soon(self._watch, started)
        return started

    async def cancel(self, running: Delegation, why: str) -> None:
        """Stop a worker: it has `GRACE_S` to come to rest, then it is abandoned. Bounded whatever the worker does."""
        report = rules.broken_off(self.h.state.agents[running.worker], "cancelled", why)
        self._why[running.id] = ("cancelled", report)
        scope = self._scopes.get(running.id)
        if scope is not None:
            scope.cancel()
        with anyio.move_on_after(GRACE_S):
            await self.h.changed.until(lambda: running.status is not None)
        self._end(running, "abandoned", report)

    async def _work(self, running: Delegation) -> None:
        """One delegation from its assignment to its report."""
        worker = self.h.state.agents[running.worker]
        deadline = min(self._deadline, anyio.current_time() + self.h.design.limits.delegation_s)
        agent = Agent(
            self.h,
            worker,
            tools=self._tools.of(worker.name),
            cache_key=self._cache_key(self.head if self.h.design.context == "fork" else worker.name),
            deadline=deadline,
        )
        with anyio.CancelScope(deadline=deadline) as scope:
            self._scopes[running.id] = scope
            self._brief(agent, running)
            end = await self._at_boundary(agent)
        if scope.cancelled_caught:
            limit = f"its limit of {self.h.design.limits.delegation_s:g} s is over"
            status, report = self._why.get(running.id) or ("timed_out", rules.broken_off(worker, "timed_out", limit))
            end = End("out_of_time" if status == "timed_out" else "cancelled")
        else:
            status, report = rules.outcome(worker, end)
        spill = await self._spill(running, report)
        if running.status is None:
            self.h.record(worker.name, AgentEnded(status=end.status, text=end.text, fault=end.fault))
        self._end(running, status, report, spill)

    def _brief(self, agent: Agent, running: Delegation) -> None:
        """Give the worker its assignment, unless the journal says that it has it."""
        if running.briefed:
            return
        agent.interrupt()
        text = self.h.prompts.assignment.format(
            worker=running.worker, conventions=_block(self.h.state.conventions), assignment=running.assignment
        )
        kind = next(k for k in self.h.design.worker_kinds if k.name == agent.state.worker_kind)
        if kind.role and not running.resumed:
            text = f"{kind.role.strip()}\n\n{text}"
        self.h.add(agent.state, User(text=text), assigns=running.id)

    async def _spill(self, running: Delegation, report: str) -> str:
        """Keep a long report whole in the sandbox, where the lead can read what was clipped."""
        if len(report) <= self.h.design.merged_chars // 20:
            return ""
        path = f"{self.h.sandbox.info.scratch}/reports/{running.id}.txt"
        try:
            await self.h.sandbox.write(path, report.encode("utf-8", "replace"))
        except SandboxLost:
            raise
        except SandboxError:
            return ""
        return path

    def _end(self, running: Delegation, status: DelegationEnd, report: str, spill: str = "") -> None:
        """Record the one end of a delegation; whoever comes second changes nothing."""
        if running.status is not None:
            return
        ended = DelegationEnded(delegation=running.id, worker=running.worker, status=status, report=report, spill=spill)
        self.h.record(running.worker, ended)
        self.h.changed.notify()

    async def _watch(self, running: Delegation) -> None:
        """Abandon a worker that does not come to rest after its time limit."""
        patience = self.h.design.limits.delegation_s + GRACE_S
        with anyio.move_on_after(patience):
            await self.h.changed.until(lambda: running.status is not None)
        worker = self.h.state.agents[running.worker]
        self._end(running, "abandoned", rules.broken_off(worker, "abandoned", "it hung and could not be stopped"))

    # --- joining -----------------------------------------------------------------------------------------------

    def _join(self, name: str, role: Role, model: str, reasoning: str, worker_kind: str = "", at: str = "") -> None:
        """An agent enters. A forked worker has the lead's root and begins at its message `at`."""
        root = self.h.state.agents[self.head].conversation.root if at else self.h.root(role, model, reasoning)
        new = not self.h.state.has_root(root.id)
        event = AgentStarted(
            role=role,
            model=model,
            root_id=root.id,
            root=root if new else None,
            reasoning=reasoning,
            worker_kind=worker_kind,
            at=at,
        )
        self.h.record(name, event)

    def _cache_key(self, agent: str) -> str:
        return f"{self.h.cache_key}-{agent}"


def _block(conventions: str) -> str:
    return f"Conventions:\n{conventions.strip()}\n\n" if conventions else ""


def _first_cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The fault that ended the group; several at once are one fault seen by several agents."""
    for error in group.exceptions:
        return _first_cause(error) if isinstance(error, BaseExceptionGroup) else error
    raise AssertionError("an empty exception group")
