"""What all agents of one run share, and how an agent's work ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from leadhand.core.chain import Message, Root
from leadhand.core.design import Design
from leadhand.core.events import AgentEnd, AnyEvent, MessageAdded, Role
from leadhand.core.journal import Journal
from leadhand.core.ports import Limiter, Model, Sandbox, TryWork
from leadhand.core.schedule import NOTHING, Push
from leadhand.core.signal import Signal
from leadhand.core.state import AgentState, State
from leadhand.core.tools import specs
from leadhand.core.values import Body, Value


class Prompts(Value, frozen=True, kw_only=True):
    """The wording of a run, as text. `digests` names the files it came from by their content.

    `role` is what a forked worker is told of its part: it has the lead's system prompt, not the workers'.
    """

    lead: str
    worker: str
    assignment: str
    task: str
    role: str = ""
    digests: dict[str, str] = {}


class End(NamedTuple):
    """How an agent's work ended. `fault` names the provider or sandbox fault, where one did it."""

    status: AgentEnd
    text: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Harness:
    """One run's journal, state, ports and settings. `changed` is notified when a delegation ends or mail arrives,
    `settled` when an attempt ends. `models` is keyed by the names in the design. `try_work` is there where the design
    has a `finish_check`.
    """

    journal: Journal
    state: State
    design: Design
    prompts: Prompts
    models: Mapping[str, Model]
    sandbox: Sandbox
    limiter: Limiter
    cache_key: str = ""
    random: Random = field(default_factory=Random)
    changed: Signal = field(default_factory=Signal)
    settled: Signal = field(default_factory=Signal)
    try_work: TryWork | None = None

    def record(self, agent: str, event: AnyEvent) -> None:
        """Append to the journal; the state follows by subscription."""
        self.journal.append(agent, event)

    def add(self, agent: AgentState, body: Body, push: Push = NOTHING, assigns: str = "") -> Message:
        """Add a message of the harness to an agent's conversation, with what it delivers."""
        message = agent.conversation.link(body)
        event = MessageAdded(
            message=message,
            delivers=push.delivers,
            announces=push.announces,
            mail=push.mail,
            assigns=assigns,
            notes=push.notes,
        )
        self.record(agent.name, event)
        return message

    def key_of(self, agent: str) -> str:
        """The cache key of an agent: stable over the run, and over its sessions."""
        return f"{self.cache_key}-{agent}"

    def root(self, role: Role, model: str, reasoning: str, cache_ttl: str = "") -> Root:
        """The root of a conversation of this run."""
        return root_of(self.design, self.prompts, role, model, reasoning, cache_ttl)


def root_of(design: Design, prompts: Prompts, role: Role, model: str, reasoning: str, cache_ttl: str = "") -> Root:
    """The root of a conversation: system prompt, tools, and the settings that a model can feel."""
    system = prompts.worker if role == "worker" else prompts.lead
    settings = {"model": model, "reasoning": reasoning, "max_output_tokens": design.max_output_tokens}
    if cache_ttl:
        settings["cache_ttl"] = cache_ttl
    return Root(system=system, tools=specs(design, role), settings=settings)
