"""The least HTTP/1.1 server there is: a benchmark's server must cost next to nothing beside what it measures."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager

HEAD = 65_536
"""Bytes from a request's start that `asked` is given: its head, and the beginning of its body."""

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


def ok(data: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(data), data)


def completion(model: str, asked: list[tuple[str, dict[str, str]]], prompt: int, output: int, turn: int) -> bytes:
    """A Chat Completions answer that asks for these tools, with `prompt` and `output` tokens of usage."""
    calls = [
        {"id": f"call_{turn}_{i}", "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
        for i, (n, a) in enumerate(asked)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    body = {
        "id": "c1",
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output},
    }
    return ok(json.dumps(body).encode())


class Connection(asyncio.Protocol, ABC):
    """One client. Requests come one after the other, as HTTP clients send them."""

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
        head = bytes(self.buffer[:HEAD])
        self.buffer.clear()
        self.whole = 0
        self.asked(head)

    @abstractmethod
    def asked(self, head: bytes) -> None:
        """A whole request has arrived; `head` is its first `HEAD` bytes."""

    def send(self, data: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(data)

    def send_after(self, seconds: float, send: Callable[[], None]) -> None:
        if seconds:
            asyncio.get_running_loop().call_later(seconds, send)
        else:
            send()


async def serve(connection: Callable[[], Connection]) -> None:
    """For ever, on a free port, which is printed first."""
    server = await asyncio.get_running_loop().create_server(connection, "127.0.0.1", 0, backlog=8192)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def pin(pid: int, core: int) -> None:
    """Client on the first core (0), server on the last (-1), so that one does not take the other's time."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(pid, {cores[core]})


@contextmanager
def running(module: str, *arguments: str) -> Iterator[str]:
    """The server of that module in a process of its own; its address."""
    with subprocess.Popen([sys.executable, "-m", module, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pin(process.pid, -1)
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()
