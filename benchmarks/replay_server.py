"""A model server that replays real calls: their latencies and token counts, one recorded conversation per agent.

    python -m benchmarks.replay_server --calls CALLS.csv

Who asks is named `@@RUN-AGENT@@` in the first kilobytes of a request; the same name always gets the same recording.
Each answer is one shell command `replay SIZE` that asks for that many bytes of output, so that prompts grow as they
did. A request `GET /gaps` gives how long each agent took from an answer to its next request, in ms, since the last one.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

BYTES_A_TOKEN = 4
MOST_OUTPUT = 120_000
"""Bytes of one command's output: what a journal keeps of it whole."""

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
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
            return 0.05, completion(self._lead(name), 1000, 50, 0)
        seed = zlib.crc32(name)
        tape = self.tapes[seed % len(self.tapes)]
        begun = name in self.at
        step = self.at[name] = self.at[name] + 1 if begun else seed // 7 % len(tape)
        call = tape[step % len(tape)]
        grown = call.input_tokens - tape[step % len(tape) - 1].input_tokens if step % len(tape) else 0
        # Agents begin in the middle of a recording: their first command brings all that had been read until then.
        size = min(MOST_OUTPUT, BYTES_A_TOKEN * max(0, grown if begun else call.input_tokens))
        asked = [("bash", {"command": f"replay {size} " + "x" * min(4000, BYTES_A_TOKEN * call.output_tokens)})]
        return call.latency_s, completion(asked, call.input_tokens, call.output_tokens, step)

    def _lead(self, name: bytes) -> list[tuple[str, dict[str, str]]]:
        step = self.at[name] = self.at.get(name, 0) + 1
        if step > 1:
            return [("wait", {"mode": "all"})]
        run = name.removesuffix(b"-lead").decode()
        return [("delegate_agent", {"assignment": f"@@{run}-w{i}@@ Work."}) for i in range(self.workers)]


def completion(asked: list[tuple[str, dict[str, str]]], prompt: int, output: int, step: int) -> bytes:
    calls = [
        {"id": f"call_{step}_{i}", "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
        for i, (n, a) in enumerate(asked)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    body = {
        "id": "c1",
        "object": "chat.completion",
        "model": "replay",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output},
    }
    return http(json.dumps(body).encode())


def http(data: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(data), data)


class Connection(asyncio.Protocol):
    replay: Replay

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.buffer = bytearray()
        self.whole = 0

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if not self.whole:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            length = _LENGTH.search(self.buffer, 0, end + 2)
            self.whole = end + 4 + (int(length[1]) if length else 0)
        if len(self.buffer) < self.whole:
            return
        arrived = time.perf_counter()
        head = bytes(self.buffer[:65536])
        self.buffer.clear()
        self.whole = 0
        if head.startswith(b"GET"):
            self.transport.write(http(json.dumps({"gaps": self.replay.gaps, "asked": self.replay.asked}).encode()))
            self.replay.gaps = []
            return
        found = _NAME.search(head)
        assert found, head[:500]
        wait, answer = self.replay.answer(found[1], arrived)
        asyncio.get_running_loop().call_later(wait, self.send, found[1], answer)

    def send(self, name: bytes, answer: bytes) -> None:
        if not self.transport.is_closing():
            self.replay.answered[name] = time.perf_counter()
            self.transport.write(answer)


async def serve(replay: Replay) -> None:
    Connection.replay = replay
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0, backlog=8192)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def replay_server(calls: Path, workers: int) -> Iterator[str]:
    """The server in a process of its own, on the last core; its address."""
    command = [sys.executable, "-m", "benchmarks.replay_server", "--calls", str(calls), "--workers", str(workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        os.sched_setaffinity(process.pid, {sorted(os.sched_getaffinity(0))[-1]})
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


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
    asyncio.run(serve(Replay(recordings(given.calls), given.workers)))


if __name__ == "__main__":
    main()
