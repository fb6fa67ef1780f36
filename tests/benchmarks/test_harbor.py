"""Folders in Harbor's format: read, graded by their verifier in a real sandbox, refused where they ask for more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from leadhand.benchmarks.folder import FolderBenchmark, find_task
from leadhand.core.errors import GradingError, UsageError
from leadhand.core.ports import StartSandbox

Pack = Callable[[Mapping[str, str]], Path]

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
allow_internet = false
""",
    "instruction.md": "Write hello into greeting.txt.",
    "tests/test.sh": """#!/bin/bash
if . /tests/check.sh; then echo 1 > /logs/verifier/reward.txt; else echo 0.5 > /logs/verifier/reward.txt; fi
""",
    "tests/check.sh": 'test "$(cat greeting.txt)" = hello\n',
}


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    def made(**changes: str) -> Path:
        folder = tmp_path / "greet"
        for name, text in {**FILES, **changes}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return folder

    return made


def test_a_folder_is_read(make: Callable[..., Path]) -> None:
    task = find_task(str(make()))
    assert (task.id, task.image, task.network, task.isolated) == ("greet", "debian:12", False, True)
    assert (task.limits.run_s, task.limits.cpus, task.limits.memory_mb) == (900, 2, 2048)
    assert task.labels == {"difficulty": "easy"}
    assert task.prompt.startswith("Write hello")
    assert task.grader is not None
    assert task.grader.timeout_s == 60
    assert task.digest
    assert task.grader_digest


@pytest.mark.anyio
async def test_its_verifier_decides(make: Callable[..., Path], start: StartSandbox, pack: Pack, tmp_path: Path) -> None:
    task = find_task(str(make()))
    for text, reward in (("hello\n", 1.0), ("no\n", 0.5)):
        scratch = tmp_path / text.strip()
        scratch.mkdir()
        grade = await FolderBenchmark([task]).grade(task, pack({"greeting.txt": text}), start, scratch)
        assert grade.reward == reward


@pytest.mark.anyio
async def test_a_verifier_in_json_and_one_that_says_nothing(
    make: Callable[..., Path], start: StartSandbox, pack: Pack, tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    said = "#!/bin/bash\necho '{\"reward\":\n 0.25}' > /logs/verifier/reward.json\n"
    task = find_task(str(make(**{"tests/test.sh": said})))
    grade = await FolderBenchmark([task]).grade(task, pack({"greeting.txt": ""}), start, scratch)
    assert grade.reward == 0.25
    task = find_task(str(make(**{"tests/test.sh": "true\n"})))
    with pytest.raises(GradingError, match="left no reward"):
        await FolderBenchmark([task]).grade(task, pack({"greeting.txt": ""}), start, scratch)


REFUSED = {
    "several containers": ({"environment/docker-compose.yaml": "services: {}"}, "several containers"),
    "an image to be built": (
        {"task.toml": "", "environment/Dockerfile": "FROM debian:12\nRUN apt-get install -y x\n"},
        "has to be built",
    ),
    "no image": ({"task.toml": ""}, "names no environment.docker_image"),
    "another folder": ({"instruction.md": "Write to /app/greeting.txt"}, "works in /app"),
    "unknown keys": ({"task.toml": "[environment]\ndocker_image = 'x'\nmcp_servers = []\n"}, "environment.mcp_servers"),
    "gpus": ({"task.toml": "[environment]\ndocker_image = 'x'\ngpus = 1\n"}, "environment.gpus"),
    "a bad limit": ({"task.toml": "[agent]\ntimeout_sec = -1\n[environment]\ndocker_image = 'x'\n"}, "not a positive"),
    "a bad size": ({"task.toml": "[environment]\ndocker_image = 'x'\nmemory = 'lots'\n"}, "not a size"),
    "no TOML": ({"task.toml": "["}, "cannot be read"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_is_not_supported_is_refused(name: str, make: Callable[..., Path]) -> None:
    files, why = REFUSED[name]
    with pytest.raises(UsageError, match=why):
        find_task(str(make(**files)))


def test_a_plain_dockerfile_names_its_image_and_a_verifier_is_needed(make: Callable[..., Path]) -> None:
    folder = make(**{"task.toml": "", "environment/Dockerfile": "# base\nFROM debian:12\nWORKDIR /workspace\n"})
    assert find_task(str(folder)).image == "debian:12"
    (folder / "tests/test.sh").unlink()
    with pytest.raises(UsageError, match=r"has no test\.sh"):
        find_task(str(folder))
