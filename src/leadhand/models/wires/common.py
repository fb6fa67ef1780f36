"""What several wires share: settings at the end of a request, call ids, the tool `parallel` that models make up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from leadhand.core.chain import Root
from leadhand.core.values import ToolCall, ToolResult
from leadhand.models import loose_json as lj

MAX_CALLS = 128
"""More calls than this in one turn are hostile or a loop: the rest is left out of the view."""

_PARALLEL = ("parallel", "multi_tool_use.parallel", "multi_tool_use_parallel")
_JOINT = re.compile(r"^(.*)::use\d+$", re.DOTALL)


def must_call(root: Root) -> bool:
    """Whether the model must call a tool in every turn (`tool_choice` of the conversation's settings is `required`)."""
    return bool(root.tools) and root.settings.get("tool_choice") == "required"


def tail_settings(settings: dict[str, Any]) -> bytes:
    """Settings as the end of an object whose history was written before them: prefixes stay equal between calls."""
    return b"," + lj.encode(settings)[1:] if settings else b"}"


def looks_ours(id: str) -> bool:
    """Whether a provider's call id could be taken for one that `expand_parallel` makes."""
    return _JOINT.match(id) is not None


def distinct_ids(calls: Sequence[ToolCall]) -> tuple[list[ToolCall], bool]:
    """Calls with ids that are there, differ within the turn and do not look like ours; whether any was changed."""
    seen: set[str] = set()
    fixed: list[ToolCall] = []
    for index, call in enumerate(calls):
        id = call.id
        if not id or id in seen or looks_ours(id):
            id = f"call_{index}"
            while id in seen:
                id += "_"
        seen.add(id)
        fixed.append(call if id == call.id else ToolCall(id=id, name=call.name, arguments=call.arguments))
    return fixed, any(a is not b for a, b in zip(calls, fixed, strict=True))


def expand_parallel(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """The calls inside a made-up `parallel` call, each with an id from which `merge_results` finds its parent."""
    out: list[ToolCall] = []
    for call in calls:
        out.extend(_uses(call) if call.name in _PARALLEL else [call])
    return tuple(out[:MAX_CALLS])


def _uses(call: ToolCall) -> list[ToolCall]:
    try:
        uses = lj.items(lj.obj(lj.decode(call.arguments)).get("tool_uses"))
    except ValueError:
        return [call]
    inner = [
        ToolCall(
            id=f"{call.id}::use{i}",
            name=lj.string(lj.obj(use).get("recipient_name")).removeprefix("functions."),
            arguments=lj.text(lj.obj(lj.obj(use).get("parameters"))),
        )
        for i, use in enumerate(uses)
    ]
    return inner or [call]


def merge_results(results: Sequence[ToolResult]) -> list[ToolResult]:
    """One result for each call that the model really made: those of an expanded `parallel` call are joined."""
    merged: dict[str, ToolResult] = {}
    for result in results:
        joint = _JOINT.match(result.call_id)
        if joint is None:
            merged[result.call_id] = result
            continue
        parent = joint[1]
        before = merged.get(parent)
        merged[parent] = ToolResult(
            call_id=parent,
            name=before.name if before else "parallel",
            text=(before.text + "\n\n" if before else "") + f"[{result.name}]\n{result.text}",
            is_error=result.is_error or (before is not None and before.is_error),
        )
    return list(merged.values())
