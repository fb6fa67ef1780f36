"""Keys of providers: from the environment, else from a `.env` file. Host only; they are never printed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from leadhand.core.errors import UsageError


class Keys(dict[str, str]):
    """A mapping whose `repr` shows names only, so that a traceback or a log cannot show a key."""

    def __repr__(self) -> str:
        return f"Keys({', '.join(sorted(self))})"

    __str__ = __repr__


def load_keys(folder: Path | str, environ: Mapping[str, str] | None = None) -> Keys:
    """The environment over `folder/.env`. Raises `UsageError` naming file and line where that file is broken."""
    return Keys({**read_env_file(Path(folder) / ".env"), **(os.environ if environ is None else environ)})


def read_env_file(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as e:
        raise UsageError(f"cannot read {path}: {type(e).__name__}; fix or remove the file") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.removeprefix("export ").partition("=")
        if not equals or not name.strip().isidentifier():
            raise UsageError(f"{path}, line {number}: expected NAME=value")  # the line itself may hold a key
        found[name.strip()] = _unquote(value.strip())
    return found


def _unquote(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value.partition(" #")[0].rstrip()
