"""What a study looks like while it runs: counts, dollars, rate, expected end. Fed by the driver, read by a display."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from leadhand.core.events import AttemptFailed, AttemptReplied, AttemptStarted, Entry
from leadhand.core.ledger import Ledger
from leadhand.core.values import Price, Value
from leadhand.study.layout import PlannedRun
from leadhand.study.outcome import Outcome
from leadhand.study.purse import Purse

TROUBLE_S = 60.0


class DesignLine(Value, frozen=True, kw_only=True):
    """One design so far. Means over its finished runs of this study; None where there is none."""

    name: str
    runs: int
    done: int
    running: int
    reward: float | None
    usd: float | None
    minutes: float | None


class Picture(Value, frozen=True, kw_only=True):
    """The whole study at one moment. `running_usd` is what the running runs have spent or may owe so far; `rate` is
    runs finished an hour in this session; `left_s` and `expected_usd` are None while nothing can be said.
    """

    runs: int
    done: int
    running: int
    failed: int
    retried: int
    spent_usd: float
    running_usd: float
    held_usd: float
    budget_usd: float | None
    rate: float | None
    left_s: float | None
    expected_usd: float | None
    elapsed_s: float
    designs: tuple[DesignLine, ...]
    note: str
    trouble: str


@dataclass(slots=True)
class _Live:
    run: PlannedRun
    ledger: Ledger
    before_usd: float
    complain: Callable[[str], None]

    @property
    def usd(self) -> float:
        return self.before_usd + self.ledger.committed

    def see(self, entry: Entry) -> None:
        """Of a resumed run only the new part is seen: an attempt of an earlier session may end in it."""
        if isinstance(entry.event, AttemptFailed) and entry.event.fault != "cut":  # we cut it: a peer that was stopped
            self.complain(f"{entry.event.fault}: {entry.event.error}")
        match entry.event:
            case AttemptStarted():
                self.ledger.apply(entry)
            case AttemptReplied() | AttemptFailed() as e if e.attempt in self.ledger.open:
                self.ledger.apply(entry)


@dataclass
class Board:
    """Collects what happens. `now` is a monotonic clock in seconds."""

    runs: tuple[PlannedRun, ...]
    purse: Purse
    now: Callable[[], float]
    say: Callable[[str], None] = lambda line: None
    note: str = ""
    retried: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    _done: dict[str, Outcome] = field(default_factory=dict)
    _live: dict[str, _Live] = field(default_factory=dict)
    _finished_here: int = 0
    _began: float = -1.0
    _faults: list[float] = field(default_factory=list)
    _last_fault: str = ""

    def known(self, outcomes: Mapping[str, Outcome], finished: set[str]) -> None:
        """What earlier sessions did."""
        self._done = {name: outcomes[name] for name in finished}
        self._began = self.now()

    def started(self, run: PlannedRun, prices: Mapping[str, Price], so_far: Outcome | None) -> Callable[[Entry], None]:
        """A run starts; gives what sees its entries."""
        live = self._live[run.run] = _Live(run, Ledger(prices), so_far.usd if so_far else 0.0, self._complain)
        self.say(f"{'resumed' if so_far else 'started'} {run.run}")
        return live.see

    def _complain(self, fault: str) -> None:
        self._faults = [*(t for t in self._faults if t > self.now() - TROUBLE_S), self.now()]
        self._last_fault = fault

    def _trouble(self) -> str:
        """Attempts that failed a short while ago: why a study that seems to stand still does."""
        recent = sum(t > self.now() - TROUBLE_S for t in self._faults)
        return f"{recent} attempts failed in the last minute, the last with {self._last_fault}" if recent else ""

    def finished(self, run: PlannedRun, outcome: Outcome) -> None:
        self._live.pop(run.run, None)
        self._done[run.run] = outcome
        self._finished_here += 1
        self.failed.pop(run.run, None)
        graded = "not graded" if outcome.reward is None else f"reward {outcome.reward:.3f}"
        self.say(f"finished {run.run}: {outcome.status}, {graded}, ${outcome.settled_usd:.4f}")

    def stopped(self, run: PlannedRun, why: str, *, again: bool) -> None:
        """A run stopped without an outcome that counts; `again`: it will be tried once more."""
        self._live.pop(run.run, None)
        if again:
            self.retried += 1
        else:
            self.failed[run.run] = why
        self.say(f"{'trying again' if again else 'given up'} {run.run}: {why}")

    def picture(self) -> Picture:
        elapsed = self.now() - self._began if self._began >= 0 else 0.0
        left = len(self.runs) - len(self._done) - len(self.failed)
        rate = 3600 * self._finished_here / elapsed if self._finished_here and elapsed > 0 else None
        lines = self._lines()
        return Picture(
            runs=len(self.runs),
            done=len(self._done),
            running=len(self._live),
            failed=len(self.failed),
            retried=self.retried,
            spent_usd=self.purse.spent,
            running_usd=sum(live.usd for live in self._live.values()),
            held_usd=self.purse.held,
            budget_usd=self.purse.limit,
            rate=rate,
            left_s=3600 * left / rate if rate else None,
            expected_usd=self._expected(lines),
            elapsed_s=elapsed,
            designs=lines,
            note=self.note,
            trouble=self._trouble(),
        )

    def _lines(self) -> tuple[DesignLine, ...]:
        groups: dict[str, list[PlannedRun]] = {}
        for run in self.runs:
            groups.setdefault(run.design, []).append(run)
        running: dict[str, int] = {}
        for live in self._live.values():
            running[live.run.design] = running.get(live.run.design, 0) + 1
        return tuple(self._line(name, own, running.get(name, 0)) for name, own in groups.items())

    def _line(self, name: str, own: list[PlannedRun], running: int) -> DesignLine:
        outcomes = [self._done[r.run] for r in own if r.run in self._done]
        return DesignLine(
            name=name,
            runs=len(own),
            done=len(outcomes),
            running=running,
            reward=mean([o.reward for o in outcomes if o.reward is not None]),
            usd=mean([o.settled_usd for o in outcomes]),
            minutes=mean([o.seconds / 60 for o in outcomes]),
        )

    def _expected(self, lines: tuple[DesignLine, ...]) -> float | None:
        """What the whole study will have cost if the rest goes as it went; designs not seen yet cost as the others."""
        if not self._done:
            return None
        overall = math.fsum(o.settled_usd for o in self._done.values()) / len(self._done)
        rest = math.fsum((line.runs - line.done) * (overall if line.usd is None else line.usd) for line in lines)
        return self.purse.spent + rest


def mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
