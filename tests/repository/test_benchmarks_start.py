"""`make bench BENCH=NAME` finds what it needs: each benchmark says what it takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", sorted(p.stem for p in (ROOT / "benchmarks").glob("[a-z]*.py")))
def test_starts(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage:")


def test_all_are_listed() -> None:
    done = subprocess.run([sys.executable, "-m", "benchmarks"], cwd=ROOT, capture_output=True, text=True, check=True)
    listed = {line.split()[0] for line in done.stdout.splitlines()}
    assert listed == {p.stem for p in (ROOT / "benchmarks").glob("[a-z]*.py")}
    assert all(len(line.split()) > 3 for line in done.stdout.splitlines()), "each says what it measures"
