"""Commands per second and CPU per command of every sandbox, beside `docker exec` and a bare fork + exec.

    python -m benchmarks.sandboxes [--quick]

Rows are interleaved round by round; medians of the rounds. CPU is everything's: this process, the engine, the
container (user + system time of the process trees, reaped children included). Needs an engine for the docker rows.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from leadhand import sandboxes
from leadhand.core.errors import UsageError
from leadhand.core.ports import Sandbox
from leadhand.core.values import Mount, SandboxSpec
from leadhand.sandboxes import engine

TICK = os.sysconf("SC_CLK_TCK")
AGENTS = 17
COMMAND = "true"
Exec = Callable[[int], Awaitable[object]]  # runs one command for the agent of that number


# --- accounting -----------------------------------------------------------------------------------------------


def processes() -> dict[int, tuple[str, int, float]]:
    """pid -> (name, parent, CPU seconds with those of its reaped children)."""
    found = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                name, _, rest = Path(entry.path, "stat").read_text(errors="replace").partition("(")[2].rpartition(") ")
            except OSError:
                continue
            fields = rest.split()
            found[int(entry.name)] = (name, int(fields[1]), sum(map(int, fields[11:15])) / TICK)
    return found


def ours(table: dict[int, tuple[str, int, float]], container: str) -> set[int]:
    """This process, for a container the engine and what it started for that one, and everything below them."""
    hit = {os.getpid()}
    for pid, (name, _, _) in table.items():
        if container and (
            name in ("dockerd", "containerd") or (name.startswith("containerd-sh") and serves(pid, container))
        ):
            hit.add(pid)
    while more := {pid for pid, (_, parent, _) in table.items() if parent in hit and pid not in hit}:
        hit |= more
    return hit


def serves(pid: int, container: str) -> bool:
    """Whether a shim is the one of this container."""
    try:
        return container.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def cpu(container: str) -> float:
    """CPU seconds used so far by everything that serves the benchmark; the engine only where a container is named."""
    table = processes()
    return sum(table[pid][2] for pid in ours(table, container))


def runner_memory(container: str) -> float:
    """MB (proportional set size) of one agent's runner: the mean over all runners that live."""
    table = processes()
    sizes = []
    for pid in ours(table, container):
        if table[pid][0] == "leadhand":
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            sizes.append(next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1024)
    return statistics.mean(sizes)


# --- what is measured -----------------------------------------------------------------------------------------


async def bare(agent: int) -> None:
    await anyio.run_process(["/bin/bash", "-c", COMMAND], stdin=-3, stdout=-3, stderr=-3)


async def by_runner(sandbox: Sandbox, agent: int) -> None:
    result = await sandbox.exec(COMMAND, agent=f"a{agent}", timeout_s=60)
    assert result.exit_code == 0, result


async def by_cli(container: str, agent: int) -> None:
    await anyio.run_process(["docker", "exec", container, "/bin/bash", "-c", COMMAND], stdin=-3, stdout=-3, stderr=-3)


def _api(found: engine.Engine, container: str) -> None:
    body = {"AttachStdout": True, "AttachStderr": True, "Cmd": ["/bin/bash", "-c", COMMAND]}
    made = found.post(f"/containers/{container}/exec", body)
    found.call("POST", f"/exec/{made['Id']}/start", body={"Detach": False, "Tty": False})
    found.get(f"/exec/{made['Id']}/json")


async def by_api(found: engine.Engine, container: str, agent: int) -> None:
    await to_thread.run_sync(_api, found, container)


async def load(exec: Exec, agents: int, commands: int, container: str = "") -> tuple[float, float, float]:
    """(seconds, CPU seconds, median latency) of so many commands by agents in closed loops."""
    left, latencies = commands, []

    async def agent(number: int) -> None:
        nonlocal left
        while left > 0:
            left -= 1
            began = time.perf_counter()
            await exec(number)
            latencies.append(time.perf_counter() - began)

    spent, began = cpu(container), time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for number in range(agents):
            tasks.start_soon(agent, number)
    return time.perf_counter() - began, cpu(container) - spent, statistics.median(latencies)


async def throughput(
    rows: dict[str, tuple[Exec, int]], rounds: int, container: str
) -> dict[tuple[str, int], tuple[float, float]]:
    print(f"{'':28}{'agents':>7}{'cmd/s':>9}{'ms CPU/cmd':>12}{'median ms':>11}")
    numbers: dict[tuple[str, int], list[tuple[float, float, float]]] = {}
    for exec, _ in rows.values():
        await load(exec, AGENTS, AGENTS)  # every agent's runner is started
    for _ in range(rounds):
        for agents in (1, AGENTS):
            for name, (exec, commands) in rows.items():
                serving = container if name.startswith("docker") else ""
                seconds, spent, latency = await load(exec, agents, commands, serving)
                numbers.setdefault((name, agents), []).append((commands / seconds, spent / commands, latency))
    medians = {}
    for (name, agents), values in sorted(numbers.items(), key=lambda item: item[0][1]):
        rate, spent, latency = (statistics.median(column) for column in zip(*values, strict=True))
        medians[name, agents] = rate, spent
        print(f"{name:28}{agents:7}{rate:9.0f}{spent * 1e3:12.2f}{latency * 1e3:11.2f}")
    return medians


