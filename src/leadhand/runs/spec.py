"""What a run is made of: the request as it was asked for, and the lock with everything resolved (`run.json`)."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec

import leadhand
from leadhand.core import wording
from leadhand.core.chain import canonical, digest, spelled_out
from leadhand.core.design import Design
from leadhand.core.errors import JournalError
from leadhand.core.harness import Prompts
from leadhand.core.tools import specs
from leadhand.core.values import Price, Task, Value

FORMAT = 1
OF_OTHER_STRATEGIES = ("strategy", "k", "collect", "selector", "selector_command")


class Repository(Value, frozen=True, kw_only=True):
    """The user's own repository that a run works on a copy of.

    `head` is its commit, "" where it has none; `base` is the commit that holds exactly what the team was given.
    """

    path: str
    head: str = ""
    base: str = ""


class Request(Value, frozen=True, kw_only=True):
    """What was asked for. Nothing here is resolved, except that paths are absolute.

    `network` gives the team the network; `setup` runs before the agents, always with the network.
    """

    task: Task
    design: Design
    sandbox: str = "auto"
    network: bool = False
    setup: str = ""
    base_urls: dict[str, str] = {}
    prices: dict[str, Price] = {}
    repository: str = ""
    wording: str = ""
    repeat: int = 1
    seed: int = 0


class Lock(Value, frozen=True, kw_only=True):
    """Everything resolved before the first event. `digest` is the run's identity."""

    digest: str
    version: str
    created: str
    task: Task
    design: Design
    prompts: Prompts
    prices: dict[str, Price]
    sandbox: str
    sandbox_reason: str = ""
    repository: Repository | None = None


class RunFile(Value, frozen=True, kw_only=True):
    """The content of `run.json`."""

    format: int = FORMAT
    request: Request
    lock: Lock


def identity(design: Design, task: Task, prompts: Prompts, sandbox: str, network: bool, setup: str, repeat: int) -> str:
    """The digest of every setting that can change what a model sees or what the grade is.

    Never prices, our version, host or concurrency: those are in the lock.
    """
    plain = spelled_out(design)
    if design.strategy == "team":  # what only other strategies have is no setting of a team
        plain = {key: value for key, value in plain.items() if key not in OF_OTHER_STRATEGIES}
    if not design.finish_check:  # what is off is no setting
        del plain["finish_check"]
    settings = {
        "design": plain,
        "task": task.digest or digest(canonical(task)),
        "grader": task.grader_digest,
        "prompts": prompts,
        "tools": [specs(design, role) for role in design.roles],
        "sandbox": [sandbox, task.image, network, setup],
        "repeat": repeat,
    }
    if design.finish_check:
        settings["finish_check"] = [task.finish_check, wording.CHECK_DIGEST]
    return digest(canonical(spelled_out(settings)))


def new_run_id(task: str, run_digest: str, now: datetime | None = None) -> str:
    """Sorts by time; two runs started in one second differ in their last part."""
    when = (now or datetime.now(UTC)).strftime("%Y%m%d-%H%M%S")
    slug = "".join(c if c.isalnum() else "-" for c in task.lower())[:32].strip("-") or "task"
    return f"{when}-{slug}-{run_digest[:4]}{os.urandom(2).hex()}"


def write_run_file(path: Path, run: RunFile) -> None:
    """Write `run.json` whole or not at all."""
    text = msgspec.json.format(msgspec.json.encode(run), indent=2)
    partial = path.with_suffix(".partial")
    partial.write_bytes(text + b"\n")
    partial.rename(path)


def read_run_file(path: Path) -> RunFile:
    """Raises `JournalError` for a file that is missing, broken or of another format."""
    try:
        run = msgspec.json.decode(path.read_bytes(), type=RunFile)
    except (OSError, msgspec.DecodeError) as error:
        raise JournalError(f"cannot read {path}: {error}") from error
    if run.format != FORMAT:
        raise JournalError(f"{path} has format {run.format}; leadhand {leadhand.__version__} reads format {FORMAT}")
    return run
