"""ProgramBench through its own, unmodified package: its lists, its evaluator on a real engine, its packaging."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
import zipfile
from collections import Counter
from pathlib import Path

import anyio
import msgspec
import pytest
from programbench_room import BUNDLED, FAILING, OURS, REAL, Room, gold, pack, tag

from leadhand import sandboxes
from leadhand.benchmarks.folder import SHIPPED, FolderBenchmark, find_task
from leadhand.benchmarks.programbench import reference
from leadhand.benchmarks.programbench.benchmark import TARGET, ProgramBench, grade_of, run_job
from leadhand.benchmarks.programbench.evaluate import Answer, Job
from leadhand.benchmarks.programbench.instances import IMAGE_TAG, instance, instances
from leadhand.benchmarks.staging import stage_mounts
from leadhand.benchmarks.trying import try_submission
from leadhand.core.errors import GradingError, UsageError
from leadhand.core.ports import Sandbox, StartSandbox
from leadhand.core.values import ExecResult, SandboxSpec

pytestmark = pytest.mark.timeout(300)

DUMMY = {"compile.sh": "printf '#!/bin/sh\\nexit 0\\n' > executable\nchmod +x executable\n"}
BREAKING = {"compile.sh": DUMMY["compile.sh"] + "rm -f /usr/bin/sleep\n"}


def test_the_200_tasks() -> None:
    every = instances()
    assert len(every) == 200
    assert Counter(i.language for i in every) == {"rs": 107, "go": 46, "c": 33, "cpp": 12, "hs": 1, "java": 1}
    assert Counter(i.difficulty for i in every) == {"medium": 120, "": 35, "easy": 27, "hard": 18}
    assert sum(i.tests for i in every) == 247_444
    assert sum(len(i.branches) for i in every) == 1832
    assert instance(REAL).image == "programbench/abishekvashok_1776_cmatrix.5c082c6"
    with pytest.raises(UsageError, match="has no task 'nobody'"):
        instance("nobody")
    with pytest.raises(UsageError, match=f"leadhand bench prepare programbench/{REAL}"):
        ProgramBench().task(REAL)


def test_a_fault_of_the_evaluator_is_no_reward() -> None:
    with pytest.raises(GradingError, match="no engine"):
        grade_of(Answer(fault="no engine"))
    failed = grade_of(Answer(total=3, error_code="compile_failed"))
    assert (failed.reward, failed.detail["error_code"]) == (0.0, "compile_failed")


@pytest.mark.anyio
async def test_hidden_tests_that_are_not_here_are_a_fault(tmp_path: Path) -> None:
    job = Job(id=REAL, submission="", image_tag=IMAGE_TAG, cpus=1, blobs=str(tmp_path))
    answer = await run_job(job, tmp_path, 60)
    assert f"programbench blob sync {REAL}" in answer.fault


# --- on a real engine ------------------------------------------------------------------------------------------


@pytest.mark.engine
@pytest.mark.anyio
@pytest.mark.parametrize(("run", "score"), [("correct", 0.5), ("incorrect", 0.0)])
async def test_the_bundled_fixture_has_the_score_that_its_authors_give(
    run: str, score: float, room: Room, tmp_path: Path
) -> None:
    """50 for the "correct" one: its tests are listed under other names than pytest gives them (facts, quirk a)."""
    from programbench.constants import PACKAGE_ROOT

    name = BUNDLED
    blob = room.blobs / name / "tests"
    blob.mkdir(parents=True, exist_ok=True)
    tests = PACKAGE_ROOT / "data/tasks" / name / "tests/33128f6b8600"
    with tarfile.open(blob / "33128f6b8600.tar.gz", "w:gz") as tar:
        tar.add(tests / "eval", "eval")
    with zipfile.ZipFile(PACKAGE_ROOT / "data/test_runs" / run / name / "submission.zip") as packed:
        files = {n: packed.read(n) for n in packed.namelist()}
    grade = await room.evaluate(name, pack(tmp_path / "submission.tar.gz", files), tmp_path / "scratch")
    shipped = json.loads((PACKAGE_ROOT / "data/test_runs" / run / name / f"{name}.eval.json").read_text())
    statuses = [t["status"] == "passed" for t in shipped["test_results"]]
    assert grade.total == len(statuses)
    assert grade.reward == score == sum(statuses) / len(statuses)


def gap(name: str) -> dict[str, str]:
    text = gold(name)["compile.sh"]
    there, instead = {
        "numerus": ("return roman.lower() if small else roman", "return roman"),
        "gridline": ('if o["t"]:\n        last', "if False:\n        last"),
        "satchel": ("WEIGHTS = [3, 7", "WEIGHTS = [3, 8"),
    }[name]
    assert there in text
    return {"compile.sh": text.replace(there, instead)}


WRAPPED = {
    "compile.sh": "printf '#!/bin/sh\\nexec /reference/executable \"$@\"\\n' > executable\nchmod +x executable\n"
}


def submissions(name: str) -> dict[str, dict[str, bytes | str]]:
    original = (SHIPPED / name / "reference/executable").read_bytes()
    copy = "cp hidden/copy executable\n"
    return {
        "gold": dict(gold(name)),
        "gap": dict(gap(name)),
        "dummy": dict(DUMMY),
        "failing": dict(FAILING),
        "copied": {"compile.sh": copy, "hidden/copy": original},
        "prebuilt": {"compile.sh": "true\n", "executable": original + b"\0"},
        "wrapped": dict(WRAPPED),
    }


@pytest.mark.engine
@pytest.mark.anyio
@pytest.mark.parametrize(
    ("ours", "kind"),
    [
        *(("numerus", kind) for kind in ("copied", "prebuilt")),
        *((ours, kind) for ours in OURS for kind in ("gold", "gap", "dummy", "failing", "wrapped")),
    ],
)
async def test_a_shipped_task_scores_the_same_by_both_routes(
    ours: str, kind: str, room: Room, start: StartSandbox, tmp_path: Path
) -> None:
    archive = pack(tmp_path / "submission.tar.gz", submissions(ours)[kind])
    theirs = await room.evaluate(room.names[ours], archive, tmp_path / "theirs")
    (tmp_path / "ours").mkdir()
    task = find_task(ours)
    mine = await FolderBenchmark([task]).grade(task, archive, start, tmp_path / "ours")
    assert (theirs.passed, theirs.total) == (mine.passed, mine.total)
    assert theirs.reward == mine.reward
    if kind == "gold":
        assert theirs.reward == 1.0
    elif kind == "gap":
        assert 0.1 < theirs.reward < 1.0
    else:
        assert theirs.reward < 0.1


@pytest.mark.engine
@pytest.mark.anyio
async def test_a_build_that_breaks_its_container_is_worth_nothing_and_no_fault_of_ours(
    room: Room, tmp_path: Path
) -> None:
    archive = pack(tmp_path / "submission.tar.gz", BREAKING)
    grade = await room.evaluate(room.names["numerus"], archive, tmp_path / "scratch")
    assert (grade.reward, grade.detail["error_code"]) == (0.0, "container_broken")


@pytest.mark.engine
@pytest.mark.anyio
async def test_a_cancelled_evaluation_leaves_no_container(room: Room, tmp_path: Path) -> None:
    slow = {"compile.sh": "touch /tmp/started\nsleep 300\n"}
    archive = pack(tmp_path / "submission.tar.gz", slow)
    before = containers()

    async def until_started() -> None:
        while containers() <= before:  # noqa: ASYNC110
            await anyio.sleep(0.2)

    async with anyio.create_task_group() as group:
        group.start_soon(room.evaluate, room.names["numerus"], archive, tmp_path / "scratch")
        await until_started()
        group.cancel_scope.cancel()
    assert containers() <= before


def containers() -> set[str]:
    listed = subprocess.run(["docker", "ps", "-aq", "--filter", "name=programbench-"], capture_output=True, text=True)
    return set(listed.stdout.split())


@pytest.mark.engine
@pytest.mark.anyio
async def test_a_team_has_the_reference_at_a_path_that_no_build_can_take_away(
    room: Room, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEADHAND_CACHE", str(tmp_path / "cache"))
    name = room.names["numerus"]
    one = instance(name, room.tasks)
    made = reference.prepare(one, lambda step: None)
    original = (SHIPPED / "numerus/reference/executable").read_bytes()
    assert made.sha256 == hashlib.sha256(original).hexdigest()
    task = ProgramBench(room.tasks, room.blobs).task(name)
    assert (task.user, task.reference, task.limits.command_s, task.limits.run_s) == ("agent", TARGET, 180, 21_600)
    for folder in ("workspace", "scratch"):
        (tmp_path / folder).mkdir()
    spec = SandboxSpec(
        run_id="test-pb",
        workspace=str(tmp_path / "workspace"),
        scratch=str(tmp_path / "scratch"),
        mounts=stage_mounts(task, tmp_path / "mounts"),
        image=task.image,
        user=task.user,
        env=task.env,
        limits=task.limits,
    )
    sandbox = await sandboxes.start(spec, "docker")
    try:
        await _reference_is_safe(sandbox)
    finally:
        await sandbox.aclose()
    shutil.rmtree(tmp_path / "mounts")


@pytest.mark.engine
@pytest.mark.anyio
@pytest.mark.parametrize(("compile_", "code"), [("gold", 0), ("failing", 3), ("nothing", 1)])
async def test_a_finish_check_has_what_was_handed_in_and_nothing_else(
    compile_: str, code: int, room: Room, tmp_path: Path
) -> None:
    """Not what the image has in its workspace, the reference least of all; and as the user who works there."""
    look = 'test $(id -un) = agent && test $PWD = /workspace && test "$(ls)" = compile.sh || exit 9\n'
    scripts = {"gold": gold("numerus")["compile.sh"], "failing": FAILING["compile.sh"], "nothing": "true\n"}
    archive = pack(tmp_path / "submission.tar.gz", {"compile.sh": look + scripts[compile_]})
    task = msgspec.structs.replace(find_task("numerus"), image=tag(room.names["numerus"]), user="agent")

    async def start(spec: SandboxSpec) -> Sandbox:
        return await sandboxes.start(spec, "docker")

    (tmp_path / "scratch").mkdir()
    result: ExecResult = await try_submission(task, archive, start, tmp_path / "scratch", 60)
    assert (result.ended, result.exit_code) == ("exited", code), result.head


async def _reference_is_safe(sandbox: Sandbox) -> None:
    async def works(command: str) -> bool:
        return (await sandbox.exec(command, agent="lead", timeout_s=60)).exit_code == 0

    assert await works("test $(id -un) = agent")
    assert await works("test $HOME = /home/agent && test -s ~/tool && mkdir ~/.cache"), (
        "the image's home, and the user's own"
    )
    assert await works("test $TQDM_DISABLE = 1 && test -z $LANG")
    assert not await works("touch /usr/bin/mine || touch /mine")
    assert await works("./executable --no-such; test $? = 2")
    assert await works(f"{TARGET} --no-such; test $? = 2")
    for refused in ("cat ./executable", f"cat {TARGET}", f"rm -f {TARGET}", f"echo x > {TARGET}", f"cp {TARGET} y"):
        assert not await works(refused)
    assert await works("rm -f executable && echo mine > executable && cat executable")
    assert await works(f"{TARGET} --no-such; test $? = 2")
