"""Studies on a Ray cluster of two nodes on this machine: the driver is killed, money holds, one limiter for all."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from clusters import TwoNodes
from sessions import assert_whole, run_study, settled, unknown
from study_files import HERE, Make, Provider

from leadhand.study.layout import StudyPaths

pytestmark = [pytest.mark.anyio, pytest.mark.cluster, pytest.mark.timeout(300)]


def engine(nodes: TwoNodes, slots: int) -> Any:
    from leadhand.study.cluster import RayEngine

    return RayEngine(nodes.ray, {}, slots, 1.0, own=False)


async def test_the_spend_stop_holds_across_two_nodes(
    make_study: Make, provider: Provider, paths: StudyPaths, nodes: TwoNodes
) -> None:
    file = make_study(
        provider.url,
        tasks=6,
        budget="40",
        run_budget=12.0,
        guidance='["P"]',
        more="workers = [15]\n",
    )
    end, _ = await run_study(file, paths, engine=engine(nodes, 4))
    assert end == "out_of_budget"
    assert provider.usd() <= 40.0
    assert settled(paths) == pytest.approx(provider.usd(), abs=1e-6)
    assert unknown(paths) == 0


def test_without_an_address_it_is_a_cluster_of_its_own(
    make_study: Make, provider: Provider, paths: StudyPaths, nodes: TwoNodes
) -> None:
    """Even where another one runs on this machine: that one is not joined, and goes on."""
    file = make_study(provider.url, tasks=1, guidance='["P"]')
    before = len(nodes.ray.nodes())
    command = [sys.executable, str(HERE / "study_cli.py"), "study", "run", str(file), "--concurrency", "2"]
    done = subprocess.run([*command, "--folder", str(paths.folder), "--engine", "ray"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert_whole(paths)
    assert len(nodes.ray.nodes()) == before


async def test_one_cool_down_holds_on_all_nodes(nodes: TwoNodes) -> None:
    """What one node was told, another waits for: both ask the same home."""
    from leadhand.study.home import Home

    ray = nodes.ray
    home = ray.remote(Home).options(num_cpus=0, max_concurrency=100).remote()
    await home.observe.remote("m", 30.0)
    assert 25 < await home.left.remote("m") <= 30
    assert await home.left.remote("other") == 0


def test_the_driver_is_killed_and_the_same_command_goes_on(
    make_study: Make, provider: Provider, paths: StudyPaths, nodes: TwoNodes
) -> None:
    file = make_study(provider.url, tasks=3, schedules='["blocking"]')
    command = [sys.executable, str(HERE / "study_cli.py"), "study", "run", str(file)]
    command += ["--folder", str(paths.folder), "--engine", "ray", "--address", nodes.cluster.address, "--plain"]

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    process = start()
    while provider.requests_here() < 6 and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    time.sleep(2)  # its tasks die with it; until then they may still be answered
    assert settled(paths) <= provider.usd() + 1e-6
    assert provider.usd() <= settled(paths) + unknown(paths) + 1e-6
    process = start()
    said, _ = process.communicate()
    assert process.returncode == 0, said.decode()
    assert_whole(paths)
    assert settled(paths) <= provider.usd() + 1e-6
    assert provider.usd() <= settled(paths) + unknown(paths) + 1e-6
