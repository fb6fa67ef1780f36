"""Best of k: solo candidates in sandboxes of their own, on one journal and one budget; then one of them is chosen.

Each candidate goes its own way from the task to its kept archive (and to the answer of the user's command), so a dead
sandbox or a provider's fault is the end of one. What is left to do is asked of the journal, as everywhere.
"""

from __future__ import annotations

import tarfile
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import anyio
import anyio.to_thread
import msgspec

from leadhand.core import wording
from leadhand.core.boundary import cause_of
from leadhand.core.design import Design
from leadhand.core.errors import SandboxError
from leadhand.core.events import (
    CandidateGraded,
    CandidateKept,
    CommandEnded,
    Entry,
    ProcessesKilled,
    Selected,
    ToolStarted,
    Warned,
    command_ended,
)
from leadhand.core.harness import End, Harness
from leadhand.core.journal import Journal
from leadhand.core.ports import Sandbox
from leadhand.core.single import Single
from leadhand.core.state import State
from leadhand.core.values import SandboxSpec
from leadhand.runs import grading, selection, store
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import RunFile

SELECT_S = 600.0
"""How long the user's command may take in a candidate's sandbox."""


class Opened(NamedTuple):
    """A candidate's sandbox; `again`: it was taken up after an interruption, and what ran in it is gone."""

    sandbox: Sandbox
    again: bool


Open = Callable[[str], Awaitable[Opened]]
"""Opens the sandbox of a candidate by its name."""


class BestOf:
    """Runs all candidates to their ends and chooses one. Built anew from the journal when a run is resumed."""

    def __init__(
        self,
        paths: RunPaths,
        run: RunFile,
        journal: Journal,
        state: State,
        entries: list[Entry],
        *,
        open: Open,
        harness: Callable[[Sandbox, str], Harness],
    ) -> None:
        """`entries` grow with the journal. `harness`: what a candidate runs on, by sandbox and name."""
        self._paths = paths
        self._run = run
        self._journal = journal
        self._state = state
        self._entries = entries
        self._open = open
        self._harness = harness
        self._singles: list[Single] = []
        self._stopped = False

    def stop(self) -> None:
        """Wrap up: the candidates end now; what they have made is kept, and one is chosen."""
        self._stopped = True
        for single in self._singles:
            single.stop(End("cancelled", "stopped by the user"))

    async def run(self) -> CandidateKept:
        """Run to the choice; the chosen candidate's archive. Raises `SandboxError` where there is none to choose."""
        design = self._run.lock.design
        if self._state.selected is None:
            await self._candidates(design.heads)
            kept = self._kept()
            if not kept:
                raise SandboxError("no candidate could be kept: the sandboxes of all of them failed")
            if design.selector == "oracle":
                await self._grade(kept)
            scores = self._scores(kept)
            chosen = selection.best(scores, self._state)
            self._journal.append("", Selected(chosen=chosen, selector=design.selector, scores=scores))
        assert self._state.selected is not None
        return self._kept()[self._state.selected.chosen]

    async def _candidates(self, names: tuple[str, ...]) -> None:
        limits = self._run.lock.design.limits
        deadline = anyio.current_time() + max(0.0, limits.run_s - self._state.active_s)
        try:
            async with anyio.create_task_group() as group:
                for name in names:
                    group.start_soon(self._candidate, name, deadline)
        except BaseExceptionGroup as raised:
            raise cause_of(raised) from raised

    # --- one candidate -----------------------------------------------------------------------------------------

    async def _candidate(self, name: str, deadline: float) -> None:
        """From the task to what is kept of it. A sandbox that fails is this candidate's end alone."""
        if name in self._kept() and (self._command == "" or name in self._answers()):
            return
        try:
            await self._in_sandbox(name, deadline)
        except SandboxError as error:
            self._journal.append("", Warned(text=f"{name}: {error}"))
            for single in self._singles:
                if single.name == name:
                    single.end(End("failed", fault=f"{type(error).__name__}: {error}"))

    async def _in_sandbox(self, name: str, deadline: float) -> None:
        sandbox, again = await self._open(name)
        keep = True
        try:
            note = wording.LEFTOVERS if again else ""
            single = Single(self._harness(sandbox, name), name, "solo", note=note)
            self._singles.append(single)
            if self._stopped:
                self.stop()
            await single.run(deadline)
            if name not in self._kept():
                await self._keep(name, sandbox)
            if self._command:
                await self._ask(name, sandbox)
            keep = False
        except SandboxError:
            keep = False
            raise
        finally:
            with anyio.move_on_after(30, shield=True):
                await sandbox.aclose(keep=keep)

    async def _keep(self, name: str, sandbox: Sandbox) -> None:
        """Kill what runs, keep the workspace as a blob."""
        self._journal.append("", ProcessesKilled(count=await sandbox.kill(), why=f"before collecting {name}"))
        partial = self._paths.blobs / f"collecting-{name}.partial"
        try:
            await sandbox.collect(partial)
        except tarfile.TarError as error:
            raise SandboxError(f"the workspace cannot be collected: {error}") from error
        blob, size = await anyio.to_thread.run_sync(store.keep_blob, self._paths, partial)
        self._journal.append(name, CandidateKept(blob=blob, bytes=size))

    async def _ask(self, name: str, sandbox: Sandbox) -> None:
        """Run the user's command on what was kept. One that was interrupted is run again, and said so."""
        call = selection.call_of(name)
        if any(isinstance(e.event, ToolStarted) and e.event.call == call for e in self._entries):
            self._journal.append("", Warned(text=f"{name}: the selector's command was interrupted; it is run again"))
        else:
            self._journal.append("", ToolStarted(call=call, tool="select"))
        result = await sandbox.exec(self._command, agent="select", timeout_s=SELECT_S)
        self._journal.append("", command_ended(call, result))

    @property
    def _command(self) -> str:
        return self._run.lock.design.selector_command

    # --- the choice --------------------------------------------------------------------------------------------

    def _kept(self) -> dict[str, CandidateKept]:
        """Archives by candidate, in the candidates' order."""
        found = {e.agent: e.event for e in self._entries if isinstance(e.event, CandidateKept)}
        return {name: found[name] for name in self._run.lock.design.heads if name in found}

    def _answers(self) -> dict[str, CommandEnded]:
        """How the user's command ended, by candidate."""
        calls = {selection.call_of(name): name for name in self._run.lock.design.heads}
        ended = (e.event for e in self._entries if isinstance(e.event, CommandEnded))
        return {calls[e.call]: e for e in ended if e.call in calls}

    def _scores(self, kept: dict[str, CandidateKept]) -> dict[str, float | None]:
        match self._run.lock.design.selector:
            case "tests":
                found = selection.by_tests(self._answers())
            case "majority":
                found = selection.by_majority(self._answers())
            case "oracle":
                grades = {e.agent: e.event.grade for e in self._entries if isinstance(e.event, CandidateGraded)}
                found = {name: grade.reward if grade else None for name, grade in grades.items()}
        return {name: found.get(name) for name in kept}

    async def _grade(self, kept: dict[str, CandidateKept]) -> None:
        """The oracle: grade every candidate that has no grade yet."""
        done = {e.agent for e in self._entries if isinstance(e.event, CandidateGraded)}
        for name, archive in kept.items():
            if name not in done:
                grade, error = await grading.grade_of(self._paths, self._run, self._paths.blob(archive.blob))
                self._journal.append(name, CandidateGraded(grade=grade, error=error))


