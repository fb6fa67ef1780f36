"""Made-up own runs: as values, and as run folders with real journals."""

from __future__ import annotations

from pathlib import Path
from random import Random

from leadhand.advisor.own import Own
from leadhand.analysis.simulated_run import simulate_run
from leadhand.core.design import Design
from leadhand.core.harness import Prompts
from leadhand.core.values import Price, Task
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import Lock, Request, RunFile, write_run_file

SOL, LUNA = "openai/gpt-5.6-sol", "openai/gpt-5.6-luna"
PAIR = (f"{SOL}@medium", f"{LUNA}@medium")
SOLO = Design(lead=SOL, lead_reasoning="medium", solo=True, guidance="PIV")
PLANNERS = Design(lead=SOL, worker=LUNA, lead_reasoning="medium", worker_reasoning="medium", guidance="P", workers=16)
PRICES = {SOL: Price(input=4.0, output=20.0, cache_read=0.4), LUNA: Price(input=0.2, output=1.2, cache_read=0.02)}


def own_runs_of(
    design: Design, tasks: int, reward: float, usd: float, minutes: float = 3.0, setting: str = "mine"
) -> list[Own]:
    """Runs of a design on tasks of different difficulty."""
    found = []
    for i in range(tasks):
        difficulty = Random(f"task {i}").gauss(0, 0.15)
        noise = Random(f"{i} {design}").gauss(0, 0.05)
        value = min(1.0, max(0.0, reward + difficulty + noise))
        found.append(Own(design=design, setting=setting, task=f"t{i}", reward=value, usd=usd, minutes=minutes))
    return found


def write_run(root: Path, name: str, design: Design, task: Task, reward: float) -> RunPaths:
    """A run folder with a whole journal in it."""
    paths = RunPaths(root / name)
    paths.folder.mkdir(parents=True)
    lock = Lock(
        digest="d",
        version="0",
        created="2026-11-30T00:00:00+00:00",
        task=task,
        design=design,
        prompts=Prompts(lead="", worker="", assignment="", task=""),
        prices={m: PRICES.get(m, Price(input=1.0, output=2.0)) for m in design.models},
        sandbox="local",
    )
    write_run_file(paths.run_json, RunFile(request=Request(task=task, design=design), lock=lock))
    simulate_run(design, reward, Random(name)).write(paths.journal)
    return paths
