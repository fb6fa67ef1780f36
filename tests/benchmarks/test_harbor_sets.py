"""A Harbor set on a real engine: images built once, teams that work anywhere in them, tests on a fresh machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import harbor_room
import msgspec
import pytest
from harbor_room import BASE, FROM, SHARES, TOML

from leadhand import sandboxes
from leadhand.benchmarks.folder import find_task
from leadhand.benchmarks.harbor.benchmark import Harbor
from leadhand.benchmarks.integrity import findings
from leadhand.core.errors import GradingError, SandboxError, UsageError
from leadhand.core.events import Collected, Graded, RunEnded
from leadhand.core.journal import read_journal
from leadhand.core.ports import Sandbox
from leadhand.core.values import Grade, SandboxSpec, Task
from leadhand.runs.paths import RunPaths, all_runs
from leadhand.runs.preflight import ready_images
from leadhand.runs.spec import read_run_file
from needs import require

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]
HERE = Path(__file__).parent
SOLUTION = {"greeting.txt": "hello world", "/etc/greeting.conf": "on"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    require("docker")
    scratch = tmp_path_factory.mktemp("harbor")
    harbor_room.make_images(scratch)
    yield harbor_room.write_set(scratch / "set")
    harbor_room.remove_images()


async def docker(spec: SandboxSpec) -> Sandbox:
    return await sandboxes.start(spec, "docker")


def leadhand(*words: str, code: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "leadhand", *words],
        env={**os.environ, "PYTHONPATH": str(HERE), **env},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


async def handed_in(task: Task, command: str, scratch: Path) -> Path:
    """What a team hands in whose only command this is."""
    spec = machine(task, scratch)
    sandbox = await docker(spec)
    try:
        result = await sandbox.exec(command, agent="solo", timeout_s=60)
        assert result.exit_code == 0, result.head
        await sandbox.collect(scratch / "layer.tar.gz")
    finally:
        await sandbox.aclose()
    return scratch / "layer.tar.gz"


def machine(task: Task, scratch: Path) -> SandboxSpec:
    for name in ("workspace", "scratch"):
        (scratch / name).mkdir(parents=True)
    return SandboxSpec(
        run_id=f"test-{scratch.name}",
        workspace=str(scratch / "workspace"),
        scratch=str(scratch / "scratch"),
        image=task.image,
        build=task.build,
        whole=True,
        workdir=task.workdir,
        env=task.env,
    )


async def graded(task: Task, layer: Path, scratch: Path) -> Grade:
    os.mkdir(scratch)
    return await Harbor([task]).grade(task, layer, docker, scratch)


# --- the set -----------------------------------------------------------------------------------------------------


def test_the_authors_solutions_are_worth_one_and_the_untouched_machines_nothing(folder: Path) -> None:
    done = leadhand("grade", str(folder), "--untouched", "--reference", "--json")
    proofs = json.loads(done.stdout)
    assert {(p["task"], p["what"]): p["reward"] for p in proofs} == {
        ("built", "untouched"): 0.0,
        ("built", "reference"): 1.0,
        ("named", "untouched"): 0.0,
        ("named", "reference"): 1.0,
        ("shares", "untouched"): 0.0,
        ("shares", "reference"): 1.0,
    }
    assert all(p["right"] for p in proofs)


def test_an_image_is_built_once_and_each_step_is_told(folder: Path, tmp_path: Path) -> None:
    other = harbor_room.write(tmp_path / "other", {**SHARES, "environment/data": "1"}, TOML.format(
        name="other", difficulty="easy", more=""))  # fmt: skip
    task, said = find_task(str(other)), list[str]()
    ready_images([task], "docker", said.append)
    assert said[0] == f"other: building {task.image}"
    assert any(re.search(rf"FROM {BASE}", line) for line in said)
    again = list[str]()
    ready_images([task], "docker", again.append)
    assert again == []
    assert f"{task.id}: prepared" in leadhand("bench", "prepare", str(other)).stdout


def test_an_image_that_cannot_be_built_costs_nothing(folder: Path, tmp_path: Path) -> None:
    broken = {**SHARES, "environment/Dockerfile": f"{FROM}RUN echo no such thing && exit 7\n"}
    path = harbor_room.write(tmp_path / "broken", broken, TOML.format(name="broken", difficulty="easy", more=""))
    done = leadhand("run", str(path), "--lead", "scripted/bench_teams:SCRIPTS", "--runs", str(tmp_path / "r"), code=2)
    assert "task broken: building the image of" in done.stderr
    assert "returned a non-zero code: 7" in done.stderr
    assert not (tmp_path / "r").exists()


def test_a_build_has_its_time(folder: Path, tmp_path: Path) -> None:
    slow = {**SHARES, "environment/Dockerfile": f"{FROM}RUN sleep 60\n"}
    task = find_task(str(harbor_room.write(tmp_path / "slow", slow, "[environment]\nbuild_timeout_sec = 2\n")))
    with pytest.raises(UsageError, match=r"task slow: building the image of .*/environment took longer than 2 s"):
        ready_images([task], "docker", lambda step: None)


@pytest.mark.anyio
async def test_an_image_whose_files_lie_elsewhere_is_refused(folder: Path, tmp_path: Path) -> None:
    files = {**SHARES, "environment/Dockerfile": f"{FROM}VOLUME /data\nWORKDIR /app\n"}
    path = harbor_room.write(tmp_path / "volume", files, TOML.format(name="volume", difficulty="easy", more=""))
    task = find_task(str(path))
    with pytest.raises(UsageError, match=r"declares the volume /data: what is in it cannot be handed in"):
        ready_images([task], "docker", lambda step: None)
    with pytest.raises(SandboxError, match="declares the volume /data"):
        await handed_in(task, "true", tmp_path / "team")


# --- a team ------------------------------------------------------------------------------------------------------


def run_team(task: str, solution: dict[str, str], runs: Path, *words: str) -> tuple[RunPaths, str]:
    lead = ["--lead", "scripted/bench_teams:SCRIPTS", "--max-workers", "1", "--plain", "--runs", str(runs)]
    done = leadhand("run", task, *lead, *words, LEADHAND_TEST_SOLUTION=json.dumps(solution))
    return all_runs(runs)[0], done.stdout


def test_a_rehearsed_team_works_on_the_machine_and_is_graded_again_the_same(folder: Path, tmp_path: Path) -> None:
    paths, _ = run_team(str(folder / "built"), SOLUTION, tmp_path / "runs")
    entries = read_journal(paths.journal)
    ended = next(e.event for e in entries if isinstance(e.event, RunEnded))
    assert ended.status == "finished"
    grade = next(e.event.grade for e in entries if isinstance(e.event, Graded))
    assert grade.reward == 0.0, "nobody removed /app/old"
    task = read_run_file(paths.run_json).lock.task
    assert findings(entries, task) == ()
    packed = next(e.event.blob for e in entries if isinstance(e.event, Collected))
    with tarfile.open(paths.blob(packed)) as layer:
        files = {m.name for m in layer if m.isreg()}
    assert files == {"app/greeting.txt", "etc/greeting.conf"}
    leadhand("grade", paths.id, "--runs", str(tmp_path / "runs"))
    grades = [e.event.grade for e in read_journal(paths.journal) if isinstance(e.event, Graded)]
    assert [g.reward for g in grades] == [0.0, 0.0]


def test_a_study_of_a_set_and_its_grades_again(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "little.toml"
    file.write_text(
        f"""
