"""Where what is prepared once and used by many runs lies on this machine."""

from __future__ import annotations

import os
from pathlib import Path


def cache() -> Path:
    """$LEADHAND_CACHE, else a folder of ours where this user's caches are."""
    if named := os.environ.get("LEADHAND_CACHE"):
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "leadhand"
