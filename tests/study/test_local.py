"""Studies on one machine: real sandboxes, real graders, a fake provider with a bill."""

from __future__ import annotations

import shutil
from pathlib import Path

import anyio
import pytest
from sessions import assert_whole, outcomes, rewards, run_study, settled, unknown
from study_files import STRATEGIES, Make, Provider

from leadhand.core.errors import LeadhandError, UsageError
from leadhand.core.events import AttemptReplied, Entry
from leadhand.core.journal import read_journal
from leadhand.core.ports import Sandbox
from leadhand.core.values import SandboxSpec
from leadhand.runs.execution import Ports
from leadhand.sandboxes import start as start_sandbox
from leadhand.study import results
from leadhand.study.drive import MOST_FAILING
from leadhand.study.engine import Job
from leadhand.study.layout import StudyPaths, read_record
from leadhand.study.local import LocalEngine
from leadhand.study.outcome import Outcome
from leadhand.study.session import Session, only_driver

pytestmark = pytest.mark.anyio
EXACT = pytest.approx


@pytest.mark.timeout(240)
async def test_a_study_of_four_designs_on_twelve_tasks_three_times(
    make_study: Make, provider: Provider, paths: StudyPaths
) -> None:
    file = make_study(
        provider.url,
        tasks=12,
        repeats=3,
        sandbox="bwrap",
        concurrency=8,
        guidance='["P", "I", "PIV"]',
        schedules='["blocking"]',
    )
    end, session = await run_study(file, paths)
    assert end == "finished"
    assert len(session.record.runs) == 4 * 12 * 3
    assert_whole(paths)
    assert settled(paths) == EXACT(provider.usd(), abs=1e-6)
    assert unknown(paths) == 0
    found = rewards(paths)
    assert all(reward == 1.0 for (design, _, _), reward in found.items() if design != "solo_PIV")
    assert all(found["solo_PIV", f"t{n:02d}", 2] == (1.0 if n % 2 == 0 else 0.25) for n in range(12))
    rows = {r.design: r for r in results.rows(session.record, session.outcomes)}
    assert rows["P_blocking"].lift is not None
    assert (rows["P_blocking"].lift.control, rows["P_blocking"].lift.mean) == ("solo_PIV", EXACT(0.375))
    assert rows["solo_PIV"].reward == EXACT(0.625)
    # The same command again has nothing to do and spends nothing.
    before = provider.usd()
    assert (await run_study(file, paths))[0] == "finished"
    assert provider.usd() == before


async def test_the_order_is_by_repeat_then_task_then_design(
    make_study: Make, provider: Provider, paths: StudyPaths
) -> None:
    file = make_study(provider.url, tasks=2, repeats=2, concurrency=1)
    said: list[str] = []
    await run_study(file, paths, watch=lambda s: setattr(s.board, "say", said.append))
    started = [line.split()[1] for line in said if line.startswith("started")]
    assert started == [r.run for r in read_record(paths).runs]


async def test_a_stop_lets_running_runs_finish_and_the_same_command_goes_on(
    make_study: Make, provider: Provider, paths: StudyPaths
) -> None:
    file = make_study(provider.url, tasks=3, concurrency=2)

    def stop_after_two(session: Session) -> None:
        def say(line: str) -> None:
            if line.startswith("finished") and len(session.board._done) == 2:
                session.stop()

        session.board.say = say

    end, _ = await run_study(file, paths, watch=stop_after_two)
    assert end == "stopped"
    assert all(o.status == "finished" for o in outcomes(paths).values())
    assert 2 <= len(outcomes(paths)) <= 4
    done = {name: paths.run(name).journal.read_bytes() for name in outcomes(paths)}
    end, _ = await run_study(file, paths)
    assert end == "finished"
    assert_whole(paths)
    assert all(paths.run(name).journal.read_bytes() == data for name, data in done.items())
    assert settled(paths) == EXACT(provider.usd(), abs=1e-6)


async def test_an_interrupted_study_resumes_its_runs(make_study: Make, provider: Provider, paths: StudyPaths) -> None:
    file = make_study(provider.url, tasks=2, concurrency=3)

    with anyio.CancelScope() as scope:

        def interrupt(session: Session) -> None:
            original = session.board.started

            def started(*arguments: object) -> object:
                see = original(*arguments)  # type: ignore[arg-type]

                def watch(entry: Entry) -> None:
                    see(entry)
                    if entry.agent == "w1" and entry.event.__class__.__name__ == "AttemptStarted":
                        scope.cancel()

                return watch

            session.board.started = started  # type: ignore[assignment, method-assign]

        await run_study(file, paths, watch=interrupt)
    assert scope.cancelled_caught
    assert "unfinished" in {o.status for o in outcomes(paths).values()}
    end, _ = await run_study(file, paths)
    assert end == "finished"
    assert_whole(paths)
    assert not any(".attempt-" in name for name in outcomes(paths))
    bill = provider.usd()
    assert settled(paths) <= bill + 1e-6
    assert bill <= settled(paths) + unknown(paths) + 1e-6


