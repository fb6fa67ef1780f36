"""Copies of finished runs at an fsspec URL (`s3://bucket/studies/x`, `file:///mnt/x`), as they finish."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio.to_thread

from leadhand.core.errors import LeadhandError, UsageError
from leadhand.study.engine import Engine, Job
from leadhand.study.outcome import Outcome

KEPT = ("run.json", "journal.jsonl", "blobs")
"""What of a run is copied: all that its results can be made from again."""


class Copying:
    """An engine that copies what another one has brought home. A copy that fails is a fault of that run's session: the
    run itself is kept, and copied when the same command comes to it again.
    """

    def __init__(self, inner: Engine, url: str) -> None:
        self._inner = inner
        self._files, self._root = _open(url)

    @property
    def slots(self) -> int:
        return self._inner.slots

    async def submit(self, job: Job) -> Outcome:
        outcome = await self._inner.submit(job)
        await anyio.to_thread.run_sync(self._copy, job.folder)
        return outcome

    async def aclose(self) -> None:
        await self._inner.aclose()

    def whole(self, folder: Path) -> None:
        """Copy what lies in the study's own folder, and each run that is not there yet. Blocks."""
        self._put(folder / "study.json", f"{self._root}/study.json")
        for run in sorted((folder / "runs").iterdir()):
            if (run / "run.json").exists() and not self._same(run):
                self._copy(run)

    def _same(self, run: Path) -> bool:
        there = f"{self._root}/runs/{run.name}/journal.jsonl"
        journal = run / "journal.jsonl"
        return bool(self._files.exists(there)) and self._files.size(there) == journal.stat().st_size

    def _copy(self, run: Path) -> None:
        target = f"{self._root}/runs/{run.name}"
        for name in KEPT:
            for path in sorted((run / name).iterdir()) if (run / name).is_dir() else [run / name]:
                if path.exists():
                    self._put(path, f"{target}/{path.relative_to(run).as_posix()}")

    def _put(self, path: Path, target: str) -> None:
        try:
            self._files.makedirs(target.rpartition("/")[0], exist_ok=True)
            self._files.put_file(str(path), target)
        except Exception as error:  # each file system has errors of its own
            raise LeadhandError(f"cannot copy {path.name} to {target}: {type(error).__name__}: {error}") from error


def _open(url: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise UsageError("--copy-to needs fsspec: pip install 'leadhand[ray]'") from None
    try:
        files, root = fsspec.core.url_to_fs(url)
    except (ValueError, ImportError) as error:
        raise UsageError(f"--copy-to {url}: {error}") from None
    return files, str(root).rstrip("/")
