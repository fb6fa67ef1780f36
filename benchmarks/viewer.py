"""How long a long run takes to look at: 17 agents, 100,000 events, about 100 MB of journal, in a headless Chromium.

The server is a process of its own, started cold; times are what the page itself sees (`performance.now`).

    python -m benchmarks.viewer [--events 100000] [--output 2200] [--rounds 40]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SERVE = "import sys; from pathlib import Path; from leadhand.viewer.serve import serve\n"
SERVE += "serve(Path(sys.argv[1]), 0, lambda address: print(address, flush=True))"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]

# When the page says that it has drawn something, the whole run, what its commands did; and a frame has passed.
DRAWN = """
const done = { count: (n) => Number(n) > 0, reading: (n) => n === "1", looked: (n) => n === "1" };
const look = () => {
  const said = document.documentElement?.dataset ?? {};
  for (const [name, is] of Object.entries(done)) {
    if (!is(said[name])) continue;
    delete done[name];
    requestAnimationFrame(() => requestAnimationFrame(() => (said[`${name}At`] = performance.now())));
  }
};
new MutationObserver(look).observe(document, { attributes: true, subtree: true, childList: true });
"""
# What a reader does, timed in the page until it is drawn: milliseconds.
CLICK = """async (seq) => {
  const began = performance.now();
  location.hash = location.hash.split("?")[0] + "?tab=events&e=" + seq;
  const content = document.querySelector("aside .content");
  do await new Promise(requestAnimationFrame);
  while (!content.querySelector("details") || !document.querySelector("aside h2").textContent.endsWith(` ${seq}`));
  return performance.now() - began;
}"""
SCROLL = """async (part) => {
  const list = document.querySelector(".list");
  const began = performance.now();
  list.scrollTop = part * list.scrollHeight;
  do await new Promise(requestAnimationFrame);
  while ([...document.querySelectorAll(".row .text")].some((node) => node.textContent === "…"));
  return performance.now() - began;
}"""
FRAME = """async (part) => {
  const list = document.querySelector(".list");
  const began = performance.now();
  list.scrollTop += 200;
  await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""
ZOOM = """async (key) => {
  const began = performance.now();
  document.querySelector(".plot").dispatchEvent(new KeyboardEvent("keydown", { key }));
  await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--output", type=int, default=2200, help="bytes of a typical command's output")
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args(arguments)
    sys.path.insert(0, str(ROOT / "tests" / "viewer"))
    from viewer_runs import team_run

    with tempfile.TemporaryDirectory() as folder:
        run = team_run(Path(folder) / "run", workers=16, events=options.events, output=options.output)
        size = (run / "journal.jsonl").stat().st_size
        print(f"{options.events:,} events, 17 agents, {size / 1e6:.0f} MB; load {load()}")
        fold(run)
        in_browser(run, options.events, options.rounds)


def fold(run: Path) -> None:
    from leadhand.runs.paths import RunPaths
    from leadhand.viewer.index import RunIndex
    from leadhand.viewer.search import search

    index = RunIndex(RunPaths(run))
    began = time.process_time()
    index.refresh()
    print(f"read and folded      {time.process_time() - began:6.2f} s of CPU")
    began = time.process_time()
    index.look()
    print(f"commands looked at   {time.process_time() - began:6.2f} s of CPU")
    began = time.process_time()
    search(index, "nothing of this kind")
    print(f"search, nothing found{time.process_time() - began:6.2f} s of CPU")


def in_browser(run: Path, events: int, rounds: int) -> None:
    from playwright.sync_api import sync_playwright

    with (
        subprocess.Popen([sys.executable, "-c", SERVE, str(run)], stdout=subprocess.PIPE, text=True) as server,
        sync_playwright() as playwright,
        contextlib.ExitStack() as stack,
    ):
        assert server.stdout is not None
        stack.callback(server.kill)
        address = server.stdout.readline().strip()
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        opened(page, address, server.pid)
        page.reload()
        print(f"again, server warm   {drawn(page, 'reading'):6.0f} ms to the whole run")
        looked(page, events, rounds, server.pid)
        remembered(page, server.pid)
        browser.close()


def opened(page: Any, address: str, server: int) -> None:
    """A cold server and an empty browser: what a person waits for."""
    page.add_init_script(DRAWN)
    page.goto(address)
    whole = drawn(page, "reading")
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    spent = f"CPU {renderer_cpu():.2f} s in the page, {cpu(server):.2f} s in the server"
    print(f"first paint          {paint:6.0f} ms\nfirst lanes drawn    {drawn(page, 'count'):6.0f} ms")
    print(f"whole run drawn      {whole:6.0f} ms; {spent}")
    print(f"commands looked at   {drawn(page, 'looked'):6.0f} ms")


def drawn(page: Any, what: str) -> float:
    """Milliseconds from the page's start until it had drawn this."""
    page.wait_for_selector(f"html[data-{what}-at]", state="attached", timeout=120_000)
    return float(page.locator("html").get_attribute(f"data-{what}-at"))


def looked(page: Any, events: int, rounds: int, server: int) -> None:
    random = Random(1)

    def told(what: str, act: Callable[[], float]) -> None:
        """Times, and the CPU that page and server spent: on a busy machine only that can be compared."""
        before = renderer_cpu(), cpu(server)
        times = sorted(act() for _ in range(rounds))
        spent = [1000 * (b - a) / rounds for a, b in zip(before, (renderer_cpu(), cpu(server)), strict=True)]
        print(
            f"{what}{statistics.median(times):6.0f} ms, at worst {times[-1]:.0f} ms; "
            f"CPU {spent[0]:.0f} ms in the page, {spent[1]:.0f} ms in the server"
        )

    page.get_by_role("tab", name="Events").click()
    page.locator(".row").first.wait_for()
    told("a click on an event  ", lambda: page.evaluate(CLICK, random.randrange(events - 100)))
    told("a jump in the list   ", lambda: page.evaluate(SCROLL, random.random()))
    told("a turn of the wheel  ", lambda: page.evaluate(FRAME, 0))
    told("a zoom of the lanes  ", lambda: page.evaluate(ZOOM, random.choice("++-0")))


def remembered(page: Any, server: int) -> None:
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    whole = max(map(resident, renderers()))
    print(f"heap of the page     {metrics['JSHeapUsedSize'] / 1e6:6.0f} MB; its process {whole:.0f} MB")
    print(f"memory of the server {resident(server):6.0f} MB; load {load()}")


def renderers() -> list[int]:
    """The page processes of our own browser that run now."""
    found, parents = [], {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if b"--type=renderer" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))

    def ours(process: int) -> bool:
        return process == os.getpid() or (process > 1 and ours(parents.get(process, 0)))

    return [process for process in found if ours(process)]


def renderer_cpu() -> float:
    return sum(cpu(process) for process in renderers())


def cpu(process: int) -> float:
    """Seconds of CPU, of all its threads, in user and in kernel."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(process: int) -> float:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096 / 1e6


def load() -> str:
    return Path("/proc/loadavg").read_text().split()[0]


if __name__ == "__main__":
    main(sys.argv[1:])
