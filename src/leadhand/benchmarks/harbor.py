"""Task folders in Harbor's format (Terminal-Bench-style sets): task.toml, instruction.md, environment/, tests/.

Read are one image, limits, the network, one instruction and one verifier (`tests/test.sh`, which leaves its reward in
/logs/verifier). What this cannot do is refused in one line, never half done.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from leadhand.benchmarks.digests import grader_digest, task_digest
from leadhand.core.errors import UsageError
from leadhand.core.values import Grader, Limits, Task

INSTRUCTION = "instruction.md"
KNOWN = {
    "": {"version", "schema_version", "metadata", "agent", "verifier", "environment", "task", "source", "solution"},
    "agent": {"timeout_sec"},
    "verifier": {"timeout_sec"},
    "environment": {"docker_image", "cpus", "memory_mb", "memory", "storage_mb", "storage", "allow_internet",
                    "build_timeout_sec", "gpus"},
}  # fmt: skip
_SIZES = {"K": 1 / 1024, "M": 1, "G": 1024}
_ELSEWHERE = re.compile(r"(?<![\w.])/(app|testbed|solution|oracle|root/[\w.]+)\b")

# The verifier runs on copies with its fixed paths replaced: the sandbox's root is read-only.
VERIFY = r"""
place=$(mktemp -d /tmp/verifier.XXXXXX) && mkdir -p "$place/logs/verifier" && cp -r "$GRADER" "$place/tests" || exit 1
find "$place/tests" -type f -exec grep -Iq . {} \; -exec sed -i \
  -e "s#/logs/verifier#$place/logs/verifier#g" -e "s#\(^\|[^[:alnum:]_.]\)/tests/#\1$place/tests/#g" {} +
bash "$place/tests/test.sh" >&2
if [ -s "$place/logs/verifier/reward.json" ]; then tr -d '\n' < "$place/logs/verifier/reward.json"; echo
elif [ -s "$place/logs/verifier/reward.txt" ]; then printf '{"reward": %s}\n' "$(tr -d '[:space:]' < "$place/logs/verifier/reward.txt")"
else echo "tests/test.sh left no reward in /logs/verifier" >&2; exit 1; fi
"""  # noqa: E501


def is_harbor(folder: Path) -> bool:
    return (folder / INSTRUCTION).is_file() and (folder / "tests").is_dir()


def load_harbor(folder: Path) -> Task:
    """The task in a Harbor folder. Raises `UsageError` for what is not supported, and says what."""
    file = folder / "task.toml"
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        prompt = (folder / INSTRUCTION).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file}: cannot be read: {error}") from None
    _only_known(table, file)
    environment = table.get("environment", {})
    _refuse(folder, environment, prompt, file)
    grader = Grader(
        command=VERIFY.strip(),
        files=str(folder / "tests"),
        timeout_s=_positive(table.get("verifier", {}).get("timeout_sec", 600.0), file, "verifier.timeout_sec"),
    )
    task = Task(
        id=re.sub(r"[^A-Za-z0-9._-]", "-", folder.name).lstrip("-._") or "task",
        prompt=f"{prompt}\n\nYou work in the folder {{workspace}}.",
        limits=_limits(table, file),
        network=bool(environment.get("allow_internet", True)),
        image=_image(folder, environment, file),
        grader=grader,
        labels={k: str(v) for k, v in table.get("metadata", {}).items() if isinstance(v, str | int | float)},
        isolated=True,
    )
    return msgspec.structs.replace(task, digest=task_digest(task), grader_digest=grader_digest(grader))


def _only_known(table: dict[str, Any], file: Path) -> None:
    for name, known in KNOWN.items():
        part = table.get(name, {}) if name else table
        for key in part:
            if key not in known:
                raise UsageError(f"{file}: {name + '.' if name else ''}{key}: is not supported by Leadhand")
    if table.get("environment", {}).get("gpus"):
        raise UsageError(f"{file}: environment.gpus: is not supported by Leadhand")


def _refuse(folder: Path, environment: dict[str, Any], prompt: str, file: Path) -> None:
    compose = list((folder / "environment").glob("docker-compose.y*ml"))
    if compose:
        raise UsageError(f"{compose[0]}: tasks of several containers are not supported by Leadhand")
    if not (folder / "tests/test.sh").is_file():
        raise UsageError(f"{folder / 'tests'}: has no test.sh, which gives the reward")
    texts = {INSTRUCTION: prompt}
    for path in sorted((folder / "tests").rglob("*")):
        if path.is_file():
            texts[path.relative_to(folder).as_posix()] = path.read_text(encoding="utf-8", errors="replace")
    for name, text in texts.items():
        if found := _ELSEWHERE.search(text):
            raise UsageError(f"{folder / name}: works in {found[0]}, but Leadhand's teams work in /workspace")
    if (folder / "steps").is_dir():
        raise UsageError(f"{file}: tasks of several steps are not supported by Leadhand")


def _image(folder: Path, environment: dict[str, Any], file: Path) -> str:
    """The image that is named, or that a Dockerfile of nothing but FROM and WORKDIR stands for."""
    if named := environment.get("docker_image"):
        return str(named)
    dockerfile = folder / "environment/Dockerfile"
    if not dockerfile.is_file():
        raise UsageError(f"{file}: names no environment.docker_image and has no environment/Dockerfile")
    lines = [line.split() for line in dockerfile.read_text(encoding="utf-8").splitlines()]
    lines = [words for words in lines if words and not words[0].startswith("#")]
    steps = [words[0].upper() for words in lines]
    if steps[:1] != ["FROM"] or set(steps) - {"FROM", "WORKDIR"} or steps.count("FROM") != 1:
        raise UsageError(
            f"{dockerfile}: has to be built; do so (docker build -t NAME {folder / 'environment'}) "
            "and set environment.docker_image = NAME"
        )
    return lines[0][1]


def _limits(table: dict[str, Any], file: Path) -> Limits:
    environment, limits = table.get("environment", {}), Limits()
    memory = environment.get("memory_mb")
    if memory is None and (text := str(environment.get("memory", ""))):
        number = re.fullmatch(r"(\d+)\s*([KMG])i?[Bb]?", text)
        if number is None:
            raise UsageError(f"{file}: environment.memory: {text!r} is not a size such as 2G")
        memory = int(int(number[1]) * _SIZES[number[2]])
    run_s = table.get("agent", {}).get("timeout_sec", limits.run_s)
    return msgspec.structs.replace(
        limits,
        run_s=_positive(run_s, file, "agent.timeout_sec"),
        memory_mb=memory,
        cpus=float(environment["cpus"]) if "cpus" in environment else None,
    )


def _positive(value: Any, file: Path, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise UsageError(f"{file}: {key}: {value} is not a positive number of seconds")
    return float(value)