# --- money ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [25.0, 60.0])
async def test_the_spend_stop_holds_with_64_agents_at_once(
    make_study: Make, provider: Provider, paths: StudyPaths, budget: float
) -> None:
    """Four teams of fifteen workers and a lead. What the provider billed is what counts."""
    file = make_study(
        provider.url,
        tasks=6,
        concurrency=4,
        budget=str(budget),
        run_budget=12.0,
        guidance='["P"]',
        more='workers = [15]\n[designs.all]\nguidance = "PIV"\nworkers = 15\n',
    )
    # Sixteen agents of a team ask at once: the lead hands everything out in its first turn.
    end, session = await run_study(file, paths)
    assert end == "out_of_budget"
    assert provider.usd() <= budget
    assert settled(paths) + unknown(paths) <= budget
    assert settled(paths) == EXACT(provider.usd(), abs=1e-6)
    assert all(o.usd <= 12.0 for o in outcomes(paths).values())
    left = session.unfinished()
    assert left
    # More money, and it goes on; none of what was paid is paid again.
    end, session = await run_study(file, paths, budget_usd=1000.0)
    assert end == "finished"
    assert settled(paths) == EXACT(provider.usd(), abs=1e-6)


async def test_a_best_of_k_is_one_run_with_one_budget(make_study: Make, provider: Provider, paths: StudyPaths) -> None:
    """Its candidates share the run's budget: the study's money is set aside and counted once for all of them."""
    file = make_study(
        provider.url, tasks=6, concurrency=9, budget="40", run_budget=12.0, guidance='["PIV"]', more=STRATEGIES
    )
    end, session = await run_study(file, paths)
    assert end == "out_of_budget"
    # A peer that is stopped because another has finished may be cut while it is answered.
    assert settled(paths) <= provider.usd() + 1e-6
    assert provider.usd() <= settled(paths) + unknown(paths) + 1e-6 <= 40 + 2e-6
    found = outcomes(paths)
    assert all(o.usd <= 12 for o in found.values())
    best = {r.run for r in session.record.runs if r.design == "best"} & set(found)
    assert best
    for run in best:
        spent = {e.agent for e in read_journal(paths.run(run).journal) if isinstance(e.event, AttemptReplied)}
        assert spent == {"s1", "s2", "s3"}
    end, session = await run_study(file, paths, budget_usd=1000.0)
    assert end == "finished"
    assert_whole(paths)
    assert settled(paths) <= provider.usd() + 1e-6
    assert provider.usd() <= settled(paths) + unknown(paths) + 1e-6
    (row,) = [r for r in results.tidy(session.record, session.outcomes) if r["design"] == "best" and r["task"] == "t00"]
    assert (row["strategy"], row["k"], row["worker"], row["reward"]) == ("best-of-k", 3, "", 1.0)


async def test_no_more_sandboxes_are_open_than_were_asked_for(
    make_study: Make, provider: Provider, paths: StudyPaths
) -> None:
    """A best-of-3 opens three of them: it waits for room, and no later run overtakes it."""
    file = make_study(provider.url, tasks=3, concurrency=4, guidance='["PIV"]', more=STRATEGIES)
    now, most, seen = 0, 0, 0

    async def counted(spec: SandboxSpec, kind: str) -> Sandbox:
        nonlocal now, most, seen
        sandbox = await start_sandbox(spec, kind)
        now, seen = now + 1, seen + 1
        most = max(most, now)
        close = sandbox.aclose

        async def aclose(*, keep: bool = False) -> None:
            nonlocal now
            now -= 1
            await close(keep=keep)

        sandbox.aclose = aclose  # type: ignore[method-assign]
        return sandbox

    said: list[str] = []
    ports = Ports(start_sandbox=counted)
    engine = LocalEngine({}, 4, ports=ports)
    await run_study(file, paths, engine=engine, watch=lambda s: setattr(s.board, "say", said.append))
    assert_whole(paths)
    assert (seen, most) == (3 * (1 + 1 + 1 + 3), 4)
    assert [line.split()[1] for line in said if line.startswith("started")] == [r.run for r in read_record(paths).runs]
    # One that needs more than there are has them to itself.
    alone = StudyPaths(paths.folder.with_name("alone"))
    most = seen = 0
    await run_study(file, alone, engine=LocalEngine({}, 2, ports=ports))
    assert_whole(alone)
    assert (seen, most) == (18, 3)


