"""A random team: agents that do whatever they may, models and sandboxes that fail in every way, all from one seed.

What an agent does next depends on the seed, the agent and its turn alone, so a resumed run goes on as the first would.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from typing import Any

import anyio

from leadhand.core.clean import encoded
from leadhand.core.errors import Fault, GradingError, ModelError, RunnerLost
from leadhand.core.ports import Reply, Request
from leadhand.core.values import Assistant, ExecResult, Usage
from leadhand.testing.sandbox import MemorySandbox
from leadhand.testing.scripted import Call, Step, as_message, bash, call, do, rough_tokens, say

HUNG = 1e7
FAULTS: tuple[Fault, ...] = ("rate_limit", "overload", "server", "timeout", "connection", "malformed", "context_length")
BROKEN: tuple[type[BaseException], ...] = (ValueError, KeyError, OSError, RuntimeError, TimeoutError, RecursionError)


class ChaosModel:
    """Answers at random by seed. `asked` counts attempts by (agent, head). `room`: bytes of conversation that fit."""

    def __init__(
        self, seed: int, *, faults: float = 0.1, hangs: bool = True, workers: int = 4, room: float = float("inf")
    ) -> None:
        self.seed, self.faults, self.hangs, self.workers, self.room = seed, faults, hangs, workers, room
        self.asked: Counter[tuple[str, str]] = Counter()
        self.billed = 0

    async def complete(self, request: Request) -> Reply:
        key = (request.agent, request.conversation.head)
        self.asked[key] += 1
        turn = sum(isinstance(m.body, Assistant) for m in request.conversation.messages)
        # Faults differ from attempt to attempt, replies only from turn to turn.
        luck = Random(f"{self.seed}-{request.agent}-{turn}-{self.asked[key]}")
        await anyio.sleep(luck.choice([0, 1, 5, luck.random() * 40]))
        if request.conversation.size > self.room:
            raise ModelError("context_length", "it does not fit")
        if luck.random() < self.faults:
            await self._fail(luck, request.agent)
        message = as_message(self._step(Random(f"{self.seed}-{request.agent}-{turn}"), request.agent, turn), turn)
        prompt = rough_tokens(request.conversation.size)
        cached = min(prompt, luck.randrange(0, 2000))
        out = min(request.max_output_tokens, rough_tokens(len(encoded(message, Assistant)[1])))
        return Reply(message=message, usage=Usage(input=prompt - cached, cache_read=cached, output=out), model="chaos")

    async def _fail(self, luck: Random, agent: str) -> None:
        match luck.randrange(5):
            case 0:
                raise luck.choice(BROKEN)("broken adapter \ud800")
            case 1 if self.hangs and agent != "lead":
                await anyio.sleep(HUNG)
            case 2 if self.hangs and agent != "lead":
                with anyio.CancelScope(shield=True):  # an adapter that will not be stopped, for a while
                    await anyio.sleep(luck.choice([10, 100]))
            case 3 if anyio.get_cancelled_exc_class() is asyncio.CancelledError and luck.random() < 0.3:
                raise asyncio.CancelledError
        raise ModelError(
            luck.choice(FAULTS),
            "told to fail",
            maybe_billed=luck.random() < 0.3,
            usage=Usage(input=7, output=1) if luck.random() < 0.2 else None,
            retry_after_s=luck.choice([None, None, 3.0, float("nan"), -1.0]),
        )

    def _step(self, luck: Random, agent: str, turn: int) -> Step:
        if turn >= 12 or luck.random() < (0.06 if agent == "lead" else 0.25):
            text = f"report of {agent} {turn}" + luck.choice(
                ["", " and more" * 400, "\ud800\x1b[31m</leadhand-report>"]
            )
            return luck.choice([do(call("finish", text=text)), say(text)])
        if luck.random() < 0.06:
            return luck.choice([say(""), say("cut", stop="length"), say("hm", commentary=True), say("", stop="pause")])
        calls = [self._call(luck, agent, turn, i) for i in range(luck.choice([1, 1, 2, 3, 5]))]
        return do(*calls, text="thinking" if luck.random() < 0.5 else "")

    def _call(self, luck: Random, agent: str, turn: int, index: int) -> Call:
        unique = f"{agent} {turn} {index}"
        to = luck.choice(["lead", "lead", "w1", "w1", "w2", "nobody"])
        everybody: list[Call] = [
            bash(unique, timeout_s=luck.choice([None, 5, "20", 0])),
            bash(unique),
            call("send_message", to=to, text=luck.choice(["news", "", f"</leadhand-message> from {agent}"])),
            luck.choice(
                [Call(name="bash", raw='{"command": '), call("nothing"), call("finish", text="not alone"), bash("\0")]
            ),
        ]
        lead: list[Call] = [
            call("delegate_agent", assignment=f"do {unique}", **self._choice(luck)),
            call("delegate_agent", assignment=f"do {unique}"),
            call("delegate_agent", assignment=f"more {unique}", worker=f"w{luck.randrange(1, 3)}"),
            call("wait", mode=luck.choice(["any", "all"]), timeout_s=luck.choice([None, 0, 30, 1e12])),
            call("read_report", delegation=f"d{luck.randrange(1, 5)}"),
            call("list_workers"),
            call("cancel_worker", worker=luck.choice(["w1", "w2", "w9", ""])),
        ]
        return luck.choice(everybody + (lead if agent == "lead" or luck.random() < 0.1 else []))

    def _choice(self, luck: Random) -> dict[str, Any]:
        more: dict[str, Any] = {}
        if luck.random() < 0.6:
            more["worker"] = luck.choice([*(f"w{i}" for i in range(1, self.workers + 2)), "boss"])
        if luck.random() < 0.2:
            more["conventions"] = "tabs, not blanks"
        if luck.random() < 0.1:
            more["kind"] = "odd"
        return more

    async def aclose(self) -> None:
        pass


class ChaosSandbox(MemorySandbox):
    """Commands take random time; now and then a runner dies, a file cannot be written, or the adapter breaks."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.seed = seed

    async def exec(
        self, command: str, *, agent: str, timeout_s: float, cwd: str = "", keep: int = 65_536
    ) -> ExecResult:
        self.commands.append((agent, command))
        luck = Random(f"{self.seed}-{command}")
        seconds = luck.choice([0, 1, luck.random() * 30, 400])
        await anyio.sleep(min(seconds, timeout_s))
        match luck.randrange(40):
            case 0:
                raise RunnerLost("the runner died")
            case 1:
                raise OSError("the adapter broke")
        size = luck.choice([0, 10, 30_000])
        return ExecResult(
            exit_code=luck.choice([0, 1]),
            head=luck.choice([b"x", b"\xff", b"<leadhand-report>"]) * size,
            size=size,
            seconds=seconds,
            ended="timed_out" if seconds > timeout_s else "exited",
            changed=("a\udcff.txt",) if luck.random() < 0.1 else (),
        )

    async def write(self, path: str, data: bytes) -> None:
        if Random(f"{self.seed}-{path}").random() < 0.1:
            raise OSError("no space left")
        await super().write(path, data)


class ChaosBuild:
    """A finish check that takes its time; it fails, breaks or cannot be carried out at random by seed and try."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.tries = 0

    async def __call__(self, seconds: float) -> ExecResult:
        self.tries += 1
        luck = Random(f"{self.seed}-build-{self.tries}")
        takes = luck.choice([0, 1, luck.random() * 30, 400])
        await anyio.sleep(min(takes, seconds))
        if luck.random() < 0.15:
            raise GradingError("no sandbox for it \ud800")
        output = luck.choice([b"error", b"</leadhand-check>\xff", b"x" * 9000])
        if takes > seconds:
            return ExecResult(exit_code=137, head=output, size=len(output), seconds=seconds, ended="timed_out")
        return ExecResult(exit_code=luck.choice([0, 1, 2]), head=output, size=len(output), seconds=takes)
