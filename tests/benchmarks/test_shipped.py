"""The shipped tasks through the real grader in a real sandbox: gold, dummy, one missing feature, the reference."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from leadhand.benchmarks.cases import load_cases
from leadhand.benchmarks.folder import SHIPPED, FolderBenchmark, find_task, shipped
from leadhand.benchmarks.record import answer, is_mute
from leadhand.benchmarks.staging import stage_mounts
from leadhand.core.ports import StartSandbox
from leadhand.core.values import Grade, SandboxSpec

Pack = Callable[[Mapping[str, str]], Path]

DUMMY = {
    "compile.sh": "#!/bin/sh\nrm -f executable\nprintf '#!/bin/sh\\nexit 0\\n' > executable\nchmod +x executable\n"
}
MISSING = {  # what is taken away from the gold solution
    "numerus": [("return roman.lower() if small else roman", "return roman")],
    "gridline": [('if o["t"]:\n        last', "if False:\n        last"), ('if o["t"] and i', "if False and i")],
    "satchel": [('"stamp": stamp}', "}")],
}


async def graded(task_id: str, start: StartSandbox, submission: Path, scratch: Path) -> Grade:
    task = find_task(task_id)
    os.mkdir(scratch)
    return await FolderBenchmark([task]).grade(task, submission, start, scratch)


def gold(task_id: str) -> str:
    return (SHIPPED / task_id / "gold" / "compile.sh").read_text()


@pytest.mark.anyio
@pytest.mark.parametrize("task_id", shipped())
async def test_gold_is_one_a_dummy_nearly_nothing_and_a_gap_in_between(
    task_id: str, start: StartSandbox, pack: Pack, tmp_path: Path
) -> None:
    best = await graded(task_id, start, pack({"compile.sh": gold(task_id)}), tmp_path / "gold")
    assert (best.reward, best.passed, best.detail["failed"]) == (1.0, best.total, [])
    dummy = await graded(task_id, start, pack(DUMMY), tmp_path / "dummy")
    assert dummy.reward < 0.1
    assert dummy.total == best.total
    program = gold(task_id)
    for there, instead in MISSING[task_id]:
        assert there in program
        program = program.replace(there, instead)
    gap = await graded(task_id, start, pack({"compile.sh": program}), tmp_path / "gap")
    assert 0.1 < gap.reward < 1.0


@pytest.mark.anyio
@pytest.mark.parametrize("area", ["spell", "weigh", "date", "stamp"])
async def test_each_area_of_satchel_counts(area: str, start: StartSandbox, pack: Pack, tmp_path: Path) -> None:
    program = gold("satchel").replace(f'"{area}": {area}', f'"{area}": None')
    grade = await graded("satchel", start, pack({"compile.sh": program}), tmp_path / "g")
    passed, total = grade.detail["areas"][area]
    assert passed == 0
    assert total >= 10
    assert grade.passed == (grade.total or 0) - total


@pytest.mark.parametrize(("task_id", "least", "most"), [("numerus", 14, 20), ("gridline", 38, 45), ("satchel", 40, 60)])
def test_the_cases_are_what_the_reference_answers_and_none_is_mute(task_id: str, least: int, most: int) -> None:
    cases = load_cases(SHIPPED / task_id / "grader" / "cases.jsonl")
    assert least <= len(cases) <= most
    for case in cases:
        assert not is_mute(case)
        assert answer(SHIPPED / task_id / "reference" / "executable", case) == case


@pytest.mark.skipif(shutil.which("cc") is None or shutil.which("objcopy") is None, reason="no C compiler")
def test_the_references_can_be_built_from_their_sources(tmp_path: Path) -> None:
    subprocess.run(["bash", str(SHIPPED / "build.sh"), str(tmp_path)], check=True)
    for task_id in shipped():
        for case in load_cases(SHIPPED / task_id / "grader" / "cases.jsonl"):
            assert answer(tmp_path / task_id, case) == case


@pytest.mark.parametrize("task_id", shipped())
def test_a_reference_is_a_small_static_elf(task_id: str) -> None:
    data = (SHIPPED / task_id / "reference" / "executable").read_bytes()
    assert data[:4] == b"\x7fELF"
    assert data[18] == 62  # x86-64
    assert len(data) < 20_000
    assert b"ld-linux" not in data


@pytest.mark.anyio
@pytest.mark.parametrize("task_id", shipped())
async def test_the_team_can_run_the_reference_and_neither_read_nor_replace_it(
    task_id: str, start: StartSandbox, tmp_path: Path
) -> None:
    task = find_task(task_id)
    mounts = stage_mounts(task, tmp_path / "staged")
    assert stage_mounts(task, tmp_path / "staged") == mounts
    assert os.stat(mounts[0].source).st_mode & 0o7777 == 0o111
    shutil.copytree(task.workspace, tmp_path / "workspace")
    (tmp_path / "scratch").mkdir()
    spec = SandboxSpec(
        run_id=f"test-{task_id}",
        workspace=str(tmp_path / "workspace"),
        scratch=str(tmp_path / "scratch"),
        mounts=mounts,
    )
    sandbox = await start(spec)
    try:

        async def works(command: str) -> bool:
            return (await sandbox.exec(command, agent="lead", timeout_s=30)).exit_code == 0

        assert await works("test -L executable && { ./executable --no-such-option; test $? = 2; }")
        assert not await works("cat ./executable")
        assert not await works("cp /reference/executable copy")
        assert not await works("chmod a+r /reference/executable")
        assert not await works("echo x > ./executable")
        assert not await works("mv /reference/executable x || rm -f /reference/executable")
        assert not await works("ls -R / 2>/dev/null | grep -E '^(satchel|numerus|gridline)[.]c$|^cases[.]jsonl$'")
        assert await works("rm executable && echo mine > executable && cat executable")
        assert await works("/reference/executable --no-such-option; test $? = 2")
    finally:
        await sandbox.aclose()


@pytest.mark.anyio
async def test_an_untouched_workspace_and_a_copied_reference_are_worth_nothing(
    start: StartSandbox, tmp_path: Path
) -> None:
    untouched = tmp_path / "untouched.tar.gz"
    with tarfile.open(untouched, "w:gz") as tar:
        link = tarfile.TarInfo("executable")
        link.type, link.linkname = tarfile.SYMTYPE, "/reference/executable"
        tar.addfile(link)
    grade = await graded("numerus", start, untouched, tmp_path / "a")
    assert grade.reward == 0
    assert grade.detail["left_out"] == ["executable"]
    copied = tmp_path / "copied.tar.gz"
    with tarfile.open(copied, "w:gz") as tar:
        tar.add(SHIPPED / "numerus" / "reference" / "executable", "hidden/copy")
        script = tmp_path / "compile.sh"
        script.write_text("cp hidden/copy executable")
        script.chmod(0o755)
        tar.add(script, "compile.sh")
    grade = await graded("numerus", start, copied, tmp_path / "b")
    assert (grade.reward, grade.detail["left_out"]) == (0.0, ["hidden/copy"])


def test_what_is_shipped_needs_no_mode_that_git_or_a_wheel_would_lose() -> None:
    modes = {p.stat().st_mode & 0o444 for p in SHIPPED.rglob("*") if p.is_file()}
    assert modes == {0o444}
