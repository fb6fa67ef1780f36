"""The `Sandbox` port on top of any backend that can open runner streams: one runner per agent, one control runner."""

from __future__ import annotations

import contextlib
import re
import shlex
import time
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Literal, Protocol

import anyio

from leadhand.core.errors import SandboxError, SandboxLost
from leadhand.core.values import ExecResult, SandboxInfo
from leadhand.sandboxes import frames
from leadhand.sandboxes.attribution import Attribution, Seen
from leadhand.sandboxes.changes import Changes
from leadhand.sandboxes.channel import Channel, Pending
from leadhand.sandboxes.frames import Reply
from leadhand.sandboxes.owners import Hold

PATIENCE = 30.0  # seconds for what normally takes milliseconds; fork bombs put the load at hundreds
GRACE = 5.0  # seconds for a killed command's reply
READ_LIMIT = 256 << 20
NUL = b"the command contains a NUL byte; nothing was run\n"
HARNESS = "leadhand"  # the runner on which the harness itself reads and writes


class Backend(Protocol):
    """What a kind of sandbox adds below the runners."""

    @property
    def info(self) -> SandboxInfo: ...

    @property
    def control(self) -> Channel: ...

    @property
    def sweep_root(self) -> int:
        """Where a sweep of everything starts; 0 = all that the control runner can see."""
        ...

    @property
    def changes(self) -> Changes | None:
        """What sees the workspace's files change, if anything does."""
        ...

    async def open(self, name: str) -> Channel:
        """Start a runner; returns when it has said hello. Raises `SandboxError`."""
        ...

    async def revive(self) -> bool:
        """Called when the control runner is lost: whether there is a new one."""
        ...

    async def archive(self, destination: Path) -> None:
        """Write the workspace (nothing runs in it any more) as a .tar.gz."""
        ...

    async def stop(self, *, keep: bool = False) -> None:
        """End it, remove what was made; with `keep` all but what a reattachment needs. Idempotent."""
        ...


class Runner:
    """One agent's runner and what is known of the command it runs."""

    __slots__ = ("channel", "killed", "name")

    def __init__(self, name: str, channel: Channel) -> None:
        self.name = name
        self.channel = channel
        self.killed = False


