"""What the fake provider understood of a request, and the odd answers it can be told to give."""

from __future__ import annotations

from typing import Any

from leadhand.core.values import Body, Value
from leadhand.testing.scripted import Step


class Block(Value, frozen=True, kw_only=True):
    """One item of a prompt, in cache order (tools, system, content); `ttl` marks an explicit breakpoint after it."""

    data: bytes
    ttl: str = ""


class Asked(Value, frozen=True, kw_only=True):
    """A request of any wire. `key` is the `prompt_cache_key` ("" where there is none); `cache_ttl` the
    lifetime that was asked for of an automatic cache."""

    wire: str
    model: str
    bodies: tuple[Body, ...]
    blocks: tuple[Block, ...]
    max_output_tokens: int
    stream: bool = False
    key: str = ""
    cache_ttl: str = ""
    agent: str = ""


class Raw(Step, frozen=True, kw_only=True):
    """A step whose answer is given byte for byte: for shapes that a well-behaved server would not send.

    `body` is sent as JSON unless it is `bytes`; `usage` (of `Step`) is what is billed.
    """

    body: Any = None
    status: int = 200
    content_type: str = "application/json"
    headers: dict[str, str] = {}


class BadRequest(Exception):
    """A request that the real provider would refuse: 400 with this text."""

    def __init__(self, message: str, *, code: str = "", param: str = "", status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.param = param
        self.status = status
