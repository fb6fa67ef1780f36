"""A task's files, packed so that another machine can run and grade it, and the task that lies where they came to."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from leadhand.core.values import Task
from leadhand.runs.spec import RunFile


def pack(task: Task) -> bytes:
    """Everything of this machine that the task names, as an uncompressed tar; each under a number of its own."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for number, path in enumerate(_paths(task)):
            if path:
                archive.add(path, arcname=f"{number}/{Path(path).name}")
    return out.getvalue()


def unpack(packed: bytes, run: RunFile, folder: Path) -> RunFile:
    """The run, with its task's files in `folder` instead of where they were packed."""
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="fully_trusted")
    task = _moved(run.lock.task, folder)
    request = msgspec.structs.replace(run.request, task=_moved(run.request.task, folder))
    return msgspec.structs.replace(run, request=request, lock=msgspec.structs.replace(run.lock, task=task))


def _paths(task: Task) -> Iterator[str]:
    """Host paths of a task, always in the same order; "" for what it does not have."""
    yield task.workspace
    yield task.grader.files if task.grader else ""
    yield task.grader.cases if task.grader else ""
    yield task.build.folder if task.build else ""
    yield from (m.source for m in task.mounts)


def _moved(task: Task, folder: Path) -> Task:
    workspace, files, cases, context, *mounts = (
        str(folder / str(number) / Path(path).name) if path else "" for number, path in enumerate(_paths(task))
    )
    replace = msgspec.structs.replace
    return replace(
        task,
        workspace=workspace,
        grader=replace(task.grader, files=files, cases=cases) if task.grader else None,
        build=replace(task.build, folder=context) if task.build else None,
        mounts=tuple(replace(m, source=source) for m, source in zip(task.mounts, mounts, strict=True)),
    )
