"""The rehearsed worker: probes one area of the program and reports the table it has read out of the answers."""

from __future__ import annotations

import re

from leadhand.benchmarks.rehearsal.areas import AREAS
from leadhand.benchmarks.rehearsal.seeing import block, outputs, thinking
from leadhand.testing.scripted import Seen, Step, bash, do, finish

ASSIGNED = re.compile(r"^Area: (\w+)\nOriginal: (\S+)$", re.MULTILINE)


def worker(seen: Seen) -> Step:
    """The next step of a worker; which area it has is in its assignment."""
    assigned = ASSIGNED.search(seen.prompt)
    if assigned is None:
        return finish("My assignment names no area and no original; I have done nothing.")
    area, original = AREAS[assigned[1]], assigned[2]
    told = outputs(seen)
    if len(told) < len(area.probes):
        probe = area.probes[len(told)]
        command = f"X={original}\n{probe.command(told)}"
        return do(bash(command), text=probe.why, delay_s=thinking(seen))
    try:
        found = area.table(told)
    except (ValueError, IndexError, KeyError, AttributeError) as error:
        return finish(f"I could not read the answers of {area.name}: {error}", delay_s=thinking(seen))
    table = {"area": area.name, **found}
    return finish(f"{area.plan}\n\n{block(table)}", delay_s=thinking(seen, 0.5, 0.9))
