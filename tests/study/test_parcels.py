"""A task's files on their way to another machine: everything that it names comes along, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadhand.benchmarks.folder import find_task
from leadhand.core.design import Design
from leadhand.runs.plan import plan
from leadhand.runs.spec import Request
from leadhand.study.parcel import pack, unpack

HARBOR = {
    "task.toml": "[environment]\nbuild_timeout_sec = 33\n",
    "instruction.md": "Do it.",
    "environment/Dockerfile": "FROM x\nCOPY data/a /a\n",
    "environment/data/a": "a",
    "tests/test.sh": "true\n",
    "solution/solve.sh": "true\n",
}


@pytest.mark.parametrize("kind", ["harbor", "cases"])
def test_what_arrives_is_the_same_task(kind: str, tmp_path: Path) -> None:
    name = "numerus"
    if kind == "harbor":
        name = str(tmp_path / "task")
        for path, text in HARBOR.items():
            (tmp_path / "task" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "task" / path).write_text(text)
    request = Request(
        task=find_task(name),
        design=Design(lead="scripted/leadhand.benchmarks.rehearsal:rehearsal", budget_usd=1.0),
    )
    run = plan(request, {}, ("docker", ""))
    moved = unpack(pack(run.lock.task), run, tmp_path / "there").lock.task
    here = run.lock.task
    assert (moved.digest, moved.grader_digest, moved.image) == (here.digest, here.grader_digest, here.image)
    assert moved.grader is not None
    if kind == "harbor":
        assert moved.build is not None
        assert moved.build.timeout_s == 33
        assert (Path(moved.build.folder) / "data/a").read_text() == "a"
        assert (Path(moved.grader.files) / "test.sh").exists()
    else:
        assert moved.build is None
        assert Path(moved.grader.cases).is_file()
        assert Path(moved.mounts[0].source).is_file()
    brought = {p.name for p in (tmp_path / "there").rglob("*")}
    assert not brought & {"solve.sh", "gold"}, "no solution leaves this machine"
