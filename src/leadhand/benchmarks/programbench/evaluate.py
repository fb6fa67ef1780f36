"""One evaluation by ProgramBench's own evaluator: `python -m leadhand.benchmarks.programbench.evaluate JOB.json`.

A process of its own, because the package reads its settings when it is imported and blocks for up to hours.
Interrupted, it removes its containers. Prints one line of JSON.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import msgspec

from leadhand.benchmarks.programbench.instances import instance
from leadhand.core.values import Value


class Job(Value, frozen=True, kw_only=True):
    """What to evaluate. `blobs`: the folder with the task's hidden tests, "" = where the package finds them.

    `branch_workers`: how many branches are run at once, each with `cpus` processors; as `programbench eval -b`.
    """

    id: str
    submission: str
    image_tag: str
    cpus: int
    branch_workers: int = 1
    tasks_dir: str = ""
    blobs: str = ""
    eval_json: str = ""


class Answer(Value, frozen=True, kw_only=True):
    """The evaluator's answer over active branches without ignored tests; `fault`: it could not evaluate."""

    passed: int = 0
    total: int = 0
    score: float = 0.0
    error_code: str = ""
    error: str = ""
    branch_errors: dict[str, str] = {}
    branches: dict[str, tuple[int, int]] = {}
    failed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    fault: str = ""


SHOWN = 200
OURS = ("wipe_workspace_failed",)
"""The step before the submission has a hand in anything: where it fails, the image or the engine is at fault."""


def evaluate(job: Job) -> Answer:
    """Evaluate as `programbench eval` does, one task. Blocks; needs the docker command."""
    from programbench.eval.eval import Evaluator
    from programbench.utils.blob_store import get_blob_dir
    from programbench.utils.load_data import get_active_branches, get_ignored_branches, get_ignored_tests

    one = instance(job.id, Path(job.tasks_dir) if job.tasks_dir else None)
    blobs = Path(job.blobs) if job.blobs else get_blob_dir(job.id)
    active = get_active_branches(one.raw)
    missing = [b for b in active if blobs is None or not (blobs / "tests" / f"{b}.tar.gz").exists()]
    if missing:
        return Answer(fault=f"the hidden tests of {job.id} are not here: `programbench blob sync {job.id}`")
    ignored = get_ignored_tests(one.raw)
    evaluator = Evaluator(
        image_name=one.image,
        solution_branch="submission",
        submission_archive=Path(job.submission),
        blob_dir=blobs,
        tests_branches=active,
        remove_hashes=one.raw.get("eval_clean_hashes", []),
        image_tag=job.image_tag,
        tests_by_branch={b: one.raw["branches"][b]["tests"] for b in active},
        ignored_tests=ignored,
        ignored_branches=get_ignored_branches(one.raw),
        instance_id=job.id,
        docker_cpus=job.cpus,
        branch_workers=job.branch_workers,
    )
    try:
        result = evaluator.run()
    except RuntimeError as error:
        # A build is root in its container and can break it. Where it got that far and the image itself still starts,
        # that is no fault of ours, and no way out of a bad score.
        if evaluator.result.executable_hash is None or not _starts(f"{one.image}:{job.image_tag}", job.cpus):
            raise
        return Answer(total=one.tests, error_code="container_broken", error=str(error)[-500:])
    if job.eval_json:
        Path(job.eval_json).write_text(result.model_dump_json(indent=2), encoding="utf-8")
    return _answer(result, result.for_branches(active).without_ignored(ignored), active)


def _starts(image: str, cpus: int) -> bool:
    from programbench.constants import DOCKER_EXECUTABLE
    from programbench.container import ContainerEnvironment

    try:
        ContainerEnvironment(image=image, executable=DOCKER_EXECUTABLE, cpus=cpus).cleanup()
    except RuntimeError:
        return False
    return True


def _answer(result: Any, scored: Any, active: list[str]) -> Answer:
    if result.error_code in OURS:
        return Answer(fault=f"{result.error_code}: {str(result.error_details)[-300:]}")
    branches = {b: [t for t in scored.test_results if t.branch == b] for b in active}
    return Answer(
        passed=scored.n_resolved,
        total=len(scored),
        score=scored.score,
        error_code=result.error_code or "",
        error=str(result.error_details or "")[-2000:],
        branch_errors={b: e[-1].error_code for b, e in scored.test_branch_errors.items()},
        branches={b: (sum(t.is_resolved for t in tests), len(tests)) for b, tests in branches.items()},
        failed=tuple(t.full_name for t in scored.test_results if not t.is_resolved)[:SHOWN],
        warnings=tuple(result.warnings[:20]),
    )


def main(path: str) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that containers are removed on the way out
    job = msgspec.json.decode(Path(path).read_bytes(), type=Job)
    try:
        answer = evaluate(job)
    except (RuntimeError, OSError, AssertionError) as error:  # a container that does not start, no docker command
        answer = Answer(fault=f"{type(error).__name__}: {str(error)[-500:]}")
    sys.stdout.write("\n" + msgspec.json.encode(answer).decode() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
