"""A folder in Harbor's format as a `Task`: task.toml, instruction.md, environment/, tests/, solution/."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from leadhand.benchmarks.digests import content, grader_digest, task_digest
from leadhand.benchmarks.harbor import refusing
from leadhand.core.chain import canonical, digest
from leadhand.core.errors import UsageError
from leadhand.core.values import Build, Grader, Limits, Task

INSTRUCTION = "instruction.md"
KEPT = (
    "You work in the folder {workspace}. The whole machine is yours; every file that you change on it, anywhere, is "
    "handed in. Programs that you leave running are not: they are ended."
)
_SIZES = {"K": 1 / 1024, "M": 1, "G": 1024}
_NETWORK = {"public": True, "no-network": False}


def is_harbor(folder: Path) -> bool:
    with_parts = any((folder / part).is_dir() for part in ("tests", "environment"))
    return (with_parts and (folder / INSTRUCTION).is_file()) or any(folder.glob(f"steps/*/{INSTRUCTION}"))


def load_harbor(folder: Path) -> Task:
    """The task in a Harbor folder. Raises `UsageError` for what is not supported, and says what."""
    file = folder / "task.toml"
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        refusing.check(folder, table, file)
        prompt = (folder / INSTRUCTION).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{file.parent}: cannot be read: {error}") from None
    parts = {name: table.get(name, {}) for name in ("agent", "verifier", "environment", "solution", "metadata")}
    environment, agent = parts["environment"], parts["agent"]
    name = re.sub(r"[^A-Za-z0-9._-]", "-", folder.name).lstrip("-._") or "task"
    network = _network(environment, True, file)
    image, build = _image(folder, name, environment, file)
    grader = _grader(folder, parts, _network(parts["verifier"], network, file), file)
    task = Task(
        id=name,
        benchmark="harbor",
        prompt=f"{prompt}\n\n{KEPT}",
        limits=_limits(agent, environment, file),
        network=_network(agent, network, file),
        image=image,
        build=build,
        whole=True,
        workdir=_text(environment, "workdir", file),
        user=str(agent.get("user") or ""),
        env=environment.get("env", {}),
        grader=grader,
        labels={k: str(v) for k, v in parts["metadata"].items() if isinstance(v, str | int | float)},
        isolated=True,
        solution=str(folder / "solution") if (folder / "solution/solve.sh").is_file() else "",
    )
    return msgspec.structs.replace(task, digest=task_digest(task), grader_digest=grader_digest(grader))


def _image(folder: Path, name: str, environment: dict[str, Any], file: Path) -> tuple[str, Build | None]:
    """The image that is named, or the name under which the Dockerfile's is built: by the content of its folder."""
    if named := _text(environment, "docker_image", file):
        return named, None
    context = folder / "environment"
    if not (context / "Dockerfile").is_file():
        raise UsageError(f"{file}: names no environment.docker_image and has no environment/Dockerfile")
    mark = digest(canonical(content(str(context))))[:16]
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "task"
    timeout_s = _positive(environment.get("build_timeout_sec", 600.0), "environment.build_timeout_sec", file)
    return f"leadhand-task-{slug}:{mark}", Build(folder=str(context), timeout_s=timeout_s)


def _grader(folder: Path, parts: dict[str, dict[str, Any]], network: bool, file: Path) -> Grader:
    env = parts["verifier"].get("env", {})
    solving = parts["solution"].get("env", {})
    return Grader(
        files=str(folder / "tests"),
        timeout_s=_positive(parts["verifier"].get("timeout_sec", 600.0), "verifier.timeout_sec", file),
        options={
            "network": "yes" if network else "no",
            **({"env": json.dumps(env, sort_keys=True)} if env else {}),
            **({"solution_env": json.dumps(solving, sort_keys=True)} if solving else {}),
        },
    )


def _network(part: dict[str, Any], otherwise: bool, file: Path) -> bool:
    """`network_mode`; else the older `allow_internet`; else what holds for the whole task."""
    mode = part.get("network_mode")
    if mode is None:
        legacy = part.get("allow_internet")
        if legacy is not None and not isinstance(legacy, bool):
            raise UsageError(f"{file}: environment.allow_internet: {legacy!r} is neither true nor false")
        return otherwise if legacy is None else legacy
    if mode not in _NETWORK:
        raise UsageError(f"{file}: network_mode = {str(mode)[:60]}: is not supported by Leadhand; public or no-network")
    return _NETWORK[mode]


def _limits(agent: dict[str, Any], environment: dict[str, Any], file: Path) -> Limits:
    """A command may take as long as the run: how long it really may is the design's own setting."""
    limits = Limits()
    run_s = _positive(agent.get("timeout_sec", limits.run_s), "agent.timeout_sec", file)
    cpus = environment.get("cpus")
    return msgspec.structs.replace(
        limits,
        run_s=run_s,
        command_s=run_s,
        delegation_s=run_s,
        memory_mb=_megabytes(environment, "memory", file),
        cpus=None if cpus is None else _positive(cpus, "environment.cpus", file),
        file_mb=_megabytes(environment, "storage", file) or limits.file_mb,
    )


def _megabytes(environment: dict[str, Any], key: str, file: Path) -> int | None:
    """`memory_mb`, or the older `memory = "2G"`."""
    if (number := environment.get(f"{key}_mb")) is not None:
        return int(_positive(number, f"environment.{key}_mb", file))
    if not (text := str(environment.get(key, ""))):
        return None
    size = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG])i?B?", text.upper())
    if size is None:
        raise UsageError(f"{file}: environment.{key}: {text!r} is not a size such as 2G")
    return int(float(size[1]) * _SIZES[size[2]])


def _text(part: dict[str, Any], key: str, file: Path) -> str:
    value = part.get(key) or ""
    if not isinstance(value, str):
        raise UsageError(f"{file}: environment.{key}: {value!r} is not a text")
    return value


def _positive(value: Any, key: str, file: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise UsageError(f"{file}: {key}: {value} is not a positive number")
    return float(value)
