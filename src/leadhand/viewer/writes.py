"""Which files a shell command writes, read off its text. An estimate: what a program writes by itself is not seen.

Used only where the sandbox did not report the changed files of a command (`CommandEnded.changed`).
"""

from __future__ import annotations

import re

_PATH = r"""(?:"([^"\n$`]{1,300})"|'([^'\n]{1,300})'|([^\s"'|&;<>()$`]{1,300}))"""
_REDIRECT = re.compile(r"(?<![<>&=\-])(?:\d|&)?>{1,2}\|?[ \t]*" + _PATH)
_TEE = re.compile(r"\btee[ \t]+(?:-a[ \t]+)?" + _PATH)
_IN_PLACE = re.compile(
    r"\b(?:sed|perl)[ \t]+(?:-\w+[ \t]+)*-\w*i\w*[^\n|;&]{0,400}?[ \t]([^\s'\"|;&]{1,300})[ \t]*(?:$|[\n|;&])"
)
_COPY = re.compile(
    r"(?:^|[\n;&|])[ \t]*(?:cp|mv|install)[ \t]+(?:-\w+[ \t]+)*[^\n|;&]{1,400}?[ \t]" + _PATH + r"[ \t]*(?:$|[\n;&|])"
)
_HEREDOC = re.compile(r"(?<!<)<<-?[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?(\w[\w.-]*))")
# Escaped characters outside of quotes, and quoted text: a ">" in them is no redirection.
_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_IGNORED = ("/dev/", "/tmp/", "/scratch", "/proc/", "&")

MOST_TEXT = 200_000
MOST_FILES = 200


def written(command: str, workspace: str = "/workspace") -> tuple[str, ...]:
    """Files that the command writes, as paths relative to the workspace where they are in it."""
    if not any(sign in command for sign in (">", "tee", "sed", "perl", "cp ", "mv ", "install")):
        return ()
    text = _QUOTED.sub(lambda m: m.group().replace(">", "\1"), _without_documents(command[:MOST_TEXT]))
    found: dict[str, None] = {}
    for pattern in (_REDIRECT, _TEE, _IN_PLACE, _COPY):
        for match in pattern.finditer(text):
            path = next((g for g in match.groups() if g), "")
            if path and (name := _named(path, workspace)):
                found[name] = None
    return tuple(found)[:MOST_FILES]


def _named(path: str, workspace: str) -> str:
    path = path.removeprefix(workspace.rstrip("/") + "/").removeprefix("./")
    return "" if not path or path.startswith(_IGNORED) or path in (".", "..", "-") or path.isdigit() else path


def _without_documents(command: str) -> str:
    """The command without the bodies of its heredocs: what they hold is file content, not shell."""
    kept: list[str] = []
    ends: list[str] = []
    for line in command.split("\n"):
        if ends:
            if line.lstrip("\t").rstrip() == ends[0]:
                ends.pop(0)
            continue
        kept.append(line)
        if "<<" in line:
            ends = [next(g for g in m.groups() if g) for m in _HEREDOC.finditer(line)]
    return "\n".join(kept)
