"""`kill -9` of the harness at many random points, then `resume`: nothing is asked, done, delivered or billed twice."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest
from e2e_cli import HERE, PRICE, Warm, warm

from leadhand.core.events import (
    AttemptFailed,
    AttemptReplied,
    AttemptStarted,
    CommandEnded,
    DelegationEnded,
    DelegationStarted,
    Entry,
    Graded,
    GradingStarted,
    MessageAdded,
    RunEnded,
    ToolEnded,
    ToolStarted,
)
from leadhand.core.journal import read_journal
from leadhand.core.ledger import Ledger, ledger_of
from leadhand.core.values import Price
from leadhand.core.wording import INTERRUPTED, LEFTOVERS
from leadhand.runs.paths import RunPaths, all_runs
from leadhand.runs.spec import read_run_file
from leadhand.testing.provider import BillLine, dollars, in_process, read_bill

KILLS = 200
CHAIN = 14
"""Kills of one run before it is let go to its end."""


def point(luck: Random) -> dict[str, Any]:
    """Where the next kill falls: by the clock from outside, or at a line of the journal from inside."""
    kinds: list[tuple[list[str], float, int]] = [  # kinds of line, longest delay after it, how far on
        ([], 0.0, 14),
        ([], 0.03, 14),
        (["attempt_started"], 0.02, 6),
        (["tool_started"], 0.04, 5),
        (["command_ended", "attempt_replied"], 0.0, 6),
        (["agent_ended", "delegation_ended", "run_ended", "collected", "processes_killed"], 0.04, 3),
        (["grading_started"], 0.15, 1),
    ]
    kinds_, delay, far = luck.choice(kinds)
    when = luck.choice(["clock", "before", "torn", "after", "after", "after"])
    if when == "clock":
        return {"when": when, "at": luck.uniform(0.0, 0.9)}
    at = luck.random() if when == "torn" else luck.choice([0.0, luck.uniform(0.0, delay)])
    return {"when": when, "kinds": kinds_, "nth": luck.randint(1, far), "at": at}


class Chain:
    """One run, killed again and again, then let go to its end."""

    def __init__(self, seed: int, warm: Warm, url: str, bill: Path, task: Path, folder: Path) -> None:
        self.luck = Random(seed)
        self.root = folder / f"runs{seed}"
        self.seen: Counter[str] = Counter()
        self._warm, self._bill, self._task = warm, bill, task
        self._team = ["--lead", "openai-chat/fake", "--base-url", url, "--price", PRICE, "--max-workers", "2"]
        self._team += ["--sandbox", "bwrap"]
        self._place = ["--plain", "--runs", str(self.root)]
        self._folder = folder
        self._billed_before = len(read_bill(bill)) if bill.exists() else 0
        self._open: set[int] = set()
        """The attempts that were in flight at a kill."""

    def play(self) -> Counter[str]:
        for _ in range(CHAIN):
            if not self._session(point(self.luck)):
                break
            self._after_kill()
        else:
            assert not self._session(None), "a run that nobody kills ends"
        self._judge()
        return self.seen

    # --- one session ---------------------------------------------------------------------------------------------

    def _session(self, kill: dict[str, Any] | None) -> bool:
        """Start or resume the run; whether it was killed."""
        runs = all_runs(self.root)
        argv = ["resume", runs[0].id, *self._place] if runs else ["run", str(self._task), *self._team, *self._place]
        done = self._warm.run(argv, self._folder, kill=kill)
        assert done.code in (0, -signal.SIGKILL), f"exit code {done.code} after {kill}:\n{done.err}"
        return done.code != 0

    def _after_kill(self) -> None:
        """What must hold of whatever a kill leaves."""
        self.seen["kills"] += 1
        runs = all_runs(self.root)
        if not runs or not runs[0].journal.exists():
            self.seen["before the run"] += 1
            return
        data = runs[0].journal.read_bytes()
        self.seen["torn"] += bool(data) and not data.endswith(b"\n")
        entries = read_journal(runs[0].journal)
        ledger = ledger_of(entries, self._prices(runs[0]))
        self._money(ledger)
        self._open |= set(ledger.open)
        self.seen["in a call"] += bool(ledger.open)
        ended = {e.event.call for e in entries if isinstance(e.event, CommandEnded | ToolEnded)}
        tools = {e.event.call for e in entries if isinstance(e.event, ToolStarted) and e.event.tool == "bash"}
        self.seen["in a command"] += bool(tools - ended)
        last = [e.event for e in entries if isinstance(e.event, GradingStarted | Graded | RunEnded)]
        self.seen["in grading"] += bool(last) and isinstance(last[-1], GradingStarted)
        self.seen["between the end and grading"] += bool(last) and isinstance(last[-1], RunEnded)

    def _prices(self, run: RunPaths) -> dict[str, Price]:
        return read_run_file(run.run_json).lock.prices

    def _billed(self) -> list[BillLine]:
        return read_bill(self._bill)[self._billed_before :]

    def _money(self, ledger: Ledger) -> None:
        bill = dollars(self._billed(), ledger.prices["openai-chat/fake"])
        assert ledger.settled <= bill + 1e-9
        assert bill <= ledger.settled + ledger.unknown + ledger.reserved + 1e-9

    # --- the whole run -------------------------------------------------------------------------------------------

    def _judge(self) -> None:
        (run,) = all_runs(self.root)
        entries = read_journal(run.journal)
        ledger = ledger_of(entries, self._prices(run))
        self._money(ledger)
        assert ledger.reserved == 0
        failed = [e.event for e in entries if isinstance(e.event, AttemptFailed)]
        assert {f.fault for f in failed} <= {"cut"}
        assert sorted(f.attempt for f in failed) == sorted(self._open), "unknown is what was in flight at the kills"
        assert sum(isinstance(e.event, RunEnded) for e in entries) == 1
        (graded,) = [e.event for e in entries if isinstance(e.event, Graded)]
        assert graded.grade.reward == 1.0
        self._asked_once(entries)
        self._ran_once(entries, (run.scratch / "ran").read_text().split("\n")[:-1])
        self._delivered_once(entries)

    def _asked_once(self, entries: list[Entry]) -> None:
        """No prompt is sent again once its reply is recorded; the provider saw no more requests than were recorded."""
        started: Counter[tuple[str, str]] = Counter()
        replied: set[tuple[str, str]] = set()
        steps: Counter[str] = Counter()
        tries: Counter[tuple[str, int]] = Counter()
        for e in entries:
            match e.event:
                case AttemptStarted() as a:
                    assert (e.agent, a.head) not in replied, f"{e.agent} was asked again what is recorded"
                    started[e.agent, a.head] += 1
                    tries[e.agent, steps[e.agent]] += 1
                case AttemptReplied() as r:
                    replied.add((e.agent, r.message.parent))
                    steps[e.agent] += 1
        requested = Counter((line.agent, line.turn) for line in self._billed())
        assert requested <= tries
        assert set(requested) == {(agent, turn) for agent, n in steps.items() for turn in range(n)}

    def _ran_once(self, entries: list[Entry], log: list[str]) -> None:
        """No command ran twice, and what has no outcome was told to its agent."""
        assert max(Counter(log).values()) == 1
        started = Counter(e.event.call for e in entries if isinstance(e.event, ToolStarted))
        assert max(started.values()) == 1
        finished = [e.event for e in entries if isinstance(e.event, CommandEnded)]
        outcomes = Counter(e.event.call for e in entries if isinstance(e.event, CommandEnded | ToolEnded))
        assert max(outcomes.values()) == 1
        said = [c.head.strip() for c in finished if c.ended == "exited"]
        names = [name for name in said if name and not name.startswith("done:")]
        assert all(f"ended {name}" in log for name in names)
        told = [e.event for e in entries if isinstance(e.event, ToolEnded) and e.event.text == INTERRUPTED]
        self.seen["told of an interrupted command"] += len(told)
        self.seen["told of a restart"] += any(
            isinstance(e.event, MessageAdded) and LEFTOVERS.encode() in json.dumps(_body(e.event)).encode()
            for e in entries
        )

    def _delivered_once(self, entries: list[Entry]) -> None:
        begun = [e.event.delegation for e in entries if isinstance(e.event, DelegationStarted)]
        ended = [e.event.delegation for e in entries if isinstance(e.event, DelegationEnded)]
        delivered = [d for e in entries if isinstance(e.event, MessageAdded) for d in e.event.delivers]
        assert sorted(begun) == sorted(ended) == sorted(delivered) == ["d1", "d2", "d3"]


def _body(added: MessageAdded) -> Any:
    import msgspec

    return msgspec.to_builtins(added.message.body)


@pytest.mark.timeout(900)
def test_killed_anywhere_and_resumed_a_run_loses_and_repeats_nothing(task: Path, tmp_path: Path) -> None:
    seeds = iter(range(1_000_000))
    seen: Counter[str] = Counter()
    lock = threading.Lock()

    def work(number: int) -> None:
        bill = tmp_path / f"bill{number}.jsonl"
        provider = in_process("kill_teams:SCRIPTS", bill=bill, latency_s=0.01, pythonpath=str(HERE))
        with provider as url, warm() as process:
            while True:
                with lock:
                    seed = next(seeds)
                found = Chain(seed, process, url, bill, task, tmp_path).play()
                with lock:
                    seen.update(found)
                    if seen["kills"] >= KILLS:
                        return

    began = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(work, n) for n in range(2)]:
            done.result()
    print(f"{dict(seen)} in {time.monotonic() - began:.0f} s")
    assert seen["kills"] >= KILLS
    for where in ("torn", "in a call", "in a command", "in grading", "between the end and grading"):
        assert seen[where] >= 3, f"the kills must also fall {where}: {seen}"
    assert seen["told of an interrupted command"] >= 3
    assert seen["told of a restart"] >= 3