class TeamSandbox:
    """See `leadhand.core.ports.Sandbox`."""

    def __init__(self, backend: Backend, hold: Hold) -> None:
        """`hold` says that this process is at work on the run; it is released when the sandbox is closed."""
        self._backend = backend
        self._hold = hold
        self._runners: dict[str, Runner] = {}
        # One frame in flight per runner: an agent's commands run one after the other.
        self._turns: defaultdict[str, anyio.Lock] = defaultdict(partial(anyio.Lock, fast_acquire=True))
        # One frame in flight on the control runner, and no runner is born during a sweep, which would kill it.
        self._controlling = anyio.Lock()
        self._seen = Attribution(backend.changes)
        self._closed = False
        self._born = 0  # runners ever started

    @property
    def info(self) -> SandboxInfo:
        return self._backend.info

    # --- commands ---

    async def exec(
        self, command: str, *, agent: str, timeout_s: float, cwd: str = "", keep: int = 65_536
    ) -> ExecResult:
        data = command.encode("utf-8", "replace")
        if b"\0" in data or "\0" in cwd:
            return ExecResult(exit_code=2, head=NUL, size=len(NUL))
        where = (cwd or self.info.workspace).encode("utf-8", "replace")
        async with self._turns[agent]:
            runner = await self._runner(agent)
            began = time.monotonic()
            runner.killed = False
            with self._seen.command(agent) as seen:
                pending = runner.channel.send(lambda id: frames.run(id, keep, where, data), limit=2 * keep)
                timed_out = await self._await(runner, pending, timeout_s)
                if pending.reply is None and not timed_out:
                    await self._check_alive(agent)
            ended = _ended(pending.reply, timed_out, runner.killed)
            return _result(pending.reply, keep, time.monotonic() - began, ended, seen)

    async def _await(self, runner: Runner, pending: Pending, timeout_s: float) -> bool:
        """Wait for the reply; kill the command when time is up or the caller is cancelled. True: time was up."""
        try:
            if await pending.within(timeout_s):
                return False
        except BaseException:
            await self._end_command(runner, pending)
            raise
        await self._end_command(runner, pending)
        return pending.reply is None or runner.killed

    async def _end_command(self, runner: Runner, pending: Pending) -> None:
        """Kill the running command and take its reply; whatever happens, this ends and nothing of the command lives."""
        with anyio.CancelScope(shield=True):
            for _ in range(6):  # a command that is just starting is not found at once
                killed = await self._control(lambda id: frames.kill(id, runner.channel.pid))
                if await pending.within(GRACE if killed else 0.2):
                    runner.killed = runner.killed or killed > 0
                    return
            runner.killed = True
            await self._control(lambda id: frames.sweep(id, runner.channel.pid))
            if not await pending.within(GRACE):
                await self._drop(runner)

    # --- runners ---

    async def _runner(self, agent: str) -> Runner:
        if self._closed:
            raise SandboxLost("the sandbox was closed")
        runner = self._runners.get(agent)
        if runner is not None and not runner.channel.lost and not self._backend.control.lost:
            return runner
        async with self._controlling:
            await self._living_control()
        if runner is not None and not runner.channel.lost:
            return runner
        if runner is not None:
            await self._drop(runner)
        async with self._controlling:
            await self._living_control()
            name = _name(agent, self._born)
            self._born += 1
            channel = await self._backend.open(name)
            self._runners[agent] = runner = Runner(name, channel)
        return runner

    async def _drop(self, runner: Runner) -> None:
        """Give up a runner: kill it, and everything that hangs below no living runner (what lost ones leave behind)."""
        runner.channel.close()
        self._runners = {agent: other for agent, other in self._runners.items() if other is not runner}
        await self._control(lambda id: frames.orphans(id, self._backend.sweep_root, self._pids()))

    def _pids(self) -> list[int]:
        return [r.channel.pid for r in self._runners.values() if not r.channel.lost]

    async def _check_alive(self, agent: str) -> None:
        """A runner was lost: clean up behind it; raises `SandboxLost` if the sandbox went with it."""
        with anyio.CancelScope(shield=True):
            runner = self._runners.get(agent)
            if runner is not None:
                await self._drop(runner)

    # --- the control runner ---

    async def _control(self, frame: frames.Maker) -> int:
        """Ask the control runner; its number. Raises `SandboxLost` when it is gone for good."""
        with anyio.CancelScope(shield=True):  # a reply that nobody took would be the next request's
            async with self._controlling:
                for _ in range(2):
                    await self._living_control()
                    pending = self._backend.control.send(frame)
                    if not await pending.within(PATIENCE):
                        self._backend.control.close()
                    if pending.reply is not None:
                        return pending.reply.code
        raise SandboxLost(f"the sandbox {self.info.id} does not answer")

    async def _living_control(self) -> None:
        if self._backend.control.lost and (self._closed or not await self._backend.revive()):
            raise SandboxLost(f"the sandbox {self.info.id} is gone")

    # --- files ---

    async def read(self, path: str) -> bytes:
        script = '[[ -e $LH_P ]] || exit 44; [[ -f $LH_P ]] || exit 45; exec cat -- "$LH_P"'
        command = f"LH_P={shlex.quote(path)}; {script}"
        result = await self.exec(command, agent=HARNESS, timeout_s=120, keep=READ_LIMIT // 2)
        if result.exit_code == 44:
            raise FileNotFoundError(path)
        if result.exit_code or result.ended != "exited" or result.size > len(result.head):
            raise SandboxError(f"cannot read {path} in the sandbox: {_say(result)}")
        return result.head

    async def write(self, path: str, data: bytes) -> None:
        target = path if path.startswith("/") else f"{self.info.workspace}/{path}"
        where = target.encode("utf-8", "replace")
        async with self._turns[HARNESS]:
            runner = await self._runner(HARNESS)
            pending = runner.channel.send(lambda id: frames.put(id, where, data))
            try:
                await pending.within(120)
            finally:
                if not pending.done:  # half a payload: the stream is of no use any more
                    with anyio.CancelScope(shield=True):
                        await self._drop(runner)
        if pending.reply is None or pending.reply.code:
            raise SandboxError(f"cannot write {path} in the sandbox")

    # --- ends ---

    async def kill(self, agent: str = "") -> int:
        chosen = [r for a, r in self._runners.items() if (not agent or a == agent) and not r.channel.lost]
        for runner in chosen:
            runner.killed = True
        if not agent:
            return await self._control(lambda id: frames.sweep(id, self._backend.sweep_root, self._pids()))
        return sum([await self._control(partial(frames.sweep, root=r.channel.pid)) for r in chosen])

    async def collect(self, destination: Path) -> None:
        await self.kill()
        await self._backend.archive(destination)

    async def aclose(self, *, keep: bool = False) -> None:
        if self._closed:
            return
        with anyio.CancelScope(shield=True):
            if keep and not self._backend.control.lost:  # it lives on: with nothing in it
                await self._quiet()
            self._closed = True
            for runner in self._runners.values():
                runner.channel.close()
            self._runners = {}
            try:
                await self._backend.stop(keep=keep)
            finally:
                self._hold.release()

    async def _quiet(self) -> None:
        with contextlib.suppress(SandboxError):
            await self.kill()


Ended = Literal["exited", "timed_out", "killed", "flooded", "runner_lost"]


def _ended(reply: Reply | None, timed_out: bool, killed: bool) -> Ended:
    if timed_out:
        return "timed_out"
    if killed:
        return "killed"
    if reply is None:
        return "runner_lost"
    return "flooded" if reply.flag == "f" else "exited"


def _result(reply: Reply | None, keep: int, seconds: float, ended: Ended, seen: Seen) -> ExecResult:
    if reply is None:
        return ExecResult(
            exit_code=137, head=b"", seconds=seconds, ended=ended, changed=seen.changed, shared=seen.shared
        )
    whole = reply.size == len(reply.body)
    return ExecResult(
        exit_code=reply.code,
        head=reply.body if whole else reply.body[:keep],
        tail=b"" if whole else reply.body[keep:],
        size=reply.size,
        spill="" if whole else reply.path,
        seconds=seconds,
        ended=ended,
        changed=seen.changed,
        shared=seen.shared,
    )


def _name(agent: str, number: int) -> str:
    """A name for files: the agent's, made harmless; the number keeps two of them apart."""
    return f"{re.sub(r'[^A-Za-z0-9_-]', '_', agent)[:40]}.{number}"


def _say(result: ExecResult) -> str:
    text = result.head.decode("utf-8", "replace").strip()
    return text[-200:] or f"exit code {result.exit_code}, {result.ended}"
