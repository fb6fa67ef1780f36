"""Our task folders in ProgramBench's form: the same cases as hidden pytest branches, for its unmodified evaluator.

TASKS/ID/{task.yaml,tests.json}, BLOBS/ID/tests/BRANCH.tar.gz. Their scores are not ProgramBench's: their ids say so.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from leadhand.benchmarks.cases import Case, load_cases
from leadhand.benchmarks.programbench.instances import IMAGE_TAG, instance
from leadhand.core.errors import UsageError
from leadhand.core.values import Task

MOST_BRANCHES = 22
"""ProgramBench's own tasks have 1 to 22."""

RUN = """#!/bin/bash
cd "$(dirname "$0")/.."
python3 -m pytest eval/tests --rootdir=/workspace -c eval/pytest.ini --noconftest -q --junitxml=eval/results.xml || true
"""
TEST = '''"""Runs the program on the cases of one branch."""
import json
import pathlib
import subprocess

import pytest

CASES = json.loads((pathlib.Path(__file__).parent / "cases.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_case(case, tmp_path):
    for name, text in case["files"].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        ["/workspace/executable", *case["args"]],
        input=case["stdin"].encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
        timeout=case["timeout_s"],
    )
    assert done.stdout == case["stdout"].encode()
    assert done.returncode == case["exit_code"]
'''


def identity(task: Task) -> str:
    """A name that is none of ProgramBench's: `leadhand__ID.0000000`, the end from the task's digest."""
    return f"leadhand__{task.id.lower()}.{task.digest[:7]}"


def branch_of(area: str) -> str:
    """As ProgramBench names a branch: the beginning of the name's SHA-256."""
    return hashlib.sha256(area.encode()).hexdigest()[:12]


class Expressed(NamedTuple):
    """A task in ProgramBench's form. `image` must hold the reference as /workspace/executable."""

    id: str
    image: str
    tests: int
    branches: int


def to_folder(task: Task, to: Path, *, most_branches: int = MOST_BRANCHES) -> Expressed:
    """Write a task below `to`/tasks and `to`/blobs; other tasks there stay. Raises `UsageError`, as `express` does."""
    if most_branches < 1:
        raise UsageError("--branches must be at least 1")
    try:
        name = express(task, to / "tasks", to / "blobs", most_branches=most_branches)
    except OSError as error:
        raise UsageError(f"--to {to}: {error.strerror or error}") from None
    made = instance(name, to / "tasks")
    return Expressed(name, f"{made.image}:{IMAGE_TAG}", made.tests, len(made.branches))


def express(task: Task, tasks: Path, blobs: Path, *, most_branches: int = MOST_BRANCHES) -> str:
    """Write a task with cases in ProgramBench's form; its id there. Raises `UsageError` for one without cases.

    An area of cases is a branch; where there are more than `most_branches` areas, several share one.
    """
    if task.grader is None or not task.grader.cases:
        raise UsageError(f"task {task.id} is not graded by cases; only such can be expressed as ProgramBench tasks")
    branches = _branches(load_cases(Path(task.grader.cases)), most_branches)
    name = identity(task)
    (tasks / name).mkdir(parents=True, exist_ok=True)
    (blobs / name / "tests").mkdir(parents=True, exist_ok=True)
    listed = {}
    for area, cases in branches.items():
        files = _files(area, cases, task.grader.case_timeout_s)
        _pack(blobs / name / "tests" / f"{branch_of(area)}.tar.gz", files)
        ids = [f"eval.tests.test_cases.test_case[{_id(area, n)}]" for n in range(len(cases))]
        listed[branch_of(area)] = {"ignored": False, "ignore_reason": "", "tests": ids, "ignored_tests": []}
    (tasks / name / "tests.json").write_text(json.dumps({"branches": listed}, indent=1), encoding="utf-8")
    (tasks / name / "task.yaml").write_text(_yaml(task), encoding="utf-8")
    return name


def _branches(cases: Sequence[Case], most: int) -> dict[str, list[Case]]:
    """The cases by what names their branch: an area, or several joined by "+"."""
    areas = list(dict.fromkeys(case.area for case in cases))
    groups = [areas[first::most] for first in range(min(most, len(areas)))]
    return {"+".join(group): [case for case in cases if case.area in group] for group in groups}


def _yaml(task: Task) -> str:
    hashes = [
        hashlib.sha256(Path(m.source).read_bytes()).hexdigest() for m in task.mounts if m.target == task.reference
    ]
    lines = [f"repository: leadhand/{task.id}", f"commit: '{task.digest}'", "language: c", "eval_clean_hashes:"]
    return "\n".join([*lines, *(f"- {h}" for h in hashes)]) + "\n" if hashes else "\n".join(lines[:-1]) + "\n"


def _id(area: str, number: int) -> str:
    return f"{branch_of(area)[:6]}-{number:04d}"


def _files(area: str, cases: list[Case], timeout_s: float) -> dict[str, str]:
    told = [
        {
            "id": _id(area, n),
            "args": case.args,
            "stdin": case.stdin,
            "files": case.files,
            "stdout": case.stdout,
            "exit_code": case.exit_code,
            "timeout_s": timeout_s,
        }
        for n, case in enumerate(cases)
    ]
    return {
        "eval/run.sh": RUN,
        "eval/pytest.ini": "[pytest]\n",
        "eval/tests/test_cases.py": TEST,
        "eval/tests/cases.json": json.dumps(told),
    }


def _pack(path: Path, files: dict[str, str]) -> None:
    # Without the time of day: the same cases are the same archive.
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            member.mode = 0o755 if name.endswith(".sh") else 0o644
            tar.addfile(member, io.BytesIO(text.encode()))
