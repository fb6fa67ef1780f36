"""A streamed response. Its last event holds it whole; deltas are not even parsed."""

from __future__ import annotations

from typing import Any

from leadhand.core.errors import ModelError
from leadhand.models import loose_json as lj
from leadhand.models.openai_faults import stream_fault

_ENDS = (b"response.completed", b"response.incomplete", b"response.failed")


class ResponsesAssembler:
    """Takes complete items from `output_item.done` too: some servers leave `output` out of the last event."""

    def __init__(self) -> None:
        self._answer: dict[str, Any] | None = None
        self._items: dict[int, Any] = {}

    def feed(self, event: str, data: bytes) -> None:
        start = data[:120]
        if b'.delta"' in start or data.strip() == b"[DONE]":
            return
        body = lj.obj(lj.decode(data))
        type = lj.string(body.get("type")) or event
        if type == "error" or (not type and "error" in body):
            raise stream_fault(body.get("error") or body)
        if type == "response.output_item.done":
            index = body.get("output_index")
            self._items[index if isinstance(index, int) else len(self._items)] = body.get("item")
        elif type.encode() in _ENDS:
            self._answer = lj.obj(body.get("response"))

    def result(self) -> dict[str, Any]:
        if self._answer is None:
            raise ModelError("malformed", "the stream ended before the response did", maybe_billed=True)
        if not self._answer.get("output") and self._items:
            self._answer = {**self._answer, "output": [self._items[i] for i in sorted(self._items)]}
        return self._answer
