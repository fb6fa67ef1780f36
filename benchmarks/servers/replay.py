"""A model server that replays real calls: their latencies and token counts, one recorded conversation per agent.

    python -m benchmarks.servers.replay --calls CALLS.csv

Who asks is named `@@RUN-AGENT@@` in the first kilobytes of a request; the same name always gets the same recording.
Each answer is one shell command `replay SIZE` that asks for that many bytes of output, so that prompts grow as they
did. A request `GET /gaps` gives how long each agent took from an answer to its next request, in ms, since the last one.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import re
import time
import urllib.request
import zlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.servers.http import Connection, completion, ok, running, serve

BYTES_A_TOKEN = 4
MOST_OUTPUT = 120_000
"""Bytes of one command's output: what a journal keeps of it whole."""

_NAME = re.compile(rb"@@([A-Za-z0-9.-]+)@@")


class Call(NamedTuple):
    latency_s: float
    input_tokens: int
    output_tokens: int


def recordings(path: Path) -> list[list[Call]]:
    by_task: dict[str, list[Call]] = {}
    with path.open() as file:
        for row in csv.DictReader(file):
            latency = max(0.1, float(row["t_response_s"]) - float(row["t_request_s"]))
            by_task.setdefault(row["task"], []).append(
                Call(latency, int(row["input_tokens"]), int(row["output_tokens"]))
            )
    return [calls for calls in by_task.values() if len(calls) > 1]


@dataclass
class Replay:
    """Where every agent is in its recording."""

    tapes: Sequence[Sequence[Call]]
    workers: int
    at: dict[bytes, int] = field(default_factory=dict)
    answered: dict[bytes, float] = field(default_factory=dict)
    gaps: list[float] = field(default_factory=list)
    asked: int = 0

    def answer(self, name: bytes, arrived: float) -> tuple[float, bytes]:
        """(seconds until the answer, the answer). A lead hands everything out, then waits for ever."""
        self.asked += 1
        if name in self.answered:
            self.gaps.append((arrived - self.answered.pop(name)) * 1e3)
        if name.endswith(b"-lead"):
            return 0.05, completion("replay", self._lead(name), 1000, 50, 0)
        seed = zlib.crc32(name)
        tape = self.tapes[seed % len(self.tapes)]
        begun = name in self.at
        step = self.at[name] = self.at[name] + 1 if begun else seed // 7 % len(tape)
        call = tape[step % len(tape)]
        grown = call.input_tokens - tape[step % len(tape) - 1].input_tokens if step % len(tape) else 0
        # Agents begin in the middle of a recording: their first command brings all that had been read until then.
        size = min(MOST_OUTPUT, BYTES_A_TOKEN * max(0, grown if begun else call.input_tokens))
        asked = [("bash", {"command": f"replay {size} " + "x" * min(4000, BYTES_A_TOKEN * call.output_tokens)})]
        return call.latency_s, completion("replay", asked, call.input_tokens, call.output_tokens, step)

    def _lead(self, name: bytes) -> list[tuple[str, dict[str, str]]]:
        step = self.at[name] = self.at.get(name, 0) + 1
        if step > 1:
            return [("wait", {"mode": "all"})]
        run = name.removesuffix(b"-lead").decode()
        return [("delegate_agent", {"assignment": f"@@{run}-w{i}@@ Work."}) for i in range(self.workers)]


class Replaying(Connection):
    def __init__(self, replay: Replay) -> None:
        self.replay = replay

    def asked(self, head: bytes) -> None:
        arrived = time.perf_counter()
        if head.startswith(b"GET"):
            self.send(ok(json.dumps({"gaps": self.replay.gaps, "asked": self.replay.asked}).encode()))
            self.replay.gaps = []
            return
        found = _NAME.search(head)
        assert found, head[:500]
        wait, answer = self.replay.answer(found[1], arrived)
        self.send_after(wait, partial(self.answer, found[1], answer))

    def answer(self, name: bytes, answer: bytes) -> None:
        self.replay.answered[name] = time.perf_counter()
        self.send(answer)


def replay_server(calls: Path, workers: int) -> AbstractContextManager[str]:
    return running("benchmarks.servers.replay", "--calls", str(calls), "--workers", str(workers))


def gaps(url: str) -> tuple[list[float], int]:
    """(ms from answer to next request, since the last time this was asked; requests so far)."""
    with urllib.request.urlopen(f"{url}/gaps") as answer:
        told = json.load(answer)
    return told["gaps"], told["asked"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=16)
    given = parser.parse_args()
    asyncio.run(serve(partial(Replaying, Replay(recordings(given.calls), given.workers))))


if __name__ == "__main__":
    main()
