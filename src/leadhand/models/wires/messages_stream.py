"""A streamed message, put together to the object of the unstreamed call."""

from __future__ import annotations

from typing import Any

from leadhand.core.errors import ModelError
from leadhand.models import loose_json as lj
from leadhand.models.anthropic_faults import stream_fault

_JOINED = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
MAX_BLOCKS = 10_000


class MessagesAssembler:
    """Blocks by index. Text is joined in pieces; a tool's input is parsed when its block ends."""

    def __init__(self) -> None:
        self._answer: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._texts: dict[tuple[int, str], list[str]] = {}
        self._inputs: dict[int, list[str]] = {}
        self._stopped = False

    def feed(self, event: str, data: bytes) -> None:
        body = lj.obj(lj.decode(data))
        match lj.string(body.get("type")) or event:
            case "error":
                raise stream_fault(body.get("error"))
            case "message_start":
                self._answer = dict(lj.obj(body.get("message")))
                self._count(self._answer.get("usage"))
            case "content_block_start":
                self._blocks[_index(body)] = dict(lj.obj(body.get("content_block")))
            case "content_block_delta":
                self._delta(_index(body), lj.obj(body.get("delta")))
            case "message_delta":
                self._answer.update(lj.obj(body.get("delta")))
                self._count(body.get("usage"))
            case "message_stop":
                self._stopped = True

    def _count(self, usage: Any) -> None:
        self._usage.update({k: v for k, v in lj.obj(usage).items() if v is not None})

    def _delta(self, index: int, delta: dict[str, Any]) -> None:
        kind = lj.string(delta.get("type"))
        if kind == "input_json_delta":
            self._inputs.setdefault(index, []).append(lj.string(delta.get("partial_json")))
        elif kind in _JOINED:
            field = _JOINED[kind]
            self._texts.setdefault((index, field), []).append(lj.string(delta.get(field)))
        elif kind == "citations_delta":
            block = self._blocks.setdefault(index, {"type": "text", "text": ""})
            block["citations"] = [*lj.items(block.get("citations")), delta.get("citation")]

    def result(self) -> dict[str, Any]:
        if not self._stopped and not self._answer.get("stop_reason"):
            raise ModelError("malformed", "the stream ended before the message did", maybe_billed=True)
        for (index, field), pieces in self._texts.items():
            block = self._blocks.setdefault(index, {"type": "text"})
            block[field] = lj.string(block.get(field)) + "".join(pieces)
        order = sorted(self._blocks)
        partial: dict[str, str] = {}
        for position, index in enumerate(order):
            written = "".join(self._inputs.get(index, []))
            if written:
                try:
                    self._blocks[index]["input"] = lj.obj(lj.decode(written))
                except ValueError:
                    partial[str(position)] = written
        content = [self._blocks[i] for i in order]
        return {**self._answer, "content": content, "usage": self._usage, "partial_inputs": partial}


def _index(body: dict[str, Any]) -> int:
    index = body.get("index")
    if not isinstance(index, int) or not 0 <= index < MAX_BLOCKS:
        raise ModelError("malformed", "a block of the stream has no place", maybe_billed=True)
    return index
