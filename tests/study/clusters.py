"""Ray clusters on this machine, bound to 127.0.0.1."""

from __future__ import annotations

import os
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
        """SIGKILL for a node; its workers die with it."""
        self.cluster.remove_node(self.nodes.pop(), allow_graceful=False)

    def close(self) -> None:
        self.ray.shutdown()
        self.cluster.shutdown()
