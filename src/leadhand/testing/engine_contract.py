"""What every engine of a study must do, as checks that any of them can be put through.

    @pytest.mark.anyio
    @pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
    async def test_contract(check): await check(setup)

`setup()` is an async context manager that gives a `Bench`: an engine with at least two slots, and jobs for it. (An
engine is `leadhand.study.engine.Engine`; this room lies below it, so its types are not named here.)
"""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol

import anyio
import msgspec

from leadhand.core.errors import LeadhandError
from leadhand.core.events import AttemptStarted, Collected, Entry, RunEnded, RunStarted
from leadhand.core.journal import read_journal
from leadhand.core.ledger import Ledger, ledger_of
from leadhand.core.values import Price


class Bench(Protocol):
    """An engine under test."""

    engine: Any

    def job(self, name: str, watch: Callable[[Entry], None], *, slow: bool = False, broken: bool = False) -> Any:
        """A job whose task can be done in a few seconds and earns a reward of 1. The same name is the same folder.

        `slow`: its model takes a minute for each answer. `broken`: no such model can be opened.
        """
        ...

    def requests(self) -> int:
        """How many requests the provider has answered."""
        ...

    def usd(self) -> float:
        """What the provider has billed."""
        ...


Setup = Callable[[], AbstractAsyncContextManager[Bench]]
Check = Callable[[Setup], Awaitable[None]]


def ignore(entry: Entry) -> None:
    pass


async def a_run_comes_home_whole(setup: Setup) -> None:
    """Journal, `run.json` and submission are in the job's folder; the outcome is what they say; entries were shown."""
    async with setup() as bench:
        seen: list[Entry] = []
        job = bench.job("one", seen.append)
        outcome = await bench.engine.submit(job)
        entries = read_journal(job.folder / "journal.jsonl")
        assert (outcome.status, outcome.reward, outcome.grading) == ("finished", 1.0, "graded")
        assert abs(outcome.settled_usd - bench.usd()) < 1e-6
        assert outcome.unknown_usd == 0
        assert (job.folder / "run.json").exists()
        (collected,) = [e.event for e in entries if isinstance(e.event, Collected)]
        assert (job.folder / "blobs" / collected.blob).stat().st_size == collected.bytes
        assert [e.seq for e in seen] == list(range(len(seen)))
        assert isinstance(seen[0].event, RunStarted)


async def what_is_done_is_not_done_again(setup: Setup) -> None:
    """Neither the provider nor the journal sees anything of a second submission."""
    async with setup() as bench:
        job = bench.job("done", ignore)
        first = await bench.engine.submit(job)
        asked = bench.requests()
        again = await bench.engine.submit(job)
        assert (again.status, again.reward, again.settled_usd) == (first.status, first.reward, first.settled_usd)
        assert bench.requests() == asked


async def jobs_run_at_once(setup: Setup) -> None:
    """As many as there are slots: each waits for its first answer while the other does."""
    async with setup() as bench:
        assert bench.engine.slots >= 2
        asked = [anyio.Event(), anyio.Event()]

        def watch(which: anyio.Event) -> Callable[[Entry], None]:
            return lambda entry: which.set() if isinstance(entry.event, AttemptStarted) else None

        async with anyio.create_task_group() as group:
            for i, event in enumerate(asked):
                group.start_soon(bench.engine.submit, bench.job(f"at-once-{i}", watch(event), slow=True))
            with anyio.fail_after(60):
                for event in asked:
                    await event.wait()
            group.cancel_scope.cancel()


async def a_cancelled_job_tells_what_may_be_billed(setup: Setup) -> None:
    """Cancelled in the middle of a call, its journal holds the attempt: settled <= bill <= settled + unknown."""
    async with setup() as bench:
        asked = anyio.Event()

        def watch(entry: Entry) -> None:
            if isinstance(entry.event, AttemptStarted):
                asked.set()

        job = bench.job("cancelled", watch, slow=True)
        async with anyio.create_task_group() as group:
            group.start_soon(bench.engine.submit, job)
            with anyio.fail_after(60):
                await asked.wait()
            await anyio.sleep(0.5)
            group.cancel_scope.cancel()
        entries = read_journal(job.folder / "journal.jsonl")
        assert any(isinstance(e.event, AttemptStarted) for e in entries)
        assert not any(isinstance(e.event, RunEnded) for e in entries)
        assert bench.requests() == 1
        ledger = ledger_in(job.folder)
        assert ledger.settled == 0
        assert 0 < bench.usd() <= ledger.committed


async def one_jobs_failure_is_its_own(setup: Setup) -> None:
    """It is raised as one of our errors, and the engine goes on."""
    async with setup() as bench:
        failed: list[str] = []

        async def fails() -> None:
            try:
                await bench.engine.submit(bench.job("broken", ignore, broken=True))
            except LeadhandError as error:
                failed.append(str(error))

        async with anyio.create_task_group() as group:
            group.start_soon(fails)
            outcome = await bench.engine.submit(bench.job("whole", ignore))
        assert outcome.reward == 1.0
        assert len(failed) == 1
        assert "\n" not in failed[0]


async def what_was_begun_elsewhere_comes_back_untouched(setup: Setup) -> None:
    """A run without its workspace cannot be taken up: `unfinished`, and not a byte of its journal is changed."""
    async with setup() as bench:
        job = bench.job("elsewhere", ignore)
        await bench.engine.submit(job)
        journal = job.folder / "journal.jsonl"
        lines = journal.read_bytes().splitlines(keepends=True)
        half = b"".join(lines[: len(lines) // 2])
        journal.write_bytes(half)
        shutil.rmtree(job.folder / "workspace", ignore_errors=True)
        asked = bench.requests()
        outcome = await bench.engine.submit(job)
        assert outcome.status == "unfinished"
        assert outcome.settled_usd > 0
        assert journal.read_bytes() == half
        assert bench.requests() == asked


async def closing_twice_is_closing(setup: Setup) -> None:
    async with setup() as bench:
        await bench.engine.aclose()
        await bench.engine.aclose()


def ledger_in(folder: Path) -> Ledger:
    """The money of a run folder, as its journal alone tells it."""
    lock = msgspec.json.decode((folder / "run.json").read_bytes())["lock"]
    return ledger_of(read_journal(folder / "journal.jsonl"), msgspec.convert(lock["prices"], dict[str, Price]))


CHECKS: tuple[Check, ...] = (
    a_run_comes_home_whole,
    what_is_done_is_not_done_again,
    jobs_run_at_once,
    a_cancelled_job_tells_what_may_be_billed,
    one_jobs_failure_is_its_own,
    what_was_begun_elsewhere_comes_back_untouched,
    closing_twice_is_closing,
)
