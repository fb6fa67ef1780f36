"""One grading: a fresh host folder, a fresh sandbox that the team never touched, one grade."""

from __future__ import annotations

import secrets
import shlex
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from leadhand.benchmarks.cases import AGENT, KEEP, grade_cases, needs_cases
from leadhand.benchmarks.submission import BadSubmission, discard, sha256_of, unpack
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
    workspace, spills = scratch / "workspace", scratch / "scratch"
    try:
        try:
            forbidden = [sha256_of(Path(m.source)) for m in task.mounts if m.target == task.reference]
            left_out = await anyio.to_thread.run_sync(lambda: unpack(submission, workspace, forbidden=forbidden))
            await anyio.Path(spills).mkdir(parents=True, exist_ok=True)
        except BadSubmission as error:
            return Grade(reward=0.0, detail={"submission": str(error)}, seconds=anyio.current_time() - began)
        except OSError as error:
            raise GradingError(f"cannot prepare the grading of task {task.id}: {error}") from error
        found = await _in_sandbox(task, task.grader, start, workspace, spills)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(discard, workspace)
    detail = {**found.detail, "left_out": list(left_out[:100])} if left_out else found.detail
    return msgspec.structs.replace(found, detail=detail, seconds=anyio.current_time() - began)


async def _in_sandbox(task: Task, grader: Grader, start: StartSandbox, workspace: Path, scratch: Path) -> Grade:
    cases = needs_cases(grader) if grader.cases else ()
    limits = msgspec.structs.replace(task.limits, command_s=grader.timeout_s, run_s=2 * grader.timeout_s)
    spec = SandboxSpec(
        run_id=f"grade-{task.id}-{secrets.token_hex(4)}",
        workspace=str(workspace),
        scratch=str(scratch),
        limits=limits,
        mounts=(Mount(source=grader.files, target=GRADER),) if grader.files else (),
        image=task.image,
    )
    try:
        sandbox = await start(spec)
        try:
            return await (grade_cases(grader, cases, sandbox) if cases else _by_command(grader, sandbox))
        finally:
            with anyio.CancelScope(shield=True):
                await sandbox.aclose()
    except SandboxError as error:
        raise GradingError(f"the grading sandbox failed: {error}") from error


async def _by_command(grader: Grader, sandbox: Sandbox) -> Grade:
    """Run the grader's command. Its standard error goes to a file: the last line of stdout is all that counts."""
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
