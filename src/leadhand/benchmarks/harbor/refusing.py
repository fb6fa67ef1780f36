"""What of Harbor's format is not supported: refused in one line that says what it is, never half done."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from leadhand.core.errors import UsageError

# Of each table: what is read, and what must be absent or empty.
READ = {
    "": {"version", "schema_version", "metadata", "agent", "verifier", "environment", "task", "source", "solution"},
    "agent": {"timeout_sec", "user", "network_mode"},
    "verifier": {"timeout_sec", "env", "network_mode"},
    "solution": {"env"},
    "environment": {"docker_image", "build_timeout_sec", "cpus", "memory_mb", "memory", "storage_mb", "storage", "env",
                    "allow_internet", "network_mode", "workdir"},
}  # fmt: skip
EMPTY = {
    "": {"artifacts", "steps"},
    "agent": {"allowed_hosts"},
    "verifier": {"allowed_hosts", "collect", "user"},
    "solution": set[str](),
    "environment": {"gpus", "gpu_types", "tpu", "mcp_servers", "skills_dir", "healthcheck", "allowed_hosts"},
}
ONLY = {("verifier", "environment_mode"): "shared", ("environment", "os"): "linux"}
"""Keys with the one value that they may have."""

_OF_THE_HOST = re.compile(r"\$\{[^}]*\}")


def check(folder: Path, table: dict[str, Any], file: Path) -> None:
    """Raises `UsageError` for the first thing that is not supported."""
    for compose in (folder / "environment").glob("docker-compose.y*ml"):
        raise UsageError(f"{compose}: tasks of several containers are not supported by Leadhand")
    if (folder / "steps").is_dir():
        raise UsageError(f"{file}: tasks of several steps are not supported by Leadhand")
    for name, what in (("trajectory.json", "a conversation that was begun"), (".harborignore", "files left out")):
        if found := next(folder.rglob(name), None):
            raise UsageError(f"{found}: {what} is not supported by Leadhand")
    if not (folder / "tests/test.sh").is_file():
        raise UsageError(f"{folder / 'tests'}: has no test.sh, which gives the reward")
    for name in READ:
        part = table if not name else table.get(name, {})
        if not isinstance(part, dict):
            raise UsageError(f"{file}: {name}: is not a table")
        for key, value in part.items():
            _check_key(name, key, value, file)


def _check_key(table: str, key: str, value: Any, file: Path) -> None:
    full = f"{table}.{key}" if table else key
    if key in READ[table]:
        if key == "env":
            _check_env(full, value, file)
        return
    if key in EMPTY[table] and not value:
        return
    if ONLY.get((table, key)) == (value.lower() if isinstance(value, str) else value):
        return
    raise UsageError(f"{file}: {full} = {str(value)[:60]}: is not supported by Leadhand")


def _check_env(full: str, value: Any, file: Path) -> None:
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        raise UsageError(f"{file}: {full}: is not a table of texts")
    for name, text in value.items():
        if _OF_THE_HOST.search(text):
            raise UsageError(f"{file}: {full}.{name} = {text[:60]}: no variable of this machine enters a sandbox")
