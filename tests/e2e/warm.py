"""A process that has Leadhand loaded and forks a harness for each line it reads: `leadhand` without its start-up time.

A line is JSON: `argv`, `out` and `err` (files), `env`, `cwd`, and perhaps `kill`, a point at which the harness kills
itself with SIGKILL. It answers with the pid of the harness, then, in a line of its own, with how that ended (the exit
code, or minus the signal). The hook lives here and not in the product.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading
import time
from typing import Any

import anyio._backends._asyncio  # noqa: F401
import typer._adapters  # noqa: F401

import leadhand.cli.app
import leadhand.cli.carry_out
import leadhand.cli.looking
import leadhand.cli.request
import leadhand.models.http_model
import leadhand.models.wires.chat
import leadhand.runs.execution
import leadhand.sandboxes.bwrap
import leadhand.sandboxes.team
from leadhand.core.journal import Journal

CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(kill: dict[str, Any]) -> None:
    """Die at the `nth` journal line of one of the event `kinds` (any, if empty).

    `when`: "before" its write, in the middle of it ("torn", after the share `at` of its bytes) or `at` seconds "after".
    """
    marks = [f'"kind":"{kind}"'.encode() for kind in kill["kinds"]]
    write, left = Journal._write, kill["nth"]

    def _write(self: Journal, line: bytes) -> None:
        nonlocal left
        left -= not marks or any(mark in line for mark in marks)
        if left != 0:
            write(self, line)
            return
        left = -1
        if kill["when"] == "before":
            die()
        if kill["when"] == "torn":
            os.write(self._fd, line[: int(len(line) * kill["at"])])
            die()
        write(self, line)
        if kill["at"] == 0:
            die()
        threading.Thread(target=lambda: (time.sleep(kill["at"]), die()), daemon=True).start()

    Journal._write = _write  # type: ignore[method-assign]


def harness(job: dict[str, Any]) -> int:
    """What the forked child does: be `leadhand`."""
    for target, path, how in ((0, os.devnull, os.O_RDONLY), (1, job["out"], CREATE), (2, job["err"], CREATE)):
        os.dup2(os.open(path, how), target)
    os.environ.update(job["env"])
    os.chdir(job["cwd"])
    if job["largest_file"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["largest_file"], resource.RLIM_INFINITY))
    if job["hide"]:
        sys.modules[job["hide"]] = None  # type: ignore[assignment]
    if job.get("kill"):
        arm(job["kill"])
    sys.argv = ["leadhand", *job["argv"]]
    try:
        leadhand.cli.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def main() -> None:
    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = harness(job)
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
