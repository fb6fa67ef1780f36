"""Ray clusters on this machine, bound to 127.0.0.1."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # else Ray makes this machine's own address of a loopback one
os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])


def ray_or_skip() -> Any:
    """CI has all that tests need; elsewhere what lacks something is skipped."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ray
            import ray.cluster_utils
            import ray.util.scheduling_strategies
    except ImportError:
        if os.environ.get("CI"):
            raise
        pytest.skip("no Ray: pip install 'leadhand[ray]'")
    return ray


def _processes(node: Any) -> list[int]:
    """A node's raylet and whatever it started, parents first."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parent = int((entry / "stat").read_text(errors="replace").rpartition(") ")[2].split()[1])
                parents.setdefault(parent, []).append(int(entry.name))
    found = [p.process.pid for p in node.all_processes["raylet"]]
    for pid in found:
        found += parents.get(pid, [])
    return found


def _at_work(node: Any) -> int:
    """How many runs a node is working on: a worker is called by what it does."""
    names = []
    for pid in _processes(node):
        with contextlib.suppress(OSError):
            names.append(Path(f"/proc/{pid}/cmdline").read_bytes())
    return sum(b"_on_node" in name for name in names)


class TwoNodes:
    """A head that holds the driver and runs nothing, and two nodes that work: each can be killed like a machine."""

    def __init__(self, cpus: int) -> None:
        self.ray = ray_or_skip()
        self._options = {"object_store_memory": 100_000_000, "include_dashboard": False, "node_ip_address": "127.0.0.1"}
        self._cpus = cpus
        head = {"num_cpus": 0, **self._options}
        self.cluster = self.ray.cluster_utils.Cluster(initialize_head=True, head_node_args=head)
        self.nodes: list[Any] = []
        self.repair()
        self.ray.init(address=self.cluster.address, log_to_driver=False, configure_logging=False)

    def repair(self) -> None:
        """Two nodes again, whatever was killed."""
        while len(self.nodes) < 2:
            self.nodes.append(self.cluster.add_node(num_cpus=self._cpus, **self._options))
        self.cluster.wait_for_nodes()

    def kill_one(self) -> None:
        """SIGKILL for everything on a node that is at work, as when a machine dies."""
        while not any(_at_work(node) for node in self.nodes):
            time.sleep(0.02)
        node = max(self.nodes, key=_at_work)
        self.nodes.remove(node)
        for pid in _processes(node):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.cluster.remove_node(node, allow_graceful=False)

    def close(self) -> None:
        self.ray.shutdown()
        self.cluster.shutdown()
