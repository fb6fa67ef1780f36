"""A run of ours as a trajectory: a fold of its journal."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from leadhand.analysis.exchange.trajectory import Call, Result, Trajectory, Turn
from leadhand.analysis.fold import reward_of
from leadhand.core.chain import Message
from leadhand.core.events import (
    AttemptReplied,
    AttemptStarted,
    CommandEnded,
    DelegationStarted,
    Entry,
    Graded,
    MessageAdded,
)
from leadhand.core.journal import read_journal
from leadhand.core.ledger import ledger_of
from leadhand.core.state import AgentState, state_of
from leadhand.core.values import Assistant, Price, ToolResults, Usage, User
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import read_run_file


def of_run(paths: RunPaths) -> Trajectory:
    """The lead's trajectory with all workers' in it; of a group without a lead, that of the chosen agent with the
    others'. Raises `JournalError`.
    """
    lock = read_run_file(paths.run_json).lock
    entries = read_journal(paths.journal)
    return of_entries(entries, lock.prices, paths.id, lock.task.grader_digest)


def of_entries(entries: list[Entry], prices: dict[str, Price], run: str, grader: str = "") -> Trajectory:
    """The same from entries. An empty journal gives a trajectory without turns."""
    state = state_of(entries, prices)
    ledger = ledger_of(entries, prices)
    known = _Known(entries, prices)
    graded = reward_of([e.event for e in entries if isinstance(e.event, Graded)], grader)
    made = [
        Trajectory(
            id=agent.name,
            agent="leadhand",
            version=known.version,
            model=agent.model,
            turns=tuple(_turns(agent, known)),
            status=agent.ended.status if agent.ended else "",
            submission=agent.ended.text if agent.ended else "",
            cost=ledger.agents[agent.name].settled if agent.name in ledger.agents else 0.0,
            info={"role": agent.role, "reasoning": agent.reasoning, "worker_kind": agent.worker_kind},
        )
        for agent in state.agents.values()
    ]
    if not made:
        return Trajectory(id=run, agent="leadhand")
    chosen = state.selected.chosen if state.selected else made[0].id
    lead, *workers = sorted(made, key=lambda t: t.id != chosen)
    reward = graded.grade.reward if graded else None
    return msgspec.structs.replace(lead, workers=tuple(workers), reward=reward, info={**lead.info, "run": run})


class _Known:
    """What the journal says about messages beside their content: when, what they cost, who did the work."""

    def __init__(self, entries: list[Entry], prices: dict[str, Price]) -> None:
        self.messages: dict[str, Message] = {}
        self.at: dict[str, str] = {}
        self.owner: dict[str, str] = {}
        self.usage: dict[str, tuple[Usage, float, str]] = {}
        self.exits: dict[str, int] = {}
        self.workers: dict[str, str] = {}
        self.version = getattr(entries[0].event, "version", "") if entries else ""
        asked: dict[int, str] = {}
        for entry in entries:
            match entry.event:
                case MessageAdded() as e:
                    self.messages[e.message.id] = e.message
                    self.at[e.message.id] = entry.at
                    self.owner.setdefault(e.message.id, entry.agent)
                case AttemptReplied() as e:
                    self.messages[e.message.id] = e.message
                    self.at[e.message.id] = entry.at
                    self.owner.setdefault(e.message.id, entry.agent)
                    model = asked.get(e.attempt, "")
                    price = prices.get(model)
                    self.usage[e.message.id] = (e.usage, price.cost(e.usage) if price else 0.0, e.model or model)
                case CommandEnded() as e:
                    self.exits[e.call] = e.exit_code
                case DelegationStarted() as e:
                    self.workers[e.call] = e.worker
                case AttemptStarted() as e:
                    asked[e.attempt] = e.model


def _turns(agent: AgentState, known: _Known) -> Iterator[Turn]:
    # As first recorded: what a compacted conversation leaves out is told as well.
    messages = [known.messages.get(agent.origins.get(m.id, m.id), m) for m in agent.conversation.messages]
    yield Turn(source="system", text=agent.conversation.root.system)
    step = 0
    for i, message in enumerate(messages):
        copied = known.owner.get(message.id, agent.name) != agent.name
        match message.body:
            case User() as body:
                yield Turn(source="user", text=body.text, at=known.at.get(message.id, ""), copied=copied)
            case Assistant() as body:
                step += not copied
                usage, cost, model = known.usage.get(message.id, (None, None, ""))
                yield Turn(
                    source="agent",
                    text=body.text,
                    calls=tuple(Call(id=c.id, name=c.name, arguments=c.arguments) for c in body.calls),
                    results=_results(messages, i, f"{agent.name}.{step}", known),
                    usage=None if copied else usage,
                    cost=None if copied else cost,
                    model=model,
                    at=known.at.get(message.id, ""),
                    copied=copied,
                )


def _results(messages: list[Message], at: int, prefix: str, known: _Known) -> tuple[Result, ...]:
    """The results that follow a turn."""
    body = messages[at + 1].body if at + 1 < len(messages) else None
    if not isinstance(body, ToolResults):
        return ()
    return tuple(
        Result(
            call_id=r.call_id,
            text=r.text,
            exit_code=known.exits.get(f"{prefix}.{i}"),
            worker=known.workers.get(f"{prefix}.{i}", ""),
        )
        for i, r in enumerate(body.results)
    )
