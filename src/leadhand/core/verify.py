"""Proof that a journal's conversations are what was sent: every id is derived again from the content."""

from __future__ import annotations

from collections.abc import Iterable

from leadhand.core.chain import Message, next_id, rechained
from leadhand.core.errors import JournalError
from leadhand.core.events import AgentStarted, AttemptReplied, AttemptStarted, Compacted, Entry, MessageAdded


def verify(entries: Iterable[Entry]) -> int:
    """Derive every root, message id and compacted chain again; how many there were.

    Raises `JournalError` at the first that differs. Also checked: each message follows its agent's head, each attempt
    names it, each fork begins at a known message.
    """
    roots: set[str] = set()
    known: dict[str, Message | None] = {}
    heads: dict[str, str] = {}
    count = 0

    def derive(agent: str, message: Message) -> str:
        if message.parent != heads.get(agent):
            return f"message {message.id} follows {message.parent}, the head of {agent} is {heads.get(agent)}"
        if message.id != next_id(message.parent, message.body):
            return f"message {message.id} does not match its content"
        known[message.id] = message
        heads[agent] = message.id
        return ""

    def chain(head: str) -> list[Message]:
        found: list[Message] = []
        while (message := known.get(head)) is not None:
            found.append(message)
            head = message.parent
        return found[::-1]

    def compact(agent: str, event: Compacted) -> str:
        new = rechained(chain(heads.get(agent, "")), event.elided)
        known.update((m.id, m) for m in new)
        heads[agent] = new[-1].id if new else ""
        return "" if heads[agent] == event.head else f"the compacted chain of {agent} does not end in {event.head}"

    for entry in entries:
        wrong = ""
        match entry.event:
            case AgentStarted() as e:
                if e.root is not None:
                    count += 1
                    wrong = "" if e.root.id == e.root_id else f"root {e.root_id} does not match its content"
                    roots.add(e.root_id)
                    known[e.root_id] = None
                if e.root_id not in roots:
                    wrong = f"root {e.root_id} was never given"
                if e.at and e.at not in known:
                    wrong = f"{entry.agent} begins at {e.at}, which no conversation holds"
                heads[entry.agent] = e.at or e.root_id
            case (MessageAdded() | AttemptReplied()) as e:
                count += 1
                wrong = derive(entry.agent, e.message)
            case Compacted() as e:
                count += 1
                wrong = compact(entry.agent, e)
            case AttemptStarted() as e if e.head != heads.get(entry.agent):
                wrong = f"attempt {e.attempt} names {e.head}, the head of {entry.agent} is {heads.get(entry.agent)}"
        if wrong:
            raise JournalError(f"entry {entry.seq}: {wrong}")
    return count
