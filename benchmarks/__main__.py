"""`make bench`: what a step costs beside a bare loop, and wall-clock beside the longest path. Five minutes."""

from __future__ import annotations

import sys

from benchmarks import loop, wall_clock

loop.main(sys.argv[1:])
wall_clock.main([])
