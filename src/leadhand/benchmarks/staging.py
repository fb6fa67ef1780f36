"""The reference executable as the team meets it: it can be run and not read, and nobody's build can replace it.

Neither git nor a wheel can store mode 0111, so a run stages its own copy.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from leadhand.core.values import Mount, Task

RUN_BUT_NOT_READ = 0o111


def stage_mounts(task: Task, folder: Path) -> tuple[Mount, ...]:
    """The task's mounts, the reference executable copied into `folder` (a host folder of the run) with mode 0111.

    May be called again on the same folder (resume): a copy that is there is replaced.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return tuple(_staged(mount, folder) if mount.target == task.reference else mount for mount in task.mounts)


def _staged(mount: Mount, folder: Path) -> Mount:
    copy = folder / Path(mount.target).name
    copy.unlink(missing_ok=True)
    shutil.copyfile(mount.source, copy)
    copy.chmod(RUN_BUT_NOT_READ)
    return msgspec.structs.replace(mount, source=str(copy))
