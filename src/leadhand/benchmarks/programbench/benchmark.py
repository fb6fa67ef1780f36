"""ProgramBench as a `Benchmark`: its images, its limits, its evaluator."""

from __future__ import annotations

import os
import secrets
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from leadhand.benchmarks.digests import content
from leadhand.benchmarks.programbench.evaluate import Answer, Job
from leadhand.benchmarks.programbench.instances import (
    IMAGE_TAG,
    UNLABELLED,
    VERSION,
    Instance,
    instance,
    instances,
)
from leadhand.benchmarks.programbench.reference import Reference, docker_command, read_reference
from leadhand.benchmarks.trial import build_command
from leadhand.core.chain import canonical, digest
from leadhand.core.errors import GradingError, UsageError
from leadhand.core.ports import StartSandbox
from leadhand.core.values import Grade, Grader, Limits, Mount, Task

LIMITS = Limits(command_s=180.0, run_s=21_600.0, cpus=20.0, memory_mb=61_440)
"""Those of the published baseline; memory and processors are clamped to the host's."""

ENV = {"MANPAGER": "cat", "LESS": "-R", "PIP_PROGRESS_BAR": "off", "TQDM_DISABLE": "1"}
"""The baseline's, beside what every sandbox sets."""

TARGET = "/reference/executable"
GRADING_S = 7200.0
STOP_S = 90.0
LABEL = "leadhand.run"
CPUS = 10
PROMPT = Path(__file__).with_name("prompt.txt")


OWN = "LEADHAND_PROGRAMBENCH_TASKS"
"""Names a folder with tasks/ and blobs/ in ProgramBench's form (see `express`): these instead of its own tasks."""


def benchmark() -> ProgramBench:
    """ProgramBench's own tasks, or those in the folder that the environment names. Raises `UsageError`."""
    named = os.environ.get(OWN)
    if not named:
        return ProgramBench()
    folder = Path(named).expanduser().absolute()
    if not (folder / "tasks").is_dir() or not (folder / "blobs").is_dir():
        raise UsageError(f"{OWN}: {folder} has no tasks/ and blobs/; `leadhand task to-programbench` makes them")
    return ProgramBench(folder / "tasks", folder / "blobs")


class ProgramBench:
    """See `leadhand.core.ports.Benchmark`. `tasks_dir`, `blobs`: tasks in ProgramBench's form that are not its own."""

    def __init__(self, tasks_dir: Path | None = None, blobs: Path | None = None) -> None:
        self._tasks_dir = tasks_dir
        self._blobs = blobs

    def instances(self) -> tuple[Instance, ...]:
        """All tasks, prepared or not. Raises `UsageError`, as `instances` does."""
        return instances(self._tasks_dir)

    def instance(self, name: str) -> Instance:
        """One task, prepared or not. Raises `UsageError`."""
        return instance(name, self._tasks_dir)

    def tasks(self) -> Sequence[Task]:
        """All whose image is here; a label says where that is not all there are. Raises `UsageError` for none."""
        every = self.instances()
        found = [(i, read_reference(i.image)) for i in every]
        here = [(i, r) for i, r in found if r is not None]
        if not here:
            raise UsageError("no image of ProgramBench is prepared: `leadhand bench prepare programbench/ID`")
        part = "" if len(here) == len(every) else f" ({len(here)} of {len(every)})"
        return tuple(self._task(i, r, f"programbench{part}") for i, r in here)

    def task(self, name: str) -> Task:
        """One task. Raises `UsageError` where its image is not prepared."""
        one = self.instance(name)
        reference = read_reference(one.image)
        if reference is None:
            raise UsageError(f"{name} is not prepared: `leadhand bench prepare programbench/{name}`")
        return self._task(one, reference)

    def _task(self, one: Instance, reference: Reference, set_: str = "") -> Task:
        prompt = PROMPT.read_text(encoding="utf-8").strip()
        options = {
            "image_tag": IMAGE_TAG,
            "tasks_dir": one.tasks_dir,
            "blobs": str(self._blobs / one.id) if self._blobs is not None else "",
        }
        image = f"{one.image}:{IMAGE_TAG}"
        tests = [one.tests_digest, *(content(options["blobs"]) if options["blobs"] else ())]
        grader = Grader(timeout_s=GRADING_S, options={k: v for k, v in options.items() if v})
        return Task(
            id=one.id,
            benchmark="programbench",
            prompt=prompt,
            limits=LIMITS,
            image=image,
            user="agent",
            env=ENV,
            mounts=(Mount(source=reference.path, target=TARGET),),
            reference=TARGET,
            grader=grader,
            digest=digest(canonical(["programbench", prompt, LIMITS, ENV, image, reference.image_id])),
            grader_digest=digest(canonical(["programbench", VERSION, IMAGE_TAG, one.id, *tests])),
            labels={
                "language": one.language,
                "difficulty": one.difficulty or UNLABELLED,
                **({"set": set_} if set_ else {}),
            },
            isolated=True,
            finish_check=build_command(grader),
        )

    async def grade(self, task: Task, submission: Path, start: StartSandbox, scratch: Path) -> Grade:
        """By the package's evaluator, in containers of its own. See `Benchmark.grade`."""
        began = anyio.current_time()
        if task.grader is None:
            raise GradingError(f"task {task.id} has no grader")
        job = Job(
            id=task.id,
            submission=str(submission),
            image_tag=task.grader.options.get("image_tag", IMAGE_TAG),
            cpus=_cpus(),
            tasks_dir=task.grader.options.get("tasks_dir", ""),
            blobs=task.grader.options.get("blobs", ""),
        )
        answer = await run_job(job, scratch, task.grader.timeout_s)
        return msgspec.structs.replace(grade_of(answer), seconds=anyio.current_time() - began)


