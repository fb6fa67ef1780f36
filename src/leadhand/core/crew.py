"""The workers of a run: a task per delegation in the team's own task group, each ended exactly once.

What a delegation came to is read from the journal's view (`AgentEnded` of its worker), so it is the same whether the
run went on or was killed and resumed in between.
"""

from __future__ import annotations

import anyio
from anyio.abc import TaskGroup

from leadhand.core import delegation as rules
from leadhand.core import wording
from leadhand.core.agent import Agent
from leadhand.core.boundary import at_boundary
from leadhand.core.design import Design
from leadhand.core.errors import SandboxError, SandboxLost
from leadhand.core.events import AgentEnded, AgentStarted, DelegationEnd, DelegationEnded, DelegationStarted, Role
from leadhand.core.harness import End, Harness, Prompts
from leadhand.core.state import Delegation
from leadhand.core.team_tools import TeamTools
from leadhand.core.values import User

GRACE_S = 30.0
"""How long a stopped worker has to come to rest before it is abandoned."""

SPILL_CHARS = 1000
"""A report longer than this is also kept as a file in the sandbox, since it may be clipped on its way to the lead."""


class Crew:
    """Starts, stops and ends delegations. `head` is the name of the agent that leads."""

    def __init__(self, harness: Harness, head: str) -> None:
        self.h = harness
        self.head = head
        self.tools = TeamTools(self)
        self._group: TaskGroup | None = None
        self._deadline = float("inf")
        self._note = ""
        self._scopes: dict[str, anyio.CancelScope] = {}
        self._why: dict[str, str] = {}

    def open(self, group: TaskGroup, deadline: float, note: str = "") -> None:
        """Take up the delegations that an earlier session left running; `note` is what their workers are told."""
        self._group, self._deadline, self._note = group, deadline, note
        for running in self.h.state.running():
            self._launch(running)
        self._note = ""

    def join(
        self,
        name: str,
        role: Role,
        model: str,
        reasoning: str,
        worker_kind: str = "",
        *,
        cache_ttl: str = "",
        at: str = "",
    ) -> None:
        """An agent enters. A forked worker has the lead's root and begins at its message `at`."""
        lead = self.h.state.agents.get(self.head)
        root = lead.conversation.root if at and lead else self.h.root(role, model, reasoning, cache_ttl)
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

    def delegate(self, call: str, choice: rules.Choice, assignment: str, conventions: str) -> Delegation:
        """Start an accepted delegation."""
        state = self.h.state
        if choice.worker not in state.agents:
            # The request that produced this delegation ended where the lead's latest turn begins.
            forked = self.h.design.context == "fork"
            at = state.agents[self.head].conversation.messages[-1].parent if forked else ""
            kind = choice.kind
            self.join(choice.worker, "worker", kind.model, kind.reasoning, kind.name, cache_ttl=kind.cache_ttl, at=at)
        started = DelegationStarted(
            delegation=f"d{len(state.delegations) + 1}",
            worker=choice.worker,
            call=call,
            assignment=assignment,
            resumed=choice.resumed,
            worker_kind=choice.kind.name,
            conventions=conventions,
        )
        self.h.record(self.head, started)
        running = state.delegations[started.delegation]
        self._launch(running)
        return running

    async def cancel(self, targets: list[Delegation], why: str) -> None:
        """Stop workers: they have `GRACE_S` to come to rest, then they are abandoned. Bounded whatever they do."""
        for running in targets:
            self._why[running.id] = why
            self._scopes[running.id].cancel()
        with anyio.move_on_after(GRACE_S):
            await self.h.changed.until(lambda: all(t.status is not None for t in targets))
        for running in targets:
            self._abandon(running)

    def close(self, why: str) -> None:
        """End every delegation that is still running, since the run is over."""
        for running in self.h.state.running():
            self._rest(running, End("cancelled", why))
            self._conclude(running)

    # --- one delegation ----------------------------------------------------------------------------------------

    def _launch(self, running: Delegation) -> None:
        """Start a delegation's task. All that can be said of it by then is in the journal before anything waits."""
        assert self._group is not None
        state, now = self.h.state, anyio.current_time()
        left = max(0.0, self.h.design.limits.delegation_s - (state.active_s - running.since))
        scope = self._scopes[running.id] = anyio.CancelScope(deadline=now + left)
        worker = state.agents[running.worker]
        forked = self.h.design.context == "fork"
        agent = Agent(
            self.h,
            worker,
            tools=self.tools.of(worker.name),
            cache_key=self.h.key_of(self.head if forked else worker.name),
            deadline=min(self._deadline, scope.deadline),
            note=self._note if running.briefed else "",
        )
        if worker.ended is None and not running.briefed:
            agent.interrupt()
            brief = briefing(self.h.prompts, self.h.design, worker.worker_kind, running)
            self.h.add(worker, User(text=brief), assigns=running.id)
        self._group.start_soon(self._work, running, agent, scope)
        self._group.start_soon(self._watch, running, left + GRACE_S)

    async def _work(self, running: Delegation, agent: Agent, scope: anyio.CancelScope) -> None:
        """One delegation from its assignment to its report."""
        if agent.state.ended is None:
            end = End("failed")
            with scope:
                end = await at_boundary(agent)
            # An adapter may turn the cancellation into an error of its own.
            if scope.cancelled_caught or (scope.cancel_called and end.status == "failed"):
                end = self._stopped(running)
            self._rest(running, end)
        self._conclude(running, await self._spill(running))

    async def _watch(self, running: Delegation, patience: float) -> None:
        """Abandon a worker that does not come to rest after its time limit."""
        with anyio.move_on_after(patience):
            await self.h.changed.until(lambda: running.status is not None)
        self._abandon(running)

    def _stopped(self, running: Delegation) -> End:
        why = self._why.get(running.id)
        if why is not None:
            return End("cancelled", why)
        return End("out_of_time", f"its limit of {self.h.design.limits.delegation_s:g} s is over")

    def _rest(self, running: Delegation, end: End) -> None:
        """Record that a worker has come to rest, once."""
        if running.status is None and self.h.state.agents[running.worker].ended is None:
            self.h.record(running.worker, AgentEnded(status=end.status, text=end.text, fault=end.fault))

    def _abandon(self, running: Delegation) -> None:
        """A worker that cannot be stopped: nobody waits for it any longer. One that has come to rest keeps its end."""
        worker = self.h.state.agents[running.worker]
        if running.status is None and worker.ended is None:
            stopped = self._stopped(running)
            self._rest(running, stopped._replace(fault="it hung and could not be stopped"))
            self._end(running, "abandoned", rules.broken_off(worker, f"{stopped.text}; it hung and was left behind"))
        self._conclude(running)

    def _conclude(self, running: Delegation, spill: str = "") -> None:
        """End a delegation by what its worker came to."""
        worker = self.h.state.agents[running.worker]
        if running.status is None and worker.ended is not None:
            self._end(running, *rules.outcome(worker, worker.ended), spill)

    def _end(self, running: Delegation, status: DelegationEnd, report: str, spill: str = "") -> None:
        ended = DelegationEnded(delegation=running.id, worker=running.worker, status=status, report=report, spill=spill)
        self.h.record(running.worker, ended)
        self.h.changed.notify()

    async def _spill(self, running: Delegation) -> str:
        """Keep a long report whole in the sandbox, where the lead can read what was clipped."""
        worker = self.h.state.agents[running.worker]
        if running.status is not None or worker.ended is None:
            return ""
        _, report = rules.outcome(worker, worker.ended)
        if len(report) <= SPILL_CHARS:
            return ""
        path = f"{self.h.sandbox.info.scratch}/reports/{running.id}.txt"
        try:
            await self.h.sandbox.write(path, report.encode("utf-8", "replace"))
        except SandboxLost:
            raise
        except (SandboxError, OSError):
            return ""
        return path


def briefing(prompts: Prompts, design: Design, kind: str, given: Delegation) -> str:
    """The assignment as the worker is told it. A forked worker is first told what it now is."""
    conventions = f"Conventions:\n{given.conventions.strip()}\n\n" if given.conventions else ""
    text = prompts.assignment.format(worker=given.worker, conventions=conventions, assignment=given.assignment)
    if given.resumed:
        return text
    parts = [next(k.role for k in design.worker_kinds if k.name == kind).strip()]
    if design.context == "fork":
        mail = "" if design.messaging == "off" else " and send_message"
        parts = [wording.FORKED.format(worker=given.worker, mail=mail), prompts.role.strip(), *parts]
    return "\n\n".join(p for p in (*parts, text) if p)
