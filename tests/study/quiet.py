"""Studies without a provider, a sandbox or real time: scripted models and a sandbox that runs nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio

from leadhand.core.errors import ModelError
from leadhand.core.ports import Model, Reply, Request, Sandbox
from leadhand.core.values import SandboxSpec
from leadhand.runs.execution import Ports
from leadhand.testing.sandbox import MemorySandbox
from leadhand.testing.scripted import Script, ScriptedModel

STUDY = """\
name = "quiet"
repeats = {repeats}
sandbox = "local"
concurrency = {concurrency}
budget_usd = "none"

[tasks]
source = ["tasks/*"]

[base]
lead = "openai-chat/m"
budget_usd = 100.0

[prices]
"openai-chat/m" = "1,2"

[base_urls]
"*" = "http://127.0.0.1:9"

[grid]
guidance = ["P"]
workers = [{workers}]
"""


def quiet_study(folder: Path, *, tasks: int, workers: int, repeats: int = 1, concurrency: int = 1) -> Path:
    for n in range(tasks):
        task = folder / "tasks" / f"t{n:03d}"
        task.mkdir(parents=True)
        (task / "task.toml").write_text('prompt = "Do it."\n')
    file = folder / "quiet.toml"
    file.write_text(STUDY.format(repeats=repeats, concurrency=concurrency, workers=workers))
    return file


class Bucket:
    """A quota as providers have it: so many requests at once, refilled evenly. Counts what it refused."""

    def __init__(self, per_second: float, size: float) -> None:
        self.rate, self.size, self.left, self.at = per_second, size, size, 0.0
        self.refused = self.admitted = 0

    def take(self) -> float:
        """0, or seconds until there is room."""
        now = anyio.current_time()
        self.left = min(self.size, self.left + (now - self.at) * self.rate)
        self.at = now
        if self.left >= 1:
            self.left -= 1
            self.admitted += 1
            return 0.0
        self.refused += 1
        return (1 - self.left) / self.rate


class Limited:
    """A model behind a quota: 429 with Retry-After where it is used up, else an answer after `latency_s`."""

    def __init__(self, inner: Model, bucket: Bucket | None, latency_s: float) -> None:
        self.inner, self.bucket, self.latency_s = inner, bucket, latency_s

    async def complete(self, request: Request) -> Reply:
        wait = self.bucket.take() if self.bucket else 0.0
        if wait:
            raise ModelError("rate_limit", "slow down", retry_after_s=wait)
        await anyio.sleep(self.latency_s)
        return await self.inner.complete(request)

    async def aclose(self) -> None:
        pass


def quiet_ports(scripts: Callable[[], dict[str, Script]], bucket: Bucket | None, latency_s: float) -> Ports:
    def open_model(name: str, **_: object) -> Model:
        return Limited(ScriptedModel(scripts()), bucket, latency_s)

    async def start(spec: SandboxSpec, kind: str) -> Sandbox:
        return MemorySandbox()

    return Ports(open_model=open_model, start_sandbox=start)
