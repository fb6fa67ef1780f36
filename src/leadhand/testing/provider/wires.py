"""The wires that the fake provider speaks, by path."""

from __future__ import annotations

from leadhand.testing.provider.chat import ChatServer
from leadhand.testing.provider.responses import ResponsesServer
from leadhand.testing.provider.wire import ServerWire

_BY_END: dict[str, ServerWire] = {
    "/chat/completions": ChatServer(),
    "/responses": ResponsesServer(),
}
ROUTES = ("/v1/chat/completions", "/v1/responses")


def find_wire(path: str) -> ServerWire:
    """The wire that is spoken at a path of `ROUTES`."""
    return next(wire for end, wire in _BY_END.items() if path.endswith(end))
