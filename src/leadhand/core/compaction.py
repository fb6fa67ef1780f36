"""Making room in a conversation that does not fit any longer: old outputs of commands are left out, oldest first.

Never the task, an assignment, a report, a message or a note, and nothing that the model has not answered yet. What is
left out stays in the journal; the agent goes on in a new chain, whose prefix is as stable as the old one's was.
"""

from __future__ import annotations

import re

from leadhand.core import wording
from leadhand.core.chain import Conversation, Elided, Message, rechained
from leadhand.core.events import Compacted
from leadhand.core.harness import Harness
from leadhand.core.state import AgentState
from leadhand.core.values import Assistant, ToolResults

KEPT_SHARE = 0.5
"""How much of an overflowing conversation is kept, if so much can go: so that it does not overflow again at once."""

LEAST_CHARS = 400
"""Shorter outputs are not worth a note that they are gone."""

# What the harness puts under a turn's last result. Outputs cannot hold a frame; one that looks like a notice is kept.
_DELIVERED = re.compile(r"\n\n(?=<leadhand-|\[d\d+ of |\[\d+ new notes?: )")
_EXIT = re.compile(r"^\[(?:exit code -?\d+|killed|timed out after .*)\]$", re.MULTILINE)


def make_room(h: Harness, agent: AgentState) -> bool:
    """Go on in a shorter chain, where the design allows it and there is something to leave out."""
    if h.design.compaction != "elide":
        return False
    elided = to_elide(agent.conversation)
    if not elided:
        return False
    head = rechained(agent.conversation.messages, elided)[-1].id
    h.record(agent.name, Compacted(head=head, elided=elided))
    return True


def to_elide(conversation: Conversation, share: float = KEPT_SHARE) -> tuple[Elided, ...]:
    """The oldest outputs of commands that bring the conversation down to a share of its size, or all there are."""
    too_much = conversation.size * (1 - share)
    chosen: list[Elided] = []
    for at, message in enumerate(_answered(conversation.messages)):
        if not isinstance(message.body, ToolResults):
            continue
        for n, result in enumerate(message.body.results):
            if too_much <= 0:
                return tuple(chosen)
            text = shortened(result.text) if result.name == "bash" else result.text
            if len(result.text) - len(text) >= LEAST_CHARS:
                chosen.append(Elided(message=at, result=n, text=text))
                too_much -= len(result.text.encode()) - len(text.encode())
    return tuple(chosen)


def _answered(messages: list[Message]) -> list[Message]:
    """The messages up to the model's latest turn: what came after it has not been read."""
    end = len(messages)
    while end and not isinstance(messages[end - 1].body, Assistant):
        end -= 1
    return messages[:end]


def shortened(text: str) -> str:
    """A command's result without its output, but with how it ended and with what was delivered under it."""
    below = _DELIVERED.search(text)
    output, delivered = (text[: below.start()], text[below.start() :]) if below else (text, "")
    exits = _EXIT.findall(output)
    note = wording.ELIDED.format(size=len(output))
    return "\n".join([note, *exits[-1:]]) + delivered
