"""The wires that the fake provider speaks, by path."""

from __future__ import annotations

from leadhand.testing.provider.chat import ChatServer
from leadhand.testing.provider.gemini import GeminiServer
from leadhand.testing.provider.messages import BedrockServer, MessagesServer
from leadhand.testing.provider.responses import ResponsesServer
from leadhand.testing.provider.wire import ServerWire

_BY_END: dict[str, ServerWire] = {
    "/chat/completions": ChatServer(),
    "/responses": ResponsesServer(),
    "/messages": MessagesServer(),
    "/invoke": BedrockServer(),
    ":generateContent": GeminiServer(),
    ":streamGenerateContent": GeminiServer(),
}
ROUTES = ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/model/{model}/invoke", "/v1beta/models/{model}")


def find_wire(path: str) -> ServerWire:
    """The wire that is spoken at a path of `ROUTES`. Raises `LookupError` for another method of Gemini's."""
    for end, wire in _BY_END.items():
        if path.endswith(end):
            return wire
    raise LookupError(path)
