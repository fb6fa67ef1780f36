"""A page that is watched: whatever a browser complains of, or asks of another host, fails the test."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

WIDE, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}


@contextlib.contextmanager
def watched(browser: Any, *, size: dict[str, int] = WIDE, theme: str = "light") -> Iterator[Any]:
    context = browser.new_context(viewport=size, color_scheme=theme, has_touch=size is PHONE)
    context.set_default_timeout(60_000)
    complaints: list[str] = []
    hosts: set[str] = set()
    page = context.new_page()
    page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: complaints.append(f"{e.message}\n{e.stack}"))
    page.on("dialog", lambda d: (complaints.append(f"dialog: {d.message}"), d.dismiss()))
    page.on("request", lambda r: hosts.add(urlsplit(r.url).hostname or urlsplit(r.url).scheme))
    context.on("page", lambda other: complaints.append(f"opened {other.url}"))
    try:
        yield page
        assert complaints == []
        assert hosts <= {"127.0.0.1", "file", "data"}
    finally:
        context.close()


def whole(page: Any) -> None:
    """Wait until the journal is read as far as it goes."""
    page.wait_for_selector('html[data-reading="1"]', state="attached")


def rows(page: Any, count: int) -> dict[int, tuple[str, str, str]]:
    """All rows of the event list by event: agent, word, text. Scrolls through it as a person would."""
    found: dict[int, tuple[str, str, str]] = {}
    box = page.locator(".list")
    top = 0
    while len(found) < count:
        box.evaluate("(node, top) => { node.scrollTop = top }", top)
        page.wait_for_timeout(60)
        shown = page.locator(".list .row").evaluate_all(
            "(rows) => rows.map((r) => [Number(r.dataset.seq), ...['.who', '.what', '.text']"
            ".map((c) => r.querySelector(c).textContent)])"
        )
        found.update({seq: (who, what, text) for seq, who, what, text in shown if text != "…"})
        top += 300
        assert top < 26 * count + 5000, f"{len(found)} of {count} rows were seen"
    return found
