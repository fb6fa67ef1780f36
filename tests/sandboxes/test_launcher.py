"""The launcher is a program built beforehand: it is the one of the source beside it, and does what it says."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leadhand.core.errors import UsageError
from leadhand.sandboxes import launcher


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "launcher"
    path.write_bytes(launcher.launcher(os.uname().machine))
    path.chmod(0o755)
    return str(path)


def drain(program: str, file: Path, kib: int, command: str) -> tuple[int, bytes]:
    """(exit code, what is said on descriptor 9) of a command whose output goes to `file`."""
    text = 'exec 9>"$1"; shift; exec "$@"'
    told = file.with_suffix(".told")
    argv = ["/bin/bash", "-c", text, "sh", str(told), program, str(file), "7", str(kib), "/bin/bash", "-c", command]
    code = subprocess.run(argv, check=False).returncode
    for _ in range(1000):
        if told.read_bytes():
            break
        subprocess.run(["sleep", "0.01"], check=True)
    return code, told.read_bytes()


def test_it_was_built_from_the_source_beside_it() -> None:
    source = Path(launcher.__file__).with_name("launcher.c").read_bytes()
    assert hashlib.sha256(source).hexdigest() == launcher.SOURCE, (
        "run scripts/build-launcher.sh and take over its output"
    )


def test_both_processors_have_one_and_others_are_refused() -> None:
    machines = {machine: launcher.launcher(machine)[18] for machine in ("x86_64", "amd64", "aarch64", "arm64")}
    assert machines == {"x86_64": 62, "amd64": 62, "aarch64": 183, "arm64": 183}
    with pytest.raises(UsageError, match="riscv64"):
        launcher.launcher("riscv64")


def test_output_goes_to_the_file_and_the_end_is_told(program: str, tmp_path: Path) -> None:
    file = tmp_path / "out"
    assert drain(program, file, 100, "echo one; echo two >&2; printf 'a\\0'; exit 7") == (7, b"7 e\n")
    assert file.read_bytes() == b"one\ntwo\na\0"


def test_a_full_file_ends_the_command(program: str, tmp_path: Path) -> None:
    file = tmp_path / "out"
    code, told = drain(program, file, 100, "yes; exit 3")
    assert (code, told) == (3, b"7 f\n")
    assert file.stat().st_size == 100 << 10


def test_no_file_is_told_as_full(program: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert drain(program, tmp_path / "out", 100, "trap '' PIPE; echo; exit 3") == (3, b"7 f\n")


def test_the_command_has_no_child_that_it_did_not_start(program: str, tmp_path: Path) -> None:
    script = "import os\ntry: os.wait()\nexcept ChildProcessError: print('none')"
    file = tmp_path / "out"
    assert drain(program, file, 100, f'exec {sys.executable} -c "{script}"') == (0, b"7 e\n")
    assert file.read_bytes() == b"none\n"


def test_orphans_become_the_commands_own(program: str) -> None:
    orphans = "(setsid env -i /bin/sleep 0.5 &) ; (env -i sh -c '(sleep 0.5 &) &' &)"
    text = f"{orphans} ; sleep 0.2; exec cat /proc/$$/task/$$/children"
    argv = [program, "-", "/bin/bash", "-c", text]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert len(said.split()) == 2