KINDS = """trap '' TERM; sleep 71 & setsid sleep 72 & nohup sleep 73 >/dev/null 2>&1 & (setsid sleep 74 &)
env -i setsid sh -c 'sleep 75 & exit' & (env -i sh -c '(sleep 76 &) &' &) ; sleep 77"""


async def details(name: str, sandbox: Sandbox, rounds: int, container: str) -> None:
    """Time to kill seven kinds of process, a background start, 1 GB of output, memory of a runner."""
    kills, starts = [], []
    for _ in range(rounds):
        result = await sandbox.exec(KINDS, agent="a0", timeout_s=0.3)
        assert result.ended == "timed_out"
        kills.append(result.seconds - 0.3)
        left = await sandbox.exec("pgrep -c -f '^sleep 7[1-7]$'", agent="a1", timeout_s=60)
        assert left.head == b"0\n", left
        starts.append((await sandbox.exec("sleep 1000 & echo ok", agent="a0", timeout_s=60)).seconds)
        await sandbox.kill("a0")
    spent, peak = cpu(container), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    flood = await sandbox.exec("yes | head -c 1000000000", agent="a0", timeout_s=120)
    spent, peak = cpu(container) - spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    assert (flood.size, len(flood.head), len(flood.tail)) == (10**9, 65536, 65536)
    print(
        f"{name:8} kill of 7 kinds {statistics.median(kills) * 1e3:.0f} ms, 0 survivors; `sleep & echo` "
        f"{statistics.median(starts) * 1e3:.0f} ms; 1 GB of output {spent:.2f} s CPU, +{peak / 1024:.1f} MB here"
    )


def target(text: str, value: float, bound: float, *, above: bool = False) -> None:
    met = value >= bound if above else value <= bound
    print(f"{'ok  ' if met else 'MISS'} {text}: {value:.2f} (target {'>=' if above else '<='} {bound:g})")


def targets(medians: dict[tuple[str, int], tuple[float, float]]) -> None:
    base = medians["bare fork + exec", 1][1]
    if ("docker", AGENTS) in medians:
        for other, times in (("docker exec, CLI", 20), ("docker exec, API", 15)):
            if (other, AGENTS) in medians:
                rate = medians["docker", AGENTS][0] / medians[other, AGENTS][0]
                target(f"docker over {other}, commands/s at {AGENTS}", rate, times, above=True)
        target("docker CPU over a bare subprocess", medians["docker", 1][1] / base, 2)
    if ("bwrap", 1) in medians:
        target("bwrap CPU over a bare subprocess", medians["bwrap", 1][1] / base, 1.5)


async def start(kind: str, where: Path) -> Sandbox:
    for name in ("workspace", "scratch"):
        (where / kind / name).mkdir(parents=True)
    more = {}
    if kind == "docker":
        image = os.environ.get("LEADHAND_TEST_IMAGE", "leadhand-test:1")
        more = {"image": image, "mounts": (Mount(source="/usr", target="/usr"),)}
    folders = {name: str(where / kind / name) for name in ("workspace", "scratch")}
    began = time.perf_counter()
    sandbox = await sandboxes.start(SandboxSpec(run_id="bench", **folders, **more), kind)  # type: ignore[arg-type]
    started = time.perf_counter()
    await sandbox.exec("true", agent="a0", timeout_s=60)
    runner = time.perf_counter() - started
    print(f"{kind}: started in {(started - began) * 1e3:.0f} ms, a runner in {runner * 1e3:.0f} ms")
    return sandbox


def identity(sandbox: Sandbox) -> str:
    """The engine's own id of the container."""
    return str(engine.find().get(f"/containers/{sandbox.info.id}/json")["Id"])


async def main(rounds: int, scale: int) -> None:
    rows: dict[str, tuple[Exec, int]] = {"bare fork + exec": (bare, 30 * scale)}
    began: dict[str, Sandbox] = {}
    async with AsyncExitStack() as stack:
        where = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lh-bench-")))
        for kind in ("local", "bwrap", "docker"):
            try:
                sandboxes.choose(kind)
            except UsageError as failure:
                print(f"{kind}: left out: {failure}")
                continue
            began[kind] = sandbox = await start(kind, where)
            stack.push_async_callback(sandbox.aclose)
            rows[kind] = partial(by_runner, sandbox), 50 * scale
        if "docker" in began:
            container = began["docker"].info.id
            rows["docker exec, API"] = partial(by_api, engine.find(), container), 4 * scale
            if shutil.which("docker"):
                rows["docker exec, CLI"] = partial(by_cli, container), 4 * scale
        full = identity(began["docker"]) if "docker" in began else ""
        medians = await throughput(rows, rounds, full)
        for kind, sandbox in began.items():
            await details(kind, sandbox, rounds, full if kind == "docker" else "")
        targets(medians)
        target("MB of memory per agent", runner_memory(full), 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="one short round")
    quick = parser.parse_args().quick
    sys.exit(anyio.run(main, 1 if quick else 5, 4 if quick else 10))
