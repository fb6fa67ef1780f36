"""A real model end to end: solo, and a lead with two workers, through the command line, in a real sandbox.

Real tokens of a real llama.cpp server, our wire, our team, our grader. Protocol, not quality: each call is forced by a
grammar (`local_proxy`), what is in it is the model's. Off by default, see `test_model_local`: `make test-local` runs
it, and leaves transcripts and runs in `build/test-local`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from local_proxy import Forced, Proxy, forced, words
from test_model_local import weights

from leadhand.core.events import AttemptReplied, CommandEnded, DelegationEnded, DelegationStarted, Entry, MessageAdded
from leadhand.core.journal import read_journal
from leadhand.core.ledger import ledger_of
from leadhand.core.values import Assistant, ToolResults, User
from leadhand.core.verify import verify
from leadhand.models.local import local_server
from leadhand.runs.spec import read_run_file

KEPT = Path(os.environ.get("LEADHAND_TRANSCRIPTS") or Path(__file__).parents[2] / "build" / "test-local")
MODEL = "openai-chat/smollm2"
GRADER = """if [ "$(cat done)" = yes ]; then echo '{"reward": 1}'; else echo '{"reward": 0}'; fi"""
ANSWER = {"enum": ["echo yes > done", "printf 'yes\\n' > done", "echo yes | tee done"]}
LOOK = {"enum": ["cat done", "ls -l", "ls", "wc -c done"]}
SHORT = "You work in a shell with bash. Call one tool in each turn.\n"

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(1800)]


def solo(agent: str, turn: int) -> dict[str, Any]:
    commands = [ANSWER, LOOK]
    return forced("bash", command=commands[turn]) if turn < 2 else forced("finish", text=words(60))


def team(agent: str, turn: int) -> dict[str, Any]:
    """The lead delegates twice, waits, writes the answer, finishes; a worker looks around and reports."""
    if agent != "lead":
        return forced("bash", command=LOOK) if turn == 0 else forced("finish", text=words(60))
    match turn:
        case 0 | 1:
            return forced("delegate_agent", assignment=words(60))
        case 2:
            return forced("wait", mode={"const": "all"})
        case 3:
            return forced("bash", command=ANSWER)
    return forced("finish", text=words(60))


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    model = weights()
    if model is None:
        pytest.skip("no local model: make test-local")
    # Three agents, each with a slot that keeps its prompt; one thread: more collapse beside other processes.
    with local_server(model, context=3072, slots=3, threads=1) as url:
        yield url


class Job:
    """One finished run, what the proxy saw of it, and how long it took."""

    def __init__(self, folder: Path, proxy: Proxy, said: dict[str, Any], seconds: float) -> None:
        self.run = read_run_file(folder / "run.json")
        self.entries = read_journal(folder / "journal.jsonl")
        self.proxy, self.summary, self.seconds = proxy, said["summary"], seconds

    def of(self, agent: str, kind: type) -> list[Any]:
        return [e.event for e in self.entries if e.agent == agent and isinstance(e.event, kind)]


@asynccontextmanager
async def finished(name: str, calls: Forced, server: str, tmp_path: Path, *options: str) -> AsyncIterator[Job]:
    home = KEPT / name
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    task, wording = tmp_path / "task", tmp_path / "wording"
    for folder in (task, wording):
        folder.mkdir()
    (task / "task.toml").write_text(f"prompt = 'Write yes into the file done.'\n[grader]\ncommand = '''{GRADER}'''\n")
    (wording / "common.md").write_text(SHORT)
    proxy, began = Proxy(server, calls, home / "transcript.jsonl"), time.monotonic()
    async with proxy.running() as url:
        command = [sys.executable, "-m", "leadhand", "run", str(task), "--lead", MODEL, "--base-url", url, *options]
        command += ["--price", f"{MODEL}=1,3,0.1", "-s", "max_output_tokens=200", "--wording", str(wording), "--json"]
        done = await anyio.run_process(
            command, env=os.environ | {"LEADHAND_RUNS": str(home / "runs")}, check=False, stderr=subprocess.PIPE
        )
    assert done.returncode == 0, done.stderr.decode()
    (folder,) = [p.parent for p in (home / "runs").glob("*/run.json")]
    job = Job(folder, proxy, json.loads(done.stdout), time.monotonic() - began)
    (home / "summary.json").write_text(json.dumps({"seconds": round(job.seconds, 1), **job.summary}, indent=2))
    print(f"\n{name}: {job.seconds:.0f} s, {proxy.served} calls, {proxy.usage}")
    yield job


def checked(job: Job) -> None:
    """What holds of any run of a real model: graded, verified, and its money is what the server said it used."""
    assert job.summary["status"] == "finished"
    assert job.summary["reward"] == 1.0
    verify(job.entries)
    replies = [e.event for e in job.entries if isinstance(e.event, AttemptReplied)]
    assert len(replies) == job.proxy.served == job.summary["steps"]
    assert sum((r.usage for r in replies[1:]), replies[0].usage) == job.proxy.usage
    price = job.run.lock.prices[MODEL]
    ledger = ledger_of(job.entries, job.run.lock.prices)
    assert ledger.settled == pytest.approx(sum(price.cost(r.usage) for r in replies), abs=1e-9)
    assert ledger.unknown == 0
    assert job.proxy.usage.cache_read > job.proxy.usage.input  # each prompt begins with the one before
    for reply in replies:  # written as text, taken as a call, kept as it came
        body = reply.message.body
        assert isinstance(body, Assistant)
        assert len(body.calls) == 1
        assert json.loads(body.items[0]["content"])["name"] == body.calls[0].name
        assert reply.usage.output > 5


async def test_solo(server: str, tmp_path: Path) -> None:
    async with finished("solo", solo, server, tmp_path, "--solo", "--sandbox", "bwrap") as job:
        checked(job)
        assert [c.exit_code for c in job.of("solo", CommandEnded)] == [0, 0]
        assert job.proxy.served == 3


async def test_a_lead_and_two_workers(server: str, tmp_path: Path) -> None:
    async with finished("team", team, server, tmp_path, "--workers", "2", "--sandbox", "bwrap") as job:
        checked(job)
        given = job.of("lead", DelegationStarted)
        assert [d.worker for d in given] == ["w1", "w2"]
        for d in given:  # the model's own words reached its worker
            told = job.of(d.worker, MessageAdded)[0].message.body
            assert isinstance(told, User)
            assert d.assignment in told.text
            (ended,) = job.of(d.worker, DelegationEnded)
            assert ended.status == "finished"
            assert len(ended.report) >= 8
            assert ended.report in seen_by_lead(job.entries)
            assert len(job.of(d.worker, CommandEnded)) == 1
        assert job.proxy.served >= 5 + 4


def seen_by_lead(entries: list[Entry]) -> str:
    bodies = [e.event.message.body for e in entries if e.agent == "lead" and isinstance(e.event, MessageAdded)]
    return "\n".join(r.text for b in bodies if isinstance(b, ToolResults) for r in b.results)
