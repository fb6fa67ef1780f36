"""What a run came to, as a fold of its journal: the little that a study needs to go on and to count its money."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from leadhand.benchmarks.integrity import findings, is_invalid
from leadhand.core.events import AgentEnded, Entry, Graded, GradingFailed, RunEnd, RunEnded, SessionStarted
from leadhand.core.journal import read_journal
from leadhand.core.ledger import Ledger
from leadhand.core.values import Price, Value
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import Lock, read_run_file


class Outcome(Value, frozen=True, kw_only=True):
    """One run folder. `status` is "unfinished" until its journal says how it ended.

    Dollars: what the provider billed lies between `settled_usd` and `settled_usd + unknown_usd`; `seconds` is
    the team's time, over all sessions. `broke_rules`: something was done that the task's rules forbid; the run is done
    with, and counts nowhere.
    """

    status: RunEnd | Literal["unfinished"] = "unfinished"
    reward: float | None = None
    grading: Literal["", "graded", "failed"] = ""
    settled_usd: float = 0.0
    unknown_usd: float = 0.0
    seconds: float = 0.0
    steps: int = 0
    degraded: bool = False
    resumed: bool = False
    text: str = ""
    broke_rules: bool = False

    @property
    def usd(self) -> float:
        """Everything that may be owed."""
        return self.settled_usd + self.unknown_usd

    @property
    def valid(self) -> bool:
        return self.status not in ("unfinished", "cancelled", "infrastructure") and not self.broke_rules


class OutcomeFold:
    """Folds entries one at a time; `outcome()` at any moment."""

    def __init__(self, prices: Mapping[str, Price], graders: str = "") -> None:
        """`graders`: the digest of the current grader; gradings by others do not count."""
        self.ledger = Ledger(prices)
        self._grader = graders
        self._ended: RunEnded | None = None
        self._reward: float | None = None
        self._grading: Literal["", "graded", "failed"] = ""
        self._degraded = False
        self._sessions = 0
        self._seconds = 0.0
        self._at = (-1, 0.0)

    def apply(self, entry: Entry) -> None:
        self.ledger.apply(entry)
        session, last = self._at
        if self._ended is None and entry.session == session:
            self._seconds += max(0.0, entry.mono - last)
        self._at = (entry.session, entry.mono)
        match entry.event:
            case AgentEnded() as e:
                self._degraded |= bool(e.fault)
            case SessionStarted():
                self._sessions += self._ended is None
            case RunEnded() as e:
                self._ended = e
            case Graded() as e if not self._grader or e.digest == self._grader:
                self._reward, self._grading = e.grade.reward, "graded"
            case GradingFailed() if self._grading != "graded":
                self._grading = "failed"

    def outcome(self) -> Outcome:
        ended, ledger = self._ended, self.ledger
        return Outcome(
            status=ended.status if ended else "unfinished",
            reward=self._reward,
            grading=self._grading,
            settled_usd=ledger.settled,
            # What a journal that stopped has in flight may have been billed.
            unknown_usd=ledger.unknown + ledger.reserved,
            seconds=self._seconds,
            steps=sum(s.steps for s in ledger.agents.values()),
            degraded=self._degraded,
            resumed=self._sessions > 0,
            text=ended.text[:300] if ended and ended.status == "infrastructure" else "",
        )


def outcome_of(entries: Iterable[Entry], lock: Lock) -> Outcome:
    """What a journal came to, at the run's own pinned prices and by its own task's grader and rules."""
    entries = list(entries)
    fold = OutcomeFold(lock.prices, lock.task.grader_digest)
    for entry in entries:
        fold.apply(entry)
    return msgspec.structs.replace(fold.outcome(), broke_rules=is_invalid(findings(entries, lock.task)))


def read_outcome(paths: RunPaths) -> Outcome:
    """The outcome of a run folder. Raises `JournalError`."""
    lock = read_run_file(paths.run_json).lock
    entries = read_journal(paths.journal) if paths.journal.exists() else []
    return outcome_of(entries, lock)


def lost(outcome: Outcome) -> Outcome:
    """The outcome of a run that was begun elsewhere and cannot be taken up: a fresh attempt is due."""
    return msgspec.structs.replace(outcome, status="unfinished", text="what it needs to go on is not here")
