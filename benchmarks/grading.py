"""Commit0-Lite graded: the counts of untouched stubs and references, and what grading costs beside bare pytest.

    python -m benchmarks.grading [NAME ...] [--times N]     every library that is prepared, or these; N = 3

Bare pytest: the same command in a sandbox that is there already. Ours: the whole of `Benchmark.grade`, from the
archive to the grade. Both run in turn, N times; medians. Ends with 1 where a count is not the measured one (portalocker
and simpy have tests with deadlines of a second: a busy machine fails them) or grading costs more than 1.2 times bare
pytest.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tarfile
import tempfile
from pathlib import Path

import anyio

from leadhand import sandboxes
from leadhand.benchmarks.commit0.benchmark import Commit0, mounts, run_tests
from leadhand.benchmarks.commit0.prepared import Place
from leadhand.benchmarks.commit0.rows import Row, rows
from leadhand.core.ports import Sandbox
from leadhand.core.values import Grade, SandboxSpec

MOST = 1.2


async def start(spec: SandboxSpec) -> Sandbox:
    return await sandboxes.start(spec, "bwrap")


def pack(tree: Path, archive: Path) -> None:
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        for child in sorted(tree.iterdir()):
            tar.add(child, child.name)


async def ours(place: Place, tree: Path) -> tuple[Grade, float]:
    with tempfile.TemporaryDirectory() as name:
        archive, scratch = Path(name) / "submission.tar.gz", Path(name) / "scratch"
        scratch.mkdir()
        pack(tree, archive)
        benchmark = Commit0(root=place.root)
        grade = await benchmark.grade(benchmark.task(place.row.name), archive, start, scratch)
    return grade, grade.seconds


async def bare(place: Place) -> float:
    with tempfile.TemporaryDirectory() as name:
        tree, scratch = Path(name) / "tree", Path(name) / "scratch"
        shutil.copytree(place.reference, tree, symlinks=True)
        scratch.mkdir()
        spec = SandboxSpec(
            run_id=f"bare-{place.row.name}",
            workspace=str(tree),
            scratch=str(scratch),
            mounts=mounts(place, place.need()),
        )
        sandbox = await start(spec)
        try:
            began = anyio.current_time()
            await run_tests(sandbox, place.row, 1800)
            return anyio.current_time() - began
        finally:
            await sandbox.aclose()


def fits(row: Row, passed: int) -> bool:
    return row.reference_passes - row.clock_bound <= passed <= row.reference_passes


async def main(names: list[str], times: int) -> int:
    places = [p for p in map(Place, rows()) if p.read() is not None and (not names or p.row.name in names)]
    if not places:
        print("nothing is prepared: leadhand bench prepare commit0-lite")
        return 0
    wrong, stubs, whole = 0, 0.0, {"ours": 0.0, "bare": 0.0}
    print(f"{'library':14}{'stub':>12}{'reference':>14}{'ours s':>9}{'bare s':>9}{'ratio':>7}")
    for place in places:
        row = place.row
        stub, seconds = await ours(place, place.stub)
        stubs += seconds
        taken: dict[str, list[float]] = {"ours": [], "bare": []}
        for _ in range(times):
            grade, seconds = await ours(place, place.reference)
            taken["ours"].append(seconds)
            taken["bare"].append(await bare(place))
        right = stub.passed == row.stub_passes and fits(row, grade.passed or 0)
        wrong += not right
        median = {key: statistics.median(values) for key, values in taken.items()}
        for key in whole:
            whole[key] += median[key]
        counts = f"{stub.passed:>6}/{row.ids:<5}{grade.passed:>8}/{row.ids:<5}"
        times_ = f"{median['ours']:>9.2f}{median['bare']:>9.2f}{median['ours'] / median['bare']:>7.2f}"
        print(f"{row.name:14}{counts}{times_}{'' if right else '  WRONG'}")
        sys.stdout.flush()
    ratio = whole["ours"] / whole["bare"]
    seconds_ = f"stubs {stubs:.0f} s, references {whole['ours']:.0f} s, bare pytest {whole['bare']:.0f} s"
    print(f"{len(places)} libraries: {seconds_}")
    print(f"grading costs {ratio:.2f} times bare pytest (at most {MOST})")
    return 1 if wrong or ratio > MOST else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--times", type=int, default=3)
    given = parser.parse_args()
    sys.exit(anyio.run(main, given.names, given.times))