name = "little"
budget_usd = "none"
sandbox = "docker"
[tasks]
source = ["{folder}"]
without = ["named"]
[designs.team]
lead = "scripted/bench_teams:SCRIPTS"
max_workers = 1
budget_usd = 1.0
"""
    )
    solution = json.dumps({"a": "", "b": "", "/etc/greeting.conf": "on"})
    where = str(tmp_path / "study")
    leadhand("study", "run", str(file), "--folder", where, "--plain", LEADHAND_TEST_SOLUTION=solution)
    done = json.loads(leadhand("grade", where, "--json").stdout)
    rewards = {tuple(r["run"].split(".")[:2]): (r["before"], r["reward"]) for r in done}
    two = (pytest.approx(2 / 3), pytest.approx(2 / 3))
    assert rewards == {(design, task): found for design in ("team", "solo_minimal")
                       for task, found in (("built", (0.0, 0.0)), ("shares", two))}  # fmt: skip
    assert json.loads(leadhand("grade", where, "--missing", "--json").stdout) == []


# --- what is handed in -------------------------------------------------------------------------------------------

LOOKS = """cat keep/other /tmp/kept; ls -A keep old; stat -c '%u %a' keep/other /usr/bin/date
ls -l dangling | grep -o 'dangling -> nowhere'; tail -1 /etc/passwd; env2 true && echo runs; ls -b | grep 377
cat /proc/[0-9]*/comm"""
SOLVED = "echo 'hello world' > greeting.txt; rm old; echo on > /etc/greeting.conf"


@pytest.mark.anyio
async def test_every_change_of_the_files_is_handed_in_and_no_process(folder: Path, tmp_path: Path) -> None:
    task = find_task(str(folder / "built"))
    much = (
        "rm -rf keep && mkdir keep && echo new > keep/other; rm old; mkdir old; touch old/x; ln -s nowhere dangling; "
        "ln /usr/bin/env /usr/bin/env2; chmod 700 /usr/bin/date; echo 'me:x:5:5::/:' >> /etc/passwd; "
        "chown 1000 keep/other; "
        'python3 -c \'open(b"/app/\\xff\\xfe", "w")\'; echo kept > /tmp/kept; nohup sleep 300 & '
    )
    layer = await handed_in(task, much, tmp_path / "team")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test.sh").write_text(f"#!/bin/bash\n{LOOKS}\necho 1 > /logs/verifier/reward.txt\n")
    assert task.grader is not None
    looking = msgspec.structs.replace(task.grader, files=str(tmp_path / "tests"))
    grade = await graded(msgspec.structs.replace(task, grader=looking), layer, tmp_path / "grading")
    lines = grade.detail["output"].split("\n")
    assert lines[:2] == ["new", "kept"]
    assert lines[2:6] == ["keep:", "other", "", "old:"]
    assert lines[6] == "x"
    assert lines[7:12] == ["1000 644", "0 700", "dangling -> nowhere", "me:x:5:5::/:", "runs"]
    assert lines[12] == r"\377\376"
    assert "sleep" not in lines


@pytest.mark.anyio
async def test_a_machine_is_found_again_after_an_interruption(folder: Path, tmp_path: Path) -> None:
    task = find_task(str(folder / "built"))
    spec = machine(task, tmp_path / "team")
    sandbox = await docker(spec)
    assert (await sandbox.exec(SOLVED, agent="solo", timeout_s=60)).exit_code == 0
    await sandbox.aclose(keep=True)
    again = await sandboxes.reattach(sandbox.info, spec)
    try:
        assert (await again.exec("cat greeting.txt", agent="solo", timeout_s=60)).head == b"hello world\n"
        await again.collect(tmp_path / "layer.tar.gz")
    finally:
        await again.aclose()
    assert (await graded(task, tmp_path / "layer.tar.gz", tmp_path / "grading")).reward == 1.0


CHEATS = {
    "tests put there before": "mkdir -p /tests; printf 'good() { true; }\\n' > /tests/check.sh",
    "tests as a link": "mkdir /x; printf 'good() { true; }\\n' > /x/check.sh; ln -s /x /tests",
    "a reward": "mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.json",
    "a reward behind a link": "mkdir -p /x/verifier; echo 1 > /x/verifier/reward.json; ln -s /x /logs",
    "a process that writes one": "mkdir -p /logs/verifier; "
    "(while :; do echo 1 > /logs/verifier/reward.json; sleep 0.01; done) > /dev/null 2>&1 &",
}


@pytest.mark.anyio
@pytest.mark.parametrize("name", list(CHEATS))
async def test_what_is_put_where_the_tests_come_is_not_there(name: str, folder: Path, tmp_path: Path) -> None:
    task = find_task(str(folder / "built"))
    layer = await handed_in(task, CHEATS[name], tmp_path / "team")
    assert (await graded(task, layer, tmp_path / "grading")).reward == 0.0


@pytest.mark.anyio
async def test_what_was_put_there_is_told(folder: Path, tmp_path: Path) -> None:
    task = find_task(str(folder / "built"))
    layer = await handed_in(task, CHEATS["tests put there before"] + f"; {SOLVED}", tmp_path / "team")
    grade = await graded(task, layer, tmp_path / "grading")
    assert (grade.reward, grade.detail["planted"]) == (1.0, ["tests/check.sh"])


@pytest.mark.anyio
async def test_a_machine_on_which_the_tests_do_not_end_is_worth_nothing(folder: Path, tmp_path: Path) -> None:
    """The untouched machine shows that the tests are not to blame."""
    task = find_task(str(folder / "named"))
    layer = await handed_in(task, "echo 'import os; os.killpg(0, 9)' > double.py", tmp_path / "team")
    grade = await graded(task, layer, tmp_path / "grading")
    assert grade.reward == 0.0
    assert "on the untouched machine they leave one" in grade.detail["tests"]


@pytest.mark.anyio
async def test_tests_that_never_give_a_reward_are_a_fault_of_the_grading(folder: Path, tmp_path: Path) -> None:
    silent = {**SHARES, "tests/test.sh": "#!/bin/bash\necho nothing to say; exit 3\n"}
    path = harbor_room.write(tmp_path / "silent", silent, TOML.format(name="silent", difficulty="easy", more=""))
    task = find_task(str(path))
    layer = await handed_in(task, "touch a", tmp_path / "team")
    with pytest.raises(GradingError, match=r"exited with 3 and left no reward.*: nothing to say; on the untouched"):
        await graded(task, layer, tmp_path / "grading")


def made_anew(image: str) -> None:
    def call(*words: str) -> str:
        return subprocess.run(["docker", *words], check=True, capture_output=True, text=True).stdout.strip()

    container = call("create", image, "true")
    call("commit", container, image)
    call("rm", container)


@pytest.mark.anyio
async def test_a_layer_of_another_image_is_told(folder: Path, tmp_path: Path) -> None:
    task = find_task(str(folder / "shares"))
    layer = await handed_in(task, "touch a b c", tmp_path / "team")
    assert "image" not in (await graded(task, layer, tmp_path / "first")).detail
    made_anew(task.image)
    grade = await graded(task, layer, tmp_path / "second")
    assert grade.reward == 1.0
    assert grade.detail["image"].startswith("the image was made anew since: sha256:")
