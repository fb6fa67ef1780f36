"""Text from agents and commands on its way into another agent's prompt: framed, escaped, capped.

Everything here is data to its reader. A frame is a pair of `leadhand-` tags that only the harness writes: whatever
looks like one in somebody's text is defused, so that no report, message or output can pose as harness or user.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from leadhand.core.events import CommandEnded, output_bytes
from leadhand.core.state import Delegation, Mail

_TAG = re.compile(r"<(?=\s*/?\s*leadhand-)", re.IGNORECASE)
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")


def defuse(text: str) -> str:
    """Text that holds no frame of ours."""
    return _TAG.sub("&lt;", text)


def plain(text: str) -> str:
    """Text of an agent without terminal codes, control characters, direction overrides, lone surrogates or frames."""
    text = text.encode("utf-8", "replace").decode()
    return defuse(_CONTROL.sub("", _ANSI.sub("", text)))


def clip(text: str, limit: int, rest: str = "") -> str:
    """`text` in at most about `limit` characters: head and tail, with a line between that says what was left out."""
    if len(text) <= limit:
        return text
    half = limit // 2
    where = f"; the whole text is in {rest}" if rest else ""
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out{where} ...]\n{text[len(text) - half :]}"


def report(delegation: Delegation, limit: int) -> str:
    """One report, framed."""
    text = clip(plain(delegation.report), limit, delegation.spill)
    head = f'<leadhand-report worker="{delegation.worker}" delegation="{delegation.id}" status="{delegation.status}">'
    return f"{head}\n{text}\n</leadhand-report>"


def merged(delegations: list[Delegation], each: int, together: int) -> str:
    """Several reports in order of completion, none over `each` characters, all within `together`."""
    share = min(each, together // max(1, len(delegations)))
    return "\n\n".join(report(d, share) for d in delegations)


def message(mail: Mail, limit: int) -> str:
    """One message from another agent, framed."""
    return f'<leadhand-message from="{mail.sender}">\n{clip(plain(mail.text), limit)}\n</leadhand-message>'


class CommandText(NamedTuple):
    """A command's output as the model sees it; `clipped` says that some of it was left out."""

    text: str
    clipped: bool


def command(event: CommandEnded, limit: int, spill: str = "") -> CommandText:
    """A command's outcome for the model. `spill` is where the sandbox keeps the whole output, if it does."""
    head, tail = output_bytes(event)
    left_out = event.size - len(head) - len(tail)
    text = defuse(head.decode("utf-8", "replace"))
    if left_out > 0:
        half = limit // 2
        end = defuse(tail.decode("utf-8", "replace"))
        where = f"; the whole output is in {event.spill or spill}" if event.spill or spill else ""
        text = f"{text[:half]}\n[... output of {event.size} bytes, middle left out{where} ...]\n{end[-half:]}"
    else:
        text += defuse(tail.decode("utf-8", "replace"))
    clipped = left_out > 0 or len(text) > limit
    if left_out <= 0:
        text = clip(text, limit, spill)
    if text and not text.endswith("\n"):
        text += "\n"
    return CommandText(text + _last_line(event), clipped)


def _last_line(event: CommandEnded) -> str:
    match event.ended:
        case "timed_out":
            return f"[timed out after {event.seconds:.0f} s: everything the command had started was killed]"
        case "killed":
            return "[killed]"
        case "flooded":
            return f"[stopped: the output passed the limit; exit code {event.exit_code}]"
        case "runner_lost":
            return "[the shell that ran this command died and was replaced; the command did not finish]"
        case "exited":
            return f"[exit code {event.exit_code}]"