async def test_a_budget_that_holds_no_run_is_refused(make_study: Make, paths: StudyPaths) -> None:
    with pytest.raises(UsageError, match="a single run may spend"):
        await run_study(make_study(budget="5", run_budget=12.0), paths)
    with pytest.raises(UsageError, match="max-usd none"):
        await run_study(make_study(budget="5", run_budget='"none"'), paths)


# --- what goes wrong -----------------------------------------------------------------------------------------------


class Failing:
    """An engine whose first so many attempts at each run come to something else than a result."""

    def __init__(self, inner: LocalEngine, times: int, *, runs: str = "") -> None:
        self.slots = inner.slots
        self.inner = inner
        self.times = times
        self.runs = runs
        self.tried: dict[str, int] = {}

    async def submit(self, job: Job) -> Outcome:
        name = job.folder.name
        self.tried[name] = self.tried.get(name, 0) + 1
        if name.startswith(self.runs) and self.tried[name] <= self.times:
            # The sandbox is lost after the first answers were paid for.
            seen: list[Entry] = []

            async def broken(spec: object, kind: str) -> object:
                sandbox = await start_sandbox(spec, kind)  # type: ignore[arg-type]
                sandbox.exec = lost  # type: ignore[method-assign, assignment]
                return sandbox

            async def lost(*_: object, **__: object) -> None:
                from leadhand.core.errors import SandboxLost

                raise SandboxLost("pulled out")

            engine = LocalEngine({}, 1, ports=Ports(start_sandbox=broken))  # type: ignore[arg-type]
            return await engine.submit(job._replace(watch=seen.append))
        return await self.inner.submit(job)

    async def aclose(self) -> None:
        pass


async def test_infrastructure_is_tried_again_archived_and_paid_for(
    make_study: Make, provider: Provider, paths: StudyPaths
) -> None:
    file = make_study(provider.url, tasks=1)
    engine = Failing(LocalEngine({}, 2), times=2, runs="P_")
    end, session = await run_study(file, paths, engine=engine)
    assert end == "finished"
    assert_whole(paths)
    names = sorted(outcomes(paths))
    (run,) = (r.run for r in session.record.runs if r.design == "P_push")
    assert [n for n in names if n.startswith(run)] == [run, f"{run}.attempt-1", f"{run}.attempt-2"]
    archived = outcomes(paths)[f"{run}.attempt-1"]
    assert (archived.status, archived.reward) == ("infrastructure", None)
    assert archived.settled_usd > 0
    # Two agents were at work when the sandbox went: one may have been cut while it was being answered.
    assert settled(paths) <= provider.usd() + 1e-6
    assert provider.usd() <= settled(paths) + unknown(paths) + 1e-6
    assert session.purse.spent == EXACT(settled(paths) + unknown(paths), abs=1e-6)
    (row,) = [r for r in results.tidy(session.record, session.outcomes) if r["run"] == run]
    assert row["attempts"] == 3
    assert row["attempts_cost"] == EXACT(
        sum(outcomes(paths)[f"{run}.attempt-{n}"].settled_usd for n in (1, 2)), abs=1e-9
    )


async def test_after_two_retries_a_run_is_given_up_without_a_reward(
    make_study: Make, provider: Provider, paths: StudyPaths
) -> None:
    file = make_study(provider.url, tasks=1)
    engine = Failing(LocalEngine({}, 2), times=99, runs="P_")
    end, session = await run_study(file, paths, engine=engine)
    (run,) = (r.run for r in session.record.runs if r.design == "P_push")
    assert end == "finished"
    assert session.unfinished() == [run]
    assert engine.tried[run] == 3
    assert outcomes(paths)[run].reward is None
    # Not even by the same command again.
    again = Failing(LocalEngine({}, 2), times=0)
    await run_study(file, paths, engine=again)
    assert again.tried == {}
    (row,) = [r for r in results.rows(session.record, session.outcomes) if r.design == "P_push"]
    assert (row.counted, row.reward) == (0, None)


class Broken(Failing):
    async def submit(self, job: Job) -> Outcome:
        self.tried[job.folder.name] = 1
        if self.runs:
            raise RuntimeError("a bug")
        raise LeadhandError("disk full")


