"""Every exhibit of a report, in the order in which it is read."""

from __future__ import annotations

from leadhand.report.evidence import Evidence
from leadhand.report.exhibit import Absent, Exhibit
from leadhand.report.exhibits import delegation, fixed, guidance, mixing, overview, repeats, size, spending, tiers


def all_exhibits(e: Evidence) -> list[Exhibit | Absent]:
    """The paper's figures and tables and those beyond it; what cannot be given says what it would need."""
    made: list[Exhibit | Absent] = []
    for module in (overview, guidance, size, mixing, delegation, tiers, repeats, spending, fixed):
        made += module.exhibits(e)
    return made
