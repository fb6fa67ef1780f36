"""The engine on a Ray cluster: a task per run, journals and blobs brought home, one limiter for all nodes.

    engine = open_cluster(keys, slots=64, address="auto")

Needs `leadhand[ray]`, and leadhand installed alike on every node. Nothing of a run is on a node once it has ended.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import msgspec

from leadhand.core.attempts import Unlimited
from leadhand.core.errors import LeadhandError, UsageError
from leadhand.core.events import Entry
from leadhand.runs.execution import Execution
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import read_run_file, write_run_file
from leadhand.study.engine import Job, Watch
from leadhand.study.home import Home
from leadhand.study.node import Work, carry_out
from leadhand.study.outcome import Outcome, lost, read_outcome
from leadhand.study.parcel import pack
from leadhand.study.taken import can_go_on

LOOKED_S = 0.5
PATIENCE_S = 30.0
_decoder = msgspec.json.Decoder(Entry)


class RayEngine:
    """At most `slots` sandboxes at once; a task asks for `cpus` for each of its own. The study folder stays on the
    driver's machine.
    """

    def __init__(self, ray: Any, keys: Mapping[str, str], slots: int, cpus: float, own: bool) -> None:
        self.slots = slots
        self._ray = ray
        self._keys = keys
        self._cpus = cpus
        self._own = own
        self._packed: dict[str, Any] = {}
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        self._home = ray.remote(Home).options(num_cpus=0, scheduling_strategy=here, max_concurrency=1000).remote()
        self._task = ray.remote(_on_node)

    async def submit(self, job: Job) -> Outcome:
        paths = RunPaths(job.folder)
        if paths.run_json.exists() and await anyio.to_thread.run_sync(_begun, paths):
            # Begun by a driver that is gone, or on one machine: what it needs to go on is not on any node.
            return await self._here(paths)
        await anyio.to_thread.run_sync(_make, paths, job)
        token = secrets.token_hex(8)
        await self._home.open.remote(token, str(paths.folder))
        lost = fault = ""
        async with anyio.create_task_group() as group:
            group.start_soon(_tell, paths.journal, job.watch)
            try:
                lost, fault = await self._on_a_node(job, token)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._home.close.remote(token)
            if lost:
                # There is no workspace here, so what came home of the run ends as `infrastructure`.
                await Execution(paths, self._keys, limiter=Unlimited()).finish()
            group.cancel_scope.cancel()
        if fault:
            raise LeadhandError(fault)
        return await anyio.to_thread.run_sync(read_outcome, paths)

    async def _on_a_node(self, job: Job, token: str) -> tuple[str, str]:
        """Run the task: (how the node was lost, why the run itself could not go on), both "" where all is well."""
        work = Work(token, job.folder.name, msgspec.json.encode(job.file), _needed(self._keys))
        cpus = job.file.lock.design.sandboxes * self._cpus
        if cpus > self._cpus:
            cpus = min(cpus, await anyio.to_thread.run_sync(self._largest))
        task = self._task.options(num_cpus=cpus, max_retries=0)
        reference = task.remote(work, self._task_files(job), self._home)
        try:
            return "", await reference
        except self._ray.exceptions.RayError as error:
            return str(error).strip().splitlines()[0], ""
        except BaseException:
            with anyio.move_on_after(PATIENCE_S, shield=True):
                await anyio.to_thread.run_sync(_cancel, self._ray, reference)
            raise

    def _largest(self) -> float:
        """The CPUs of the largest node: a task that asks for more would wait for ever. Blocks."""
        nodes = [float(n["Resources"].get("CPU", 0.0)) for n in self._ray.nodes() if n["Alive"]]
        return max(self._cpus, *nodes)

    def _task_files(self, job: Job) -> Any:
        """The task's files in the cluster's store, put there once."""
        task = job.file.lock.task
        key = f"{task.id} {task.digest} {task.grader_digest}"
        if key not in self._packed:
            self._packed[key] = self._ray.put(pack(task))
        return self._packed[key]

    async def _here(self, paths: RunPaths) -> Outcome:
        """A run that was begun: grade it here if that is all that is left, else say that it cannot go on."""
        if await anyio.to_thread.run_sync(can_go_on, paths):
            await Execution(paths, self._keys, limiter=Unlimited()).finish()
            return await anyio.to_thread.run_sync(read_outcome, paths)
        return lost(await anyio.to_thread.run_sync(read_outcome, paths))

    async def aclose(self) -> None:
        """Shut down a cluster of our own, leave any other."""
        if self._own and self._ray.is_initialized():
            await anyio.to_thread.run_sync(self._ray.shutdown)


def _on_node(work: Work, packed: bytes, home: Any) -> str:
    """The task: "" where the run is home, else the fault of this machine. Runs in a worker process of Ray."""

    async def call(method: str, *arguments: Any) -> Any:
        return await getattr(home, method).remote(*arguments)

    try:
        carry_out(work, packed, call)
    except LeadhandError as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _begun(paths: RunPaths) -> bool:
    return paths.journal.exists() and paths.journal.stat().st_size > 0


def _make(paths: RunPaths, job: Job) -> None:
    """The run's folder at home. Its workspace is on a node."""
    paths.blobs.mkdir(parents=True, exist_ok=True)
    if not paths.run_json.exists():
        write_run_file(paths.run_json, job.file)
    if read_run_file(paths.run_json).lock.digest != job.file.lock.digest:
        raise UsageError(f"{paths.folder} holds another run")


async def _tell(journal: Path, watch: Watch) -> None:
    """Show what comes home."""
    offset = 0
    while True:
        await anyio.sleep(LOOKED_S)
        data = _after(journal, offset)
        offset += len(data)
        for entry in _decoder.decode_lines(data):
            watch(entry)


def _after(journal: Path, offset: int) -> bytes:
    """Whole lines of a journal from an offset on."""
    try:
        with journal.open("rb") as file:
            file.seek(offset)
            data = file.read()
    except FileNotFoundError:
        return b""
    return data[: data.rfind(b"\n") + 1]


def _needed(keys: Mapping[str, str]) -> dict[str, str]:
    """The keys of providers alone: nothing else of this machine's environment leaves it."""
    from leadhand.models.providers import PROVIDERS

    names = {name for info in PROVIDERS.values() for name in info.keys}
    return {name: value for name, value in keys.items() if name in names or name.startswith("AWS_")}


def _cancel(ray: Any, reference: Any) -> None:
    """Interrupt a task; it sends home what it has, and is killed if it takes too long."""
    ray.cancel(reference, force=False)
    ready, _ = ray.wait([reference], timeout=PATIENCE_S / 2)
    if not ready:
        ray.cancel(reference, force=True)


def open_cluster(keys: Mapping[str, str], slots: int, *, address: str = "", cpus: float = 1.0) -> RayEngine:
    """Join the cluster at `address` ("auto" finds one), or start one on this machine that only it can reach.

    Raises `UsageError` where Ray is not installed or the cluster does not answer. Blocks (seconds).
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if not address or address.startswith(("127.", "localhost")):
        # Else Ray puts this machine's own address in the place of a loopback one, and listens there.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError:
        raise UsageError("--engine ray needs Ray: pip install 'leadhand[ray]'") from None
    options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
    own = not address
    if own:
        # Without "local" Ray would join whatever cluster runs on this machine.
        options |= {"address": "local", "num_cpus": slots * cpus}
        options |= {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    else:
        options["address"] = address
    try:
        ray.init(**options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise UsageError(f"no Ray cluster at {address or 'this machine'}: {str(error).splitlines()[0]}") from None
    return RayEngine(ray, keys, slots, cpus, own)
