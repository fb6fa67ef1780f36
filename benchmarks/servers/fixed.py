"""Answers every request with `ANSWER`, after `--latency` seconds: `python -m benchmarks.servers.fixed`."""

from __future__ import annotations

import argparse
import asyncio
from contextlib import AbstractContextManager
from functools import partial

from benchmarks.servers.http import Connection, ok, running, serve

ANSWER = (
    b'{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":'
    b'{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"bash",'
    b'"arguments":"{\\"command\\": \\"echo hi\\"}"}}]}}],"usage":{"prompt_tokens":2000,"completion_tokens":20}}'
)


class Fixed(Connection):
    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.answer = ok(ANSWER)

    def asked(self, head: bytes) -> None:
        self.send_after(self.latency, partial(self.send, self.answer))


def fixed_server(latency: float) -> AbstractContextManager[str]:
    return running("benchmarks.servers.fixed", "--latency", str(latency))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--latency", type=float, default=0.0)
    asyncio.run(serve(partial(Fixed, parser.parse_args().latency)))
