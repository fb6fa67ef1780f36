"""A call that a local server's model wrote as text: `{"name": "bash", "arguments": {"command": "ls"}}`, and no more.

Taken as a call only where it cannot be anything else: the whole text is one object that names a tool of this
conversation and gives arguments that the tool has, all that it needs among them. Everything else stays text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from leadhand.core.values import Assistant, ToolCall, ToolSpec
from leadhand.models import loose_json as lj

_ARGUMENTS = ("arguments", "parameters")
_BESIDE = frozenset(("name", "type", "id"))


def call_in_text(message: Assistant, tools: Iterable[ToolSpec]) -> Assistant:
    """The message with its text as a call, if it is one beyond doubt; the provider's item stays as it came."""
    if message.calls or message.stop != "end" or not message.text.lstrip().startswith("{"):
        return message
    found = _read(message.text)
    if found is None:
        return message
    name, arguments = found
    if not any(t.name == name and _fits(arguments, t.parameters) for t in tools):
        return message
    call = ToolCall(id="call_0", name=name, arguments=lj.text(arguments))
    return msgspec.structs.replace(message, text="", calls=(call,), stop="tool_calls")


def _read(text: str) -> tuple[str, dict[str, Any]] | None:
    """Name and arguments, where the text is an object of one of the usual shapes."""
    try:
        whole = lj.decode(text.strip())
    except ValueError:
        return None
    if not isinstance(whole, dict):
        return None
    if isinstance(whole.get("function"), dict) and whole.keys() - {"function"} <= {"type", "id"}:
        whole = whole["function"]
    given = [key for key in _ARGUMENTS if key in whole]
    if len(given) != 1 or whole.keys() - _BESIDE != {given[0]} or not isinstance(whole.get("name"), str):
        return None
    arguments = whole[given[0]]
    if isinstance(arguments, str):
        try:
            arguments = lj.decode(arguments)
        except ValueError:
            return None
    return (whole["name"], arguments) if isinstance(arguments, dict) else None


def _fits(arguments: dict[str, Any], schema: dict[str, Any]) -> bool:
    known, needed = lj.obj(schema.get("properties")), lj.items(schema.get("required"))
    return arguments.keys() <= known.keys() and set(needed) <= arguments.keys()
