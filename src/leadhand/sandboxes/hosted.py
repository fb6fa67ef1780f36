"""Runner streams for sandboxes whose processes are children of this one (`bwrap`, `local`).

The control runner speaks over two pipes. Every other runner is its child and gets two FIFOs in a folder that the
sandbox sees read-only; their names are removed once both sides hold them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import anyio
from anyio import to_thread

from leadhand.core.errors import SandboxError, SandboxLost
from leadhand.core.values import SandboxInfo, SandboxSpec
from leadhand.sandboxes import archive, changes, frames, leftovers
from leadhand.sandboxes.cgroups import Group
from leadhand.sandboxes.channel import Channel
from leadhand.sandboxes.runner import program_for

START_S = 30.0


async def connect(channel: Channel, read: int, write: int) -> None:
    """Let `channel` speak over two pipe ends, which it owns from now on."""
    loop = asyncio.get_running_loop()
    out, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(write, "wb", 0))
    into, _ = await loop.connect_read_pipe(lambda: channel, os.fdopen(read, "rb", 0))

    def close() -> None:
        if not out.is_closing():
            out.abort()
        into.close()

    channel.bind(out.write, close)


class Folder:
    """The harness's own folder of one sandbox on the host: the runner's program, FIFOs, whatever the backend adds."""

    def __init__(self, run_id: str) -> None:
        program = program_for(os.uname().machine)
        self.path = Path(tempfile.mkdtemp(prefix=f"leadhand-{run_id}-"))
        self.path.chmod(0o755)
        self.add("runner", program, 0o555)

    def add(self, name: str, data: bytes, mode: int = 0o444) -> None:
        path = self.path / name
        path.write_bytes(data)
        path.chmod(mode)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


class Hosted:
    """The control runner's process and the way to more runners."""

    def __init__(self, folder: Folder, group: Group, *, inside: str, spool: str, file_kib: int, sweep: str) -> None:
        self.folder = folder
        self.group = group
        self.inside = inside  # where the sandbox sees the folder
        self.spool = spool  # as seen inside
        self.file_kib = file_kib
        self.sweep = sweep
        self.control = Channel()
        self.process: asyncio.subprocess.Process | None = None

    async def start(self, argv: list[str], env: dict[str, str], cwd: str | None = None) -> None:
        """Start the control runner as `argv` + shell text. Raises `SandboxError` with what the program said."""
        told, said = self.folder.path / "errors", b""
        into, write = os.pipe()
        read, out = os.pipe()
        try:
            with told.open("wb") as errors:
                self.process = await asyncio.create_subprocess_exec(
                    *self.group.join([*argv, frames.BOOT]),
                    stdin=into,
                    stdout=out,
                    stderr=errors,
                    env=env,
                    cwd=cwd,
                    start_new_session=True,
                )
        except BaseException as failure:
            for end in (write, read):
                os.close(end)
            if isinstance(failure, OSError):
                raise SandboxError(f"cannot start {argv[0]}: {failure.strerror}") from None
            raise
        finally:
            os.close(into)
            os.close(out)
        await connect(self.control, read, write)
        self.control.tell(frames.boot(sweep=self.sweep, folder=self.inside, spool=self.spool, file_kib=self.file_kib))
        await self.control.hello.within(START_S)
        if self.control.hello.reply is None:
            await self.stop()
            said = await to_thread.run_sync(told.read_bytes) if told.exists() else b""
            raise SandboxError(
                f"the sandbox did not start: {said.decode('utf-8', 'replace').strip()[-300:] or 'no answer'}"
            )

    async def open(self, name: str) -> Channel:
        """Start a runner; see `Backend.open`."""
        paths = [self.folder.path / f"{name}.{way}" for way in ("in", "out")]
        ends: list[int] = []
        channel = Channel()
        try:
            for path in paths:
                os.mkfifo(path, 0o600)
            # Opened for reading too, so that it opens at once and the runner's end does not block.
            ends.append(os.open(paths[0], os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
            ends.append(os.open(paths[1], os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
            self.control.tell(frames.spawn(name))
            with anyio.move_on_after(START_S):
                await anyio.wait_readable(ends[1])
            ends.append(os.open(paths[0], os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
            await connect(channel, ends.pop(1), ends.pop())
        finally:
            for path in paths:
                path.unlink(missing_ok=True)
            for end in ends:
                os.close(end)
        await channel.hello.within(START_S)
        if channel.hello.reply is None:
            channel.close()
            raise SandboxError("a runner did not start in the sandbox")
        return channel

    async def stop(self) -> None:
        """End the control runner, which kills everything below it; then the process itself, if it still lives."""
        self.control.close()
        process = self.process
        if process is None:
            return
        with anyio.move_on_after(START_S):
            await process.wait()
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    def clean(self) -> None:
        """Remove what was made on the host. Blocks."""
        self.group.remove()
        self.folder.remove()


class HostedBackend:
    """See `leadhand.sandboxes.team.Backend`."""

    def __init__(self, spec: SandboxSpec, hosted: Hosted, info: SandboxInfo) -> None:
        self.spec = spec
        self.hosted = hosted
        self.info = info
        self.changes = changes.watch(spec.workspace)

    @property
    def control(self) -> Channel:
        return self.hosted.control

    @property
    def sweep_root(self) -> int:
        """Without a process namespace: the control runner, a subreaper below which everything started here hangs."""
        return 0 if self.hosted.sweep == "0" else self.hosted.control.pid

    async def open(self, name: str) -> Channel:
        return await self.hosted.open(name)

    async def revive(self) -> bool:
        return False  # the control runner is all there is

    async def archive(self, destination: Path) -> None:
        await to_thread.run_sync(archive.pack, Path(self.spec.workspace), destination)

    async def stop(self, *, keep: bool = False) -> None:
        """`keep` changes nothing: workspace and scratch are the host's."""
        if self.changes is not None:
            self.changes.close()
        await self.hosted.stop()
        await to_thread.run_sync(self._clean)

    def _clean(self) -> None:
        if self.sweep_root:  # in case the control runner was killed before it could sweep
            leftovers.kill_found(self._left)
        self.hosted.clean()
        shutil.rmtree(Path(self.spec.scratch) / "outputs", ignore_errors=True)

    def _left(self) -> set[int]:
        """Processes of this very sandbox: by its group, and by the home that is its own."""
        return self.hosted.group.processes() | leftovers.with_variable(f"HOME={self.hosted.inside}/home")


def require_workspace(spec: SandboxSpec) -> None:
    if not Path(spec.workspace).is_dir():
        raise SandboxLost(f"the workspace folder {spec.workspace} is gone")
    Path(spec.scratch).mkdir(parents=True, exist_ok=True)


def show_links(spec: SandboxSpec, paths: dict[str, str], *, again: bool = False) -> None:
    """Make the workspace's links to the mounts. `again`: those that the team has left there point to the new places;
    what it has put in the place of one, a program that it built, is its work.
    """
    for mount in spec.mounts:
        link = Path(spec.workspace) / mount.link
        if not mount.link or (again and not link.is_symlink()):
            continue
        link.parent.mkdir(parents=True, exist_ok=True)
        if link.is_symlink():
            link.unlink()
        elif link.exists():
            raise SandboxError(f"the workspace has its own {mount.link}, where a link to {mount.target} belongs")
        link.symlink_to(paths.get(mount.target, mount.target))
