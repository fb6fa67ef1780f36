"""A simulated study: journals of real events with made-up numbers. For tests, the bench, and a look at the report.

The made-up effects follow the paper's shape (arXiv 2610.17471: delegated planning pays, implementation and
verification flatten out beyond four workers), so that every figure has something to show. They are no evidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random

import msgspec

from leadhand.analysis.factors import factors_of
from leadhand.analysis.simulated_run import simulate_lost_attempt, simulate_run
from leadhand.analysis.study import Listed, Planned, StudyFile
from leadhand.core.design import Design
from leadhand.core.harness import Prompts
from leadhand.core.values import Price, Task
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import Lock, Request, RunFile, write_run_file

PRICES = {
    "sim/strong": Price(input=4.0, output=20.0, cache_read=0.4, source="simulated"),
    "sim/mid": Price(input=2.0, output=12.0, cache_read=0.2, source="simulated"),
    "sim/cheap": Price(input=0.2, output=1.2, cache_read=0.02, source="simulated"),
}
STRONG, MID, CHEAP = PRICES
LOST = 0.01
"""The share of runs whose first attempt was lost."""


def grid() -> tuple[Design, ...]:
    """The designs that the paper's figures compare, each once, and some without a lead."""

    def team(lead: str, worker: str = "", **more: object) -> Design:
        return Design(lead=lead, worker=worker, **more)  # type: ignore[arg-type]

    solos = [Design(lead=m, solo=True, guidance=g) for m in PRICES for g in ("minimal", "PIV")]
    stages = [team(STRONG, w, guidance=g) for w in ("", CHEAP) for g in ("minimal", "P", "I", "V", "PIV")]
    others = [team(m, w, guidance="PIV") for m, w in ((MID, ""), (MID, CHEAP), (CHEAP, ""))]
    sizes = [team(STRONG, CHEAP, guidance=g, workers=n) for g in ("P", "I", "V") for n in (2, 4, 8, 16)]
    messages = [team(STRONG, w, guidance="PIV", messaging=m) for w in ("", CHEAP) for m in ("on", "plus")]
    schedules = [team(STRONG, "", guidance="PIV", schedule=s) for s in ("blocking", "notify", "pull")]
    wide = [team(STRONG, "", guidance=g, max_workers=20) for g in ("P", "PIV")]
    best = {"strategy": "best-of-k", "guidance": "PIV"}
    groups = [
        team(STRONG, strategy="peers", k=3, guidance="PIV"),
        team(STRONG, **best, k=3, selector="tests", selector_command="./check"),
        team(STRONG, **best, k=3, selector="oracle"),
    ]
    return (*solos, *stages, *others, *sizes, *messages, *schedules, *wide, *groups)


def write_study(
    folder: Path, designs: Sequence[Design], tasks: int, repeats: int, *, seed: int = 1, processes: int = 1
) -> None:
    """Write a study of simulated runs: `study.json` and one run folder per run. A few fail, and a few attempts are lost
    and tried again, as in life.
    """
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    names = tuple(f"task-{i:03}" for i in range(tasks))
    listed = tuple(
        Listed(run=f"{d:02}-{i:03}-{r}", design=factors_of(design).label, task=task, repeat=r)
        for d, design in enumerate(designs)
        for i, task in enumerate(names)
        for r in range(1, repeats + 1)
    )
    question = "Which simulated team earns the most for its money?"
    study = StudyFile(runs=listed, study=Planned(about=question, tasks=names, repeats=repeats))
    (folder / "study.json").write_bytes(msgspec.json.encode(study))
    parts = [(folder, d, design, names, repeats, seed) for d, design in enumerate(designs)]
    if processes < 2:
        for part in parts:
            _write_design(part)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        list(pool.map(_write_design, parts))


def _write_design(part: tuple[Path, int, Design, tuple[str, ...], int, int]) -> None:
    folder, number, design, tasks, repeats, seed = part
    for i, task in enumerate(tasks):
        for repeat in range(1, repeats + 1):
            paths = RunPaths(folder / "runs" / f"{number:02}-{i:03}-{repeat}")
            paths.folder.mkdir(exist_ok=True)
            write_run_file(paths.run_json, _run_file(design, task, repeat))
            random = Random(f"{seed} {number} {task} {repeat}")
            reward = true_reward(design, task, seed) + random.gauss(0, 0.06)
            simulate_run(design, min(1.0, max(0.0, reward)), random).write(paths.journal)
            if Random(f"{seed} lost {number} {task} {repeat}").random() < LOST:
                _write_lost(RunPaths(paths.folder.with_name(f"{paths.id}.attempt-1")), design, task, repeat, random)


def _write_lost(paths: RunPaths, design: Design, task: str, repeat: int, random: Random) -> None:
    paths.folder.mkdir(exist_ok=True)
    write_run_file(paths.run_json, _run_file(design, task, repeat))
    simulate_lost_attempt(design, random).write(paths.journal)


def _run_file(design: Design, task: str, repeat: int) -> RunFile:
    built = Task(
        id=task, prompt="simulated", benchmark="simulated", reference="/reference/executable", grader_digest="g"
    )
    lock = Lock(
        digest="simulated",
        version="simulated",
        created="2026-11-30T00:00:00+00:00",
        task=built,
        design=design,
        prompts=Prompts(lead="", worker="", assignment="", task=""),
        prices={m: PRICES[m] for m in design.models},
        sandbox="simulated",
    )
    return RunFile(request=Request(task=built, design=design, repeat=repeat), lock=lock)


def true_reward(design: Design, task: str, seed: int) -> float:
    """The made-up expected reward of a design on a task: ability + gain of the team + the task's ease."""
    ease = Random(f"{seed} {task}").gauss(0, 0.2)
    ability = {STRONG: 0.577, MID: 0.50, CHEAP: 0.40}[design.lead]
    # Teams help where the task is neither trivial nor out of reach.
    room = max(0.2, 1.0 - abs(ease) * 2)
    taste = Random(f"{seed} {task} {design.guidance} {design.worker}").gauss(0, 0.06)
    return ability + ease + (gain(design) * room + taste if not design.solo else 0.0) - _minimal(design)


def _minimal(design: Design) -> float:
    return 0.056 if design.guidance == "minimal" else 0.0


def gain(design: Design) -> float:
    """The team's made-up gain over its lead's solo PIV, before the task's room for it."""
    if design.solo:
        return 0.0
    if design.strategy != "team":
        return 0.03 if design.strategy == "peers" else (0.09 if design.selector == "oracle" else 0.05)
    cheap = CHEAP in (design.worker, design.lead) and design.lead != CHEAP
    by_stage = {"P": 0.100, "I": -0.03 if cheap else 0.03, "V": 0.03}
    size = design.workers or 4
    scale = {"P": math.log2(size + 1) / math.log2(5), "I": min(1.0, size / 4), "V": min(1.0, size / 4)}
    stages: Iterable[str] = () if design.guidance == "minimal" else design.guidance
    total = max([by_stage[s] * scale[s] for s in stages], default=0.04)
    messages = {"off": 0.0, "on": -0.02, "plus": -0.025}[design.messaging]
    return total * (0.5 if cheap and total > 0 else 1.0) + messages
