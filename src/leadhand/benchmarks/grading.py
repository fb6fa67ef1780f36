"""One grading: fresh host folders, a fresh sandbox that the team never touched, one grade."""

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from leadhand.benchmarks.cases import KEEP, needs_cases
from leadhand.benchmarks.submission import BadSubmission, discard, sha256_of, unpack
from leadhand.benchmarks.trial import AGENT, Trial
from leadhand.benchmarks.verdict import verdict
from leadhand.core.errors import GradingError, SandboxError
from leadhand.core.ports import Sandbox, StartSandbox
from leadhand.core.values import Grade, Grader, Mount, SandboxSpec, Task

GRADER = "/grader"


async def grade(task: Task, submission: Path, start: StartSandbox, scratch: Path) -> Grade:
    """Grade `submission` (.tar.gz); see `Benchmark.grade`. Never has the network, never sees the reference."""
    if task.grader is None:
        raise GradingError(f"task {task.id} has no grader; add [grader] to its task.toml")
    began = anyio.current_time()
    place = Place(task, task.grader, submission, start, scratch)
    try:
        found = await (_by_cases(task.grader, place) if task.grader.cases else _by_command(task.grader, place))
    except BadSubmission as error:
        found = Grade(reward=0.0, detail={"submission": str(error)})
    except SandboxError as error:
        raise GradingError(f"the grading sandbox failed: {error}") from error
    detail = {**found.detail, "left_out": list(place.left_out[:100])} if place.left_out else found.detail
    return msgspec.structs.replace(found, detail=detail, seconds=anyio.current_time() - began)


class Place:
    """Where one submission is tried: unpacked into a new folder with a new sandbox, as often as asked."""

    def __init__(
        self,
        task: Task,
        grader: Grader,
        submission: Path,
        start: StartSandbox,
        scratch: Path,
        *,
        below: str = "",
        user: str = "",
    ) -> None:
        """`below`: a folder of the workspace that it is unpacked into. `user`: as in `SandboxSpec`."""
        self._task, self._grader = task, grader
        self._submission, self._start, self._scratch = submission, start, scratch
        self._below, self._user = below, user
        self.left_out: tuple[str, ...] = ()

    @asynccontextmanager
    async def fresh(self) -> AsyncIterator[Sandbox]:
        home = self._scratch / secrets.token_hex(4)
        try:
            await anyio.to_thread.run_sync(self._prepare, home)
            sandbox = await self._start(self._spec(home))
            try:
                yield sandbox
            finally:
                with anyio.CancelScope(shield=True):
                    await sandbox.aclose()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(discard, home)

    def _prepare(self, home: Path) -> None:
        task = self._task
        try:
            forbidden = [sha256_of(Path(m.source)) for m in task.mounts if m.target == task.reference]
            os.makedirs(home / "scratch")
            os.makedirs((home / "workspace" / self._below).parent, exist_ok=True)
        except OSError as error:
            raise GradingError(f"cannot prepare the grading of task {task.id}: {error}") from error
        self.left_out = unpack(self._submission, home / "workspace" / self._below, forbidden=forbidden)

    def _spec(self, home: Path) -> SandboxSpec:
        seconds, files = self._grader.timeout_s, self._grader.files
        return SandboxSpec(
            run_id=f"grade-{self._task.id}-{home.name}",
            workspace=str(home / "workspace"),
            scratch=str(home / "scratch"),
            limits=msgspec.structs.replace(self._task.limits, command_s=seconds, run_s=2 * seconds),
            mounts=(Mount(source=files, target=GRADER),) if files else (),
            image=self._task.image,
            user=self._user,
        )


async def _by_cases(grader: Grader, place: Place) -> Grade:
    trial = Trial(grader, needs_cases(grader))
    while not trial.done:
        async with place.fresh() as sandbox:
            await trial.go_on(sandbox)
    return trial.grade()


async def _by_command(grader: Grader, place: Place) -> Grade:
    """Run the grader's command. Its standard error goes to a file: the last line of stdout is all that counts."""
    async with place.fresh() as sandbox:
        info = sandbox.info
        errors = f"{info.scratch}/grader.stderr"
        text = f"export GRADER={shlex.quote(info.path(GRADER))}\n( {grader.command}\n) 2> {shlex.quote(errors)}"
        result = await sandbox.exec(text, agent=AGENT, timeout_s=grader.timeout_s, keep=KEEP)
        await sandbox.kill(AGENT)
        try:
            return verdict(result)
        except GradingError as error:
            raise GradingError(f"{error}{await _last_error(sandbox, errors)}") from None


async def _last_error(sandbox: Sandbox, path: str) -> str:
    try:
        text = (await sandbox.read(path))[-500:].decode(errors="replace")
    except OSError:
        return ""
    return f"; stderr: {' '.join(text.split())}" if text.strip() else ""
