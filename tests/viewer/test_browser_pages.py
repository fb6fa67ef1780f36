"""The export from disk is the page from the server; contrast and labels; and a picture of every page, to be looked at.

The pictures are in `build/screenshots`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pages import PHONE, WIDE, watched, whole
from viewer_runs import small_run, study, suspect_run

from leadhand.runs.spec import read_run_file
from leadhand.viewer.export import export

pytestmark = pytest.mark.timeout(300)  # a browser on a busy machine

SHOTS = Path(__file__).resolve().parents[2] / "build" / "screenshots"
LOOK = "?tab=events&e=777"
READY = {"study": "circle[data-design]", "runs": "tbody tr"}


def test_an_export_opened_from_disk_is_the_page_of_the_server(
    team: Path, view: Callable[[Path], str], chromium: Any, tmp_path: Path
) -> None:
    export(team, tmp_path / "out")
    disk, served = (tmp_path / "out" / "index.html").as_uri(), view(team)
    looks = ("?tab=overview", "?tab=events&e=1500", "?tab=files&agent=w3", "?tab=reports&q=flush merge")
    texts: dict[str, str] = {}
    for address in (served, disk):
        with watched(chromium) as page:
            page.goto(f"{address}#/run/{team.name}")
            whole(page)
            for look in looks:
                page.evaluate("(hash) => { location.hash = hash }", f"#/run/{team.name}{look}")
                if address == served:
                    texts[look] = settled(page)
                until = time.monotonic() + 15
                while (text := settled(page)) != texts[look]:
                    assert time.monotonic() < until, f"{look}: {text}\n---\n{texts[look]}"
    assert all(len(text) > 500 for text in texts.values())


def settled(page: Any) -> str:
    """What the page says once it has said the same for a while."""
    while True:
        before = page.locator("#app").inner_text()
        page.wait_for_timeout(400)
        if page.locator("#app").inner_text() == before and "Loading…" not in before and "Searching…" not in before:
            return before


def test_an_export_replaces_only_an_export(team: Path, tmp_path: Path) -> None:
    from leadhand.core.errors import UsageError

    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds other files"):
        export(team, tmp_path)
    assert export(team, tmp_path / "out") == export(team, tmp_path / "out") == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read_and_controls_have_names(
    team: Path, view: Callable[[Path], str], chromium: Any, theme: str
) -> None:
    with watched(chromium, theme=theme) as page:
        page.goto(f"{view(team)}#/run/{team.name}{LOOK}")
        whole(page)
        page.wait_for_timeout(300)
        assert page.evaluate(CONTRAST) == []
        unnamed = (
            "(all) => all.filter((b) => !(b.getAttribute('aria-label') || b.textContent.trim() || b.title)).length"
        )
        assert page.locator("button, select, input").evaluate_all(unnamed) == 0
        assert page.locator("main").count() == page.locator("h1").count() == 1
        assert (
            page.locator("h1, h2, h3, th").evaluate_all("(all) => all.filter((n) => !n.textContent.trim()).length") == 0
        )
        active = "(list) => document.getElementById(list.getAttribute('aria-activedescendant'))?.dataset.seq"
        assert page.locator(".list").evaluate(active) == "777"
        # The way past the timeline, and through the tabs without a mouse.
        page.locator(".skip").press("Enter")
        assert page.evaluate("document.activeElement.id") == "content"
        page.get_by_role("tab", name="Events").press("ArrowRight")
        page.get_by_role("tab", name="Reports", selected=True).wait_for()


# Every visible text whose contrast with what is behind it is under 4.5 to 1.
CONTRAST = """() => {
  const parse = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const f = (v) => ((v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
  };
  const behind = (node) => {
    for (let n = node; n; n = n.parentElement) {
      const c = parse(getComputedStyle(n).backgroundColor);
      if (c.length === 3 || c[3] > 0.99) return c;
    }
    return [255, 255, 255];
  };
  const bad = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !node.checkVisibility() || node.closest('noscript, .skip, option')) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.push(`${ratio.toFixed(2)} ${walk.currentNode.data.slice(0, 40)}`);
  }
  return [...new Set(bad)];
}"""


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return study(tmp_path_factory.mktemp("grid") / "study")


@pytest.fixture(scope="module")
def suspect(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that did what the rules forbid, beside another that did not."""
    folder = tmp_path_factory.mktemp("suspect")
    found = suspect_run(folder / "suspect")
    small_run(folder / "honest", read_run_file(found / "run.json").lock.design, "gridline", 0.6, Random(3))
    return found


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["1280", "phone"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures(
    team: Path,
    grid: Path,
    suspect: Path,
    view: Callable[[Path], str],
    chromium: Any,
    size: dict[str, int],
    theme: str,
) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    run = f"{view(team)}#/run/{team.name}"
    looks = {"run": run, "event": run + LOOK, "agent": f"{run}?agent=w3", "search": f"{run}?q=flush merge"}
    looks |= {tab: f"{run}?tab={tab}" for tab in ("events", "reports", "files", "result", "findings")}
    looks |= {
        "study": view(grid),
        "runs": view(suspect.parent),
        "suspect": f"{view(suspect.parent)}#/run/{suspect.name}",
    }
    tall = {**size, "height": 2300}  # the study scrolls inside of its frame
    with watched(chromium, size=size, theme=theme) as page:
        for name, address in looks.items():
            page.goto("about:blank")
            page.set_viewport_size(tall if name == "study" else size)
            page.goto(address)
            page.locator(READY.get(name, 'html[data-looked="1"]')).first.wait_for(state="attached")
            page.wait_for_timeout(300)
            wide = "1280" if size is WIDE else "phone"
            page.screenshot(path=SHOTS / f"{name}-{wide}-{theme}.png")
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
