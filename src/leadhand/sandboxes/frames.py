"""The runners' protocol as bytes: requests out, replies in. Pure; the other side is `runner.c` and `control.sh`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

SCRIPT = (Path(__file__).parent / "control.sh").read_text("ascii")
Maker = Callable[[int], bytes]
LINE = 4096  # no reply's first line is longer

# What the control runner is started with: a bash that reads the script from its stream, under a name of its own, so
# that neither `pkill bash` nor `pkill -f <a word of the script>` finds it.
_READ = 'IFS= read -r lh_n; LC_ALL=C IFS= read -r -N "$lh_n" lh_s; eval "$lh_s"'
#
# The process limit while it starts: bash takes it as the number of children to remember, half a MB for 32,768.
BOOT = f"ulimit -S -u 256; exec -a leadhand /bin/bash --norc --noprofile -c {shlex.quote(_READ)}"


class BadFrame(Exception):
    """The other side wrote what no runner writes; its stream is of no use any more."""


class Reply(NamedTuple):
    """One reply. `flag`: e the output ended, b something in the background holds it, f it was cut off."""

    id: int
    code: int
    size: int
    flag: str
    path: str
    body: bytes


def boot(*, sweep: str, folder: str, spool: str, file_kib: int) -> bytes:
    """The first bytes on the control runner's stream: the script with its arguments."""
    text = f"set -- {shlex.join([sweep, folder, spool, str(file_kib)])}\n{SCRIPT}".encode()
    return b"%d\n%s" % (len(text), text)


def arguments(*, spool: str, name: str, file_kib: int) -> list[str]:
    """What a runner's program is called with; control.sh does the same."""
    return ["0000000000", spool, name, str(file_kib)]


def run(id: int, keep: int, cwd: bytes, command: bytes) -> bytes:
    return b"RUN %d %d %d %d\n%s%s" % (id, keep, len(cwd), len(command), cwd, command)


def put(id: int, path: bytes, data: bytes) -> bytes:
    return b"PUT %d %d %d\n%s%s" % (id, len(path), len(data), path, data)


def spawn(name: str) -> bytes:
    """Has no reply: the new runner says hello on its own stream."""
    return f"SPAWN 0 {name}\n".encode()


def kill(id: int, runner: int) -> bytes:
    return f"KILL {id} {runner}\n".encode()


def sweep(id: int, root: int, spared: Iterable[int] = ()) -> bytes:
    """Kill everything below `root` (0 = everything), except the processes `spared`."""
    return f"SWEEP {id} {root} {' '.join(map(str, spared))}\n".encode()


def orphans(id: int, root: int, spared: Iterable[int]) -> bytes:
    """Kill everything below `root` that is not in the tree of a process `spared`."""
    return f"ORPHANS {id} {root} {' '.join(map(str, spared))}\n".encode()


class Parser:
    """Bytes in any pieces to whole replies. `limit` bounds the body that a reply may announce."""

    def __init__(self) -> None:
        self.limit = 0
        self._buffer = bytearray()
        self._head: tuple[int, int, int, int, str, str] | None = None

    def feed(self, data: bytes) -> list[Reply]:
        """The replies completed by `data`. Raises `BadFrame`."""
        self._buffer += data
        replies = []
        while (reply := self._next()) is not None:
            replies.append(reply)
        return replies

    def _next(self) -> Reply | None:
        if self._head is None:
            end = self._buffer.find(b"\n", 0, LINE)
            if end < 0:
                if len(self._buffer) >= LINE:
                    raise BadFrame("a line without end")
                return None
            self._head = _head(bytes(self._buffer[:end]), self.limit)
            del self._buffer[: end + 1]
        id, code, size, sent, flag, path = self._head
        if len(self._buffer) < sent:
            return None
        body = bytes(self._buffer[:sent])
        del self._buffer[:sent]
        self._head = None
        return Reply(id, code, size, flag, path, body)


def _head(line: bytes, limit: int) -> tuple[int, int, int, int, str, str]:
    parts = line.decode("utf-8", "replace").split(" ", 6)
    try:
        mark, id, code, size, sent, flag, path = parts
        numbers = int(id), int(code), int(size), int(sent)
    except ValueError:
        raise BadFrame("not a reply") from None
    if mark != "LH" or not 0 <= numbers[3] <= limit or numbers[2] < numbers[3]:
        raise BadFrame("not a reply")
    return (*numbers, flag, "" if path == "-" else path)
