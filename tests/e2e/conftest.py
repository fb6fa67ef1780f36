"""The command line as a user has it: a process of its own, a provider of its own, a task folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PRICE = "openai-chat/fake=2,8,0.5"
CLEAN = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY") and not k.startswith(("LEADHAND", "AWS_"))}

Leadhand = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def leadhand(tmp_path: Path) -> Leadhand:
    """Run `leadhand ARGUMENTS` in `tmp_path`; runs go to `tmp_path/runs`."""

    def run(*arguments: str, env: dict[str, str] | None = None, timeout: float = 100) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "leadhand", *arguments]
        environment = CLEAN | {"LEADHAND_RUNS": str(tmp_path / "runs")} | (env or {})
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=timeout, check=False
        )

    return run


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """A task whose grader is quick: it looks for a file that says yes."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    command = """sleep 0.05; if [ "$(cat done)" = yes ]; then echo '{"reward": 1}'; else echo '{"reward": 0}'; fi"""
    folder.joinpath("task.toml").write_text(f"prompt = 'Write yes into done.'\n[grader]\ncommand = '''{command}'''\n")
    return folder
