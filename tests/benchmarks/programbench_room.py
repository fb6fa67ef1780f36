"""Images and tasks for the tests of ProgramBench on a real engine: made by who needs them first, removed by the last.

Several processes may test at once on one engine: the images are built under a lock, and a file per process says who
still needs them.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import docker_image

from leadhand.benchmarks.folder import SHIPPED, find_task
from leadhand.benchmarks.programbench.benchmark import grade_of, run_job
from leadhand.benchmarks.programbench.evaluate import Job
from leadhand.benchmarks.programbench.express import express
from leadhand.benchmarks.programbench.instances import IMAGE_TAG
from leadhand.core.values import Grade

BASE = "leadhand-programbench:1"
# A container each: as many branches as its areas are for one of the tasks, fewer for the others.
OURS = {"numerus": 22, "gridline": 3, "satchel": 2}
REAL = "abishekvashok__cmatrix.5c082c6"
BUNDLED = "testorg__calculator.abc1234"
FAILING = {"compile.sh": "echo no >&2\nexit 3\n"}


class Room:
    """The shipped tasks in ProgramBench's form below `folder`, and the images for them and for two of its own tasks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tasks, self.blobs = folder / "tasks", folder / "blobs"
        self.names = {
            name: express(find_task(name), self.tasks, self.blobs, most_branches=most) for name, most in OURS.items()
        }
        numerus = SHIPPED / "numerus/reference/executable"
        self.images = {tag(name): SHIPPED / ours / "reference/executable" for ours, name in self.names.items()}
        self.images |= {tag(BUNDLED): numerus, tag(REAL): numerus}
        engine = hashlib.sha256(os.environ.get("DOCKER_HOST", "").encode()).hexdigest()[:8]
        self._users = Path(tempfile.gettempdir()) / f"leadhand-test-images-{engine}"

    def open(self) -> None:
        """Make the images, unless another living process has."""
        with self._locked() as others:
            if not others:
                docker_image.build(BASE, self.folder)
                for image, executable in self.images.items():
                    docker_image.derive(BASE, image, executable)
            (self._users / str(os.getpid())).touch()

    def close(self) -> None:
        """Remove the images, unless another living process needs them."""
        with self._locked() as others:
            (self._users / str(os.getpid())).unlink()
            if not others:
                docker_image.remove(*self.images, BASE)

    @contextmanager
    def _locked(self) -> Iterator[list[str]]:
        self._users.mkdir(exist_ok=True)
        with (self._users / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            pids = [p.name for p in self._users.iterdir() if p.name.isdigit() and p.name != str(os.getpid())]
            yield [pid for pid in pids if Path("/proc", pid).exists()]

    async def evaluate(self, name: str, submission: Path, scratch: Path) -> Grade:
        """A submission's grade by the package's evaluator."""
        os.mkdir(scratch)
        job = Job(
            id=name,
            submission=str(submission),
            image_tag=IMAGE_TAG,
            cpus=1,
            branch_workers=2,
            tasks_dir=str(self.tasks) if name in self.names.values() else "",
            blobs=str(self.blobs / name),
        )
        return grade_of(await run_job(job, scratch, 240))


def tag(name: str) -> str:
    return f"programbench/{name.replace('__', '_1776_')}:{IMAGE_TAG}"


def pack(archive: Path, files: Mapping[str, bytes | str]) -> Path:
    with tarfile.open(archive, "w:gz") as tar:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o755
            tar.addfile(member, io.BytesIO(data))
    return archive


def gold(name: str) -> dict[str, str]:
    return {"compile.sh": (SHIPPED / name / "gold/compile.sh").read_text()}
