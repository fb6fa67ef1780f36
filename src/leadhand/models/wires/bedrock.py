"""Claude on Amazon Bedrock, by InvokeModel: Anthropic's own JSON under another address. Not streamed."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from leadhand.core.errors import ModelError
from leadhand.core.ports import Request
from leadhand.models.bedrock_faults import bedrock_fault
from leadhand.models.wires.messages import MessagesWire


class BedrockWire(MessagesWire):
    def path(self, request: Request, *, stream: bool) -> str:
        return f"/model/{quote(request.model, safe='')}/invoke"

    def encode(self, request: Request, *, stream: bool) -> bytes:
        return self.body(request, {"anthropic_version": "bedrock-2023-05-31"})

    def fault(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
        return bedrock_fault(status, headers, body)
