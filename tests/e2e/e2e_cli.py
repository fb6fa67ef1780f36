"""The command line as a user has it: a process of its own, a provider of its own, task folders of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

HERE = Path(__file__).parent
PRICE = "openai-chat/fake=2,8,0.5"
CLEAN = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY") and not k.startswith(("LEADHAND", "AWS_"))}


class Done(NamedTuple):
    """How a `leadhand` ended: its exit code (minus the signal that killed it) and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Warm:
    """A process with Leadhand loaded (`warm.py`); runs one harness at a time, each in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(
        self,
        argv: list[str],
        cwd: Path,
        *,
        env: dict[str, str] | None = None,
        kill: dict[str, Any] | None = None,
        hide: str = "",
        largest_file: int = 0,
    ) -> Done:
        """Run `leadhand ARGV` to its end. `kill`: see `warm.py`; "clock" is from outside, after `at` seconds.

        `hide`: a module that cannot be imported. `largest_file`: bytes that a file can have (0: as many as it likes).
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder) / "out", Path(folder) / "err"
            job = {"argv": argv, "out": str(out), "err": str(err), "env": env or {}, "cwd": str(cwd), "hide": hide}
            job["largest_file"] = largest_file
            clock = kill is not None and kill["when"] == "clock"
            print(json.dumps(job if clock else job | {"kill": kill}), file=self._process.stdin, flush=True)
            pid = int(self._process.stdout.readline())
            timer = threading.Timer(kill["at"] if kill is not None and clock else 100, _kill, [pid])
            timer.start()
            code = int(self._process.stdout.readline())
            timer.cancel()
            return Done(code, _text(out), _text(err))


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@contextmanager
def warm() -> Iterator[Warm]:
    command = [sys.executable, str(HERE / "warm.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=CLEAN) as process:
        try:
            yield Warm(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()


class Leadhand(Protocol):
    def __call__(
        self, *arguments: str, env: dict[str, str] | None = None, cwd: Path | None = None, hide: str = ""
    ) -> Done: ...
