"""Where a run's files are: each sandbox, and each peer in it, has the workspace under a path of its own."""

from __future__ import annotations

import re

from leadhand.analysis.detector import Seen, look
from leadhand.core.values import SandboxInfo

WORKSPACE, SCRATCH = "/workspace", "/scratch"
_INSIDE = f"{WORKSPACE}/"


class Places:
    """Reads commands as if every workspace were at /workspace and every scratch folder at /scratch."""

    def __init__(self) -> None:
        self._homes: dict[str, None] = {}
        self._scratch: dict[str, None] = {}
        self._needles: dict[str, None] = {}  # found much faster than the pattern, and mostly not there
        self._pattern: re.Pattern[str] | None = None

    def add(self, info: SandboxInfo) -> None:
        """A sandbox that was started. Peers have their working copies in its scratch folder (`core.peers`)."""
        self._homes[rf"{re.escape(info.scratch)}/peers/p\d+"] = None
        self._needles[f"{info.scratch}/peers/p"] = None
        for path, usual, known in ((info.workspace, WORKSPACE, self._homes), (info.scratch, SCRATCH, self._scratch)):
            if path != usual:
                known[re.escape(path)] = None
                self._needles[path] = None
        places = [f"(?P<home>{'|'.join(self._homes)})"]
        places += [f"(?P<scratch>{'|'.join(self._scratch)})"] if self._scratch else []
        self._pattern = re.compile(rf"(?<![\w.-])(?:{'|'.join(places)})(?![\w-])")

    def seen(self, command: str, reference: tuple[str, ...]) -> Seen:
        """What a command does. A file of the workspace has one name, however it is called: its path in there."""
        if self._pattern is not None and any(needle in command for needle in self._needles):
            command = self._pattern.sub(lambda m: WORKSPACE if m["home"] else SCRATCH, command)
        found = look(command, reference)
        if any(path.startswith(_INSIDE) for path in found.sources):
            sources = dict.fromkeys(path.removeprefix(_INSIDE) for path in found.sources)
            return found._replace(sources=tuple(sources))
        return found
