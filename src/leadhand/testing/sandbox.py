"""A sandbox that runs nothing: answers come from a function, files live in memory. For teams on a virtual clock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio

from leadhand.core.errors import SandboxLost
from leadhand.core.values import ExecResult, SandboxInfo, Value


class Answer(Value, frozen=True, kw_only=True):
    """What a command gives back, and how long it takes. `lost` kills the whole sandbox."""

    output: str = ""
    exit_code: int = 0
    seconds: float = 0.0
    lost: bool = False


class MemorySandbox:
    """A `Sandbox` without processes. `commands` lists (agent, command) in the order of their start."""

    def __init__(self, answer: Callable[[str, str], Answer] = lambda agent, command: Answer()) -> None:
        self._answer = answer
        self.commands: list[tuple[str, str]] = []
        self.files: dict[str, bytes] = {}
        self.closed = False
        self.info = SandboxInfo(kind="memory", id="memory", workspace="/workspace", scratch="/scratch")

    async def exec(
        self, command: str, *, agent: str, timeout_s: float, cwd: str = "", keep: int = 65_536
    ) -> ExecResult:
        self.commands.append((agent, command))
        answer = self._answer(agent, command)
        if answer.lost:
            raise SandboxLost("the sandbox is gone")
        data = answer.output.encode()
        head, tail = (data, b"") if len(data) <= 2 * keep else (data[:keep], data[-keep:])
        if answer.seconds > timeout_s:
            await anyio.sleep(timeout_s)
            return ExecResult(exit_code=137, head=b"", seconds=timeout_s, ended="timed_out")
        await anyio.sleep(answer.seconds)
        return ExecResult(exit_code=answer.exit_code, head=head, tail=tail, size=len(data), seconds=answer.seconds)

    async def read(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    async def write(self, path: str, data: bytes) -> None:
        self.files[path] = data

    async def kill(self, agent: str = "") -> int:
        return 0

    async def collect(self, destination: Path) -> None:
        import io
        import tarfile

        with tarfile.open(destination, "w:gz") as archive:
            for path, data in sorted(self.files.items()):
                if path.startswith("/workspace/"):
                    member = tarfile.TarInfo(path.removeprefix("/workspace/"))
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))

    async def aclose(self, *, keep: bool = False) -> None:
        self.closed = True
