"""Encoded histories: each message of a conversation is encoded once per wire, and requests are joined from the parts.

A conversation only grows, so what was encoded stays right for as long as the object lives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from leadhand.core.chain import Conversation, Root
from leadhand.core.values import Body
from leadhand.models.loose_json import encode


class EncodedHistory:
    """`encode` turns one body into the JSON items it becomes on the wire, joined by commas (b"" = nothing is sent).

    `fixed` gives the fields that are the same in every request of a conversation: its tools, its system prompt.
    """

    def __init__(self, encode: Callable[[Body], bytes], fixed: Callable[[Root], dict[str, Any]]) -> None:
        self._encode = encode
        self._fixed = fixed
        self._parts: WeakKeyDictionary[Conversation, list[bytes]] = WeakKeyDictionary()
        self._fields: WeakKeyDictionary[Conversation, bytes] = WeakKeyDictionary()

    def fields(self, conversation: Conversation) -> bytes:
        """The fixed fields as the middle of an object: `,"a":1,"b":2`, or nothing."""
        fields = self._fields.get(conversation)
        if fields is None:
            fixed = self._fixed(conversation.root)
            fields = self._fields[conversation] = b"," + encode(fixed)[1:-1] if fixed else b""
        return fields

    def parts(self, conversation: Conversation) -> list[bytes]:
        """One part for each message, in order. The list is the cache: do not change it."""
        parts = self._parts.get(conversation)
        if parts is None:
            parts = self._parts[conversation] = []
        for message in conversation.messages[len(parts) :]:
            parts.append(self._encode(message.body))
        return parts

    def joined(self, conversation: Conversation) -> bytes:
        """All items, joined by commas."""
        return b",".join(part for part in self.parts(conversation) if part)
