"""A real browser, a real server on loopback, and runs made for the purpose."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from viewer_runs import team_run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox",  # CI is root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of 17 agents."""
    return team_run(tmp_path_factory.mktemp("team") / "runs" / "team-of-17", workers=16, events=4000, output=600)


@contextlib.contextmanager
def viewing(folder: Path) -> Iterator[str]:
    """The address of a viewer of `folder`, served by a thread."""
    from leadhand.viewer.serve import bind

    viewer = bind(folder)
    thread = threading.Thread(target=viewer.run)
    thread.start()
    try:
        yield viewer.address
    finally:
        viewer.server.should_exit = True
        thread.join(20)
        viewer.listener.close()
        assert not thread.is_alive()


@pytest.fixture
def view() -> Iterator[Callable[[Path], str]]:
    with contextlib.ExitStack() as stack:
        yield lambda folder: stack.enter_context(viewing(folder))


# Scope module: while Playwright's synchronous API is alive, its event loop counts as running in this thread, and no
# test of asynchronous code could run.
@pytest.fixture(scope="module")
def chromium() -> Iterator[object]:
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("no chromium: scripts/ci-browser.sh installs it")
        pytest.skip("no chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()
