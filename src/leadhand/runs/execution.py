"""One run from start to end: set-up, sandbox, team, collect, grade. The same code starts a run and resumes one.

What is left to do is always asked of the journal, so `kill -9` at any moment costs at most what was in flight.
"""

from __future__ import annotations

import tarfile
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from random import Random
from typing import NamedTuple

import anyio
import anyio.to_thread

import leadhand
from leadhand import models, sandboxes
from leadhand.core import peers
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
from leadhand.core.peers import Peers
from leadhand.core.ports import Limiter, Model, Sandbox
from leadhand.core.signal import Signal
from leadhand.core.single import end_of_run
from leadhand.core.state import State
from leadhand.core.team import Team
from leadhand.core.values import SandboxSpec
from leadhand.runs import best_of, finishing, grading, store
from leadhand.runs.best_of import BestOf, Opened
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
        self._team: Team | Peers | BestOf | None = None
        self._before: anyio.CancelScope | None = None
        self._settled = Signal()
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
        end = end_of_run(state, self.run.lock.design)
        if end is None or not collected(entries):
            try:
                end = await self._in_sandbox(journal, state, entries)
            except SandboxError as error:
                end = End("failed", fault=str(error))
                close(journal, state, end)
        status: RunEnd = "infrastructure" if end.status == "failed" else end.status
        journal.append("", RunEnded(status=status, text=end.fault or end.text))

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
            harness = partial(self._harness, journal, state, opened)
            if self.run.lock.design.strategy == "best-of-k":
                return await self._best_of(journal, state, entries, harness)
            sandbox, restarted = await self._sandbox(journal, entries)
            try:
                end = await self._team_run(harness(sandbox), restarted)
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

    async def _sandbox(self, journal: Journal, entries: list[Entry], candidate: str = "") -> Opened:
        """Start the team's (or a candidate's) sandbox, or take up again the one that the journal names."""
        lock = self.run.lock
        spec = store.sandbox_spec(self.paths, self.run, network=lock.task.network)
        if candidate:
            own = await best_of.prepare(self.paths, candidate)
            spec = best_of.spec_of(spec, own, best_of.sandbox_id(self.paths.id, candidate))
        started = [e.event.info for e in entries if isinstance(e.event, SandboxStarted) and e.agent == candidate]
        if started:
            killed = await anyio.to_thread.run_sync(store.clear_leftovers, spec.run_id)
            sandbox = await sandboxes.reattach(started[-1], spec)
            killed += await sandbox.kill()
            journal.append(candidate, SandboxStarted(info=sandbox.info, reattached=True))
            journal.append("", ProcessesKilled(count=killed, why="left over from an interrupted session"))
            return Opened(sandbox, again=True)
        sandbox = await self._ports.start_sandbox(spec, lock.sandbox)
        journal.append(candidate, SandboxStarted(info=sandbox.info))
        for warning in sandbox.info.warnings:
            journal.append("", Warned(text=warning))
        return Opened(sandbox, again=False)

    def _harness(
        self, journal: Journal, state: State, opened: Mapping[str, Model], sandbox: Sandbox, candidate: str = ""
    ) -> Harness:
        lock = self.run.lock
        reference = sandbox.info.path(lock.task.reference) if lock.task.reference else ""
        workspace = peers.OPEN if lock.design.strategy == "peers" else sandbox.info.workspace
        return Harness(
            journal=journal,
            state=state,
            design=lock.design,
            prompts=filled(lock.prompts, workspace, reference),
            models=opened,
            sandbox=sandbox,
            limiter=self._limiter,
            cache_key=self.paths.id[-8:],
            random=Random(f"{self.run.request.seed}-{lock.digest}-{journal.session}{candidate}"),
            settled=self._settled,
            try_work=partial(finishing.try_work, self.paths, self.run, journal, sandbox)
            if lock.design.finish_check
            else None,
        )

    async def _team_run(self, harness: Harness, restarted: bool) -> End:
        strategy = Peers if harness.design.strategy == "peers" else Team
        self._team = team = strategy(harness, restarted=restarted)
        if self._stopped:
            team.stop()
        return await team.run()

    async def _best_of(
        self, journal: Journal, state: State, entries: list[Entry], harness: Callable[[Sandbox, str], Harness]
    ) -> End:
        """Candidates in sandboxes of their own; the archive of the chosen one is the run's submission."""
        opener = partial(self._sandbox, journal, entries)
        self._team = best = BestOf(self.paths, self.run, journal, state, entries, open=opener, harness=harness)
        if self._stopped:
            best.stop()
        chosen = await best.run()
        await self._submit(journal, chosen.blob, chosen.bytes)
        end = end_of_run(state, self.run.lock.design)
        assert end is not None
        return end

    async def _collect(self, journal: Journal, sandbox: Sandbox) -> None:
        """Kill what runs, keep the workspace as a blob, publish it where the run is on a repository."""
        journal.append("", ProcessesKilled(count=await sandbox.kill(), why="before collecting"))
        unfinished = self.paths.blobs / "collecting.partial"
        try:
            await sandbox.collect(unfinished)
        except tarfile.TarError as error:
            raise SandboxError(f"the workspace cannot be collected: {error}") from error
        await self._submit(journal, *await anyio.to_thread.run_sync(store.keep_blob, self.paths, unfinished))

    async def _submit(self, journal: Journal, blob: str, size: int) -> None:
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
