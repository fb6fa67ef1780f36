"""Conversations as hash chains: an id names the exact prompt that ends in it.

The root is the hash of system prompt, tools and request settings; each further id is the hash of its parent and of the
canonical JSON of the body. So equal ids mean equal prompts, and a model call records only the head.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from leadhand.core.values import Body, ToolSpec, Value

_encoder = msgspec.json.Encoder(order="deterministic")


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and no white space: equal values give equal bytes."""
    return _encoder.encode(value)


def digest(data: bytes) -> str:
    """Short content address: the first 128 bits of SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()[:32]


class Root(Value, frozen=True, kw_only=True):
    """What every request of a conversation starts with. `settings` are those that a model can see or feel."""

    system: str
    tools: tuple[ToolSpec, ...] = ()
    settings: dict[str, Any] = {}

    @property
    def id(self) -> str:
        return digest(canonical(self))


def next_id(parent: str, body: Body) -> str:
    return digest(parent.encode() + b"\n" + canonical(body))


class Message(Value, frozen=True, kw_only=True):
    """One link: `id` = hash(parent id, body)."""

    id: str
    parent: str
    body: Body


class Conversation:
    """An append-only list of messages below one root. Only the agent that owns it appends.

    Adapters read `root`, `messages`, `head`; they may keep encoded parts in a `WeakKeyDictionary` by this object,
    because what is in the list never changes.
    """

    __slots__ = ("__weakref__", "messages", "root", "root_id", "size")

    def __init__(self, root: Root, messages: Iterable[Message] = ()) -> None:
        self.root = root
        self.root_id = root.id
        self.messages: list[Message] = list(messages)
        self.size = len(canonical(root)) + sum(len(canonical(m.body)) for m in self.messages)

    @property
    def head(self) -> str:
        return self.messages[-1].id if self.messages else self.root_id

    def link(self, body: Body) -> Message:
        """The message that would come next; not yet appended."""
        return Message(id=next_id(self.head, body), parent=self.head, body=body)

    def append(self, message: Message) -> None:
        if message.parent != self.head:
            raise ValueError(f"message {message.id} follows {message.parent}, not {self.head}")
        self.messages.append(message)
        self.size += len(canonical(message.body))
