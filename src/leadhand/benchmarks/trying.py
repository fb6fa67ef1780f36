"""A task's finish check: what a team would hand in, tried in a sandbox that holds nothing else."""

from __future__ import annotations

from pathlib import Path

import msgspec

from leadhand.benchmarks.cases import KEEP
from leadhand.benchmarks.grading import Place
from leadhand.benchmarks.submission import BadSubmission
from leadhand.benchmarks.trial import AGENT
from leadhand.core.errors import GradingError, RunnerLost, SandboxError, SandboxLost
from leadhand.core.ports import Sandbox, StartSandbox
from leadhand.core.values import ExecResult, Grader, Task

BELOW = ".leadhand-submission"
# An image may have files of its own in its workspace, which no fresh checkout has. Nothing is removed anywhere else.
EMPTIED = f"""[ -d {BELOW} ] && find . -mindepth 1 -maxdepth 1 ! -name {BELOW} -exec rm -rf -- {{}} + &&
find {BELOW} -mindepth 1 -maxdepth 1 -exec mv -t . -- {{}} + && rmdir {BELOW}"""
EMPTYING_S = 60.0


async def try_submission(
    task: Task, submission: Path, start: StartSandbox, scratch: Path, timeout_s: float
) -> ExecResult:
    """Run the task's `finish_check` on `submission` (.tar.gz), where its own workspace is and as who works there.

    Without network, without the reference. A submission that cannot be unpacked, or takes its sandbox down, has failed.
    Raises `GradingError` where a sandbox did not work from the start; `scratch` is an empty host folder.
    """
    grader = msgspec.structs.replace(task.grader or Grader(), timeout_s=timeout_s, files="")
    place = Place(task, grader, submission, start, scratch, below=BELOW, user=task.user)
    try:
        async with place.fresh() as sandbox:
            emptied = await sandbox.exec(EMPTIED, agent=AGENT, timeout_s=EMPTYING_S)
            if emptied.exit_code or emptied.ended != "exited":
                raise GradingError(
                    f"a clean copy cannot be made: {emptied.head.decode(errors='replace')[-300:].strip()}"
                )
            return await _tried(sandbox, task.finish_check, timeout_s)
    except BadSubmission as error:
        said = str(error).encode()
        return ExecResult(exit_code=1, head=said, size=len(said))
    except SandboxError as error:
        raise GradingError(f"the sandbox of the finish check failed: {error}") from error


async def _tried(sandbox: Sandbox, command: str, timeout_s: float) -> ExecResult:
    try:
        return await sandbox.exec(command, agent=AGENT, timeout_s=timeout_s, keep=KEEP)
    except (RunnerLost, SandboxLost):
        return ExecResult(exit_code=137, head=b"", ended="runner_lost")
