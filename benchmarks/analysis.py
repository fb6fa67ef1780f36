"""What analysis costs, and whether its intervals hold: `python -m benchmarks.analysis [--calibrate] [--designs N ...]`.

Without `--calibrate`: a simulated study (30 designs x 200 tasks x 3 repeats: 18,000 journals, about 5 million events)
is written to a temporary folder, folded, read from the cache, and reported. With it: the simulations with known truth
whose results are printed in every report; they go to `src/leadhand/analysis/calibration/measured.json`.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from leadhand.analysis.calibration.checks import (
    coverage_of_mean,
    coverage_of_paired,
    coverage_of_ratio,
    detectable_effect,
    frontier_calibration,
)
from leadhand.analysis.calibration.generators import GENERATORS
from leadhand.analysis.simulated import grid, write_study
from leadhand.analysis.study import read_study
from leadhand.analysis.tables import read_tables
from leadhand.report.load import load
from leadhand.report.method import Measured
from leadhand.report.write import write_report

MEASURED = Path(__file__).resolve().parents[1] / "src/leadhand/analysis/calibration/measured.json"

Made = TypeVar("Made")


def timed(what: str, act: Callable[[], Made]) -> Made:
    """Seconds of wall-clock; of processor, of this process and its children."""
    wall, cpu = time.perf_counter(), _cpu()
    made = act()
    print(
        f"{what:<28} {time.perf_counter() - wall:8.2f} s  {_cpu() - cpu:8.2f} s cpu  {_memory():7.0f} MiB", flush=True
    )
    return made


def _cpu() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in both)


def _memory() -> float:
    """The most that this process, or the largest of its children, has held so far."""
    sizes = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return max(sizes) / 1024


def scale(designs: int, tasks: int, repeats: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        chosen = grid()[:designs]
        timed("write the study", lambda: write_study(folder, chosen, tasks, repeats, processes=2))
        study = timed("find its runs", lambda: read_study(folder))
        tables = timed("fold, first time", lambda: read_tables(study, processes=2))
        print(f"  {len(tables['runs']):,} runs, {tables['runs']['events'].sum():,} events")
        del tables
        timed("tables from the cache", lambda: read_tables(study))
        evidence = timed("load with scores", lambda: load(folder))
        written = timed("report", lambda: write_report(evidence, folder / "report"))
        print(f"  {written.exhibits} exhibits, page of {written.page.stat().st_size / 1e6:.1f} MB")


def calibrate() -> None:
    """The long form of tests/analysis/test_calibration.py."""
    sizes = (16, 30, 200)
    coverage = [f(g, n) for g in GENERATORS for n in sizes for f in (coverage_of_mean, coverage_of_paired)]
    coverage += [coverage_of_ratio(g, n) for g in GENERATORS for n in sizes]
    found = Measured(
        coverage=tuple(coverage),
        frontier=tuple(frontier_calibration(studies=12_000)),
        detectable=tuple(detectable_effect(g, n, 10_000) for g in GENERATORS for n in sizes),
    )
    MEASURED.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    for c in found.coverage:
        if not c.promised:
            print(f"short: {c.quantity} of {c.generator} (skewness {c.skew}) at n = {c.n}: {100 * c.covered:.1f} %")
    for d in found.frontier:
        print(f"frontier decile {d.decile}: stated {d.stated:.3f}, true {d.true:.3f} ({d.designs} designs)")
    print(f"detectable effect: off by at most {100 * max(d.error for d in found.detectable):.1f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--calibrate", action="store_true")
    parser.add_argument("--designs", type=int, default=30)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    if given.calibrate:
        calibrate()
    else:
        scale(given.designs, given.tasks, given.repeats)


if __name__ == "__main__":
    sys.exit(main())
