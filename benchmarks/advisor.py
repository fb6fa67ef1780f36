"""Does the advice hold? The back-test on the public leaderboard, and synthetic worlds: regret against dollars spent.

The leaderboard is read from ../shared/data/programbench beside the repository, or from --data FILE; without it that
part is left out. The figure goes to docs/advisor-regret.png. With --keep FILE courses are appended there, and those
that are there already are not run again: so a long run can be done in pieces (--worlds).

    python benchmarks/advisor.py [--data leaderboard.csv] [--splits 40] [--seeds 20] [--usd 40] [--worlds NAME,...|none]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: processes, not threads

import matplotlib
import numpy as np
import numpy.typing as npt

from leadhand.advisor.trials.leaderboard import BASELINES, back_test, read_board
from leadhand.advisor.trials.worlds import (
    BUYERS,
    HELD_OUT,
    NAMES,
    Buyer,
    Point,
    at_dollars,
    course,
    dollars_to,
    make_world,
    runs_to,
)

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data" / "programbench" / "leaderboard.csv"
COLOURS = {"advisor": "#0072B2", "grid": "#D55E00", "random": "#7F7F7F"}
WORDS = {"advisor": "the advisor's next experiments", "grid": "the grid, task by task", "random": "runs at random"}
NEAR = 0.01
FIRST_SEED = 100
MARKS = (5.0, 10.0, 20.0, 30.0, 40.0)

Curves = npt.NDArray[np.float64]


class Course(NamedTuple):
    """One buyer's way through one world."""

    world: str
    buyer: Buyer
    seed: int
    points: list[Point]


def leaderboard(path: Path, splits: int) -> None:
    board = read_board(path)
    print(f"back-test: {len(board.designs)} designs, {len(board.tasks)} tasks, half held out, 20 budgets")
    for per_design, what in ((None, "all runs of the training half"), (10, "10 runs of each design")):
        start = time.perf_counter()
        v = back_test(board, splits, per_design)
        print(f"\n{what}; {splits} splits, {(time.perf_counter() - start) / splits:.2f} s each")
        for name, regret in sorted(v.regret.items(), key=lambda pair: pair[1]):
            kind = "baseline" if name in BASELINES else "" if name == "advisor" else "for comparison"
            print(f"  {name:22s} mean regret {100 * regret:5.2f} points  {kind}")
        mean, low, high = (100 * m for m in v.margin)
        print(f"  advisor - half of {v.best_baseline!r}: {mean:+.2f} points [{low:+.2f}, {high:+.2f}]")
        print(f"  held-out means inside 95 % intervals: reward {v.coverage_reward:.1%}, dollars {v.coverage_usd:.1%}")


def run(world: str, buyer: Buyer, seed: int, usd: float) -> Course:
    return Course(world, buyer, seed, list(course(make_world(world, seed), buyer, usd, seed)))


def courses(
    names: Sequence[str], buyers: Sequence[Buyer], seeds: int, usd: float, keep: Path | None, jobs: int
) -> list[Course]:
    """The buyers' courses through the worlds, from the file where they are there."""
    lines = keep.read_text("utf-8").splitlines() if keep is not None and keep.exists() else []
    kept = [Course(w, b, s, [Point(*p) for p in points]) for w, b, s, points in map(json.loads, lines)]
    found = {(c.world, c.buyer, c.seed): c for c in kept}
    wanted = [(n, b, FIRST_SEED + s) for n in names for s in range(seeds) for b in buyers]
    with ProcessPoolExecutor(jobs) as pool:
        running = [pool.submit(run, *one, usd) for one in wanted if one not in found]
        for future in as_completed(running):
            done = future.result()
            found[done.world, done.buyer, done.seed] = done
            if keep is not None:
                with keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(done) + "\n")
    return [found[one] for one in wanted]


