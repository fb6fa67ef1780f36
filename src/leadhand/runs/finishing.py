"""The check of a design with `finish_check`: the workspace, as it would be submitted, tried in a fresh sandbox."""

from __future__ import annotations

import tarfile

from leadhand.benchmarks.trying import try_submission
from leadhand.core.errors import GradingError, SandboxError, SandboxLost
from leadhand.core.events import ProcessesKilled
from leadhand.core.journal import Journal
from leadhand.core.ports import Sandbox
from leadhand.core.values import ExecResult
from leadhand.runs import grading
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import RunFile


async def try_work(paths: RunPaths, run: RunFile, journal: Journal, sandbox: Sandbox, seconds: float) -> ExecResult:
    """See `leadhand.core.ports.TryWork`. What runs in the team's sandbox is killed, so that nothing moves meanwhile."""
    archive = paths.finishing / "workspace.tar.gz"
    try:
        async with grading.fresh(f"{paths.id}.finishing", paths.finishing, run.lock.sandbox) as start:
            journal.append("", ProcessesKilled(count=await sandbox.kill(), why="before the work is tried"))
            await sandbox.collect(archive)
            return await try_submission(run.lock.task, archive, start, paths.finishing, seconds)
    except SandboxLost:
        raise
    except (SandboxError, tarfile.TarError, OSError) as error:
        raise GradingError(f"the workspace cannot be tried: {error}") from error
