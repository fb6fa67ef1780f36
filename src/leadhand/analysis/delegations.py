"""Delegations as the journal tells them: begun, ended once, delivered once. Both folds of a run keep them here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from leadhand.core.events import DelegationEnded, DelegationStarted


@dataclass(slots=True)
class DelegationTrack:
    """One delegation. Times are seconds of active time, None where it has not come to that; it ends with a `status`."""

    delegation: str
    worker: str
    worker_kind: str
    resumed: bool
    assignment: str
    started: float
    ended: float | None = None
    delivered: float | None = None
    status: str = ""
    report: str = ""
    report_chars: int = 0
    cost: float = 0.0


class Delegations(dict[str, DelegationTrack]):
    """By id, in the order in which they were begun. `reports`: whether their texts are kept (they can be long)."""

    def __init__(self, *, reports: bool) -> None:
        super().__init__()
        self._reports = reports

    def begin(self, e: DelegationStarted, now: float) -> None:
        self[e.delegation] = DelegationTrack(
            delegation=e.delegation,
            worker=e.worker,
            worker_kind=e.worker_kind,
            resumed=e.resumed,
            assignment=e.assignment,
            started=now,
        )

    def end(self, e: DelegationEnded, now: float) -> None:
        track = self[e.delegation]
        track.ended, track.status, track.report_chars = now, e.status, len(e.report)
        if self._reports:
            track.report = e.report

    def deliver(self, ids: Iterable[str], now: float) -> None:
        """A report may enter the lead's chain more than once; the first time is its delivery."""
        for id in ids:
            if self[id].delivered is None:
                self[id].delivered = now