def tell(world: str, of: dict[Buyer, list[Course]], usd: float) -> None:
    held = " (held out)" if world in HELD_OUT else ""
    print(f"\n  {world}{held}")
    marks = [m for m in MARKS if m <= usd]
    at = {b: 100 * np.array([at_dollars(c.points, marks) for c in cs]) for b, cs in of.items()}
    fine = {b: 100 * np.array([at_dollars(c.points, _grid(usd)) for c in cs]) for b, cs in of.items()}
    for buyer, cs in of.items():
        dollars = [dollars_to(c.points, NEAR) for c in cs]
        runs = [runs_to(c.points, NEAR) for c in cs]
        there = sum(map(math.isfinite, dollars))
        means = "  ".join(f"{m:5.2f} ({np.median(v):.1f})" for m, v in zip(at[buyer].mean(0), at[buyer].T, strict=True))
        print(
            f"    {buyer:8s} {means}  | all the way {_interval(fine[buyer].mean(1))} | within 1 point for good after "
            f"${statistics.median(dollars):.1f}, {statistics.median(runs):.0f} runs ({there}/{len(cs)})"
        )
    for other in [b for b in of if b != "advisor" and "advisor" in of]:
        less = "  ".join(_interval(d) for d in (at["advisor"] - at[other]).T)
        print(f"    advisor - {other:6s}: {less} | all the way {_interval((fine['advisor'] - fine[other]).mean(1))}")


def _grid(usd: float) -> list[float]:
    return list(np.linspace(0, usd, 81))


def _interval(values: Curves) -> str:
    """Mean and its 95 % interval over seeds (normal)."""
    half = 1.96 * values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{values.mean():+.2f} [{values.mean() - half:+.2f}, {values.mean() + half:+.2f}]"


def worlds(
    names: Sequence[str],
    buyers: Sequence[Buyer],
    seeds: int,
    usd: float,
    out: Path | None,
    keep: Path | None,
    jobs: int,
) -> None:
    found = courses(names, buyers, seeds, usd, keep, jobs)
    marks = ", ".join(f"${m:g}" for m in MARKS if m <= usd)
    print(f"\nworlds: Sol and Luna, $1 a task; {seeds} seeds from {FIRST_SEED}")
    print(f"points of regret, mean (median) at {marks}; differences with 95 % intervals over seeds")
    by_world = {n: {b: [c for c in found if (c.world, c.buyer) == (n, b)] for b in buyers} for n in names}
    for name, of in by_world.items():
        tell(name, of, usd)
    if out is not None:
        draw(by_world, usd, out)
        print(f"\n  figure: {out}")


def draw(found: dict[str, dict[Buyer, list[Course]]], usd: float, out: Path) -> None:
    """Mean regret and its 95 % interval over seeds, a panel a world."""
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    columns = min(5, len(found))
    rows = math.ceil(len(found) / columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(2.6 * columns, 2.7 * rows + 0.4), sharex=True, squeeze=False, layout="constrained"
    )
    for ax, (name, of) in zip(axes.flat, found.items(), strict=False):
        for buyer, cs in of.items():
            curves = 100 * np.array([at_dollars(c.points, _grid(usd)) for c in cs])
            mean, half = curves.mean(axis=0), 1.96 * curves.std(axis=0) / math.sqrt(len(cs))
            ax.step(_grid(usd), mean, where="post", color=COLOURS[buyer], label=WORDS[buyer], lw=1.6)
            ax.fill_between(
                _grid(usd), np.maximum(mean - half, 0), mean + half, step="post", color=COLOURS[buyer], alpha=0.15, lw=0
            )
        ax.set_title(f"{name}{' *' if name in HELD_OUT else ''}", fontsize=9, fontweight="bold", loc="left")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="#E6E6E6", lw=0.6)
        ax.set_axisbelow(True)
        ax.set_xlim(0, usd)
        ax.set_ylim(bottom=0)
        ax.tick_params(labelsize=8)
    for ax in axes.flat[len(found) :]:
        ax.set_axis_off()
    figure.supxlabel("dollars spent on runs", fontsize=9)
    figure.supylabel("regret of the advice, points of reward", fontsize=9)
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False, fontsize=9
    )
    figure.savefig(out, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--splits", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--usd", type=float, default=40.0)
    parser.add_argument("--worlds", default=",".join(NAMES))
    parser.add_argument("--buyers", default=",".join(BUYERS), help="with fewer than all there is no figure")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "advisor-regret.png")
    given = parser.parse_args()
    if given.splits > 0 and given.data.exists():
        leaderboard(given.data, given.splits)
    else:
        print(f"back-test: left out{'' if given.data.exists() else f', there is no {given.data}'}")
    names = [n for n in given.worlds.split(",") if n not in ("", "none")]
    if names:
        buyers = [b for b in BUYERS if b in given.buyers.split(",")]
        out = given.out if len(buyers) == len(BUYERS) else None
        worlds(names, buyers, given.seeds, given.usd, out, given.keep, given.jobs)


if __name__ == "__main__":
    main()
