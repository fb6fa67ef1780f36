"""Encoded histories: each message of a conversation is encoded once per wire, and requests are joined from the parts.

A conversation only grows, so what was encoded stays right for as long as the object lives.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakKeyDictionary

from leadhand.core.chain import Conversation
from leadhand.core.values import Body


class EncodedHistory:
    """`encode` turns one body into the JSON items it becomes on the wire, joined by commas (b"" = nothing is sent)."""

    def __init__(self, encode: Callable[[Body], bytes]) -> None:
        self._encode = encode
        self._parts: WeakKeyDictionary[Conversation, list[bytes]] = WeakKeyDictionary()

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
