"""Writes journals without a team: real events at chosen times. For simulated studies, tests and the bench."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from leadhand.core.chain import Message, Root, next_id
from leadhand.core.events import (
    FORMAT,
    AgentEnd,
    AgentEnded,
    AgentStarted,
    AnyEvent,
    AttemptReplied,
    AttemptStarted,
    CommandEnded,
    DelegationEnd,
    DelegationEnded,
    DelegationStarted,
    Entry,
    Graded,
    MailSent,
    MessageAdded,
    Role,
    RunEnd,
    RunEnded,
    RunStarted,
    ToolEnded,
    ToolStarted,
)
from leadhand.core.values import Assistant, Body, Grade, ToolCall, ToolResult, ToolResults, Usage

_ROOT = Root(system="simulated")
_encode = msgspec.json.Encoder().encode


class JournalWriter:
    """Entries in order. `now` is set by the caller (seconds)."""

    def __init__(self, digest: str = "simulated") -> None:
        self.entries: list[Entry] = []
        self.now = 0.0
        self.session = 0
        self._attempts = 0
        self._steps: dict[str, int] = {}
        self._heads: dict[str, str] = {}
        self.add("", RunStarted(digest=digest, version="simulated"))

    def add(self, agent: str, event: AnyEvent) -> None:
        self.entries.append(
            Entry(
                v=FORMAT,
                seq=len(self.entries),
                at="2026-11-30T00:00:00.000+00:00",
                session=self.session,
                mono=self.now,
                agent=agent,
                event=event,
            )
        )

    def agent(self, name: str, role: Role, model: str, reasoning: str = "", kind: str = "") -> None:
        root = None if self._heads else _ROOT
        self._heads[name] = _ROOT.id
        self.add(
            name,
            AgentStarted(role=role, model=model, root_id=_ROOT.id, root=root, reasoning=reasoning, worker_kind=kind),
        )
        self._steps[name] = 0

    def step(
        self,
        name: str,
        model: str,
        usage: Usage,
        *calls: tuple[str, dict[str, Any]],
        seconds: float = 0.0,
        text: str = "",
    ) -> list[str]:
        """One model call that takes `seconds`; the keys of the tool calls it made."""
        self._attempts += 1
        attempt, head = self._attempts, self._heads[name]
        self.add(
            name,
            AttemptStarted(
                attempt=attempt, head=head, model=model, prompt_bound=usage.prompt + 64, output_bound=16_000
            ),
        )
        self.now += seconds
        made = tuple(
            ToolCall(id=f"c{i}", name=tool, arguments=msgspec.json.encode(arguments).decode())
            for i, (tool, arguments) in enumerate(calls)
        )
        body = Assistant(wire="simulated", items=[], text=text, calls=made, stop="tool_calls" if made else "end")
        self.add(name, AttemptReplied(attempt=attempt, message=self._link(name, body), usage=usage, model=model))
        self._steps[name] += 1
        return [f"{name}.{self._steps[name]}.{i}" for i in range(len(calls))]

    def _link(self, name: str, body: Body) -> Message:
        """The next message of an agent's chain."""
        parent = self._heads[name]
        self._heads[name] = next_id(parent, body)
        return Message(id=self._heads[name], parent=parent, body=body)

    def started(self, name: str, call: str, tool: str) -> None:
        self.add(name, ToolStarted(call=call, tool=tool))

    def ended(self, name: str, call: str, text: str = "") -> None:
        self.add(name, ToolEnded(call=call, text=text))

    def command(
        self, name: str, call: str, seconds: float = 0.0, changed: tuple[str, ...] = (), output: str = ""
    ) -> None:
        """A bash call from its start to its end."""
        self.started(name, call, "bash")
        self.now += seconds
        size = len(output)
        self.add(name, CommandEnded(call=call, exit_code=0, head=output, size=size, seconds=seconds, changed=changed))

    def results(
        self, name: str, tools: int = 1, delivers: tuple[str, ...] = (), mail: tuple[str, ...] = (), text: str = ""
    ) -> None:
        """The results of a turn, with what was pushed on them."""
        body = ToolResults(results=tuple(ToolResult(call_id=f"c{i}", name="bash", text=text) for i in range(tools)))
        self.add(name, MessageAdded(message=self._link(name, body), delivers=delivers, mail=mail))

    def delegate(self, lead: str, worker: str, call: str, assignment: str, resumed: bool = False) -> str:
        number = 1 + sum(isinstance(e.event, DelegationStarted) for e in self.entries)
        delegation = f"d{number}"
        self.add(
            lead,
            DelegationStarted(delegation=delegation, worker=worker, call=call, assignment=assignment, resumed=resumed),
        )
        return delegation

    def report(self, delegation: str, worker: str, text: str, status: DelegationEnd = "finished") -> None:
        self.end_agent(worker)
        self.add(worker, DelegationEnded(delegation=delegation, worker=worker, status=status, report=text))

    def mail(self, sender: str, to: str, text: str, call: str = "") -> str:
        mail = f"m{1 + sum(isinstance(e.event, MailSent) for e in self.entries)}"
        self.add(sender, MailSent(mail=mail, to=to, text=text, call=call))
        return mail

    def end_agent(self, name: str, status: AgentEnd = "finished", fault: str = "") -> None:
        self.add(name, AgentEnded(status=status, fault=fault))

    def end(self, status: RunEnd = "finished", reward: float | None = None, grader: str = "") -> None:
        self.add("", RunEnded(status=status))
        if reward is not None:
            self.add("", Graded(grade=Grade(reward=reward), digest=grader))

    def write(self, path: Path) -> None:
        path.write_bytes(b"".join(_encode(e) + b"\n" for e in self.entries))
