"""The rehearsed team of `leadhand demo`: no model, everything else real.

The scripts are functions of what each agent has seen. Workers send real commands to the reference executable and read
its answers; the lead's program is built out of the tables in the reports it was given. Take one report away and that
part of the program is missing.
"""

from __future__ import annotations

from leadhand.benchmarks.rehearsal.lead import lead
from leadhand.benchmarks.rehearsal.workers import worker
from leadhand.testing.scripted import Script

TASK = "satchel"
WORKERS = 4


def rehearsal() -> dict[str, Script]:
    """Scripts by agent for the task `TASK`: a lead under schedule `push` and `WORKERS` workers, guidance P."""
    return {"lead": lead, **{f"w{i}": worker for i in range(1, WORKERS + 1)}}
