"""Digests of a task by content: where a folder lies, when it was made and who owns it do not matter."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from leadhand.core.chain import canonical, digest
from leadhand.core.values import Grader, Task


def content(path: str) -> list[list[Any]]:
    """A file or a folder tree as [name, kind, executable, digest], sorted by name. A missing path is empty."""
    root = Path(path)
    if root.is_file():
        return [_entry(root, "")]
    found = [Path(folder) / name for folder, folders, files in os.walk(root) for name in folders + files]
    return sorted(_entry(p, p.relative_to(root).as_posix()) for p in found)


def _text(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _entry(path: Path, name: str) -> list[Any]:
    name = _text(name)
    if path.is_symlink():
        return [name, "link", False, _text(os.readlink(path))]
    if path.is_dir():
        return [name, "folder", False, ""]
    return [name, "file", os.access(path, os.X_OK), digest(path.read_bytes())]


def task_digest(task: Task) -> str:
    """Covers everything that the team can see or feel of a task; not its id, nor its grader."""
    machine = {"whole": task.whole, "workdir": task.workdir, "env": task.env, "user": task.user}
    return digest(
        canonical(
            {
                **{key: value for key, value in machine.items() if value},
                "prompt": task.prompt,
                "workspace": content(task.workspace) if task.workspace else [],
                "setup": task.setup,
                "limits": task.limits,
                "network": task.network,
                "image": task.image,
                # Only the bytes: a reference is staged unreadable, and wheels do not keep modes.
                "mounts": [[m.target, m.link, [[e[0], e[3]] for e in content(m.source)]] for m in task.mounts],
            }
        )
    )


def grader_digest(grader: Grader | None) -> str:
    """Covers everything that can change a grade."""
    if grader is None:
        return ""
    files = content(grader.files) if grader.files else []
    cases = digest(Path(grader.cases).read_bytes()) if grader.cases else ""
    settings = [grader.command, grader.build, grader.program, grader.case_timeout_s, grader.timeout_s]
    options = [grader.options] if grader.options else []
    return digest(canonical([settings, files, cases, *options]))
