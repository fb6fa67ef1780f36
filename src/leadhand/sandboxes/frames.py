"""The runner's protocol as bytes: requests out, replies in. Pure; the other side is `runner.sh`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

SCRIPT = (Path(__file__).parent / "runner.sh").read_text("ascii")
Maker = Callable[[int], bytes]
LINE = 4096  # no reply's first line is longer

# What a new runner is started with: a bash that reads the script from its stream, under a name of its own, so that
# neither `pkill bash` nor `pkill -f <a word of the script>` finds it.
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


def boot(*, spool: str, name: str, launcher: str, file_kib: int, sweep: str, before: str = "") -> bytes:
    """The first bytes on a new runner's stream: the script with its arguments, after the shell text `before`."""
    arguments = [spool, name, launcher, str(file_kib), sweep]
    text = f"{before}LH_BOOT={shlex.quote(BOOT)}\nset -- {shlex.join(arguments)}\n{SCRIPT}".encode()
    return b"%d\n%s" % (len(text), text)


def run(id: int, keep: int, cwd: bytes, command: bytes) -> bytes:
    return b"RUN %d %d %d %d\n%s%s" % (id, keep, len(cwd), len(command), cwd, command)


def put(id: int, path: bytes, data: bytes) -> bytes:
    return b"PUT %d %d %d\n%s%s" % (id, len(path), len(data), path, data)


def ping(id: int) -> bytes:
    return b"PING %d\n" % id


def spawn(name: str, fifo_in: str, fifo_out: str) -> bytes:
    """Has no reply: the new runner says hello on its own stream."""
    return f"SPAWN 0 {name} {fifo_in} {fifo_out}\n".encode()


def kill(id: int, name: str, runner: int) -> bytes:
    return f"KILL {id} {name} {runner}\n".encode()


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
