"""`task.toml` to a `Task`: strict, and every complaint is one line that names the file, the key and the remedy."""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from leadhand.benchmarks.digests import grader_digest, task_digest
from leadhand.benchmarks.harbor.reading import is_harbor, load_harbor
from leadhand.benchmarks.trial import build_command
from leadhand.core.errors import UsageError
from leadhand.core.values import Grader, Limits, Mount, Task, Value

FILE = "task.toml"
GOLD = "gold"
"""The folder of a task in which its author's solution lies, if there is one."""
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
PLACEHOLDER = re.compile(r"\{(workspace|reference)\}")

T = TypeVar("T", bound=msgspec.Struct)


class TaskTable(Value, frozen=True, kw_only=True):
    """The top level of `task.toml`."""

    id: str = ""
    prompt: str = ""
    prompt_file: str = ""
    workspace: str = ""
    setup: str = ""
    network: bool = False
    image: str = ""
    limits: dict[str, Any] = {}
    labels: dict[str, str] = {}
    reference: dict[str, Any] = {}
    grader: dict[str, Any] = {}


class ReferenceTable(Value, frozen=True, kw_only=True):
    """`[reference]`: an executable that the team may run and not read, shown at `target`, linked from the workspace."""

    executable: str
    target: str = "/reference/executable"
    link: str = "executable"


def load_task(folder: Path) -> Task:
    """The task in `folder` (or whose `task.toml` is `folder`). Raises `UsageError` for anything that does not fit."""
    folder = folder.resolve()
    if folder.name == FILE:
        folder = folder.parent
    if is_harbor(folder):
        return load_harbor(folder)
    file = folder / FILE
    table = _table(_read(file), TaskTable, file, "")
    identity = table.id or folder.name
    if not ID.fullmatch(identity):
        raise UsageError(f"{file}: id: {identity!r} is not a name; use letters, digits, '.', '_' and '-'")
    mounts, reference = _reference(table.reference, file)
    grader = _grader(table.grader, file) if table.grader else None
    task = Task(
        id=identity,
        prompt=_prompt(table, file, bool(reference)),
        workspace=str(_existing(file, "workspace", table.workspace, "dir")) if table.workspace else "",
        setup=table.setup,
        limits=_positive(_table(table.limits, Limits, file, "limits."), file, "limits."),
        network=table.network,
        image=table.image,
        mounts=mounts,
        reference=reference,
        grader=grader,
        labels=table.labels,
        finish_check=build_command(grader) if grader is not None and grader.cases else "",
        solution=str(folder / GOLD) if (folder / GOLD).is_dir() else "",
    )
    return msgspec.structs.replace(task, digest=task_digest(task), grader_digest=grader_digest(task.grader))


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"{file}: no such file; a task is a folder with a {FILE} in it (see docs/tasks.md)") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read ({error}); it must be a readable UTF-8 file") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: not valid TOML: {error}; correct it there") from None


def _table(raw: dict[str, Any], kind: type[T], file: Path, prefix: str) -> T:
    """A table as the struct `kind`; `prefix` names it in complaints ("limits.")."""
    known = kind.__struct_fields__
    for key in raw:
        if key not in known:
            raise UsageError(f"{file}: {prefix}{key}: unknown key; known here: {', '.join(known)}")
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        message = str(error)
        missing = re.search(r"missing required field `(\w+)`", message)
        if missing:
            raise UsageError(f"{file}: {prefix}{missing[1]}: is missing; add it to [{prefix.rstrip('.')}]") from None
        what, _, where = message.partition(" - at `$.")
        raise UsageError(f"{file}: {prefix}{where.rstrip('`')}: {what}; correct the value") from None


def _positive(table: T, file: Path, prefix: str) -> T:
    for key in table.__struct_fields__:
        value = getattr(table, key)
        if isinstance(value, int | float) and not isinstance(value, bool) and not (math.isfinite(value) and value > 0):
            raise UsageError(f"{file}: {prefix}{key}: {value} is not a positive number; leave it out for the default")
    return table


def _existing(file: Path, key: str, value: str, kind: str) -> Path:
    path = file.parent / value
    fits = path.is_dir() if kind == "dir" else path.is_file()
    if not fits:
        what = "folder" if kind == "dir" else "file"
        raise UsageError(f"{file}: {key}: no {what} {value!r} beside it; create it or correct the path")
    return path


def _prompt(table: TaskTable, file: Path, has_reference: bool) -> str:
    if bool(table.prompt.strip()) == bool(table.prompt_file):
        raise UsageError(f"{file}: prompt: give exactly one of prompt and prompt_file")
    text = table.prompt
    if table.prompt_file:
        path = _existing(file, "prompt_file", table.prompt_file, "file")
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{file}: prompt_file: {path.name} cannot be read ({error}); save it as UTF-8") from None
        if not text.strip():
            raise UsageError(f"{file}: prompt_file: {path.name} is empty; write the prompt into it")
    if "{reference}" in text and not has_reference:
        raise UsageError(f"{file}: prompt: uses {{reference}} but there is no [reference]; add one or drop it")
    return text.strip()


def _reference(raw: dict[str, Any], file: Path) -> tuple[tuple[Mount, ...], str]:
    if not raw:
        return (), ""
    table = _table(raw, ReferenceTable, file, "reference.")
    path = _existing(file, "reference.executable", table.executable, "file")
    with path.open("rb") as stream:
        if stream.read(4) != b"\x7fELF":
            raise UsageError(
                f"{file}: reference.executable: {table.executable!r} is not an ELF executable; "
                "a script cannot run without being readable, so compile it"
            )
    if not table.target.startswith("/") or ".." in Path(table.target).parts:
        raise UsageError(f"{file}: reference.target: {table.target!r} must be an absolute path in the sandbox")
    if Path(table.link).is_absolute() or ".." in Path(table.link).parts:
        raise UsageError(f"{file}: reference.link: {table.link!r} must be a path inside the workspace")
    return (Mount(source=str(path), target=table.target, link=table.link),), table.target


def _grader(raw: dict[str, Any], file: Path) -> Grader:
    if "options" in raw:
        raise UsageError(f"{file}: grader.options: is no key of a task folder; remove it")
    grader = _positive(_table(raw, Grader, file, "grader."), file, "grader.")
    if bool(grader.command.strip()) == bool(grader.cases):
        raise UsageError(f"{file}: grader.command: give exactly one of command and cases in [grader]")
    for key in ("build", "program", "case_timeout_s"):
        if grader.command and key in raw:
            raise UsageError(f"{file}: grader.{key}: belongs to cases, not to a grader command; remove it")
    if grader.cases and grader.files:
        raise UsageError(f"{file}: grader.files: belongs to a grader command, not to cases; remove it")
    if grader.cases:
        path = _existing(file, "grader.cases", grader.cases, "file")
        return msgspec.structs.replace(grader, cases=str(path))
    if grader.files:
        return msgspec.structs.replace(grader, files=str(_existing(file, "grader.files", grader.files, "dir")))
    return grader


def fill_prompt(prompt: str, *, workspace: str, reference: str) -> str:
    """The prompt with {workspace} and {reference} replaced; any other brace is left as it is."""
    return PLACEHOLDER.sub(lambda m: workspace if m[1] == "workspace" else reference, prompt)
