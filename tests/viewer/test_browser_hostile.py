"""What models write stays text, on every tab, from the server and from disk; and megabytes do not stop the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile import FILE, SCRIPT, hostile_run
from pages import rows, watched, whole

from leadhand.core.journal import read_journal
from leadhand.viewer.export import export

pytestmark = pytest.mark.timeout(300)  # a browser on a busy machine


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile_run(tmp_path_factory.mktemp("hostile") / "run <b>'\"&")


@pytest.mark.parametrize("static", [False, True])
def test_nothing_that_a_model_writes_becomes_markup(
    run: Path, view: Callable[[Path], str], chromium: Any, tmp_path: Path, static: bool
) -> None:
    if static:
        export(run.parent, tmp_path / "out")
    address = (tmp_path / "out" / "index.html").as_uri() if static else view(run.parent)
    count = len(read_journal(run / "journal.jsonl"))
    with watched(chromium) as page:
        page.goto(address)
        page.get_by_role("link", name="task <script>").click()
        whole(page)
        for tab in ("Findings", "Files", "Reports", "Result", "Events"):
            page.get_by_role("tab", name=tab).click()
            page.wait_for_timeout(150)
            if tab == "Files":
                page.locator(".pane td", has_text=FILE).first.wait_for()
            for summary in page.locator(".pane details.msg summary").all()[:3]:
                summary.click()
            harmless(page)
        page.get_by_role("button", name="Everything").click()
        assert len(rows(page, count)) == count
        for seq in range(0, count, 4 if static else 1):
            open_event(page, seq)
            harmless(page)
        page.locator(".lane", has_text="w1").click()
        page.locator('[data-answer="contribution"]').wait_for()
        harmless(page)
        assert SCRIPT in page.locator("aside").inner_text()
        search(page)


def open_event(page: Any, seq: int) -> None:
    page.evaluate("(seq) => { location.hash = location.hash.split('?')[0] + '?tab=events&e=' + seq }", seq)
    page.locator("aside h2", has_text=f"event {seq}").wait_for()
    page.locator("aside .content details").last.wait_for()


def harmless(page: Any) -> None:
    assert page.evaluate("[window.hacked, ({}).polluted]") == [None, None]
    assert (
        page.locator("#app img, #app script, #app iframe, #app textarea, #app b[onclick], #app svg[onload]").count()
        == 0
    )
    # What is shown holds no character that a reader cannot see, and no override of direction.
    assert (
        page.evaluate(
            "/[\\u0000-\\u0008\\u000b-\\u001f\\u200b\\u202a-\\u202e\\u2066-\\u2069\\ufeff]/.test(document.body.innerText)"
        )
        is False
    )
    assert "[object" not in page.evaluate("document.body.innerText")
    # Megabytes are shown a piece at a time.
    assert page.evaluate("document.body.textContent.length") < 400_000


def search(page: Any) -> None:
    page.get_by_label("Search all text of this run").fill("<script>window")
    page.keyboard.press("Enter")
    page.locator(".hit").first.wait_for()
    harmless(page)
    assert set(page.locator("mark").all_inner_texts()) == {"<script>window"}


def test_a_line_of_five_megabytes_is_shown_in_pieces(run: Path, view: Callable[[Path], str], chromium: Any) -> None:
    entries = read_journal(run / "journal.jsonl")
    seq = next(e.seq for e in entries if e.event.__struct_config__.tag == "delegation_ended")
    with watched(chromium) as page:
        page.goto(f"{view(run)}#/run/{run.name}?e={seq}")
        page.get_by_role("button", name="Show 200,000 more").click()
        page.get_by_text("224,000 of 5,000,").wait_for()
        assert page.locator("aside pre").first.evaluate("(node) => node.textContent.length") == 224_000