async def prepare(paths: RunPaths, name: str) -> RunPaths:
    """The folders of a candidate: a workspace like the run's own, and a scratch folder. Whole or not at all."""
    own = paths.candidate(name)
    if not own.folder.exists():
        partial = RunPaths(own.folder.with_suffix(".partial"))
        await anyio.to_thread.run_sync(store.remove, partial.folder)
        partial.scratch.mkdir(parents=True)
        copied = await anyio.run_process(["cp", "-a", str(paths.workspace), str(partial.workspace)], check=False)
        if copied.returncode != 0:
            said = copied.stderr.decode("utf-8", "replace").strip().splitlines()
            raise SandboxError(f"the workspace of {name} cannot be made: {said[-1][:300] if said else 'cp failed'}")
        partial.folder.rename(own.folder)
    return own


def sandbox_id(run: str, name: str) -> str:
    """The id under which the sandbox of a candidate is started and its leftovers are found."""
    return f"{run}.{name}"


def sandbox_ids(run: str, design: Design) -> list[str]:
    """The ids of all sandboxes that a run can have: its own, and those of its candidates."""
    candidates = design.heads if design.strategy == "best-of-k" else ()
    return [run, *(sandbox_id(run, name) for name in candidates)]


def spec_of(spec: SandboxSpec, own: RunPaths, id: str) -> SandboxSpec:
    """What a candidate's sandbox is started from: as the team's would be, in folders of its own."""
    return msgspec.structs.replace(spec, run_id=id, workspace=str(own.workspace), scratch=str(own.scratch))
