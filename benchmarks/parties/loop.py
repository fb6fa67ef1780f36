"""One party of `loop.py`, measured in a process of its own: ours on a sandbox, or the bare loop. Prints JSON.

CPU is user and system time of this process and everything below it, reaped or not; the first steps, which load and
connect, are taken before. Memory is the proportional set size (PSS) of the same processes at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from itertools import count, pairwise
from pathlib import Path
from typing import NamedTuple

import anyio

TICK = os.sysconf("SC_CLK_TCK")
Go = Callable[[int], Awaitable[list[list[float]]]]
"""Take so many steps with every agent; the times of each agent's replies."""


class Job(NamedTuple):
    url: str
    agents: int
    steps: int
    size: int
    latency_ms: int

    def base_url(self, steps: int) -> str:
        workers = self.agents if self.agents > 1 else 0
        return f"{self.url}/s{steps}/o{self.size}/l{self.latency_ms}/w{workers}/v1"


# --- ours ------------------------------------------------------------------------------------------------------


async def ours(job: Job, kind: str, folder: Path, measure: Callable[[Go], Awaitable[None]]) -> None:
    """Real team, journal, HTTP and sandbox; a solo agent, or a lead with so many workers."""
    from leadhand import sandboxes
    from leadhand.core.values import SandboxSpec

    for name in ("workspace", "scratch"):
        (folder / name).mkdir()
    spec = SandboxSpec(run_id="bench", workspace=str(folder / "workspace"), scratch=str(folder / "scratch"))
    sandbox = await sandboxes.start(spec, kind)
    number = count()

    async def go(steps: int) -> list[list[float]]:
        return await _team(job, steps, sandbox, folder / f"journal{next(number)}.jsonl")

    try:
        await measure(go)
    finally:
        await sandbox.aclose()


async def _team(job: Job, steps: int, sandbox: object, journal_path: Path) -> list[list[float]]:
    from leadhand.core.attempts import Unlimited
    from leadhand.core.design import Design
    from leadhand.core.events import AttemptReplied
    from leadhand.core.harness import Harness
    from leadhand.core.journal import Journal, read_journal
    from leadhand.core.state import State
    from leadhand.core.team import Team
    from leadhand.core.values import Price
    from leadhand.guidance import prompts
    from leadhand.models import open_model

    name = "openai-chat/bench"
    solo = job.agents == 1
    design = Design(lead=name, solo=solo, workers=None if solo else job.agents)
    model = open_model(name, base_url=job.base_url(steps), env={})
    journal = Journal(journal_path, anyio.current_time)
    state = State({name: Price(input=1.0, output=1.0)})
    journal.open_session("bench")
    journal.subscribe(state.apply)
    harness = Harness(
        journal=journal,
        state=state,
        design=design,
        prompts=prompts(design, "Take your steps.", "/workspace"),
        models={name: model},
        sandbox=sandbox,  # type: ignore[arg-type]
        limiter=Unlimited(),
    )
    try:
        end = await Team(harness).run()
    finally:
        await model.aclose()
        journal.close()
    assert end.text == "done", end
    times: dict[str, list[float]] = {}
    for entry in read_journal(journal_path):
        if isinstance(entry.event, AttemptReplied) and entry.agent != "lead":
            times.setdefault(entry.agent, []).append(entry.mono)
    return list(times.values())


# --- the bare loop -----------------------------------------------------------------------------------------------


async def bare(job: Job, kind: str, folder: Path, measure: Callable[[Go], Awaitable[None]]) -> None:
    """The same HTTP client, the whole history encoded for each call, `bash -c`."""
    import aiohttp

    tools = [{"type": "function", "function": {"name": "bash", "description": "Run a bash command.", "parameters": {}}}]

    async def one(session: aiohttp.ClientSession, steps: int) -> list[float]:
        messages: list[dict[str, object]] = [{"role": "user", "content": "Take your steps."}]
        times: list[float] = []
        url = job.base_url(steps) + "/chat/completions"
        for turn in count():
            body = json.dumps({"model": "bench", "messages": messages, "tools": tools}).encode()
            headers = {"content-type": "application/json", "x-leadhand-turn": str(turn), "x-leadhand-agent": "solo"}
            async with session.post(url, data=aiohttp.BytesPayload(body), headers=headers) as response:
                message = json.loads(await response.read())["choices"][0]["message"]
            times.append(time.monotonic())
            call = message["tool_calls"][0]
            if call["function"]["name"] == "finish":
                return times
            command = json.loads(call["function"]["arguments"])["command"]
            process = await asyncio.create_subprocess_exec(
                *("bash", "-c", command), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, cwd=folder
            )
            output, _ = await process.communicate()
            messages += [message, {"role": "tool", "tool_call_id": call["id"], "content": output.decode()}]
        raise AssertionError

    async def go(steps: int) -> list[list[float]]:
        found: list[list[float]] = []

        async def keep() -> None:
            found.append(await one(session, steps))

        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session, anyio.create_task_group() as group:
            for _ in range(job.agents):
                group.start_soon(keep)
        return found

    await measure(go)


# --- measuring -----------------------------------------------------------------------------------------------------


def below() -> list[int]:
    """Every process below this one."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                parents[int(entry)] = int(Path("/proc", entry, "stat").read_text().rpartition(") ")[2].split()[1])
            except OSError:
                continue
    found, more = {os.getpid()}, True
    while more:
        new = {pid for pid, parent in parents.items() if parent in found and pid not in found}
        found, more = found | new, bool(new)
    return sorted(found - {os.getpid()})


def cpu() -> float:
    """Seconds of user and system time of this process and of all below it."""
    reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = time.process_time() + reaped.ru_utime + reaped.ru_stime
    for pid in below():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15])) / TICK
    return total


def pss_mb(pids: list[int]) -> float:
    total = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
    return total / 1024


async def main(job: Job, party: str, warm: int) -> None:
    result: dict[str, object] = {}

    async def measure(go: Go) -> None:
        await go(warm)
        cpu_before, self_before, began = cpu(), time.process_time(), time.perf_counter()
        times = await go(job.steps)
        wall, used = time.perf_counter() - began, cpu() - cpu_before
        gaps = [[b - a for a, b in pairwise(t)] for t in times]
        assert all(len(g) == job.steps for g in gaps), [len(g) for g in gaps]
        result.update(
            self_ms=1000 * (time.process_time() - self_before) / (job.agents * job.steps),
            cpu_ms=1000 * used / (job.agents * job.steps),
            wall_s=wall,
            gap_ms=1000 * statistics.median(g for gs in gaps for g in gs) - job.latency_ms,
            gaps_ms=[round(1000 * statistics.median(column), 4) for column in zip(*gaps, strict=True)],
            self_mb=pss_mb([os.getpid()]),
            tree_mb=pss_mb([os.getpid(), *below()]),
        )

    with tempfile.TemporaryDirectory() as folder:
        await (bare if party == "bare" else ours)(job, party, Path(folder), measure)
    print(json.dumps(result))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("party", choices=["bare", "local", "bwrap"])
    parser.add_argument("url")
    for option, default in (("--agents", 1), ("--steps", 50), ("--size", 0), ("--latency", 0), ("--warm", 2)):
        parser.add_argument(option, type=int, default=default)
    given = parser.parse_args()
    job = Job(given.url, given.agents, given.steps, given.size, given.latency)
    anyio.run(main, job, given.party, given.warm)
