"""The set-up command of a run: before the agents, in a sandbox of its own that has the network."""

from __future__ import annotations

import tarfile
from pathlib import Path

import anyio
import anyio.to_thread

from leadhand import sandboxes
from leadhand.core.errors import SandboxError
from leadhand.core.events import CommandEnded, Entry, ToolStarted, Warned, command_ended
from leadhand.core.journal import Journal
from leadhand.core.ports import Sandbox
from leadhand.runs import store
from leadhand.runs.paths import RunPaths
from leadhand.runs.spec import RunFile

SETUP_S = 1800.0
CALL = "setup"


async def set_up(paths: RunPaths, run: RunFile, journal: Journal, entries: list[Entry]) -> None:
    """Run the command unless it has succeeded before; what it leaves in the workspace stays.

    Raises `SandboxError` where it fails. One that was interrupted is run again in the same workspace, and said so.
    """
    command = run.lock.task.setup
    ended = [e.event for e in entries if isinstance(e.event, CommandEnded) and e.event.call == CALL]
    if not command or (ended and ended[-1].exit_code == 0):
        return
    if any(isinstance(e.event, ToolStarted) and e.event.call == CALL for e in entries):
        journal.append("", Warned(text="the set-up command was interrupted; it is run again in the same workspace"))
        await anyio.to_thread.run_sync(store.clear_leftovers, paths.id)
    spec = store.sandbox_spec(paths, run, network=True)
    journal.append("", ToolStarted(call=CALL, tool=CALL))
    sandbox = await sandboxes.start(spec, run.lock.sandbox)
    try:
        result = await sandbox.exec(command, agent=CALL, timeout_s=SETUP_S)
        if result.exit_code == 0 and sandbox.info.kind == "docker":
            await _bring_back(sandbox, paths)
    finally:
        with anyio.CancelScope(shield=True):
            await sandbox.aclose()
    journal.append("", command_ended(CALL, result))
    if result.exit_code != 0:
        output = (result.tail or result.head).decode("utf-8", "replace").strip().splitlines()
        said = f": {output[-1][:300]}" if output else ""
        raise SandboxError(f"the set-up command ended with exit code {result.exit_code}{said}")


async def _bring_back(sandbox: Sandbox, paths: RunPaths) -> None:
    """Replace the host's workspace by the one that lives in the container, links and all."""
    packed = paths.folder / "setup.tar.gz"
    await sandbox.collect(packed)
    await anyio.to_thread.run_sync(_unpack, packed, paths.workspace)


def _unpack(packed: Path, workspace: Path) -> None:
    store.remove(workspace)
    workspace.mkdir()
    with tarfile.open(packed) as archive:
        archive.extractall(workspace, filter="tar")
    packed.unlink()
