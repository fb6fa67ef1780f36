"""The run folder on disk: made once, with the team's workspace in it; submissions kept by their content."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from pathlib import Path

import msgspec

from leadhand.benchmarks.staging import stage_mounts
from leadhand.benchmarks.submission import BadSubmission, unpack
from leadhand.core.errors import GradingError, UsageError
from leadhand.core.events import Entry
from leadhand.core.journal import read_journal
from leadhand.core.values import Limits, SandboxSpec
from leadhand.runs import repository
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import Repository, RunFile, new_run_id, write_run_file
from leadhand.sandboxes import leftovers


def create(root: Path, run: RunFile, name: str = "") -> RunPaths:
    """Make the run's folder with its workspace. `run.json` is written last: a folder without it is no run.

    `name` is the folder's, where it is not to be a new id.
    """
    paths = RunPaths(root / (name or new_run_id(run.lock.task.id, run.lock.digest)))
    try:
        paths.folder.mkdir(parents=True)
        _ignored_by_git(root)
        for folder in (paths.blobs, paths.workspace, paths.scratch):
            folder.mkdir()
        write_run_file(paths.run_json, fill_workspace(paths, run))
    except OSError as error:
        remove(paths.folder)
        raise UsageError(f"cannot make the run folder {paths.folder}: {error.strerror or error}") from error
    except BaseException:
        remove(paths.folder)
        raise
    return paths


def _ignored_by_git(root: Path) -> None:
    """Runs often lie in a repository: they are no part of it, and no later run is given a copy of them."""
    mark = root / ".gitignore"
    if not mark.exists():
        mark.write_text("*\n")


def fill_workspace(paths: RunPaths, run: RunFile) -> RunFile:
    """Put what the team starts with into the empty workspace; the run, with its repository's snapshot if it has one."""
    if run.lock.task.workspace:
        shutil.copytree(run.lock.task.workspace, paths.workspace, symlinks=True, dirs_exist_ok=True)
    repo = run.lock.repository
    if repo is None:
        return run
    repository.copy(repo, paths.workspace)
    repo = repository.snapshot(repo, paths.workspace, paths.id)
    repository.start_history(paths.workspace)
    return msgspec.structs.replace(run, lock=msgspec.structs.replace(run.lock, repository=repo))


def sandbox_spec(paths: RunPaths, run: RunFile, *, network: bool) -> SandboxSpec:
    """What the team's sandbox is started from."""
    mounts = stage_mounts(run.lock.task, paths.mounts) if run.lock.task.mounts else ()
    limits, task = run.lock.design.limits, run.lock.task
    most = task.limits.file_mb if task.whole else Limits().file_mb
    return SandboxSpec(
        run_id=paths.id,
        workspace=str(paths.workspace),
        scratch=str(paths.scratch),
        limits=msgspec.structs.replace(limits, file_mb=most if task.whole else min(limits.file_mb, most)),
        network=network,
        mounts=mounts,
        image=task.image,
        user=task.user,
        env=task.env,
        build=task.build,
        whole=task.whole,
        workdir=task.workdir,
    )


def recorded(paths: RunPaths) -> list[Entry]:
    """The run's journal; empty where the run was killed before it had one. Raises `JournalError`."""
    return read_journal(paths.journal) if paths.journal.exists() else []


def in_use(paths: RunPaths) -> bool:
    """Whether a process is working on the run right now: it holds the journal's lock."""
    try:
        with paths.journal.open("rb") as journal:
            fcntl.flock(journal, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def clear_leftovers(*run_ids: str) -> int:
    """Kill what a killed session of the run left running on this machine; the number of processes. Blocks.

    A best-of-k run has an id for the sandbox of each candidate.
    """
    return leftovers.clear(run_ids.__contains__)[0]


def keep_blob(paths: RunPaths, file: Path) -> tuple[str, int]:
    """Move a finished file into `blobs/`; its name there (SHA-256) and its size. Durable before it is named."""
    sha = hashlib.sha256()
    with file.open("rb") as source:
        while piece := source.read(1 << 20):
            sha.update(piece)
        os.fsync(source.fileno())
    name = sha.hexdigest()
    size = file.stat().st_size
    file.rename(paths.blob(name))
    return name, size


def publish(paths: RunPaths, repo: Repository, blob: str) -> None:
    """Turn a repository run's submission into a branch and a diff."""
    result = paths.folder / "result.tmp"
    try:
        remove(result)
        try:
            unpack(paths.blob(blob), result)
        except BadSubmission as error:
            raise GradingError(str(error)) from error
        repository.publish(repo, result, paths.id, paths.patch)
    finally:
        remove(result)


def remove(folder: Path) -> None:
    """Remove a folder whose content hostile commands may have made unreadable."""

    def loosen(function: object, path: str, _: object) -> None:
        target = Path(path)
        for place in (target.parent, target):
            if place.is_dir() and not place.is_symlink():
                place.chmod(0o700)
        shutil.rmtree(target, ignore_errors=True) if target.is_dir() and not target.is_symlink() else target.unlink(
            missing_ok=True
        )

    if folder.exists():
        shutil.rmtree(folder, onerror=loosen)
