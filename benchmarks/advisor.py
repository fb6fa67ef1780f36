"""Does the advice hold? The back-test on the public leaderboard, and synthetic worlds: regret against dollars spent.

The leaderboard is read from ../shared/data/programbench beside the repository, or from --data FILE; without it that
part is left out. The figure goes to docs/advisor-regret.png.

    python -m benchmarks.advisor [--data leaderboard.csv] [--splits 40] [--repeats 6] [--usd 40] [--out FILE.png]
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from pathlib import Path

import matplotlib
import numpy as np

from leadhand.advisor.trials.leaderboard import BASELINES, back_test, read_board
from leadhand.advisor.trials.worlds import BUYERS, WORLDS, Point, at_dollars, course, dollars_to, make_world

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data" / "programbench" / "leaderboard.csv"
COLOURS = {"advisor": "#0072B2", "grid": "#D55E00", "random": "#7F7F7F"}
NAMES = {"advisor": "the advisor's next experiments", "grid": "the grid, task by task", "random": "runs at random"}
NEAR = 0.01


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


def worlds(repeats: int, usd: float, out: Path) -> None:
    print(f"\nworlds: Sol and Luna, $1 a task; {repeats} repeats; points of regret, and when it stays below 1")
    found: dict[str, dict[str, list[list[Point]]]] = {}
    for name, effects in WORLDS.items():
        found[name] = {
            buyer: [list(course(make_world(effects, seed), buyer, usd, seed)) for seed in range(repeats)]
            for buyer in BUYERS
        }
        print(f"  {name}")
        for buyer, courses in found[name].items():
            print(f"    {buyer:8s} {_line(courses, usd)}", flush=True)
    draw(found, usd, out)
    print(f"  figure: {out}")


def _line(courses: list[list[Point]], usd: float) -> str:
    """Mean regret over the course and at its end, in points; median dollars and runs until it stays near 0."""
    grid = list(np.linspace(0, usd, 81))
    curves = 100 * np.array([at_dollars(points, grid) for points in courses])
    dollars = [dollars_to(points, NEAR) for points in courses]
    pairs = zip(courses, dollars, strict=True)
    runs = [next((p.runs for p in points if p.usd >= d), math.inf) for points, d in pairs]
    there = sum(math.isfinite(d) for d in dollars)
    return (
        f"mean {curves.mean():5.2f}, at the end {curves[:, -1].mean():5.2f}; near 0 after "
        f"${statistics.median(dollars):.1f}, {statistics.median(runs):.0f} runs ({there}/{len(courses)})"
    )


def draw(found: dict[str, dict[str, list[list[Point]]]], usd: float, out: Path) -> None:
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    grid = list(np.linspace(0, usd, 81))
    figure, axes = plt.subplots(1, len(found), figsize=(3.1 * len(found), 3.4), sharey=True, layout="constrained")
    for ax, (name, by_buyer) in zip(axes, found.items(), strict=True):
        for buyer, courses in by_buyer.items():
            curves = 100 * np.array([at_dollars(points, grid) for points in courses])
            ax.step(grid, curves.mean(axis=0), where="post", color=COLOURS[buyer], label=NAMES[buyer], lw=1.6)
            for curve in curves:
                ax.step(grid, curve, where="post", color=COLOURS[buyer], lw=0.5, alpha=0.25)
        ax.set_title(name, fontsize=10, fontweight="bold", loc="left")
        ax.set_xlabel("dollars spent on runs")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="#E6E6E6", lw=0.6)
        ax.set_axisbelow(True)
        ax.set_xlim(0, usd)
    axes[0].set_ylabel("regret of the advice, points of reward")
    axes[0].set_ylim(bottom=-0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(out, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--splits", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--usd", type=float, default=40.0)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "advisor-regret.png")
    given = parser.parse_args()
    if given.data.exists():
        leaderboard(given.data, given.splits)
    else:
        print(f"back-test: left out, there is no {given.data}")
    worlds(given.repeats, given.usd, given.out)


if __name__ == "__main__":
    main()
