"""A reading of bash commands that is good enough to see what they write: simple commands, redirections, heredocs.

Not a shell: nothing is expanded. Quoting, comments, command lists, pipelines, subshells, heredocs and redirections are
understood; what it cannot read it skips to the next separator.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t]+|\\\n)
  | (?P<newline>\n)
  | (?P<comment>(?<![^\s;&|()])\#[^\n]*)
  | (?P<heredoc>\d*<<-?(?!<))
  | (?P<redirect>(?:\d*|&)>>?[|&]?|\d*<>|\d*<&?|\d*<<<)
  | (?P<separator>&&|\|\||;;|\|&|[;|&()]|\{(?=\s)|\}(?=[\s;)]|$))
  | (?P<word>(?:[^\s\\'"`;&|()<>$]|\\.|\$\((?:[^()]|\([^()]*\))*\)|\$\{[^}]*\}|\$|`[^`]*`
       |'[^']*'|"(?:[^"\\]|\\.)*")+)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_UNQUOTE = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)""", re.DOTALL)
_SINGLE = re.compile(r"'[^']*'")
_SUBSTITUTED = re.compile(r"\$\((?!\()((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)|`([^`]*)`")
_LONGEST = 200_000


@dataclass(slots=True)
class Simple:
    """One simple command: its words unquoted, files it redirects into, heredoc or here-string text on its stdin.

    `piped`: its stdin is the output of the command before it. `inner`: the scripts of its command substitutions.
    """

    words: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    stdin: str | None = None
    piped: bool = False
    inner: list[str] = field(default_factory=list)


def substitutions(token: str) -> list[str]:
    """The scripts in $(...) and `...` of a raw word; within single quotes there are none."""
    if "$(" not in token and "`" not in token:
        return []
    return [m[1] or m[2] or "" for m in _SUBSTITUTED.finditer(_SINGLE.sub("", token))]


def unquote(word: str) -> str:
    if not any(c in word for c in "'\"\\"):
        return word

    def plain(m: re.Match[str]) -> str:
        if m[1] is not None:
            return m[1]
        return re.sub(r'\\(["\\$`\n])', r"\1", m[2]) if m[2] is not None else m[3]

    return _UNQUOTE.sub(plain, word)


def read(command: str) -> list[Simple]:
    """The simple commands of a script, in order; the scripts of command substitutions stay with their command."""
    return _Reader(command[:_LONGEST]).read()


class _Reader:
    """One pass over the text. Heredoc bodies are taken when their line ends."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._done: list[Simple] = []
        self._now = Simple()
        self._target: list[str] | None = None
        self._awaits: list[tuple[Simple, str, bool]] = []
        self._heredoc: str | None = None
        self._here_string = False

    def read(self) -> list[Simple]:
        at, text = 0, self._text
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                break
            at = match.end()
            kind, token = match.lastgroup, match.group()
            if kind == "newline":
                self._end()
                at = self._bodies(at)
            elif kind == "separator":
                self._end(piped=token in ("|", "|&"))
            elif kind == "heredoc":
                self._heredoc = token
            elif kind == "redirect":
                self._redirect(token)
            elif kind == "word":
                at = self._word(token, at)
        self._end()
        return self._done

    def _redirect(self, token: str) -> None:
        self._here_string = token.endswith("<<<")
        if self._here_string:
            return
        if ">" in token:
            # `2>` writes messages, `>&` copies a descriptor (unless a file follows).
            self._target = [] if token.startswith("2") else self._now.writes
        elif token.endswith("<"):
            self._target = self._now.reads
        else:
            self._target = []

    def _word(self, token: str, at: int) -> int:
        text = unquote(token)
        self._now.inner += substitutions(token)
        if self._heredoc is not None:
            self._awaits.append((self._now, text, self._heredoc.endswith("-")))
            self._heredoc = None
        elif self._here_string:
            self._now.stdin, self._here_string = text, False
        elif self._target is not None:
            if not text.isdigit() and text != "-":
                self._target.append(text)
            self._target = None
        else:
            self._now.words.append(text)
        return at

    def _bodies(self, at: int) -> int:
        """Take the bodies of the heredocs that the finished line announced."""
        for command, end, tabs in self._awaits:
            lines = []
            while at < len(self._text):
                stop = self._text.find("\n", at)
                stop = len(self._text) if stop < 0 else stop
                line = self._text[at:stop]
                at = stop + 1
                if (line.lstrip("\t") if tabs else line) == end:
                    break
                lines.append(line)
            command.stdin = "\n".join(lines)
        self._awaits.clear()
        return at

    def _end(self, piped: bool = False) -> None:
        now = self._now
        if now.words or now.writes or now.reads or now.inner or any(c is now for c, _, _ in self._awaits):
            self._done.append(now)
        self._now = Simple(piped=piped)
        self._target, self._here_string = None, False
