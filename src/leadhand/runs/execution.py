"""One run from start to end: set-up, sandbox, team, collect, grade. The same code starts a run and resumes one.

What is left to do is always asked of the journal, so `kill -9` at any moment costs at most what was in flight.
"""

from __future__ import annotations

import tarfile
from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import NamedTuple

import anyio
import anyio.to_thread

import leadhand
from leadhand import models, sandboxes
from leadhand.core.attempts import settle_cut
from leadhand.core.errors import GradingError, LeadhandError, SandboxError, SandboxLost, UsageError
from leadhand.core.events import (
    AgentEnded,
    Collected,
    DelegationEnded,
    Entry,
    ProcessesKilled,
    RunEnd,
    RunEnded,
    RunStarted,
    SandboxStarted,
    Warned,
)
from leadhand.core.harness import End, Harness
from leadhand.core.journal import Journal
from leadhand.core.ports import Limiter, Model, Sandbox
from leadhand.core.state import State
from leadhand.core.team import Team
from leadhand.core.values import SandboxSpec
from leadhand.runs import grading, store
from leadhand.runs.paths import RunPaths
from leadhand.runs.plan import filled
from leadhand.runs.setup import set_up
from leadhand.runs.spec import RunFile, read_run_file

Observer = Callable[[Entry], None]


class Ports(NamedTuple):
    """Where an execution gets its models and its team's sandbox from."""

    open_model: Callable[..., Model] = models.open_model
    start_sandbox: Callable[[SandboxSpec, str], Awaitable[Sandbox]] = sandboxes.start


PORTS = Ports()


