"""Small real tasks, a study over them, and a fake provider in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from clusters import TwoNodes
from study_files import HERE, STUDY, TASK, Make, Provider

from leadhand.study.layout import StudyPaths
from leadhand.testing.provider.process import in_process


@pytest.fixture
def make_study(tmp_path: Path) -> Make:
    """Writes tasks and a study file over them; gives the file."""

    def make(
        url: str = "http://127.0.0.1:9/v1",
        *,
        tasks: int = 2,
        repeats: int = 1,
        sandbox: str = "local",
        concurrency: int = 4,
        budget: str = '"none"',
        run_budget: float = 100.0,
        schedules: str = '["push"]',
        guidance: str = '["P", "PIV"]',
        more: str = "",
    ) -> Path:
        for n in range(tasks):
            folder = tmp_path / "tasks" / f"t{n:02d}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "task.toml").write_text(TASK.format(n=n, parity="odd" if n % 2 else "even"))
        text = STUDY.format(
            url=url,
            repeats=repeats,
            sandbox=sandbox,
            concurrency=concurrency,
            budget=budget,
            run_budget=run_budget,
            schedules=schedules,
            guidance=guidance,
        )
        path = tmp_path / "small.toml"
        path.write_text(text + more)
        return path

    return make


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """One provider for all tests: it is a process, and takes a second to start."""
    bill = tmp_path_factory.mktemp("provider") / "bill.jsonl"
    with in_process("study_scripts:scripts", bill=bill, pythonpath=str(HERE), latency_s=0.01) as url:
        yield url, bill


@pytest.fixture
def provider(server: tuple[str, Path]) -> Provider:
    return Provider(*server)


@pytest.fixture
def paths(tmp_path: Path) -> StudyPaths:
    return StudyPaths(tmp_path / "study")


@pytest.fixture(scope="session")
def two_nodes() -> Iterator[TwoNodes]:
    """One cluster for all tests: it takes a while to start."""
    nodes = TwoNodes(cpus=2)
    try:
        yield nodes
    finally:
        nodes.close()


@pytest.fixture
def nodes(two_nodes: TwoNodes) -> TwoNodes:
    two_nodes.repair()
    return two_nodes
