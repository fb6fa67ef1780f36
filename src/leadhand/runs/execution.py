"""One run from start to end: sandbox, set-up, team, collect, grade. The same code starts a run and resumes one.

What is left to do is always asked of the journal, so `kill -9` at any moment costs at most what was in flight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import anyio
import anyio.to_thread

import leadhand
from leadhand import models, sandboxes
from leadhand.core.errors import GradingError, SandboxError, SandboxLost, UsageError
from leadhand.core.events import (
    Collected,
    CommandEnded,
    Entry,
    ProcessesKilled,
    RunEnd,
    RunEnded,
    RunStarted,
    SandboxStarted,
    Warned,
    command_ended,
)
from leadhand.core.harness import End, Harness
from leadhand.core.journal import Journal
from leadhand.core.ports import Limiter, Model, Sandbox
from leadhand.core.state import State
from leadhand.core.team import Team
from leadhand.runs import grading, store
from leadhand.runs.paths import RunPaths
from leadhand.runs.plan import filled
from leadhand.runs.spec import RunFile, read_run_file

SETUP_S = 1800.0

Observer = Callable[[Entry], None]


class Execution:
    """Carries one run on from wherever its journal stands."""

    def __init__(
        self, paths: RunPaths, keys: Mapping[str, str], *, observers: tuple[Observer, ...] = (), limiter: Limiter
    ) -> None:
        self.paths = paths
        self.run: RunFile = read_run_file(paths.run_json)
        self._keys = keys
        self._observers = observers
        self._limiter = limiter
        self._team: Team | None = None
        self._stopped = False

    def stop(self) -> None:
        """Wrap up: the agents end now, what there is gets graded."""
        self._stopped = True
        if self._team is not None:
            self._team.stop()

    async def finish(self) -> list[Entry]:
        """Run, collect and grade; the whole journal. Raises `JournalError`."""
        journal = Journal(self.paths.journal, anyio.current_time)
        try:
            entries = journal.open_session(leadhand.__version__)
            state = State(self.run.lock.prices)
            for entry in entries:
                state.apply(entry)
            journal.subscribe(state.apply)
            journal.subscribe(entries.append)
            for observer in self._observers:
                journal.subscribe(observer)
            if not entries:
                journal.append("", RunStarted(digest=self.run.lock.digest, version=leadhand.__version__))
            if state.run_ended is None:
                await self._run(journal, state, entries)
                await anyio.to_thread.run_sync(journal.sync)
            if grading.wanted(self.run, entries):
                await grading.grade(self.paths, self.run, journal, entries)
                await anyio.to_thread.run_sync(journal.sync)
            return entries
        finally:
            journal.close()

    # --- the team's part ---------------------------------------------------------------------------------------

    async def _run(self, journal: Journal, state: State, entries: list[Entry]) -> None:
        """From wherever it stands to `RunEnded`. A dead sandbox ends the run as `infrastructure`."""
        try:
            end = await self._in_sandbox(journal, state, entries)
        except SandboxError as error:
            end = End("failed", fault=str(error))
        status: RunEnd = "infrastructure" if end.status == "failed" else end.status
        if status != "infrastructure" and not any(isinstance(e.event, Collected) for e in entries):
            status, end = "infrastructure", End("failed", fault="nothing was collected")
        journal.append("", RunEnded(status=status, text=end.fault or end.text))

    async def _in_sandbox(self, journal: Journal, state: State, entries: list[Entry]) -> End:
        if not self.paths.workspace.is_dir():
            raise SandboxLost(f"the workspace {self.paths.workspace} is gone")
        await self._setup(journal, entries)
        opened = {name: self._open(name) for name in self.run.lock.design.models}
        sandbox = await self._sandbox(journal, entries)
        try:
            end = await self._team_run(journal, state, sandbox, opened, entries)
            if not any(isinstance(e.event, Collected) for e in entries):
                await self._collect(journal, sandbox)
            return end
        finally:
            with anyio.move_on_after(30, shield=True):
                await sandbox.aclose()
            with anyio.move_on_after(10, shield=True):
                for model in opened.values():
                    await model.aclose()

    def _open(self, name: str) -> Model:
        return models.open_model(name, base_url=self.run.request.base_urls.get(name, ""), env=self._keys)

    async def _setup(self, journal: Journal, entries: list[Entry]) -> None:
        """The set-up command, in a sandbox of its own that has the network; what it leaves in the workspace stays."""
        command = self.run.lock.task.setup
        done = [e.event for e in entries if isinstance(e.event, CommandEnded) and e.event.call == "setup"]
        if not command or (done and done[-1].exit_code == 0):
            return
        spec = store.sandbox_spec(self.paths, self.run, network=True)
        sandbox = await sandboxes.start(spec, self.run.lock.sandbox)
        try:
            result = await sandbox.exec(command, agent="setup", timeout_s=SETUP_S)
        finally:
            with anyio.CancelScope(shield=True):
                await sandbox.aclose()
        journal.append("", command_ended("setup", result))
        if result.exit_code != 0:
            tail = (result.tail or result.head).decode("utf-8", "replace").strip().splitlines()
            raise SandboxError(f"the set-up command failed with exit code {result.exit_code}: {(tail or [''])[-1]}")

    async def _sandbox(self, journal: Journal, entries: list[Entry]) -> Sandbox:
        """Start the team's sandbox, or take up again the one that the journal names."""
        lock = self.run.lock
        spec = store.sandbox_spec(self.paths, self.run, network=lock.task.network)
        started = [e.event.info for e in entries if isinstance(e.event, SandboxStarted)]
        if started:
            sandbox = await sandboxes.reattach(started[-1], spec)
            killed = await sandbox.kill()
            journal.append("", SandboxStarted(info=sandbox.info, reattached=True))
            journal.append("", ProcessesKilled(count=killed, why="left over from an interrupted session"))
            return sandbox
        sandbox = await sandboxes.start(spec, lock.sandbox)
        journal.append("", SandboxStarted(info=sandbox.info))
        for warning in sandbox.info.warnings:
            journal.append("", Warned(text=warning))
        return sandbox

    async def _team_run(
        self, journal: Journal, state: State, sandbox: Sandbox, opened: Mapping[str, Model], entries: list[Entry]
    ) -> End:
        lock = self.run.lock
        head = state.agents.get("solo" if lock.design.solo else "lead")
        if head is not None and head.ended is not None:
            return End(head.ended.status, head.ended.text, head.ended.fault)
        reference = sandbox.info.path(lock.task.reference) if lock.task.reference else ""
        harness = Harness(
            journal=journal,
            state=state,
            design=lock.design,
            prompts=filled(lock.prompts, sandbox.info.workspace, reference),
            models=opened,
            sandbox=sandbox,
            limiter=self._limiter,
            cache_key=self.paths.id[-8:],
            random=Random(f"{self.run.request.seed}-{lock.digest}-{journal.session}"),
        )
        leftovers = [e.event.count for e in entries[-3:] if isinstance(e.event, ProcessesKilled)]
        self._team = Team(harness, leftovers=sum(leftovers))
        if self._stopped:
            self._team.stop()
        return await self._team.run()

    async def _collect(self, journal: Journal, sandbox: Sandbox) -> None:
        killed = await sandbox.kill()
        journal.append("", ProcessesKilled(count=killed, why="before collecting"))
        partial = self.paths.blobs / "collecting.partial"
        await sandbox.collect(partial)
        blob, size = await anyio.to_thread.run_sync(store.keep_blob, self.paths, partial)
        if self.run.lock.repository is not None:
            try:
                await anyio.to_thread.run_sync(store.publish, self.paths, self.run.lock.repository, blob)
            except (UsageError, GradingError, OSError) as error:
                journal.append("", Warned(text=f"no branch was made: {error}"))
        journal.append("", Collected(blob=blob, bytes=size))


def archive_of(paths: RunPaths, entries: list[Entry]) -> Path | None:
    """The run's submission, where one was collected."""
    collected = [e.event.blob for e in entries if isinstance(e.event, Collected)]
    return paths.blob(collected[-1]) if collected else None
