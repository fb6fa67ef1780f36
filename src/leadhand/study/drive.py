"""Carries a study on from wherever its folder stands: which run starts when, inside which money; what is tried again.

All it knows is in the run folders, so the same command after Ctrl-C or `kill -9` goes on where it was.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Literal

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from leadhand.core.boundary import cause_of
from leadhand.core.errors import LeadhandError
from leadhand.core.signal import Signal
from leadhand.study import state
from leadhand.study.board import Board
from leadhand.study.engine import Engine, Job
from leadhand.study.layout import PlannedRun, StudyPaths, StudyRecord
from leadhand.study.outcome import Outcome, read_outcome
from leadhand.study.prepare import Prepared
from leadhand.study.purse import Purse

MOST_FAILING = 12
"""So many runs in a row that failed by no fault of their own, and the study stops: something is wrong with it all."""

End = Literal["finished", "out_of_budget", "stopped", "failing"]


class Drive:
    """One session of a study. Invariant: a run is in exactly one of `_todo`, `_active` and what is settled."""

    def __init__(
        self, prepared: Prepared, paths: StudyPaths, record: StudyRecord, engine: Engine, board: Board, purse: Purse
    ) -> None:
        self.board = board
        self._prepared = prepared
        self._paths = paths
        self._record = record
        self._engine = engine
        self._purse = purse
        self._changed = Signal()
        self._outcomes: dict[str, Outcome] = {}
        self._todo: list[tuple[int, PlannedRun]] = []
        self._active: dict[str, int] = {}
        """How many sandboxes each running run may have open."""
        self._tries: dict[str, int] = {}
        self._failing = 0
        self._stop: End | None = None

    def stop(self) -> None:
        """Start no further run; what runs goes on to its end."""
        self._halt("stopped")

    async def run(self, outcomes: Mapping[str, Outcome]) -> End:
        """Carry out what is left, given what the folders hold. Cancelled, it leaves every run to be resumed."""
        self._outcomes = dict(outcomes)
        finished = {r.run for r in self._record.runs if state.done(self._outcomes.get(r.run), graded=self._graded(r))}
        self.board.known(self._outcomes, finished)
        for index, run in enumerate(self._record.runs):
            if run.run not in finished and await self._ready(run):
                heapq.heappush(self._todo, (index, run))
        async with anyio.create_task_group() as group:
            while await self._next():
                self._start(group)
        return self._stop or "finished"

    # --- what starts next ------------------------------------------------------------------------------------------

    async def _next(self) -> bool:
        """Wait until the next run can start; False when none will. Strictly in order: what is done stays paired."""
        while True:
            await self._changed.until(lambda: self._stop is not None or self._room() or not self._active)
            if self._stop is not None or (not self._todo and not self._active):
                return False
            if self._room():
                return True
            if self._todo and not self._active:
                if self._engine.slots < 1:
                    await anyio.sleep(1.0)  # a cluster without a node at the moment
                    continue
                self._halt("out_of_budget")

    def _room(self) -> bool:
        if not self._todo or self._engine.slots < 1:
            return False
        run = self._todo[0][1]
        design = self._prepared.designs[run.design]
        if self._active and sum(self._active.values()) + design.sandboxes > self._engine.slots:
            return False
        return self._purse.fits(run.run, design.budget_usd)

    def _start(self, group: TaskGroup) -> None:
        index, run = heapq.heappop(self._todo)
        design = self._prepared.designs[run.design]
        self._purse.hold(run.run, design.budget_usd)
        self._active[run.run] = design.sandboxes
        group.start_soon(self._carry, index, run)

    def _halt(self, why: End) -> None:
        self._stop = self._stop or why
        self._changed.notify()

    # --- one run ---------------------------------------------------------------------------------------------------

    async def _carry(self, index: int, run: PlannedRun) -> None:
        """One run through the engine; then it is done, or goes back to be tried again, or is given up."""
        again = False
        try:
            outcome = await self._submit(run)
        except LeadhandError as error:
            self._purse.settle(run.run, (await self._look(run)).usd)
            self.board.stopped(run, str(error), again=False)
            self._went_wrong(str(error))
        else:
            self._outcomes[run.run] = outcome
            self._purse.settle(run.run, outcome.usd)
            if state.done(outcome, graded=self._graded(run)):
                self._failing = 0
                self.board.finished(run, outcome)
            else:
                again = await self._again(run, outcome)
        del self._active[run.run]
        if again:
            heapq.heappush(self._todo, (index, run))
        self._changed.notify()

    async def _submit(self, run: PlannedRun) -> Outcome:
        """The engine's answer. One run's crash is its own, whatever it was: the others go on."""
        try:
            file = self._prepared.run_file(run)
            watch = self.board.started(run, file.lock.prices, self._outcomes.get(run.run))
            return await self._engine.submit(Job(self._paths.runs / run.run, file, watch))
        except Exception as raised:
            error = cause_of(raised) if isinstance(raised, BaseExceptionGroup) else raised
            if isinstance(error, LeadhandError):
                raise error from raised
            raise LeadhandError(f"{type(error).__name__}: {error}") from raised

    async def _look(self, run: PlannedRun) -> Outcome:
        """What a run's folder says of it, where the engine could not."""
        paths = self._paths.run(run.run)
        if not paths.run_json.exists():
            return Outcome()
        return await anyio.to_thread.run_sync(read_outcome, paths)

    async def _again(self, run: PlannedRun, outcome: Outcome) -> bool:
        """Whether a run that failed by no fault of its own, or whose grading did, is tried again: at most twice."""
        why = outcome.text or outcome.status
        if outcome.status in ("infrastructure", "unfinished"):
            again = await self._ready(run, lost=outcome.status == "unfinished")
        else:
            self._tries[run.run] = self._tries.get(run.run, 0) + 1
            again, why = self._tries[run.run] <= state.MOST_RETRIES, f"its grading failed ({outcome.status})"
        self.board.stopped(run, why, again=again)
        if outcome.status != "unfinished":
            self._went_wrong(why)
        return again

    async def _ready(self, run: PlannedRun, *, lost: bool = False) -> bool:
        """Whether a run that is not done may be started. A failed attempt is archived first, if it has retries left.

        `lost`: it was broken off with its session, and cannot be taken up: that is archived too, and is no retry.
        """
        outcome = self._outcomes.get(run.run)
        if outcome is None or (outcome.status != "infrastructure" and not lost):
            return True
        if not lost and state.infrastructure_attempts(run.run, self._outcomes) >= state.MOST_RETRIES:
            self.board.failed[run.run] = outcome.text
            return False
        archived = f"{run.run}.attempt-{state.next_attempt(run.run, self._outcomes)}"
        await anyio.to_thread.run_sync((self._paths.runs / run.run).rename, self._paths.runs / archived)
        self._outcomes[archived] = self._outcomes.pop(run.run)
        self._purse.rename(run.run, archived)
        return True

    def _went_wrong(self, why: str) -> None:
        self._failing += 1
        if self._failing >= MOST_FAILING:
            self.board.note = f"{self._failing} runs in a row failed, the last with: {why}"
            self._halt("failing")

    def _graded(self, run: PlannedRun) -> bool:
        return self._prepared.tasks[run.task].grader is not None
