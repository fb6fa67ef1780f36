"""What a step costs beside a bare loop: the same HTTP client and `bash -c`, alternating on the same machine, medians.

    python -m benchmarks.loop [--rounds 5] [--quick] [--mini PYTHON]

`--mini`: the Python of an environment with mini-swe-agent 2 in it, to be put beside ours; "install" makes one in a
temporary folder (0.7 GB). Quote ratios: absolute times move by 20 % and more on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.servers.steps import step_server

PARTIES = ("bare", "local", "bwrap")
Rows = dict[str, list[dict[str, Any]]]


def measured(command: Sequence[str]) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def rounds(url: str, parties: Sequence[str], count: int, mini: str, **options: int) -> Rows:
    """Each party once a round, in turn."""
    rows: Rows = {}
    flags = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    for _ in range(count):
        for party in parties:
            rows.setdefault(party, []).append(
                measured([sys.executable, "-m", "benchmarks.parties.loop", party, url, *flags])
            )
        if mini:
            script = str(Path(__file__).parent / "parties" / "mini.py")
            rows.setdefault("mini-swe-agent", []).append(measured([mini, script, url, *flags]))
    return rows


def median(rows: Rows, party: str, key: str) -> float:
    return statistics.median(row[key] for row in rows[party])


def ratio(rows: Rows, party: str, key: str) -> float:
    """The median of the ratios to the bare loop, round by round."""
    return statistics.median(a[key] / b[key] for a, b in zip(rows[party], rows["bare"], strict=True))


def verdict(value: float, target: float, unit: str = "") -> str:
    return f"{value:.2f}{unit} (target: at most {target:g}{unit}) {'ok' if value <= target else 'MISSED'}"


def one_agent(url: str, parties: Sequence[str], count: int, mini: str) -> None:
    print("one agent, 50 trivial steps, no latency")
    rows = rounds(url, parties, count, mini, steps=50)
    print(f"  {'':16}{'CPU ms':>8}{'own ms':>8}{'gap ms':>8}{'x bare':>8}")
    for party in rows:
        values = [median(rows, party, key) for key in ("cpu_ms", "self_ms", "gap_ms")]
        print(f"  {party:16}" + "".join(f"{v:8.2f}" for v in values) + f"{ratio(rows, party, 'cpu_ms'):8.2f}")
    for party in parties[1:]:
        print(f"  CPU per step, {party}: {verdict(ratio(rows, party, 'cpu_ms'), 1.5)} times the bare loop")


def sixteen_agents(url: str, parties: Sequence[str], count: int) -> None:
    print("16 agents, 20 steps each, 200 ms latency")
    rows = rounds(url, parties, count, "", agents=16, steps=20, latency=200)
    for party in rows:
        rate = 16 * 20 / median(rows, party, "wall_s")
        used, own = median(rows, party, "cpu_ms"), median(rows, party, "self_ms")
        print(f"  {party:16}{used:8.2f} ms CPU a step ({own:.2f} own), {rate:6.1f} steps/s")
    for party in parties[1:]:
        print(f"  CPU per step, {party}: {verdict(ratio(rows, party, 'cpu_ms'), 1.5)} times the bare loop")


def growing_history(url: str, parties: Sequence[str], count: int) -> None:
    print("one agent, 210 steps, 2,000 bytes of output each")
    rows = rounds(url, parties, count, "", steps=210, size=2000)
    for party in rows:
        early, late = (
            [statistics.median(row["gaps_ms"][a:b]) for row in rows[party]] for a, b in ((5, 16), (194, 206))
        )
        growth = statistics.median(b / a for a, b in zip(early, late, strict=True))
        text = verdict(growth, 1.2) if party != "bare" else f"{growth:.2f}"
        print(
            f"  {party:16}step 10: {statistics.median(early):.2f} ms, "
            f"step 200: {statistics.median(late):.2f} ms, ratio {text}"
        )


def memory(url: str, parties: Sequence[str], count: int) -> None:
    print("memory of an added agent (PSS of the harness and of all below it, 1 and 17 agents, 20 steps)")
    few, many = (rounds(url, parties, count, "", agents=n, steps=20) for n in (1, 17))
    for party in few:
        own, tree = ((median(many, party, k) - median(few, party, k)) / 16 for k in ("self_mb", "tree_mb"))
        text = verdict(tree, 2, " MB") if party != "bare" else f"{tree:.2f} MB"
        print(f"  {party:16}{text}, of it the harness {own:.2f} MB; one agent {median(few, party, 'tree_mb'):.1f} MB")


def start_up(count: int) -> None:
    """With compiled modules, as an installed package has them."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    program = str(Path(sys.executable).with_name("leadhand"))
    times = []
    for _ in range(count + 1):
        began = time.perf_counter()
        subprocess.run([program, "--help"], capture_output=True, check=True, env=environment)
        times.append(time.perf_counter() - began)
    print(f"leadhand --help: {verdict(statistics.median(times[1:]), 0.3, ' s')}, fastest {min(times):.2f} s")


@contextmanager
def mini_python(wanted: str) -> Iterator[str]:
    """The Python that has mini-swe-agent, installed into a throwaway environment if asked for."""
    if wanted != "install":
        yield wanted
        return
    uv = shutil.which("uv") or ".tools/uv/bin/uv"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([uv, "venv", "-q", folder], check=True)
        subprocess.run(
            [uv, "pip", "install", "-q", "--python", f"{folder}/bin/python", "mini-swe-agent>=2,<3"], check=True
        )
        yield f"{folder}/bin/python"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="two rounds")
    parser.add_argument("--mini", default="", metavar="PYTHON", help="beside mini-swe-agent; `install` fetches it")
    given = parser.parse_args(argv)
    count = 2 if given.quick else given.rounds
    parties = [p for p in PARTIES if p != "bwrap" or shutil.which("bwrap")]
    start_up(2 * count)
    with mini_python(given.mini) as mini, step_server() as url:
        one_agent(url, parties, count, mini)
        sixteen_agents(url, parties, min(count, 3))
        growing_history(url, parties, min(count, 3))
        memory(url, parties, min(count, 3))


if __name__ == "__main__":
    main()