class Execution:
    """Carries one run on from wherever its journal stands."""

    def __init__(
        self,
        paths: RunPaths,
        keys: Mapping[str, str],
        *,
        observers: tuple[Observer, ...] = (),
        limiter: Limiter,
        ports: Ports = PORTS,
    ) -> None:
        self.paths = paths
        self.run: RunFile = read_run_file(paths.run_json)
        self._keys = keys
        self._observers = observers
        self._limiter = limiter
        self._ports = ports
        self._team: Team | None = None
        self._before: anyio.CancelScope | None = None
        self._stopped = False

    def stop(self) -> None:
        """Wrap up: the agents end now (a set-up command too), what there is gets graded."""
        self._stopped = True
        if self._before is not None:
            self._before.cancel()
        if self._team is not None:
            self._team.stop()

    async def finish(self) -> list[Entry]:
        """Run, collect and grade; the whole journal.

        Raises `JournalError`, `UsageError`, and `LeadhandError` where this machine failed: all of them leave the run as
        it is, to be resumed.
        """
        journal = Journal(self.paths.journal, anyio.current_time)
        try:
            return await self._finish(journal)
        except OSError as error:
            where = f": {error.filename}" if error.filename else ""
            raise LeadhandError(f"this machine failed ({error.strerror or error}{where})") from error
        finally:
            journal.close()

    async def _finish(self, journal: Journal) -> list[Entry]:
        entries = journal.open_session(leadhand.__version__)
        state = State(self.run.lock.prices)
        for entry in entries:
            state.apply(entry)
        journal.subscribe(state.apply)
        journal.subscribe(entries.append)
        for observer in self._observers:
            journal.subscribe(harmless(observer))
        if not any(isinstance(e.event, RunStarted) for e in entries):
            journal.append("", RunStarted(digest=self.run.lock.digest, version=leadhand.__version__))
        settle_cut(journal, state)
        if state.run_ended is None:
            await self._run(journal, state, entries)
            await anyio.to_thread.run_sync(journal.sync)
        if grading.wanted(self.run, entries):
            await grading.grade(self.paths, self.run, journal, entries)
            await anyio.to_thread.run_sync(journal.sync)
        return entries

    # --- the team's part ---------------------------------------------------------------------------------------

    async def _run(self, journal: Journal, state: State, entries: list[Entry]) -> None:
        """From wherever it stands to `RunEnded`. A dead sandbox ends the run as `infrastructure`."""
        end = self._ended(state)
        if end is None or not collected(entries):
            try:
                end = await self._in_sandbox(journal, state, entries)
            except SandboxError as error:
                end = End("failed", fault=str(error))
                close(journal, state, end)
        status: RunEnd = "infrastructure" if end.status == "failed" else end.status
        journal.append("", RunEnded(status=status, text=end.fault or end.text))

    def _ended(self, state: State) -> End | None:
        """How the lead (or the solo agent) ended, if it has."""
        head = state.agents.get("solo" if self.run.lock.design.solo else "lead")
        if head is None or head.ended is None:
            return None
        return End(head.ended.status, head.ended.text, head.ended.fault)

    async def _in_sandbox(self, journal: Journal, state: State, entries: list[Entry]) -> End:
        """The team's work and its collection. An interrupted sandbox leaves behind what a resumed run needs."""
        if not self.paths.workspace.is_dir():
            raise SandboxLost(f"the workspace {self.paths.workspace} is gone")
        opened = {name: self._open(name) for name in self.run.lock.design.models}
        keep = True
        try:
            with anyio.CancelScope() as self._before:
                if self._stopped:
                    self._before.cancel()
                await set_up(self.paths, self.run, journal, entries)
            sandbox = await self._sandbox(journal, entries)
            try:
                end = self._ended(state) or await self._team_run(journal, state, sandbox, opened, entries)
                await self._collect(journal, sandbox)
                keep = False
                return end
            except SandboxError:
                keep = False
                raise
            finally:
                with anyio.move_on_after(30, shield=True):
                    await sandbox.aclose(keep=keep)
        finally:
            with anyio.move_on_after(10, shield=True):
                for model in opened.values():
                    await model.aclose()

    def _open(self, name: str) -> Model:
        return self._ports.open_model(name, base_url=self.run.request.base_urls.get(name, ""), env=self._keys)

    async def _sandbox(self, journal: Journal, entries: list[Entry]) -> Sandbox:
        """Start the team's sandbox, or take up again the one that the journal names."""
        lock = self.run.lock
        spec = store.sandbox_spec(self.paths, self.run, network=lock.task.network)
        started = [e.event.info for e in entries if isinstance(e.event, SandboxStarted)]
        if started:
            killed = await anyio.to_thread.run_sync(store.clear_leftovers, self.paths.id)
            sandbox = await sandboxes.reattach(started[-1], spec)
            killed += await sandbox.kill()
            journal.append("", SandboxStarted(info=sandbox.info, reattached=True))
            journal.append("", ProcessesKilled(count=killed, why="left over from an interrupted session"))
            return sandbox
        sandbox = await self._ports.start_sandbox(spec, lock.sandbox)
        journal.append("", SandboxStarted(info=sandbox.info))
        for warning in sandbox.info.warnings:
            journal.append("", Warned(text=warning))
        return sandbox

    async def _team_run(
        self, journal: Journal, state: State, sandbox: Sandbox, opened: Mapping[str, Model], entries: list[Entry]
    ) -> End:
        lock = self.run.lock
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
        restarted = any(isinstance(e.event, SandboxStarted) and e.event.reattached for e in entries[-3:])
        self._team = Team(harness, restarted=restarted)
        if self._stopped:
            self._team.stop()
        return await self._team.run()

    async def _collect(self, journal: Journal, sandbox: Sandbox) -> None:
        """Kill what runs, keep the workspace as a blob, publish it where the run is on a repository."""
        journal.append("", ProcessesKilled(count=await sandbox.kill(), why="before collecting"))
        partial = self.paths.blobs / "collecting.partial"
        try:
            await sandbox.collect(partial)
        except tarfile.TarError as error:
            raise SandboxError(f"the workspace cannot be collected: {error}") from error
        blob, size = await anyio.to_thread.run_sync(store.keep_blob, self.paths, partial)
        if self.run.lock.repository is not None:
            try:
                await anyio.to_thread.run_sync(store.publish, self.paths, self.run.lock.repository, blob)
            except (UsageError, GradingError, OSError) as error:
                journal.append("", Warned(text=f"no branch was made: {error}"))
        journal.append("", Collected(blob=blob, bytes=size))


def collected(entries: list[Entry]) -> bool:
    return any(isinstance(e.event, Collected) for e in entries)


def close(journal: Journal, state: State, end: End) -> None:
    """End what a lost sandbox left open: delegations first, then agents, each once."""
    for running in state.running():
        report = f"(the worker failed: {end.fault})"
        event = DelegationEnded(delegation=running.id, worker=running.worker, status="failed", report=report)
        journal.append(running.worker, event)
    for agent in state.agents.values():
        if agent.ended is None:
            journal.append(agent.name, AgentEnded(status="failed", fault=end.fault))


def harmless(observer: Observer) -> Observer:
    """An observer whose faults (a closed terminal, a full pipe) end its watching and never the run."""
    watching = True

    def see(entry: Entry) -> None:
        nonlocal watching
        if watching:
            try:
                observer(entry)
            except Exception:
                watching = False

    return see
