"""Text from agents and commands on its way into another agent's prompt: framed, escaped, capped.

Everything here is data to its reader. A frame is a pair of `leadhand-` tags that only the harness writes: whatever
looks like one in somebody's text is defused, so that no report, message or output can pose as harness or user.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from leadhand.core import clean
from leadhand.core.events import CommandEnded, output_bytes
from leadhand.core.state import Delegation, Mail, Note

# Characters that a reader does not see: a forged tag may hide in them.
_UNSEEN = r"[\s\u00ad\u034f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]*+"
# Possessive, so that a megabyte of blanks after a "<" takes linear time.
_TAG = re.compile(f"[<\uff1c\ufe64](?={_UNSEEN}(?:[/\uff0f]{_UNSEEN})?+{_UNSEEN.join('leadhand')})", re.IGNORECASE)
_ANSI = re.compile(r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b]*+(?:\x07|\x1b\\)|[@-Z\\^_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")


def defuse(text: str) -> str:
    """Text that holds no frame of ours."""
    return _TAG.sub("&lt;", text)


def plain(text: str) -> str:
    """Text of an agent without terminal codes, control characters, direction overrides, lone surrogates or frames."""
    return defuse(_CONTROL.sub("", _ANSI.sub("", clean.text(text).replace("\r\n", "\n").replace("\r", "\n"))))


def clip(text: str, limit: int, rest: str = "") -> str:
    """`text` in at most about `limit` characters: head and tail, with a line between that says what was left out."""
    if len(text) <= limit:
        return text
    half = limit // 2
    where = f"; the whole text is in {rest}" if rest else ""
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out{where} ...]\n{text[len(text) - half :]}"


def report(delegation: Delegation, limit: int) -> str:
    """One report, framed, in at most about `limit` characters."""
    return _report(delegation, plain(delegation.report), limit)


def merged(delegations: list[Delegation], each: int, together: int) -> str:
    """Several reports in order of completion, none over `each` characters, all within `together`."""
    texts = [plain(d.report) for d in delegations]
    limits = shares([min(each, len(t)) for t in texts], together)
    return "\n\n".join(_report(d, t, n) for d, t, n in zip(delegations, texts, limits, strict=True))


def messages(mails: list[Mail], each: int, together: int) -> str:
    """Messages from other agents in the order they were sent, capped like reports."""
    texts = [plain(m.text) for m in mails]
    limits = shares([min(each, len(t)) for t in texts], together)
    return "\n\n".join(
        f'<leadhand-message from="{m.sender}">\n{clip(t, n)}\n</leadhand-message>'
        for m, t, n in zip(mails, texts, limits, strict=True)
    )


def notes(found: list[tuple[Note, str]], each: int, together: int) -> str:
    """Notes of the shared log (each with the path of the file that holds it whole), capped like reports."""
    texts = [plain(n.text) for n, _ in found]
    limits = shares([min(each, len(t)) for t in texts], together)
    return "\n\n".join(
        f'<leadhand-note id="{n.id}" from="{n.author}">\n{clip(t, limit, path)}\n</leadhand-note>'
        for (n, path), t, limit in zip(found, texts, limits, strict=True)
    )


def shares(wanted: list[int], together: int) -> list[int]:
    """How much of `together` each gets: what it wants, or the same as all others that want more than there is."""
    limits, left = [0] * len(wanted), together
    for done, i in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        limits[i] = min(wanted[i], left // (len(wanted) - done))
        left -= limits[i]
    return limits


def _report(delegation: Delegation, text: str, limit: int) -> str:
    head = f'<leadhand-report worker="{delegation.worker}" delegation="{delegation.id}" status="{delegation.status}">'
    return f"{head}\n{clip(text, limit, delegation.spill)}\n</leadhand-report>"


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


def check(event: CommandEnded, limit: int) -> str:
    """How a check of the team's work came out, framed: what it printed is whatever the work made it print."""
    return f"<leadhand-check>\n{plain(command(event, limit).text)}\n</leadhand-check>"


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
