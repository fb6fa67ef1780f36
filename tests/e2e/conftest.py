"""Fixtures of the end-to-end tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e_cli import Done, Leadhand, Warm, warm


@pytest.fixture(scope="session")
def warmed() -> Iterator[Warm]:
    with warm() as process:
        yield process


@pytest.fixture
def leadhand(tmp_path: Path, warmed: Warm) -> Leadhand:
    """Run `leadhand ARGUMENTS` in `tmp_path`; runs go to `tmp_path/runs`."""

    def run(*arguments: str, env: dict[str, str] | None = None, cwd: Path | None = None, hide: str = "") -> Done:
        environment = {"LEADHAND_RUNS": str(tmp_path / "runs")} | (env or {})
        return warmed.run(list(arguments), cwd or tmp_path, env=environment, hide=hide)

    return run


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """A task whose grader is quick: it looks for a file that says yes."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    command = """sleep 0.05; if [ "$(cat done)" = yes ]; then echo '{"reward": 1}'; else echo '{"reward": 0}'; fi"""
    folder.joinpath("task.toml").write_text(f"prompt = 'Write yes into done.'\n[grader]\ncommand = '''{command}'''\n")
    return folder
