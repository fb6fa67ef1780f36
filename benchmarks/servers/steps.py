"""Answers each call with one shell command, so many times, then with `finish`.

What it answers is in the path: `/s50/o2000/l200/w16/v1/chat/completions` is 50 steps with 2,000 bytes of output each,
after 200 ms, and a lead with 16 workers. Who asks, and for which turn, is in the headers that Leadhand sends.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import AbstractContextManager
from functools import cache, partial

from benchmarks.servers.http import Connection, completion, running, serve

_PATH = re.compile(rb"^POST /s(\d+)/o(\d+)/l(\d+)/w(\d+)/")
_TURN = re.compile(rb"\r\nx-leadhand-turn: *(\d+)", re.IGNORECASE)
_AGENT = re.compile(rb"\r\nx-leadhand-agent: *(\S+)", re.IGNORECASE)


def calls(agent: bytes, turn: int, steps: int, size: int, workers: int) -> list[tuple[str, dict[str, str]]]:
    """The tool calls of an agent's turn."""
    if agent == b"lead":
        order: list[list[tuple[str, dict[str, str]]]] = [
            [("delegate_agent", {"assignment": "Take your steps."})] * workers,
            [("wait", {"mode": "all"})],
        ]
        return order[turn] if turn < len(order) else [("finish", {"text": "done"})]
    if turn >= steps and agent == b"mini":  # ends by a command
        return [("bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"})]
    if turn >= steps:
        return [("finish", {"text": "done"})]
    return [("bash", {"command": f"printf %0{size}d {turn}" if size else f"echo hi$((1000+{turn}))"})]


@cache
def answer(agent: bytes, turn: int, steps: int, size: int, workers: int) -> bytes:
    return completion("bench", calls(agent, turn, steps, size, workers), 1000, 20, turn)


class Steps(Connection):
    def asked(self, head: bytes) -> None:
        path, turn, agent = _PATH.match(head), _TURN.search(head), _AGENT.search(head)
        if path is None:
            self.transport.close()
            return
        steps, size, latency_ms, workers = map(int, path.groups())
        made = answer(agent[1] if agent else b"solo", int(turn[1]) if turn else 0, steps, size, workers)
        self.send_after(latency_ms / 1000, partial(self.send, made))


def step_server() -> AbstractContextManager[str]:
    return running("benchmarks.servers.steps")


if __name__ == "__main__":
    asyncio.run(serve(Steps))
