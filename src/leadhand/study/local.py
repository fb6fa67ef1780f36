"""The engine on one machine: every run in this process, on one event loop, all behind one limiter."""

from __future__ import annotations

from collections.abc import Mapping

import anyio.to_thread

from leadhand.core.ports import Limiter
from leadhand.models import SharedLimiter
from leadhand.runs import store
from leadhand.runs.execution import PORTS, Execution, Ports
from leadhand.runs.paths import RunPaths
from leadhand.study.engine import Job
from leadhand.study.outcome import Outcome, lost, outcome_of, read_outcome
from leadhand.study.taken import can_go_on


class LocalEngine:
    """At most `slots` sandboxes at once; the driver sees to it."""

    def __init__(
        self, keys: Mapping[str, str], slots: int, *, limiter: Limiter | None = None, ports: Ports = PORTS
    ) -> None:
        self.slots = slots
        self._keys = keys
        self._limiter = limiter or SharedLimiter()
        self._ports = ports

    async def submit(self, job: Job) -> Outcome:
        paths = RunPaths(job.folder)
        if not paths.run_json.exists():
            # A folder without it is no run: making it was cut off.
            await anyio.to_thread.run_sync(store.remove, paths.folder)
            await anyio.to_thread.run_sync(store.create, job.folder.parent, job.file, job.folder.name)
        elif not await anyio.to_thread.run_sync(can_go_on, paths):
            return lost(await anyio.to_thread.run_sync(read_outcome, paths))
        execution = Execution(paths, self._keys, observers=(job.watch,), limiter=self._limiter, ports=self._ports)
        entries = await execution.finish()
        return outcome_of(entries, execution.run.lock)

    async def aclose(self) -> None:
        pass
