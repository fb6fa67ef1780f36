"""The tools of the team: delegate, wait, read reports, list, cancel, send messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import anyio

from leadhand.core import delegation as rules
from leadhand.core import schedule
from leadhand.core.agent import Later, Outcome, Rejected, TeamTool
from leadhand.core.events import MailSent
from leadhand.core.framing import report
from leadhand.core.state import Delegation
from leadhand.core.tools import Arguments, CancelWorker, Delegate, ReadReport, SendMessage, Wait

if TYPE_CHECKING:
    from leadhand.core.crew import Crew


class TeamTools:
    """Carries out team tools. Each handler looks first whether the journal already knows the call's effect."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._h = crew.h

    def of(self, agent: str) -> Mapping[str, TeamTool]:
        """The handlers as one agent calls them. Which of them it may call is in its tool definitions."""

        async def send_message(key: str, arguments: Arguments) -> Outcome | Later:
            assert isinstance(arguments, SendMessage)
            return self._send(agent, key, arguments)

        return {
            "delegate_agent": self.delegate_agent,
            "wait": self.wait,
            "read_report": self.read_report,
            "list_workers": self.list_workers,
            "cancel_worker": self.cancel_worker,
            "send_message": send_message,
        }

    async def delegate_agent(self, key: str, arguments: Arguments) -> Outcome | Later:
        assert isinstance(arguments, Delegate)
        state = self._h.state
        started = next((d for d in state.delegations.values() if d.call == key), None)
        if started is None:
            choice = rules.choose(state, self._h.design, arguments)
            started = self._crew.delegate(key, choice, arguments.assignment, arguments.conventions or "")
        if self._h.design.schedule == "blocking":
            return lambda: self._report_of(started)
        again = " goes on with" if started.resumed else " works on"
        return Outcome(f"{started.id}: {started.worker}{again} it")

    async def _report_of(self, started: Delegation) -> Outcome:
        await self._h.changed.until(lambda: started.status is not None)
        return Outcome(report(started, self._h.design.report_chars), delivers=(started.id,))

    async def wait(self, key: str, arguments: Arguments) -> Outcome | Later:
        """`any`: until something is pending; `all`: until no worker runs. A message ends both."""
        assert isinstance(arguments, Wait)
        state, design, lead = self._h.state, self._h.design, self._crew.head

        def over() -> bool:
            if not state.running() or state.inbox(lead):
                return True
            return arguments.mode == "any" and schedule.pending(state, design, lead)

        timeout = arguments.timeout_s if arguments.timeout_s is not None else float("inf")
        with anyio.move_on_after(max(0.0, timeout)):
            await self._h.changed.until(over)
        return Outcome(f"[{schedule.overview(state)}]")

    async def read_report(self, key: str, arguments: Arguments) -> Outcome | Later:
        assert isinstance(arguments, ReadReport)
        found = self._h.state.delegations.get(arguments.delegation)
        if found is None:
            known = ", ".join(self._h.state.delegations) or "none yet"
            raise Rejected(f"there is no delegation {arguments.delegation[:40]!r}; delegations: {known}")
        if found.status is None:
            raise Rejected(f"{found.id} of {found.worker} is still running; wait for it")
        return Outcome(report(found, self._h.design.report_chars), delivers=(found.id,))

    async def list_workers(self, key: str, arguments: Arguments) -> Outcome | Later:
        return Outcome(schedule.roster(self._h.state, self._h.design))

    async def cancel_worker(self, key: str, arguments: Arguments) -> Outcome | Later:
        """Stop a worker. Asking for one that is stopped already gives the same answer, also after a resume."""
        assert isinstance(arguments, CancelWorker)
        own = [d for d in self._h.state.delegations.values() if d.worker == arguments.worker]
        last = own[-1] if own else None
        if last is None or last.status not in (None, "cancelled", "abandoned"):
            raise Rejected(f"{arguments.worker[:40]!r} is not a running worker; {schedule.overview(self._h.state)}")
        if last.status is None:
            await self._crew.cancel([last], "the lead cancelled it")
        return Outcome(f"{last.id} of {last.worker} {last.status}")

    def _send(self, sender: str, key: str, arguments: SendMessage) -> Outcome:
        state = self._h.state
        if key not in state.mail_calls:
            if not arguments.text.strip():
                raise Rejected("the message is empty")
            if arguments.to == sender:
                raise Rejected("that is yourself")
            if arguments.to in rules.unused(state, self._h.design):
                raise Rejected(f"{arguments.to} has no assignment yet and reads no messages")
            if arguments.to not in state.agents:
                agents = ", ".join(a for a in state.agents if a != sender)
                raise Rejected(f"there is no agent {arguments.to[:40]!r}; agents: {agents}")
            if arguments.to != self._crew.head and not state.running(arguments.to):
                raise Rejected(f"{arguments.to} has finished its work and reads no messages")
            mail = MailSent(mail=f"m{len(state.mail) + 1}", to=arguments.to, text=arguments.text, call=key)
            self._h.record(sender, mail)
            self._h.changed.notify()
        return Outcome(f"sent to {arguments.to}; it is read with its next tool result")
