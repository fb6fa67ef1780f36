"""The four areas of the rehearsed task: what a worker asks the reference, and how it reads the answers.

Every `table` reads only what the commands printed; nothing of the program is known beforehand but its documentation.
"""

from __future__ import annotations

from leadhand.benchmarks.rehearsal.areas.date import DATE
from leadhand.benchmarks.rehearsal.areas.spell import SPELL
from leadhand.benchmarks.rehearsal.areas.stamp import STAMP
from leadhand.benchmarks.rehearsal.areas.weigh import WEIGH

AREAS = {area.name: area for area in (SPELL, WEIGH, DATE, STAMP)}
