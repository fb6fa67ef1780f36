"""A run in a real browser: 17 agents, live from start to finish, and two questions answered."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pages import PHONE, rows, watched, whole
from viewer_runs import LEAD, WORKER, compacted_run, run_file, suspect_run

from leadhand.analysis.summary import summarise
from leadhand.core.design import Design
from leadhand.core.events import AttemptStarted
from leadhand.core.journal import read_journal
from leadhand.core.state import state_of
from leadhand.runs.paths import all_runs
from leadhand.runs.spec import read_run_file
from leadhand.viewer.columns import ROWS_PER_PART
from leadhand.viewer.index import open_run

pytestmark = pytest.mark.timeout(300)  # a browser on a busy machine

View = Callable[[Path], str]


def test_seventeen_agents(team: Path, view: View, chromium: Any) -> None:
    entries = read_journal(team / "journal.jsonl")
    prices = read_run_file(team / "run.json").lock.prices
    summary = summarise(entries, prices)
    with watched(chromium) as page:
        page.goto(view(team))
        whole(page)
        assert page.locator(".lane").all_inner_texts()[0].startswith("lead")
        assert page.locator(".lane").count() == 17
        assert f"${summary.settled_usd:.2f}" in page.locator(".facts").inner_text()
        ledger = page.get_by_text("Ledger", exact=True).locator("xpath=..")
        for line in summary.agents:
            cells = ledger.locator("tr", has=page.get_by_role("button", name=line.name, exact=True)).locator("td")
            assert cells.nth(2).inner_text() == f"{line.steps:,}"
            assert cells.nth(7).inner_text() == f"${line.usd:.4f}"

        # Keys: the first delegation, then on through the list.
        page.keyboard.press("g")
        page.wait_for_url("**e=**")
        first = chosen(page)
        page.locator("aside h2", has_text=f"lead · delegates · event {first}").wait_for()
        page.keyboard.press("j")
        page.wait_for_timeout(150)
        assert chosen(page) > first
        page.keyboard.press("k")
        page.wait_for_timeout(150)
        assert chosen(page) == first
        page.keyboard.press("Escape")
        page.wait_for_timeout(150)
        assert page.locator("aside").is_hidden()

        # A click on the timeline opens what is under the pointer.
        box = page.locator(".plot canvas").bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 26 + 19 * 3 + 9)
        page.locator("aside h2", has_text=re.compile("^w3 · ")).wait_for()
        page.locator(".plot").focus()
        for key in ("+", "+", "ArrowRight", "-", "0"):
            page.keyboard.press(key)

        # Every filter, and the end of a long list.
        page.get_by_role("tab", name="Events").click()
        page.get_by_role("button", name="Everything").click()
        page.get_by_text(f"{len(entries):,} events").wait_for()
        page.locator(".list").evaluate("(node) => { node.scrollTop = node.scrollHeight }")
        page.locator(f'.row[data-seq="{len(entries) - 1}"]').wait_for()
        page.get_by_role("button", name="Commands").click()
        page.get_by_label("Agent", exact=True).select_option(label="w16")
        assert set(page.locator(".row .who").all_inner_texts()) == {"w16"}


def chosen(page: Any) -> int:
    return int(page.url.partition("e=")[2].partition("&")[0])


def test_the_exact_prompt_of_a_call(team: Path, view: View, chromium: Any) -> None:
    entries = read_journal(team / "journal.jsonl")
    state = state_of(entries, read_run_file(team / "run.json").lock.prices)
    entry = [e for e in entries if isinstance(e.event, AttemptStarted) and e.agent == "w5"][20]
    messages = state.agents["w5"].conversation.messages
    wanted = [m.id for m in messages][: [m.id for m in messages].index(entry.event.head) + 1]  # type: ignore[union-attr]
    seqs = {e.event.message.id: e.seq for e in entries if hasattr(e.event, "message")}
    with watched(chromium) as page:
        page.goto(f"{view(team)}#/run/{team.name}?e={entry.seq}")
        page.locator('[data-act="prompt"]').click()
        page.locator(".prompt details[data-seq]").first.wait_for()
        shown = page.locator(".prompt details[data-seq]").evaluate_all("(all) => all.map((d) => Number(d.dataset.seq))")
        assert shown == [seqs[i] for i in wanted]
        page.locator(".prompt details summary").first.click()
        page.get_by_text("You are a software engineer. Role: worker.").wait_for()
        page.locator(".prompt details[data-seq] summary").last.click()
        page.locator(".prompt details[data-seq] pre").last.wait_for()


def test_the_prompt_of_a_compacted_conversation(tmp_path: Path, view: View, chromium: Any) -> None:
    run_file(tmp_path / "r", Design(lead=LEAD, worker=WORKER, workers=1))
    maker = compacted_run(tmp_path / "r")
    with watched(chromium) as page:
        page.goto(f"{view(tmp_path)}#/run/r?e={maker.seq - 1}")
        page.locator('[data-act="prompt"]').click()
        page.locator(".prompt details[data-seq] summary").nth(2).click()
        page.locator(".prompt pre", has_text="[left out]").wait_for()
        assert "a long output" not in page.locator(".prompt").inner_text()


def test_what_the_rules_forbid_stands_out_and_leads_to_its_event(tmp_path: Path, view: View, chromium: Any) -> None:
    index = open_run(suspect_run(tmp_path / "suspect"))
    (first, *_) = index.summary().findings
    with watched(chromium) as page:
        page.goto(view(tmp_path))
        page.get_by_role("link", name="not valid · 6 findings").click()
        page.locator(".pane .finding").nth(5).wait_for()
        page.get_by_role("tab", name="Overview").click()
        page.locator(".badge.bad", has_text="not valid").wait_for()
        box = page.get_by_role("region", name="What stands out")
        assert "this run does not count" in box.inner_text()
        assert box.locator(".finding").count() == 6
        path = page.get_by_role("region", name="Critical path").inner_text()
        assert "Of 40.0 s, 75 % passed while the lead waited for workers at work: w2 30.0 s." in path
        box.get_by_role("button", name=f"{first.why}: {first.text}").first.click()
        page.locator("aside h2", has_text=f"w1 · exit · event {first.seq}").wait_for()
        assert first.why in page.locator("aside .finding").inner_text()
        page.get_by_role("tab", name="Files").click()
        runs = page.get_by_role("region", name="Runs of the reference").locator("tbody tr")
        assert [row.split("\t")[:2] for row in runs.all_inner_texts()] == [["w1", "1"], ["w2", "1"]]
        page.locator(".lane", has_text="w2").click()
        page.locator('[data-answer="contribution"]', has_text="It ran the reference once.").wait_for()


def test_search_leads_to_the_event(team: Path, view: View, chromium: Any) -> None:
    with watched(chromium) as page:
        page.goto(view(team))
        whole(page)
        page.keyboard.press("/")
        page.keyboard.type("report of W9:")
        page.keyboard.press("Enter")
        page.get_by_text("2 events").wait_for()
        assert page.locator("mark").all_inner_texts() == ["Report of w9:"] * 2
        page.locator(".hit").last.click()
        page.locator("aside h2", has_text="w9 · report").wait_for()
        page.go_back()
        page.locator("aside h2", has_text="Search: report of W9:").wait_for()


def test_on_a_phone(team: Path, view: View, chromium: Any) -> None:
    with watched(chromium, size=PHONE, theme="dark") as page:
        page.goto(view(team))
        whole(page)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= PHONE["width"]
        page.locator(".lane", has_text="w3").first.tap()
        page.locator('[data-answer="contribution"]').wait_for()
        assert page.locator("aside").bounding_box()["width"] == PHONE["width"]
        page.get_by_role("button", name="Close").tap()
        for name in ("Events", "Reports", "Files", "Result", "Findings"):
            page.get_by_role("tab", name=name).tap()
            page.wait_for_timeout(200)
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], name


def test_a_live_run_from_start_to_finish_and_two_answers(tmp_path: Path, view: View, chromium: Any) -> None:
    """The demo runs while the page is open: nothing is reloaded. At the end the page says what the journal says."""
    sandbox = "bwrap" if shutil.which("bwrap") else "local"
    command = [sys.executable, "-m", "leadhand", "demo", "--plain", "--sandbox", sandbox]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as demo:
        until = time.monotonic() + 60
        while not (found := all_runs(tmp_path / "runs")) or not found[0].journal.exists():
            assert demo.poll() is None, (demo.stderr.read() if demo.stderr else b"").decode()
            assert time.monotonic() < until
            time.sleep(0.05)
        with watched(chromium) as page:
            page.goto(f"{view(tmp_path / 'runs')}#/run/{found[0].id}")
            page.locator(".badge.live", has_text="running").wait_for()
            counts = [int(page.locator("html").get_attribute("data-count"))]
            page.locator(".lane", has_text="w4").first.wait_for(timeout=60_000)
            page.get_by_role("tab", name="Events").click()
            while page.locator("html").get_attribute("data-status") == "running":
                counts.append(int(page.locator("html").get_attribute("data-count")))
                page.wait_for_timeout(250)
            assert len(set(counts)) > 5
            assert demo.wait(90) == 0
            entries = read_journal(found[0].journal)
            page.wait_for_selector(f'html[data-count="{len(entries)}"]', state="attached")
            equal_to_the_journal(page, found[0].folder, len(entries))
            two_questions(page, found[0].folder)


def equal_to_the_journal(page: Any, run: Path, count: int) -> None:
    index = open_run(run)
    page.get_by_role("button", name="Everything").click()
    shown = rows(page, count)
    assert sorted(shown) == list(range(count))
    labels = [label for k in range(count // ROWS_PER_PART + 1) for label in index.rows(k)]
    for seq, (who, _, text) in shown.items():
        assert who == (index.entry(seq).agent or "run")
        assert text == " ".join(labels[seq].split())


def two_questions(page: Any, run: Path) -> None:
    """Why did this run cost what it cost, and what did worker 3 contribute? Two clicks."""
    clicks = 0
    page.get_by_role("tab", name="Overview").click()
    clicks += 1
    page.locator('[data-answer="cost"]').wait_for()
    cost = page.locator('[data-answer="cost"]').inner_text()
    page.locator(".lane", has_text="w3").first.click()
    clicks += 1
    page.locator('[data-answer="contribution"]').wait_for()
    said = page.locator('[data-answer="contribution"]').inner_text()
    s = summarise(read_journal(run / "journal.jsonl"), read_run_file(run / "run.json").lock.prices)
    w3 = next(a for a in s.agents if a.name == "w3")
    assert clicks <= 4
    assert cost.startswith("This run cost $0 because its models are free: scripted (free).")
    assert f"It took {s.steps} steps and {s.usage.total / 1000:.1f}k tokens" in cost
    share = 100 * w3.usage.total / s.usage.total
    assert f"w3 took {w3.steps} steps for $0: {share:.0f} % of the tokens." in said
    (given,) = [d for d in s.delegations if d.worker == "w3"]
    assert f"It was given 1 assignment and reported {given.report_chars:,} characters" in said
    assert "all of it reached the lead" in said
    report = json.loads((run / "journal.jsonl").read_bytes().splitlines()[report_of(run, given.id)])["event"]["report"]
    page.get_by_text(report.splitlines()[0]).first.wait_for()


def report_of(run: Path, delegation: str) -> int:
    return next(
        e.seq
        for e in read_journal(run / "journal.jsonl")
        if getattr(e.event, "delegation", "") == delegation and hasattr(e.event, "report")
    )
