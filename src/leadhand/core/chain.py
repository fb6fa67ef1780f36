"""Conversations as hash chains: an id names the exact prompt that ends in it.

The root is the hash of system prompt, tools and request settings; each further id is the hash of its parent and of the
canonical JSON of the body. So equal ids mean equal prompts, and a model call records only the head.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from leadhand.core.clean import encoded
from leadhand.core.errors import JournalError
from leadhand.core.values import Assistant, Body, ToolResults, ToolSpec, Value

_encoder = msgspec.json.Encoder(order="sorted")


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and no white space: equal values give equal bytes."""
    return _encoder.encode(value)


def digest(data: bytes) -> str:
    """Short content address: the first 128 bits of SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()[:32]


def spelled_out(value: Any) -> Any:
    """A value as plain data in which equal settings look equal: defaults are written, 180 is 180.0.

    msgspec leaves out a default by identity, not by equality, so a struct's own encoding will not do.
    """
    match value:
        case msgspec.Struct():
            return {f: spelled_out(getattr(value, f)) for f in value.__struct_fields__}
        case dict():
            return {str(k): spelled_out(v) for k, v in value.items()}
        case list() | tuple():
            return [spelled_out(v) for v in value]
        case int() if not isinstance(value, bool):
            return float(value)
    return value


class Root(Value, frozen=True, kw_only=True):
    """What every request of a conversation starts with. `settings` are those that a model can see or feel."""

    system: str
    tools: tuple[ToolSpec, ...] = ()
    settings: dict[str, Any] = {}

    @property
    def id(self) -> str:
        return digest(canonical(self))


def next_id(parent: str, body: Body) -> str:
    return _id(parent, canonical(body))


def _id(parent: str, body: bytes) -> str:
    return digest(parent.encode() + b"\n" + body)


class Message(Value, frozen=True, kw_only=True):
    """One link: `id` = hash(parent id, body)."""

    id: str
    parent: str
    body: Body


class Elided(Value, frozen=True, kw_only=True):
    """One tool result that says something else in a new chain: its places in the old chain and in its message."""

    message: int
    result: int
    text: str


def rechained(messages: Sequence[Message], elided: Iterable[Elided]) -> list[Message]:
    """A chain with some results replaced. Messages before the first keep their ids, those after it get new ones.

    Raises `JournalError` where there is no such result.
    """
    texts: dict[int, dict[int, str]] = {}
    for e in elided:
        texts.setdefault(e.message, {})[e.result] = e.text
    first = min(texts, default=len(messages))
    chain = list(messages[:first])
    for place, message in enumerate(messages[first:], first):
        body, parent = _replaced(message.body, texts.pop(place, {})), chain[-1].id if chain else message.parent
        chain.append(Message(id=next_id(parent, body), parent=parent, body=body))
    if texts:
        raise JournalError(f"message {min(texts)} of a chain of {len(messages)} was elided: the journal is damaged")
    return chain


def _replaced(body: Body, texts: dict[int, str]) -> Body:
    if not texts:
        return body
    if not isinstance(body, ToolResults) or max(texts) >= len(body.results) or min(texts) < 0:
        raise JournalError("something was elided that is no tool result: the journal is damaged")
    results = tuple(msgspec.structs.replace(r, text=texts[i]) if i in texts else r for i, r in enumerate(body.results))
    return ToolResults(results=results)


class Conversation:
    """An append-only list of messages below one root. Only the agent that owns it appends.

    Adapters read `root`, `messages`, `head` and `turns` (the number of the model's own messages); they may keep encoded
    parts in a `WeakKeyDictionary` by this object, because what is in the list never changes.
    """

    __slots__ = ("__weakref__", "_linked", "messages", "root", "root_id", "size", "turns")

    def __init__(self, root: Root, messages: Iterable[Message] = ()) -> None:
        self.root = root
        self.root_id = root.id
        self.messages: list[Message] = list(messages)
        self.turns = sum(isinstance(m.body, Assistant) for m in self.messages)
        self.size = len(canonical(root)) + sum(len(canonical(m.body)) for m in self.messages)
        self._linked: tuple[Message, int] | None = None

    @property
    def head(self) -> str:
        return self.messages[-1].id if self.messages else self.root_id

    def link(self, body: Body) -> Message:
        """The message that would come next; not yet appended. Text that UTF-8 cannot hold is mended."""
        body, raw = encoded(body, Body)
        message = Message(id=_id(self.head, raw), parent=self.head, body=body)
        self._linked = message, len(raw)
        return message

    def append(self, message: Message) -> None:
        """Take the next message. Raises `JournalError` where it does not follow, or its id does not re-derive."""
        linked, size = self._linked or (None, 0)
        if linked is not message:
            size = self._derive(message)
        self.messages.append(message)
        self.turns += isinstance(message.body, Assistant)
        self.size += size
        self._linked = None

    def _derive(self, message: Message) -> int:
        """The size of a message that was read rather than linked here, after its id was checked."""
        raw = canonical(message.body)
        if message.parent != self.head:
            raise JournalError(
                f"message {message.id} follows {message.parent}, not {self.head}: the journal is damaged"
            )
        if message.id != _id(message.parent, raw):
            raise JournalError(f"message {message.id} does not match its content: the journal was changed")
        return len(raw)
