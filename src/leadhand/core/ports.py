"""The ports: what the core needs from the outside, as Protocols. Adapters live in `models`, `sandboxes`, `benchmarks`.

Every port has a contract suite in `leadhand.testing`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

from leadhand.core.chain import Conversation
from leadhand.core.values import Assistant, ExecResult, Grade, SandboxInfo, SandboxSpec, Task, Usage, Value


class Request(Value, frozen=True, kw_only=True):
    """One model call. `conversation` is append-only and outlives the call: adapters may cache its encoding by object.

    `reasoning` is the effort asked for ("" = the model's default). `cache_key` is stable per agent over a run.
    """

    model: str
    agent: str
    conversation: Conversation
    max_output_tokens: int = 16_000
    reasoning: str = ""
    cache_key: str = ""
    timeout_s: float = 600.0


class Reply(Value, frozen=True, kw_only=True):
    """One successful attempt. `model` is the model that the provider says served it."""

    message: Assistant
    usage: Usage
    model: str = ""
    request_id: str = ""


class Model(Protocol):
    """Speaks one wire. Knows nothing of agents, of what tools mean, or of budgets."""

    async def complete(self, request: Request) -> Reply:
        """Make **one attempt**. Raise `ModelError` (classified) on failure; never retry. Cancellation is prompt."""
        ...

    async def aclose(self) -> None: ...


class Limiter(Protocol):
    """Admission of attempts, shared by all runs that use the same provider, key and model."""

    async def admit(self, model: str) -> None:
        """Return when an attempt may start. Holds nothing: a waiting lead never blocks its workers."""
        ...

    def observe(self, model: str, retry_after_s: float | None) -> None:
        """An attempt was told to slow down: everybody on the same key cools down for that long."""
        ...


class Sandbox(Protocol):
    """One shared sandbox of a run, already started. Commands of different agents run concurrently."""

    @property
    def info(self) -> SandboxInfo: ...

    async def exec(
        self, command: str, *, agent: str, timeout_s: float, cwd: str = "", keep: int = 65_536
    ) -> ExecResult:
        """Run `command` with bash, stdin /dev/null, in `cwd` (default: the workspace).

        The first and last `keep` bytes of the merged output come back. A timeout (by the host's clock) kills
        everything the command started. Background children of a command that *finished* live on. When the caller is
        cancelled the command is killed before the cancellation goes on. Raises `SandboxLost` when the sandbox is gone.
        """
        ...

    async def read(self, path: str) -> bytes:
        """A file's bytes. Raises `FileNotFoundError`; never follows a link out of the sandbox."""
        ...

    async def write(self, path: str, data: bytes) -> None:
        """Write a file, making its folders."""
        ...

    async def kill(self, agent: str = "") -> int:
        """Kill every process of `agent` ("" = all agents); the number killed. The sandbox stays usable."""
        ...

    async def collect(self, destination: Path) -> None:
        """Kill everything, then write the workspace to `destination` (a .tar.gz on the host).

        Links are stored as links, device files and sockets are left out.
        """
        ...

    async def aclose(self, *, keep: bool = False) -> None:
        """Stop the sandbox and remove what it left behind, except the host's workspace folder. Idempotent.

        `keep`: leave what a resumed run needs (`docker`: the container and the workspace in it).
        """
        ...


StartSandbox = Callable[[SandboxSpec], Awaitable[Sandbox]]
"""Starts a sandbox of the kind that was chosen for this machine."""


TryWork = Callable[[float], Awaitable[ExecResult]]
"""Runs the task's check on a clean copy of the workspace as it is now, for at most so many seconds.

What the work does to the check, or to where it is run, is a result. Raises `GradingError` where the check could not be
carried out for any other reason, `SandboxLost` where the team's own sandbox is gone.
"""


class Benchmark(Protocol):
    """Tasks in, grades out."""

    def tasks(self) -> Sequence[Task]: ...

    async def grade(self, task: Task, submission: Path, start: StartSandbox, scratch: Path) -> Grade:
        """Grade the archive `submission` (.tar.gz) in a fresh sandbox that the team never touched.

        `scratch` is an empty host folder for this grading. Raises `GradingError` where grading itself failed.
        """
        ...