def _cpus() -> int:
    """As many as the package would take, and no more than there are: the engine refuses more."""
    asked = os.environ.get("PROGRAMBENCH_DOCKER_CPUS", "")
    return min(int(asked) if asked.isdecimal() and int(asked) else CPUS, os.cpu_count() or 1)


def grade_of(answer: Answer) -> Grade:
    """The evaluator's score as a grade. Raises `GradingError` where it could not evaluate."""
    if answer.fault:
        raise GradingError(f"ProgramBench's evaluator: {answer.fault}")
    detail = {
        "programbench": VERSION,
        "error_code": answer.error_code,
        "error": answer.error,
        "branch_errors": answer.branch_errors,
        "branches": {b: list(n) for b, n in answer.branches.items()},
        "failed": list(answer.failed),
        "warnings": list(answer.warnings),
    }
    kept = {key: value for key, value in detail.items() if value}
    return Grade(reward=answer.score, passed=answer.passed, total=answer.total, detail=kept)


def _labelling(folder: Path, label: str) -> str:
    """The docker command for the evaluator: the same, but its containers are known as ours, so that none is lost."""
    path = folder / "docker"
    docker = shlex.quote(docker_command())
    labelled = f'[ "$1" = run ] && {{ shift; set -- run --label {shlex.quote(label)} "$@"; }}'
    path.write_text(f'#!/bin/sh\n{labelled}\nexec {docker} "$@"\n', encoding="utf-8")
    path.chmod(0o700)
    return str(path)


def _remove_labelled(label: str) -> None:
    """What an interrupted evaluator may have left: a container that started while it was told to end."""
    listed = [docker_command(), "ps", "-aq", "--filter", f"label={label}"]
    found = subprocess.run(listed, capture_output=True, text=True, check=False).stdout.split()
    if found:
        subprocess.run([docker_command(), "rm", "-f", *found], capture_output=True, check=False)


def _stage(job: Job, scratch: Path) -> Path:
    """The job's file, with the submission under a name ending in .tar.gz: only by that the package knows what it is."""
    named, file = scratch / "submission.tar.gz", scratch / "job.json"
    named.symlink_to(Path(job.submission).absolute())
    file.write_bytes(msgspec.json.encode(msgspec.structs.replace(job, submission=str(named))))
    return file


async def run_job(job: Job, scratch: Path, timeout_s: float) -> Answer:
    """Run the evaluator as a process. Cancelled, it is given time to remove its containers."""
    file = await anyio.to_thread.run_sync(_stage, job, scratch)
    command = [sys.executable, "-m", "leadhand.benchmarks.programbench.evaluate", str(file)]
    label = f"{LABEL}={scratch.parent.name}.grading-{secrets.token_hex(4)}"
    env = {**os.environ, "PROGRAMBENCH_DOCKER_EXECUTABLE": await anyio.to_thread.run_sync(_labelling, scratch, label)}
    out, err = scratch / "stdout", scratch / "stderr"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        async with await anyio.open_process(command, stdout=stdout, stderr=stderr, env=env) as process:
            try:
                with anyio.fail_after(timeout_s):
                    code = await process.wait()
            except TimeoutError:
                return Answer(fault=f"it took longer than {timeout_s:g} s")
            finally:
                if process.returncode is None:
                    process.terminate()
                    with anyio.move_on_after(STOP_S, shield=True):
                        await process.wait()
                    with anyio.CancelScope(shield=True):
                        await anyio.to_thread.run_sync(_remove_labelled, label)
    lines = (await anyio.to_thread.run_sync(out.read_bytes)).strip().splitlines()
    try:
        return msgspec.json.decode(lines[-1] if lines else b"", type=Answer)
    except msgspec.DecodeError:
        said = (await anyio.to_thread.run_sync(err.read_bytes)).decode(errors="replace").strip().splitlines()
        return Answer(fault=f"it ended with {code}: {said[-1][:300] if said else 'no message'}")
