"""A study of 4 designs on 12 tasks, live and from disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pages import PHONE, watched
from viewer_runs import STUDY, small_run, study

from leadhand.analysis.factors import factors_of
from leadhand.viewer.export import export
from leadhand.viewer.folder import Folder

pytestmark = pytest.mark.timeout(300)  # a browser on a busy machine


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return study(tmp_path_factory.mktemp("grid") / "study")


@pytest.mark.parametrize("static", [False, True])
def test_the_frontier_first_then_a_design_a_task_a_run(
    grid: Path, view: Callable[[Path], str], chromium: Any, tmp_path: Path, static: bool
) -> None:
    if static:
        assert export(grid, tmp_path / "out") == 48
    home = Folder(grid).home()
    lines = {d["design"]: d for d in home["study"]["designs"]}
    with watched(chromium) as page:
        page.goto((tmp_path / "out" / "index.html").as_uri() if static else view(grid))
        page.locator("circle[data-design]").first.wait_for()
        points = page.locator("circle[data-design]")
        assert {p.get_attribute("data-design") for p in points.all()} == set(lines)
        for point in points.all():
            line = lines[point.get_attribute("data-design")]
            said = point.get_attribute("aria-label")
            assert f"reward {line['reward']['mean']:.3f}, ${line['usd']['mean']:.4f} a task" in said
        assert page.locator(".heat button").count() == 48
        assert page.locator(".raster").count() == 24
        assert "48 of 48 runs ended" in page.locator(".facts").inner_text()

        table = page.get_by_role("region", name="Designs").locator("table")
        page.get_by_role("button", name="dollars a task").click()
        dear = [row.locator("td").nth(2).inner_text() for row in table.locator("tbody tr").all()]
        assert dear == sorted(dear, reverse=True)
        page.get_by_label("Filter designs").fill("solo")
        page.keyboard.press("Enter")
        assert table.locator("tbody tr").count() == 2

        points.filter(has_text=factors_of(STUDY[3]).label).click()
        shown = page.get_by_role("region", name="Chosen runs").locator("tbody tr")
        shown.nth(11).wait_for()
        assert "design=" in page.url
        page.locator(".heat button").nth(5).click()
        page.wait_for_url("**task=**")
        shown.nth(1).wait_for(state="detached")
        page.reload()  # the address names what was chosen
        shown.first.wait_for()
        assert shown.count() == 1
        shown.get_by_role("link").click()
        page.locator(".lane").first.wait_for()
        page.locator(".badge.good", has_text="finished").wait_for()


def test_a_study_that_goes_on(tmp_path: Path, view: Callable[[Path], str], chromium: Any) -> None:
    random = Random(1)
    (tmp_path / "study.json").write_text(json.dumps({"runs": [{"run": name} for name in "abc"]}))
    small_run(tmp_path / "runs" / "a", STUDY[0], "t", 0.5, random)
    small_run(tmp_path / "runs" / "b", STUDY[2], "t", 0.75, Random(9), ended=False)
    with watched(chromium) as page:
        page.goto(view(tmp_path))
        page.get_by_text("1 of 3 runs ended").wait_for()
        page.get_by_text("1 running").wait_for()
        small_run(tmp_path / "runs" / "b", STUDY[2], "t", 0.75, Random(9))  # the same, and then some
        small_run(tmp_path / "runs" / "c", STUDY[3], "t", 0.9, random)
        page.get_by_text("3 of 3 runs ended").wait_for()
        assert page.locator("circle[data-design]").count() == 3


def test_the_study_on_a_phone(grid: Path, view: Callable[[Path], str], chromium: Any) -> None:
    with watched(chromium, size=PHONE) as page:
        page.goto(view(grid))
        page.locator("circle[data-design]").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
