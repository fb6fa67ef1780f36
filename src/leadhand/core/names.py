"""Names as people read them."""

from __future__ import annotations

REHEARSAL = "rehearsal"
"""The script that comes with Leadhand: it needs no other name than that it is one."""


def short_model(name: str) -> str:
    """A model's name, short: without its provider; a scripted one says that it is, and which, if it is somebody's own.

    The viewer's `model` in `text.js` does the same.
    """
    if not name.startswith("scripted/"):
        return name.rpartition("/")[2] or name
    script = name.rpartition(":")[2].rpartition("/")[2]
    return "scripted" if script == REHEARSAL else f"scripted {script}"
