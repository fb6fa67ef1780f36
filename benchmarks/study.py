"""A study at scale: thousands of live agents in one process, and a million steps on compressed time.

    make bench BENCH=study ARGS="live --calls CALLS.csv [--agents 500 1000 2000] [--seconds 60]"
    make bench BENCH=study                      the same as ARGS="compressed [--runs 600] [--steps 105]"

`live` is real time: teams of a lead and 16 workers, run by the study's own driver and engine, with a sandbox that runs
nothing. The provider is a process of its own on the other core and replays recorded calls (latency, tokens): CALLS.csv
has a line for each, with `t_request_s`, `t_response_s`, `input_tokens`, `output_tokens`. *Added* is the time from an
answer until the agent's next request has wholly arrived there, so it holds everything the harness does for a step. The
bare loop beside it keeps a list of messages an agent, dumps it and posts it with aiohttp. The target: 2,000 live agents
on two cores with an added p99 below 50 ms, under 4 GiB.

`compressed` is a virtual clock: every wait is skipped, everything else happens, to the last byte of each journal. The
target: 600 runs of 17 agents, over a million steps, end to end; steps per second and peak memory are stated.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp
import anyio
import anyio.to_thread

from benchmarks.servers.replay import gaps, replay_server
from leadhand.core.ports import Model, Sandbox
from leadhand.core.values import SandboxSpec
from leadhand.runs.execution import Ports
from leadhand.study.layout import StudyPaths
from leadhand.study.local import LocalEngine
from leadhand.study.prepare import Prepared
from leadhand.study.session import Session, only_driver
from leadhand.testing.clock import run_virtual
from leadhand.testing.sandbox import Answer, MemorySandbox
from leadhand.testing.scripted import Script, ScriptedModel, Seen, Step, bash, call, do, finish, reports

WORKERS = 16
TARGET_AGENTS, TARGET_MS, TARGET_MIB = 2000, 50.0, 4096
STUDY = """\
repeats = 1
budget_usd = "none"
sandbox = "local"
concurrency = {teams}
solo_controls = false
[tasks]
source = ["tasks/*"]
[base]
lead = "openai-chat/replay"
guidance = "P"
workers = 16
budget_usd = "none"
limits = {{ steps = 100000, output_chars = 200000 }}
[prices]
"openai-chat/replay" = "4,20,0.4"
[base_urls]
"*" = "{url}/v1"
"""


class Line(NamedTuple):
    """One measurement. Milliseconds, CPU ms of this process, MiB."""

    name: str
    agents: int
    steps_s: float
    p50: float
    p99: float
    cpu: float
    rss: float


def study_in(folder: Path, teams: int, url: str) -> Path:
    for n in range(teams):
        task = folder / "tasks" / f"t{n:04d}"
        task.mkdir(parents=True)
        (task / "task.toml").write_text(f'prompt = "@@r{n}-lead@@ Lead."\n')
    file = folder / "scale.toml"
    file.write_text(STUDY.format(teams=teams, url=url))
    return file


# --- live ------------------------------------------------------------------------------------------------------------


def output(agent: str, command: str) -> Answer:
    return Answer(output="y" * int(command.split()[1]))


async def start_nothing(spec: SandboxSpec, kind: str) -> Sandbox:
    return MemorySandbox(output)


@asynccontextmanager
async def leadhand(folder: Path, url: str, teams: int) -> AsyncIterator[None]:
    prepared = Prepared(study_in(folder, teams, url), {})
    paths = StudyPaths(folder / "study")
    with only_driver(paths):
        session = Session(prepared, paths)
        async with anyio.create_task_group() as group:
            group.start_soon(session.run, LocalEngine({}, teams, ports=Ports(start_sandbox=start_nothing)))
            yield
            group.cancel_scope.cancel()


@asynccontextmanager
async def bare_loop(folder: Path, url: str, teams: int) -> AsyncIterator[None]:
    """As many agents of the same conversations; nothing is kept but the messages."""

    async def agent(http: aiohttp.ClientSession, name: str) -> None:
        messages: list[dict[str, object]] = [{"role": "user", "content": f"@@{name}@@ Work."}]
        headers = {"content-type": "application/json"}
        while True:
            body = json.dumps({"model": "replay", "messages": messages})
            async with http.post(f"{url}/v1/chat/completions", data=body, headers=headers) as answer:
                reply = json.loads(await answer.read())["choices"][0]["message"]
            messages.append(reply)
            for asked in reply["tool_calls"]:
                text = "y" * int(json.loads(asked["function"]["arguments"])["command"].split()[1])
                messages.append({"role": "tool", "tool_call_id": asked["id"], "content": text})

    connector = aiohttp.TCPConnector(limit=0)
    async with (
        aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as http,
        anyio.create_task_group() as group,
    ):
        for n in range(teams):
            for i in range(1, WORKERS + 1):
                group.start_soon(agent, http, f"r{n}-w{i}")
        yield
        group.cancel_scope.cancel()


async def measured(name: str, party: Callable[..., object], folder: Path, url: str, teams: int, seconds: float) -> Line:
    async with party(folder, url, teams):  # type: ignore[attr-defined]
        await anyio.sleep(warm_up(teams))
        await anyio.to_thread.run_sync(gaps, url)
        began, cpu, asked = time.perf_counter(), time.process_time(), (await anyio.to_thread.run_sync(gaps, url))[1]
        await anyio.sleep(seconds)
        took, cpu = time.perf_counter() - began, time.process_time() - cpu
        found, now_asked = await anyio.to_thread.run_sync(gaps, url)
        found.sort()
        steps = now_asked - asked
        return Line(
            name,
            teams * WORKERS,
            steps / took,
            found[len(found) // 2],
            found[int(len(found) * 0.99)],
            cpu / steps * 1e3,
            resident_mib(),
        )


def warm_up(teams: int) -> float:
    """Until every agent has read what it had to catch up on."""
    return 15.0 + teams / 8


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def live(given: argparse.Namespace) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    print(f"{'':12}{'working':>9}{'leads':>7}{'steps/s':>9}{'added ms p50':>14}{'p99':>8}{'CPU ms/step':>13}{'MiB':>7}")
    for agents in given.agents:
        for name, party in (("bare loop", bare_loop), ("leadhand", leadhand)):
            pid = os.fork()
            if pid == 0:  # a process each, so that memory is its own
                live_one(name, party, given, agents)
                os._exit(0)
            if os.waitpid(pid, 0)[1]:
                sys.exit(f"{name} failed")


def live_one(name: str, party: Callable[..., object], given: argparse.Namespace, agents: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="study-bench-"))
    teams = -(-agents // WORKERS)
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    try:
        with replay_server(given.calls, WORKERS) as url:
            r = asyncio.run(measured(name, party, folder, url, teams, given.seconds))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    leads = teams if name == "leadhand" else 0
    print(
        f"{r.name:12}{r.agents:>9}{leads:>7}{r.steps_s:>9.0f}{r.p50:>14.1f}{r.p99:>8.1f}{r.cpu:>13.2f}{r.rss:>7.0f}",
        flush=True,
    )
    if name == "leadhand" and r.agents >= TARGET_AGENTS:
        kept = r.p99 < TARGET_MS and r.rss < TARGET_MIB
        print(
            f"target: added p99 below {TARGET_MS:g} ms, under {TARGET_MIB} MiB: {'kept' if kept else 'missed'}",
            flush=True,
        )


# --- compressed ------------------------------------------------------------------------------------------------------


def lead(seen: Seen) -> Step:
    if seen.turn == 0:
        return do(*(call("delegate_agent", assignment=f"part {i}") for i in range(WORKERS)), delay_s=5)
    if len(reports(seen)) < WORKERS:
        return do(call("wait", mode="all"), delay_s=5)
    return finish("done", delay_s=5)


def scripts(steps: int) -> dict[str, Script]:
    def worker(seen: Seen) -> Step:
        if seen.turn >= steps:
            return finish("a report of my part", delay_s=8)
        return do(bash(f"make step {seen.turn}"), delay_s=6 + seen.turn % 5)

    return {"lead": lead, **{f"w{i}": worker for i in range(1, WORKERS + 1)}}


def compressed(given: argparse.Namespace) -> None:
    folder = Path(tempfile.mkdtemp(prefix="study-bench-"))
    try:
        began, cpu = time.perf_counter(), time.process_time()
        steps, hours, journals = run_virtual(_compressed, folder, given.runs, given.steps, given.concurrency)
        took, cpu = time.perf_counter() - began, time.process_time() - cpu
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{given.runs} runs of {WORKERS + 1} agents, {given.concurrency} at once: {steps:,} steps, {hours:,.0f} hours"
    )
    print(
        f"took {took:.0f} s: {steps / took:,.0f} steps/s, {cpu / steps * 1e3:.3f} CPU ms a step, "
        f"peak {peak:.0f} MiB, journals {journals / 2**20:.0f} MiB"
    )


async def _compressed(folder: Path, runs: int, steps: int, concurrency: int) -> tuple[int, float, int]:
    made = scripts(steps)

    def model(name: str, **_: object) -> Model:
        return ScriptedModel(made)

    async def start(spec: SandboxSpec, kind: str) -> Sandbox:
        return MemorySandbox(lambda agent, command: Answer(output="ok\n" * 100, seconds=1.0))

    file = study_in(folder, runs, "http://127.0.0.1:9")
    prepared = Prepared(file, {})
    paths = StudyPaths(folder / "study")
    with only_driver(paths):
        session = Session(prepared, paths)
        engine = LocalEngine({}, concurrency, ports=Ports(open_model=model, start_sandbox=start))
        end = await session.run(engine)
        assert end == "finished", end
        assert session.unfinished() == []
    done = sum(o.steps for o in session.outcomes.values())
    hours = sum(o.seconds for o in session.outcomes.values()) / 3600
    return done, hours, sum(p.stat().st_size for p in paths.runs.glob("*/journal.jsonl"))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers()
    one = kinds.add_parser("live")
    one.add_argument("--calls", type=Path, required=True)
    one.add_argument("--agents", type=int, nargs="+", default=[500, 1000, 2000])
    one.add_argument("--seconds", type=float, default=60.0)
    one.set_defaults(run=live)
    other = kinds.add_parser("compressed")
    other.add_argument("--runs", type=int, default=600)
    other.add_argument("--steps", type=int, default=105)
    other.add_argument("--concurrency", type=int, default=8)
    other.set_defaults(run=compressed)
    given = parser.parse_args((sys.argv[1:] if arguments is None else arguments) or ["compressed"])
    given.run(given)


if __name__ == "__main__":
    main()
