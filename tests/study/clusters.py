"""Ray clusters on this machine, bound to 127.0.0.1."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
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


@contextmanager
def one_node(cpus: int) -> Iterator[Any]:
    ray = ray_or_skip()
    ray.init(
        num_cpus=cpus,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
        _node_ip_address="127.0.0.1",
        object_store_memory=100_000_000,
    )
    try:
        yield ray
    finally:
        ray.shutdown()


class TwoNodes:
    """A head that holds the driver and runs nothing, and two nodes that work: each can be killed like a machine."""

    def __init__(self, cpus: int) -> None:
        self.ray = ray_or_skip()
        options = {"object_store_memory": 100_000_000, "include_dashboard": False, "node_ip_address": "127.0.0.1"}
        self.cluster = self.ray.cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **options})
        self.nodes = [self.cluster.add_node(num_cpus=cpus, **options) for _ in range(2)]
        self.cluster.wait_for_nodes()
        self.ray.init(address=self.cluster.address, log_to_driver=False, configure_logging=False)

    def kill_one(self) -> None:
        """SIGKILL for a node's raylet; its workers die with it."""
        self.cluster.remove_node(self.nodes.pop(), allow_graceful=False)

    def close(self) -> None:
        self.ray.shutdown()
        self.cluster.shutdown()
