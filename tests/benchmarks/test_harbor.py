"""Folders in Harbor's format: read, refused where they ask for more, found as a set; rewards as Harbor reads them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from harbor_room import TOML, write_set

from leadhand.benchmarks.folder import find_task, task_folders
from leadhand.benchmarks.harbor.reward import reward_of
from leadhand.benchmarks.listing import listed
from leadhand.core.design import Design
from leadhand.core.errors import GradingError, UsageError
from leadhand.runs.plan import plan
from leadhand.runs.spec import Request
from leadhand.study.file import Selection
from leadhand.study.sources import selected_of

Make = Callable[..., Path]

FILES = {
    "task.toml": """
version = "1.0"
[metadata]
difficulty = "easy"
tags = ["x"]
[agent]
timeout_sec = 900.0
[verifier]
timeout_sec = 60
[environment]
docker_image = "debian:12"
cpus = 2
memory = "2G"
storage = "10G"
allow_internet = false
""",
    "instruction.md": "Write hello into /app/greeting.txt.",
    "tests/test.sh": "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n",
}


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(**changes: str) -> Path:
        folder = tmp_path / "greet"
        for name, text in {**FILES, **changes}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return folder

    return made


def toml(more: str) -> dict[str, str]:
    return {"task.toml": f"[environment]\ndocker_image = 'x'\n{more}"}


def test_a_folder_is_read(make: Make) -> None:
    task = find_task(str(make()))
    assert (task.id, task.benchmark, task.image, task.network, task.whole) == (
        "greet",
        "harbor",
        "debian:12",
        False,
        True,
    )
    limits = task.limits
    assert (limits.run_s, limits.cpus, limits.memory_mb, limits.file_mb) == (900, 2, 2048, 10240)
    assert limits.command_s == limits.delegation_s == 900, "the design's own limits hold"
    assert task.labels == {"difficulty": "easy"}
    assert task.prompt.startswith("Write hello")
    assert task.grader is not None
    assert (task.grader.timeout_s, task.grader.options) == (60, {"network": "no"})
    assert (task.build, task.solution, task.user, task.workdir) == (None, "", "", "")


def test_everything_that_a_terminal_bench_task_says_is_read(make: Make) -> None:
    table = TOML.format(name="greet", difficulty="hard", more='workdir = "/srv"')
    folder = make(**{"task.toml": table, "environment/Dockerfile": "FROM x\n", "solution/solve.sh": "true\n"})
    task = find_task(str(folder))
    assert task.build is not None
    assert (task.build.folder, task.build.timeout_s) == (str(folder / "environment"), 120)
    assert task.image.startswith("leadhand-task-greet:")
    assert (task.workdir, task.env, task.solution) == ("/srv", {"LANGUAGE": "la"}, str(folder / "solution"))


def test_each_thing_that_decides_has_its_digest(make: Make) -> None:
    """What a team sees changes the task's, what grades changes the grader's, and neither changes the other."""
    plain = {"task.toml": "[environment]\n", "environment/Dockerfile": "FROM x\n", "environment/data": "1"}
    first = find_task(str(make(**plain)))
    same = find_task(str(make(**plain)))
    assert (first.digest, first.grader_digest, first.image) == (same.digest, same.grader_digest, same.image)
    image = find_task(str(make(**{**plain, "environment/data": "2"})))
    assert image.image != first.image
    assert image.digest != first.digest
    tests = find_task(str(make(**{**plain, "tests/test.sh": "true\n"})))
    assert tests.digest == first.digest
    assert tests.grader_digest != first.grader_digest
    env = find_task(str(make(**{**plain, "task.toml": "[environment.env]\nA = 'b'\n", "tests/test.sh": "true\n"})))
    assert env.digest != tests.digest
    assert env.grader_digest == tests.grader_digest
    verifier = find_task(str(make(**{**plain, "task.toml": "[verifier.env]\nA = 'b'\n", "tests/test.sh": "true\n"})))
    assert verifier.digest == tests.digest
    assert verifier.grader_digest != tests.grader_digest


@pytest.mark.parametrize(
    ("more", "team", "tests"),
    [
        ("", True, "yes"),
        ("allow_internet = false", False, "no"),
        ("network_mode = 'no-network'", False, "no"),
        ("network_mode = 'public'\nallow_internet = false", True, "yes"),
        ("allow_internet = true\n[agent]\nnetwork_mode = 'no-network'", False, "yes"),
        ("[verifier]\nnetwork_mode = 'no-network'", True, "no"),
    ],
)
def test_the_network_is_open_unless_it_is_closed(more: str, team: bool, tests: str, make: Make) -> None:
    task = find_task(str(make(**toml(more))))
    assert task.grader is not None
    assert (task.network, task.grader.options["network"]) == (team, tests)


REFUSED = {
    "several containers": ({"environment/docker-compose.yaml": "services: {}"}, "several containers"),
    "several steps": ({"steps/one/instruction.md": "x"}, "several steps"),
    "steps in the table": ({"task.toml": "[[steps]]\nname = 'one'\n"}, "steps = "),
    "no image": ({"task.toml": ""}, r"names no environment\.docker_image"),
    "mcp servers": (toml("mcp_servers = [{name = 'x'}]"), r"environment\.mcp_servers"),
    "gpus": (toml("gpus = 1"), r"environment\.gpus = 1"),
    "a health check": (toml("[environment.healthcheck]\ncommand = 'true'"), r"environment\.healthcheck"),
    "windows": (toml("os = 'windows'"), r"environment\.os = windows"),
    "skills": (toml("skills_dir = '/skills'"), r"environment\.skills_dir"),
    "a list of hosts": (toml("network_mode = 'allowlist'"), "network_mode = allowlist"),
    "a container of the tests' own": (toml("[verifier]\nenvironment_mode = 'separate'"), r"verifier\.environment_mode"),
    "an image of the tests' own": (toml("[verifier.environment]\ndocker_image = 'y'"), r"verifier\.environment"),
    "a user of the tests' own": (toml("[verifier]\nuser = 'nobody'"), r"verifier\.user = nobody"),
    "artifacts": ({"task.toml": "artifacts = ['/x']\n"}, r"artifacts = \['/x'\]"),
    "keys of the host": (toml("[verifier.env]\nKEY = '${OPENAI_API_KEY}'"), r"verifier\.env\.KEY .*no variable"),
    "no table of texts": (toml("[verifier.env]\nKEY = 1"), r"verifier\.env: is not a table"),
    "unknown keys": (toml("surprise = true"), r"environment\.surprise = True"),
    "unknown tables": ({"task.toml": "[surprise]\nx = 1\n"}, "surprise = "),
    "a conversation before": ({"trajectory.json": "{}"}, "trajectory.json: a conversation"),
    "files left out": ({"tests/.harborignore": "x"}, "harborignore: files left out"),
    "a bad limit": (toml("[agent]\ntimeout_sec = -1"), r"agent\.timeout_sec: -1 is not a positive"),
    "a bad size": (toml("memory = 'lots'"), "not a size"),
    "a bad switch": (toml("allow_internet = 'no'"), "neither true nor false"),
    "no TOML": ({"task.toml": "["}, "cannot be read"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_is_not_supported_is_refused_in_one_line(name: str, make: Make) -> None:
    files, why = REFUSED[name]
    with pytest.raises(UsageError, match=why) as refused:
        find_task(str(make(**files)))
    assert "\n" not in str(refused.value)


def test_a_verifier_is_needed(make: Make) -> None:
    folder = make()
    (folder / "tests/test.sh").unlink()
    with pytest.raises(UsageError, match=r"has no test\.sh"):
        find_task(str(folder))


def test_a_task_of_ours_whose_prompt_is_called_instruction_stays_ours(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text('prompt_file = "instruction.md"\n')
    (tmp_path / "instruction.md").write_text("x")
    assert find_task(str(tmp_path)).benchmark == "folder"


def test_a_whole_image_needs_docker_and_goes_with_neither_peers_nor_a_setup(make: Make) -> None:
    request = Request(
        task=find_task(str(make())), design=Design(lead="scripted/bench_teams:SCRIPTS", budget_usd=1.0), sandbox="bwrap"
    )
    docker = ("docker", "")
    with pytest.raises(UsageError, match="an image of its own, for which bwrap is no place"):
        plan(request, {}, ("bwrap", ""))
    with pytest.raises(UsageError, match="with which --setup does not go"):
        plan(msgspec.structs.replace(request, setup="make"), {}, docker)
    peers = Design(lead="scripted/bench_teams:SCRIPTS", budget_usd=1.0, strategy="peers", k=2, collect="first")
    with pytest.raises(UsageError, match="peers can have no copies"):
        plan(msgspec.structs.replace(request, design=peers), {}, docker)
    assert plan(request, {}, docker).lock.task.whole


# --- sets --------------------------------------------------------------------------------------------------------


def test_a_folder_of_tasks_is_a_set(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set")
    (folder / "notes").mkdir()
    assert [f.name for f in task_folders(folder)] == ["built", "named", "shares"]
    with pytest.raises(UsageError, match=r"holds 3 tasks: name one of them \(`leadhand bench list"):
        find_task(str(folder))
    found = selected_of(Selection(source=("set",)), tmp_path)
    assert [t.id for t in found] == ["built", "named", "shares"]


def test_a_task_that_cannot_be_run_says_so_in_the_list_and_can_be_left_out_of_a_study(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "set")
    (folder / "named/environment").mkdir()
    (folder / "named/environment/docker-compose.yaml").write_text("services: {}\n")
    states = {t.id: (t.state, t.note) for t in listed(str(folder))}
    assert states["named"][0] == "refused"
    assert "several containers" in states["named"][1]
    assert states["built"][0].startswith("image leadhand-task-built:")
    with pytest.raises(UsageError, match=r'several containers.*leave it out with tasks.without = \["named"\]'):
        selected_of(Selection(source=("set",)), tmp_path)
    found = selected_of(Selection(source=("set/*",), without=("named",)), tmp_path)
    assert [t.id for t in found] == ["built", "shares"]


# --- rewards -----------------------------------------------------------------------------------------------------


def test_rewards_as_harbor_reads_them() -> None:
    assert reward_of(None, "1").reward == 1.0
    assert reward_of(None, " 0.25\n").reward == 0.25
    assert reward_of('{"reward": 0.5, "files": 7}', "1").reward == 0.5, "reward.json goes before reward.txt"
    assert reward_of('{"reward": 0.5, "files": 7}', None).detail == {"rewards": {"files": 7.0}}
    assert reward_of('{"accuracy": 0.75}', None).reward == 0.75, "one number, whatever it is called"
    assert reward_of("true", None).reward == 1.0
    assert reward_of("0.5", None).reward == 0.5


@pytest.mark.parametrize(
    ("in_json", "in_text", "why"),
    [
        (None, "", "not a number"),
        (None, "good", "not a number"),
        (None, "nan", "not a number"),
        (None, "2", r"not in \[0, 1\]"),
        ("{", None, "not JSON"),
        ('{"a": 1, "b": 0}', None, "no `reward` among a, b"),
        ("{}", None, "no `reward` among nothing"),
        ('{"reward": "1"}', None, "not a number"),
        ('{"reward": 1e309}', None, "not a number"),
        ('{"reward": -0.5}', None, r"not in \[0, 1\]"),
        ("[1]", None, "not a number"),
    ],
)
def test_what_is_no_reward_is_a_fault_of_the_grading(in_json: str | None, in_text: str | None, why: str) -> None:
    with pytest.raises(GradingError, match=why):
        reward_of(in_json, in_text)
