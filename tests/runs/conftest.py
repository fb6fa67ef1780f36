"""Fixtures of the tests of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from run_folders import GRADER, TEAM, CarryOn, Make

from leadhand.benchmarks.folder import load_task
from leadhand.core.attempts import Unlimited
from leadhand.core.design import Design
from leadhand.core.events import Entry
from leadhand.runs import store
from leadhand.runs.execution import Execution, Observer
from leadhand.runs.paths import RunPaths
from leadhand.runs.plan import plan
from leadhand.runs.spec import Request


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A new run's folder; keywords go to the request."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    folder.joinpath("task.toml").write_text(f"prompt = 'Write yes into done.'\n[grader]\ncommand = '''{GRADER}'''\n")

    def make(design: Design = TEAM, **more: Any) -> RunPaths:
        request = Request(task=load_task(folder), design=design, **({"sandbox": "bwrap"} | more))
        return store.create(tmp_path / "runs", plan(request, {}))

    return make


@pytest.fixture
def carry_on() -> CarryOn:
    async def carry_on(paths: RunPaths, *observers: Observer) -> list[Entry]:
        return await Execution(paths, {}, observers=observers, limiter=Unlimited()).finish()

    return carry_on
