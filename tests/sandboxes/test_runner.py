"""The runner is a program built beforehand: it is the one of the source beside it, and does what it says."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from leadhand.core.errors import UsageError
from leadhand.sandboxes import frames, runner

EMULATOR = "qemu-aarch64-static"
HERE = os.uname().machine
MACHINES = [HERE, *(["aarch64"] if shutil.which(EMULATOR) and HERE != "aarch64" else [])]
only_here = pytest.mark.parametrize("program", [HERE], indirect=True)
"""For what the emulator does not do: no subreapers, and its own arguments before the program's."""


class Served(NamedTuple):
    """A runner at work, its requests and replies as bytes."""

    process: subprocess.Popen[bytes]
    parser: frames.Parser
    spool: Path
    where: Path

    def run(self, command: str, *, keep: int = 65536, cwd: str = "") -> frames.Reply:
        return self.ask(frames.run(7, keep, (cwd or str(self.where)).encode(), command.encode()))

    def ask(self, request: bytes) -> frames.Reply:
        self.send(request)
        return self.reply()

    def send(self, request: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(request)
        self.process.stdin.flush()

    def reply(self) -> frames.Reply:
        """The next one; nothing comes after it. Raises `EOFError` when the runner ends instead."""
        assert self.process.stdout is not None
        while data := os.read(self.process.stdout.fileno(), 1 << 16):
            if replies := self.parser.feed(data):
                assert len(replies) == 1
                return replies[0]
        raise EOFError

    def arguments(self) -> list[bytes]:
        return Path(f"/proc/{self.process.pid}/cmdline").read_bytes().split(b"\0")


@pytest.fixture(params=MACHINES)
def program(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    path = tmp_path / "runner"
    path.write_bytes(runner.program_for(request.param))
    path.chmod(0o755)
    return [str(path)] if request.param == HERE else [EMULATOR, str(path)]


@pytest.fixture
def serve(program: list[str], tmp_path: Path) -> Iterator[Callable[..., Served]]:
    begun: list[subprocess.Popen[bytes]] = []

    def begin(kib: int = 1024, spool: str = "spool/deep") -> Served:
        where = tmp_path / spool
        argv = [*program, *frames.arguments(spool=str(where), name="lead.0", file_kib=kib)]
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        begun.append(process)
        served = Served(process, frames.Parser(), where, tmp_path)
        served.parser.limit = 1 << 20
        assert served.reply() == frames.Reply(0, process.pid, 0, "e", f"{os.getuid()}:{os.getgid()}", b"")
        return served

    yield begin
    for process in begun:
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin, process.stdout:
            pass
        assert process.wait(10) in (0, 1)


def test_it_was_built_from_the_source_beside_it() -> None:
    source = Path(runner.__file__).with_name("runner.c").read_bytes()
    assert hashlib.sha256(source).hexdigest() == runner.SOURCE, "run scripts/build-runner.sh"


def test_both_processors_have_one_and_others_are_refused() -> None:
    machines = {machine: runner.program_for(machine)[18] for machine in ("x86_64", "amd64", "aarch64", "arm64")}
    assert machines == {"x86_64": 62, "amd64": 62, "aarch64": 183, "arm64": 183}
    with pytest.raises(UsageError, match="riscv64"):
        runner.program_for("riscv64")


def test_a_small_output_comes_back_and_leaves_no_file(serve: Callable[..., Served]) -> None:
    served = serve()
    assert served.run("echo one; echo two >&2; printf 'a\\0'; exit 7") == (7, 7, 10, "e", "", b"one\ntwo\na\0")
    assert served.run("") == (7, 0, 0, "e", "", b"")
    assert served.run("kill -9 $$") == (7, 137, 0, "e", "", b"")
    assert served.run("trap '' TERM; kill $PPID; kill -INT $PPID; pwd", cwd="/usr").body == b"/usr\n"
    assert not served.spool.exists()


def test_a_long_output_comes_back_as_both_ends_and_a_file(serve: Callable[..., Served]) -> None:
    served = serve()
    whole = b"".join(b"%d\n" % n for n in range(1, 60_001))
    for size in (2001, 131_072, 131_073, len(whole)):
        reply = served.run(f"seq 60000 | head -c {size}", keep=1000)
        assert (reply.code, reply.size, reply.flag) == (0, size, "e")
        assert reply.body == whole[:1000] + whole[size - 1000 : size]
        assert Path(reply.path).read_bytes() == whole[:size]
        assert Path(reply.path).parent == served.spool
    assert len(os.listdir(served.spool)) == 4  # each its own


def test_an_output_that_fits_is_whole_even_if_it_needed_a_file(serve: Callable[..., Served]) -> None:
    served = serve()
    for size in (131_072, 131_073, 400_000):
        reply = served.run(f"head -c {size} /dev/zero", keep=200_000)
        assert reply == (7, 0, size, "e", "", bytes(size))
        assert os.listdir(served.spool) == [] if served.spool.exists() else size == 131_072


def test_files_of_an_earlier_session_stay(serve: Callable[..., Served]) -> None:
    paths = set()
    for _ in range(2):
        reply = serve().run("seq 9", keep=1)
        assert Path(reply.path).read_bytes() == b"1\n2\n3\n4\n5\n6\n7\n8\n9\n"
        paths.add(reply.path)
    assert len(paths) == 2


def test_a_full_file_ends_the_command(serve: Callable[..., Served]) -> None:
    served = serve(kib=300)
    reply = served.run("yes; exit 3", keep=4)
    assert reply[1:] == (3, 300 << 10, "f", reply.path, b"y\ny\ny\ny\n")
    assert Path(reply.path).stat().st_size == 300 << 10
    assert served.run("head -c 400K /dev/zero >big; stat -c %s big").body.endswith(b"\n%d\n" % (300 << 10))


@pytest.mark.parametrize("size", [1000, 200_000])
def test_where_no_file_can_be_made_the_begin_comes_back(
    serve: Callable[..., Served], tmp_path: Path, size: int
) -> None:
    (tmp_path / "spool").write_text("a file where a folder belongs")
    served = serve()
    reply = served.run(f"head -c {size} /dev/zero; true", keep=100)
    assert reply == (7, 0, 200, "f", "", bytes(200))
    assert served.run("echo next").body == b"next\n"


def test_what_holds_the_output_in_the_background_is_not_waited_for(
    serve: Callable[..., Served], tmp_path: Path
) -> None:
    served = serve()
    reply = served.run("mkfifo go; (read line <go; echo $line; seq 60000) & echo ok")
    assert reply == (7, 0, 3, "b", "", b"ok\n")
    assert served.run("echo next") == (7, 0, 5, "e", "", b"next\n")
    (tmp_path / "go").write_text("later\n")
    (file,) = served.spool.iterdir()
    whole = b"ok\nlater\n" + b"".join(b"%d\n" % n for n in range(1, 60_001))
    deadline = time.monotonic() + 20
    while file.read_bytes() != whole:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_flood_in_the_background_is_not_waited_for_and_ends(serve: Callable[..., Served]) -> None:
    served = serve(kib=20_000)
    reply = served.run("echo ok; yes & echo $!", keep=4)
    assert (reply.code, reply.flag, reply.body[:3]) == (0, "b", b"ok\n")
    gone = "for i in $(seq 1000); do pgrep -f '^[y]es$' || exit 0; sleep 0.01; done; exit 1"
    assert served.run(f"p=$(pgrep -P $PPID -x yes); {gone}").code == 0
    (file,) = served.spool.iterdir()
    assert file.stat().st_size == 20_000 << 10


def test_a_folder_that_is_not_there_and_a_command_too_long_for_an_argument(serve: Callable[..., Served]) -> None:
    served = serve()
    assert served.run("echo ran", cwd="/none") == (7, 125, 25, "e", "", b"there is no folder /none\n")
    assert served.run("echo ran", cwd="/n" * 9000).code == 125
    for size in (99_990, 100_100, 300_000):
        assert served.run(f": {'x' * size}; echo end").body == b"end\n"


def test_files_are_put(serve: Callable[..., Served], tmp_path: Path) -> None:
    served = serve()
    data = bytes(range(256)) * 1000
    path = tmp_path / "a b" / "c" / "file"
    for content in (data, b"", b"short"):
        assert served.ask(frames.put(9, bytes(path), content)) == (9, 0, 0, "e", "", b"")
        assert path.read_bytes() == content
    os.mkfifo(tmp_path / "pipe")
    for bad in (tmp_path, tmp_path / "pipe", path / "below", Path("/dev/null"), Path("/proc/none")):
        assert served.ask(frames.put(9, bytes(bad), data)) == (9, 1, 0, "e", "", b""), bad


def test_the_command_has_no_child_that_it_did_not_start(serve: Callable[..., Served]) -> None:
    script = "import os\ntry: os.wait()\nexcept ChildProcessError: print('none')"
    assert serve().run(f'exec {sys.executable} -c "{script}"').body == b"none\n"


@only_here
def test_orphans_become_the_commands_own_and_then_the_runners(serve: Callable[..., Served]) -> None:
    served = serve()
    orphans = "(setsid env -i /bin/sleep 0.5 &) ; (env -i sh -c '(sleep 0.5 &) &' &)"
    said = served.run(f"({orphans}) >/dev/null 2>&1; sleep 0.2; exec cat /proc/$$/task/$$/children")
    assert len(said.body.split()) == 2
    children = Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children")
    assert children.read_bytes().split() == said.body.split()
    deadline = time.monotonic() + 20
    while children.read_bytes():  # and are reaped, although nothing is asked of the runner
        assert time.monotonic() < deadline
        time.sleep(0.01)


@only_here
def test_the_running_command_is_named_in_the_arguments_and_nothing_else_is(serve: Callable[..., Served]) -> None:
    served = serve()
    said = served.run("echo $$; tr '\\0' '\\n' </proc/$PPID/cmdline").body.split()
    assert said[-1] == said[0]
    (own,) = re.findall(rb"PPid:\s(\d+)", served.run("cat /proc/self/status").body)
    assert own != said[0]
    assert served.arguments()[-1] == b""
    assert not set(b" ".join(served.arguments()).split()) & {said[0], own, b"lead.0", bytes(served.spool), b"1024"}


def test_commands_start_clean(serve: Callable[..., Served]) -> None:
    served = serve()
    said = served.run("ls -l /proc/self/fd; grep -E 'Sig(Blk|Ign)' /proc/self/status; cat /proc/self/oom_score_adj")
    text = said.body.decode()
    assert re.findall(r" (\d+) -> (/dev/null|pipe|/proc)", text) == [
        ("0", "/dev/null"),
        ("1", "pipe"),
        ("2", "pipe"),
        ("3", "/proc"),
    ]
    blocked, ignored = (int(mask, 16) for mask in re.findall(r"Sig\w+:\s*(\w+)$", text, re.MULTILINE))
    assert blocked == 0
    given = subprocess.run(["grep", "SigIgn", "/proc/self/status"], capture_output=True, text=True, check=True)
    # Whoever runs the tests may ignore some (nohup, a shell's background), and all below inherit that.
    assert not ignored & ~int(given.stdout.split()[1], 16)
    assert text.endswith("\n300\n")


@pytest.mark.parametrize(
    "garbage", [b"\n", b"RUN x\n", b"RUN 1 2 3\n", b"PUT 99999999999999999999 1 1\n", b"\xff" * 999]
)
def test_garbage_ends_it(serve: Callable[..., Served], garbage: bytes) -> None:
    served = serve()
    served.send(garbage)
    with pytest.raises(EOFError):
        served.reply()


def test_an_output_file_that_is_cut_while_it_is_sent_ends_it(serve: Callable[..., Served]) -> None:
    served = serve()
    cut = f"head -c 800000 /dev/zero; until truncate -s 0 {served.spool}/*; do :; done"
    served.send(frames.run(7, 400_000, b"/", cut.encode()))
    with pytest.raises(EOFError):
        served.reply()


@only_here
def test_other_programs_become_subreapers(program: list[str]) -> None:
    orphans = "(setsid env -i /bin/sleep 0.5 &) ; (env -i sh -c '(sleep 0.5 &) &' &)"
    text = f"{orphans} ; sleep 0.2; exec cat /proc/$$/task/$$/children"
    argv = [*program, "-", "/bin/bash", "-c", text]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert len(said.split()) == 2
