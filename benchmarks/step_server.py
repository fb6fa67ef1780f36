"""The least model server there is: answers each call with one shell command, so many times, then with `finish`.

What it answers is in the path: `/s50/o2000/l200/w16/v1/chat/completions` is 50 steps with 2,000 bytes of output each,
after 200 ms, and a lead with 16 workers. Who asks, and for which turn, is in the headers that Leadhand sends.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_PATH = re.compile(rb"^POST /s(\d+)/o(\d+)/l(\d+)/w(\d+)/")
_TURN = re.compile(rb"\r\nx-leadhand-turn: *(\d+)", re.IGNORECASE)
_AGENT = re.compile(rb"\r\nx-leadhand-agent: *(\S+)", re.IGNORECASE)
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


def calls(agent: bytes, turn: int, steps: int, size: int, workers: int) -> list[tuple[str, dict[str, Any]]]:
    """The tool calls of an agent's turn."""
    if agent == b"lead":
        order = [[("delegate_agent", {"assignment": "Take your steps."})] * workers, [("wait", {"mode": "all"})]]
        return list(order[turn]) if turn < len(order) else [("finish", {"text": "done"})]
    if turn >= steps and agent == b"mini":  # ends by a command
        return [("bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"})]
    if turn >= steps:
        return [("finish", {"text": "done"})]
    return [("bash", {"command": f"printf %0{size}d {turn}" if size else f"echo hi$((1000+{turn}))"})]


@cache
def answer(agent: bytes, turn: int, steps: int, size: int, workers: int) -> bytes:
    asked = [
        {"id": f"call_{turn}_{i}", "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
        for i, (n, a) in enumerate(calls(agent, turn, steps, size, workers))
    ]
    body = {
        "id": "c1",
        "object": "chat.completion",
        "model": "bench",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {"role": "assistant", "content": None, "tool_calls": asked},
            }
        ],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020},
    }
    data = json.dumps(body).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(data), data)


class StepServer(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.buffer = bytearray()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = bytes(self.buffer[:end])
            length = _LENGTH.search(head)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self.buffer) < whole:
                return
            del self.buffer[:whole]
            self.asked(head)

    def asked(self, head: bytes) -> None:
        path, turn, agent = _PATH.match(head), _TURN.search(head), _AGENT.search(head)
        if path is None:
            self.transport.close()
            return
        steps, size, latency_ms, workers = map(int, path.groups())
        made = answer(agent[1] if agent else b"solo", int(turn[1]) if turn else 0, steps, size, workers)
        if latency_ms:
            asyncio.get_running_loop().call_later(latency_ms / 1000, self.write, made)
        else:
            self.write(made)

    def write(self, data: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(data)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(StepServer, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def step_server() -> Iterator[str]:
    """A server in a process of its own, on the last core; its address."""
    command = [sys.executable, "-m", "benchmarks.step_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(process.pid, {cores[-1]})
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()


if __name__ == "__main__":
    asyncio.run(serve())
