"""Equal agents without a lead: a task group, one shared log of notes, slots that only one can have.

Each works in a copy of the workspace that is its own; the copy of the one that is collected becomes the workspace.
A peer's failure stops at its own boundary. Only the run's time limit, a dead sandbox or a failed journal write cancel
the whole group.
"""

from __future__ import annotations

import dataclasses
import shlex

import anyio
import msgspec
from anyio.abc import TaskGroup

from leadhand.core import wording
from leadhand.core.attempts import settle_cut
from leadhand.core.boundary import cause_of
from leadhand.core.errors import SandboxError
from leadhand.core.events import ProcessesKilled, Selected
from leadhand.core.harness import End, Harness
from leadhand.core.peer_tools import PeerTools
from leadhand.core.single import Single, eligible, end_of, end_of_run

OPEN = "{workspace}"
"""What stands in the prompts for the working directory: each peer has its own."""

COPYING = "leadhand"
COPY_S = 600.0


class Peers:
    """Runs k equal agents to the end. Built anew from the state when a run is resumed."""

    def __init__(self, harness: Harness, *, restarted: bool = False) -> None:
        """`harness.prompts` still hold `OPEN`. `restarted`: an interrupted session's processes are gone."""
        self.h = harness
        note = wording.LEFTOVERS if restarted else ""
        tools = PeerTools(harness)
        self.peers = [
            Single(self._own(name), name, "peer", tools=tools.of(name), cwd=self.home(name), note=note)
            for name in harness.design.heads
        ]
        self._group: TaskGroup | None = None
        self._stopped = False

    def home(self, name: str) -> str:
        """The working copy of a peer."""
        return f"{self.h.sandbox.info.scratch}/peers/{name}"

    async def run(self) -> End:
        """Run to the end. Raises `SandboxError` and `JournalError`; every other fault is the end of one peer.

        What a run that was killed late has left to do is done again: only the copying, which may be done twice.
        """
        if self._unfinished():
            settle_cut(self.h.journal, self.h.state)
            await self._together()
        chosen = self._select()
        if chosen is None:
            return End("cancelled", "stopped by the user before anyone had begun")
        await self._take(chosen)
        end = end_of_run(self.h.state, self.h.design)
        assert end is not None
        return end

    def stop(self) -> None:
        """Wrap up: end all peers now; `run` returns `cancelled`, unless the one to be collected has finished."""
        self._stopped = True
        if self._group is not None:
            self._group.cancel_scope.cancel()

    def _own(self, name: str) -> Harness:
        """The harness as one peer has it: with its own directory in the prompts."""
        prompts = self.h.prompts
        own = {part: getattr(prompts, part).replace(OPEN, self.home(name)) for part in ("lead", "task")}
        return dataclasses.replace(self.h, prompts=msgspec.structs.replace(prompts, **own))

    def _unfinished(self) -> bool:
        return self.h.state.selected is None and any(peer.ended is None for peer in self.peers)

    async def _together(self) -> None:
        """Run all that have not ended, until nobody has to go on."""
        limits = self.h.design.limits
        deadline = anyio.current_time() + max(0.0, limits.run_s - self.h.state.active_s)
        try:
            async with anyio.create_task_group() as group:
                self._group = group
                if not self._stopped and self._winner() is None:
                    await self._begin(group, deadline)
        except BaseExceptionGroup as raised:
            cause = cause_of(raised)
            if isinstance(cause, SandboxError):
                self._close(End("failed", fault=f"{type(cause).__name__}: {cause}"))
            raise cause from raised
        winner = self._winner()
        self._close(End("cancelled", f"{winner} finished first" if winner else "stopped by the user"))

    async def _begin(self, group: TaskGroup, deadline: float) -> None:
        await self._copies()
        for peer in self.peers:
            peer.enter()
        for peer in self.peers:
            group.start_soon(self._work, peer, deadline)

    async def _work(self, peer: Single, deadline: float) -> None:
        await peer.run(deadline)
        winner = self._winner()
        if winner is not None:
            for other in self.peers:
                other.stop(End("cancelled", f"{winner} finished first"))

    def _winner(self) -> str | None:
        """Who has finished first, where that ends the others."""
        if self.h.design.collect == "last":
            return None
        return next((p for p in self.h.state.ends if self._finished(p)), None)

    def _finished(self, name: str) -> bool:
        end = end_of(self.h.state, name)
        return end is not None and end.status == "finished"

    def _close(self, end: End) -> None:
        for peer in self.peers:
            peer.end(end)

    def _select(self) -> str | None:
        """Whose work is the result, recorded once: the first (or last) that finished, else the last that ended."""
        state, design = self.h.state, self.h.design
        if state.selected is None:
            able = eligible(state, design.heads)
            if not able:
                return None
            chosen = able[0] if design.collect == "first" and self._finished(able[0]) else able[-1]
            self.h.record("", Selected(chosen=chosen, selector=design.collect))
        assert state.selected is not None
        return state.selected.chosen

    # --- working copies ----------------------------------------------------------------------------------------

    async def _copies(self) -> None:
        """Give each peer its working copy, whole or not at all; one that is there already is left alone."""
        workspace = shlex.quote(self.h.sandbox.info.workspace)
        for peer in self.peers:
            home = shlex.quote(self.home(peer.name))
            partial = shlex.quote(f"{self.home(peer.name)}.partial")
            await self._shell(
                f"[ -e {home} ] || {{ rm -rf {partial} && mkdir -p {partial} && cp -a {workspace}/. {partial}/ "
                f"&& mv {partial} {home}; }}",
                f"the working copy of {peer.name} cannot be made",
            )

    async def _take(self, chosen: str) -> None:
        """Put a peer's working copy in the place of the workspace. Its copy stays, so this can be done again."""
        killed = await self.h.sandbox.kill()
        self.h.record("", ProcessesKilled(count=killed, why=f"before collecting the work of {chosen}"))
        workspace, home = shlex.quote(self.h.sandbox.info.workspace), shlex.quote(self.home(chosen))
        await self._shell(
            f"[ -d {home} ] || exit 0; chmod -R u+rwX {workspace} 2>/dev/null; "
            f"find {workspace} -mindepth 1 -maxdepth 1 -exec rm -rf -- {{}} + && cp -a {home}/. {workspace}/ "
            f"|| {{ chmod -R u+rwX {home}; cp -a {home}/. {workspace}/; }}",
            f"the work of {chosen} cannot be collected",
        )

    async def _shell(self, command: str, complaint: str) -> None:
        result = await self.h.sandbox.exec(command, agent=COPYING, timeout_s=COPY_S, cwd=self.h.sandbox.info.scratch)
        if result.exit_code != 0 or result.ended != "exited":
            said = (result.tail or result.head).decode("utf-8", "replace").strip().splitlines()
            raise SandboxError(f"{complaint}: {said[-1][:300] if said else result.ended}")
