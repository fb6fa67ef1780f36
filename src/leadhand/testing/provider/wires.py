"""The wires that the fake provider speaks, by path."""

from __future__ import annotations

from leadhand.testing.provider.chat import ChatServer
from leadhand.testing.provider.wire import ServerWire

_CHAT: ServerWire = ChatServer()
ROUTES = ("/v1/chat/completions",)


def find_wire(path: str) -> ServerWire:
    return _CHAT
