"""A streamed answer of Gemini, put together to the object of the unstreamed call."""

from __future__ import annotations

from typing import Any

from leadhand.core.errors import ModelError
from leadhand.models import loose_json as lj
from leadhand.models.gemini_faults import stream_fault


class GeminiAssembler:
    """Pieces of plain text are joined. A part with a signature stays by itself: the signature belongs to that part."""

    def __init__(self) -> None:
        self._answer: dict[str, Any] = {}
        self._parts: list[dict[str, Any]] = []
        self._texts: list[str] = []
        self._finish: dict[str, Any] = {}

    def feed(self, event: str, data: bytes) -> None:
        body = lj.decode(data)
        chunk = lj.obj(body[0] if isinstance(body, list) and body else body)
        if chunk.get("error"):
            raise stream_fault(chunk["error"])
        self._answer.update({k: v for k, v in chunk.items() if k != "candidates" and v is not None})
        for candidate in lj.items(chunk.get("candidates"))[:1]:
            candidate = lj.obj(candidate)
            self._finish.update({k: v for k, v in candidate.items() if k != "content" and v is not None})
            for part in lj.items(lj.obj(candidate.get("content")).get("parts")):
                self._add(lj.obj(part))

    def _add(self, part: dict[str, Any]) -> None:
        last = self._parts[-1] if self._parts else None
        if last is not None and _plain(part) and _plain(last) and part.get("thought") == last.get("thought"):
            self._texts.append(part["text"])
            return
        self._end_text()
        self._parts.append(part)
        self._texts = [part["text"]] if _plain(part) else []

    def _end_text(self) -> None:
        if len(self._texts) > 1:
            self._parts[-1] = {**self._parts[-1], "text": "".join(self._texts)}
        self._texts = []

    def result(self) -> dict[str, Any]:
        self._end_text()
        blocked = lj.obj(self._answer.get("promptFeedback")).get("blockReason")
        if not self._finish.get("finishReason") and not blocked:
            raise ModelError("malformed", "the stream ended before the answer did", maybe_billed=True)
        if not self._finish and not self._parts:
            return self._answer
        candidate = {**self._finish, "content": {"role": "model", "parts": self._parts}}
        return {**self._answer, "candidates": [candidate]}


def _plain(part: dict[str, Any]) -> bool:
    return isinstance(part.get("text"), str) and part.keys() <= {"text", "thought"}