@pytest.mark.parametrize("what", ["", "bug"])
async def test_a_study_stops_when_everything_fails(make_study: Make, paths: StudyPaths, what: str) -> None:
    file = make_study(tasks=20, concurrency=3)
    engine = Broken(LocalEngine({}, 3), 0, runs=what)
    end, session = await run_study(file, paths, engine=engine)
    assert end == "failing"
    assert MOST_FAILING <= len(engine.tried) <= MOST_FAILING + 3
    assert ("RuntimeError: a bug" if what else "disk full") in session.board.note


async def test_a_run_whose_workspace_is_gone_starts_anew_and_keeps_its_cost(
    make_study: Make, provider: Provider, paths: StudyPaths
) -> None:
    file = make_study(provider.url, tasks=1)
    await run_study(file, paths)
    run = next(r.run for r in read_record(paths).runs if r.design == "P_push")
    folder = paths.run(run)
    lines = folder.journal.read_bytes().splitlines(keepends=True)
    folder.journal.write_bytes(b"".join(lines[: len(lines) // 2]))
    shutil.rmtree(folder.workspace)
    paid = outcomes(paths)[run].usd
    end, _ = await run_study(file, paths)
    assert end == "finished"
    assert outcomes(paths)[f"{run}.attempt-1"].usd == paid
    assert outcomes(paths)[run].status == "finished"


# --- one folder, one study -----------------------------------------------------------------------------------------


async def test_a_study_that_grew_keeps_what_it_has(make_study: Make, provider: Provider, paths: StudyPaths) -> None:
    await run_study(make_study(provider.url, tasks=2), paths)
    before = {name: paths.run(name).journal.read_bytes() for name in outcomes(paths)}
    end, _ = await run_study(make_study(provider.url, tasks=3, repeats=2), paths)
    assert end == "finished"
    assert_whole(paths)
    assert all(paths.run(name).journal.read_bytes() == data for name, data in before.items())
    assert len(outcomes(paths)) == 3 * 3 * 2


async def test_another_study_does_not_take_over_a_folder(
    make_study: Make, provider: Provider, paths: StudyPaths
) -> None:
    await run_study(make_study(provider.url, tasks=1), paths)
    spent = settled(paths)
    other = make_study(provider.url, tasks=1, schedules='["blocking"]')
    with pytest.raises(UsageError, match="--accept-changes"):
        await run_study(other, paths)
    end, session = await run_study(other, paths, accept_changes=True)
    assert end == "finished"
    assert session.purse.spent > spent  # the money of the runs that are no longer asked for is still spent
    assert session.purse.spent == EXACT(provider.usd(), abs=1e-6)


async def test_two_drivers_do_not_share_a_folder(make_study: Make, paths: StudyPaths) -> None:
    with only_driver(paths), pytest.raises(UsageError, match="in use"):
        await run_study(make_study(), paths)


async def test_a_strange_folder_is_left_alone(make_study: Make, tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "thesis.tex").write_text("x")
    with pytest.raises(UsageError, match="not empty"):
        await run_study(make_study(), StudyPaths(tmp_path / "study"))


async def test_the_same_identity_has_the_same_folder_only_within_a_study(
    make_study: Make, provider: Provider, tmp_path: Path
) -> None:
    file = make_study(provider.url, tasks=1)
    records = []
    for name in ("a", "a", "b"):
        await run_study(file, StudyPaths(tmp_path / name))
        records.append(read_record(StudyPaths(tmp_path / name)))
    first, again, other = records
    assert first == again
    assert [r.identity for r in first.runs] == [r.identity for r in other.runs]
    assert not {r.run for r in first.runs} & {r.run for r in other.runs}


async def test_a_corrupt_journal_is_named_not_skipped(make_study: Make, provider: Provider, paths: StudyPaths) -> None:
    file = make_study(provider.url, tasks=1)
    await run_study(file, paths)
    run = read_record(paths).runs[0].run
    journal = paths.run(run).journal
    journal.write_bytes(journal.read_bytes().replace(b'"seq":3,', b'"seq":4,', 1))
    with pytest.raises(LeadhandError, match=r"journal\.jsonl:4"):
        await run_study(file, paths)


async def test_what_is_known_of_outcomes_is_only_a_shortcut(
    make_study: Make, provider: Provider, paths: StudyPaths
) -> None:
    file = make_study(provider.url, tasks=2)
    _, session = await run_study(file, paths)
    assert session.outcomes == outcomes(paths)
    paths.outcomes.write_text("{broken")
    _, session = await run_study(file, paths)
    assert session.outcomes == outcomes(paths)
    assert all(read_journal(paths.run(name).journal) for name in session.outcomes)
