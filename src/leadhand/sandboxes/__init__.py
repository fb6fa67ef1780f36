"""Sandboxes: where a team's commands run. Three kinds (`docker`, `bwrap`, `local`) below one runner protocol.

Adapters are loaded when they are chosen.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING

from leadhand.core.errors import SandboxError, UsageError
from leadhand.core.ports import Sandbox
from leadhand.core.values import Build, SandboxInfo, SandboxSpec

if TYPE_CHECKING:
    from leadhand.sandboxes.team import Backend

KINDS = ("docker", "bwrap", "local")


def choose(kind: str = "auto", image: str = "") -> tuple[str, str]:
    """The kind of sandbox to use here and why, in words. Raises `UsageError` with the remedy. Blocks (a second).

    `auto`: docker where an engine answers and has the image (the task's `image`, else docker's default one) or the
    task cannot do without it; else bwrap; docker that must first pull its image comes last.
    """
    if kind == "local":
        return kind, "asked for; no isolation"
    if kind == "bwrap":
        from leadhand.sandboxes import bwrap

        return kind, f"asked for; {bwrap.check()}"
    if kind == "docker":
        from leadhand.sandboxes import engine

        return kind, f"asked for; {engine.check()}"
    if kind != "auto":
        raise UsageError(f"no sandbox {kind!r}; there are: auto, {', '.join(KINDS)}")
    return _best(image)


def _best(image: str) -> tuple[str, str]:
    from leadhand.sandboxes import bwrap, docker, engine, images

    try:
        answers = engine.check()
    except UsageError as failure:
        without, answers = str(failure), ""
    else:
        if image or images.look(engine.find(), docker.IMAGE):
            return "docker", answers
        without = f"{answers}, but it has no image {docker.IMAGE}"
    try:
        return "bwrap", f"{without if answers else 'no Docker Engine answers'}; {bwrap.check()} works"
    except UsageError as failure:
        if answers:
            return "docker", f"{answers}; {docker.IMAGE} is pulled first"
        raise UsageError(f"no sandbox here. docker: {without}. bwrap: {failure}") from None


async def start(spec: SandboxSpec, kind: str = "auto") -> Sandbox:
    """Start a sandbox. Raises `UsageError` (nothing fits this machine) or `SandboxError`."""
    from anyio import to_thread

    if kind == "auto":
        kind, _ = await to_thread.run_sync(choose, kind, spec.image)
    if spec.whole and kind != "docker":
        raise UsageError(f"run {spec.run_id} needs the image {spec.image} itself: --sandbox docker, not {kind}")
    return await _held(spec.run_id, lambda: _start(spec, kind))


async def _held(run_id: str, start: Callable[[], Awaitable[Backend]]) -> Sandbox:
    """It is this process's from before its first process or folder is there, so that `reap` cannot meet it unowned."""
    from leadhand.sandboxes import owners
    from leadhand.sandboxes.team import TeamSandbox

    hold = owners.Hold(run_id)
    try:
        return TeamSandbox(await start(), hold)
    except BaseException:
        hold.release()
        raise


async def _start(spec: SandboxSpec, kind: str, *, again: bool = False) -> Backend:
    if kind == "docker":
        from leadhand.sandboxes import docker

        return await docker.start(spec)
    if kind == "bwrap":
        from leadhand.sandboxes import bwrap

        return await bwrap.start(spec, again=again)
    if kind == "local":
        from leadhand.sandboxes import local

        return await local.start(spec, again=again)
    raise UsageError(f"no sandbox {kind!r}; there are: auto, {', '.join(KINDS)}")


async def reattach(info: SandboxInfo, spec: SandboxSpec) -> Sandbox:
    """The sandbox of an interrupted run, on the same workspace and scratch; leftover processes are killed.

    Raises `SandboxLost` when the workspace is gone.
    """
    from anyio import to_thread

    from leadhand.sandboxes import leftovers

    if info.kind == "docker":
        from leadhand.sandboxes import docker

        return await _held(spec.run_id, lambda: docker.reattach(info, spec))
    await to_thread.run_sync(leftovers.clear, spec.run_id.__eq__)
    return await _held(spec.run_id, lambda: _start(spec, info.kind, again=True))


async def reap(run_ids_to_spare: Collection[str] = ()) -> tuple[str, ...]:
    """Remove what killed runs left: processes, containers, volumes, folders. What was done, in words.

    `run_ids_to_spare`: runs that can be resumed. Runs that a living process is at work on are always spared.
    """
    from anyio import to_thread

    from leadhand.sandboxes import docker, leftovers, owners

    def left(run: str) -> bool:
        # Asked of what was found, not beforehand: a run that starts meanwhile is not left by anybody.
        return run not in run_ids_to_spare and not owners.is_held(run)

    processes, folders = await to_thread.run_sync(leftovers.clear, left)
    done = [f"{processes} processes killed", f"{folders} folders removed"]
    try:
        containers, volumes = await to_thread.run_sync(docker.reap, left)
        done += [f"{containers} containers removed", f"{volumes} volumes removed"]
    except UsageError as failure:  # no engine, no containers
        done.append(f"containers not looked for: {failure}")
    return tuple(done)


def ready_image(name: str, build: Build | None, say: Callable[[str], None], *, whole: bool = False) -> None:
    """Have the engine pull or build an image, if it has it not. Blocks for as long as it takes, telling each step.

    `whole`: it is to be a workspace itself. Raises `UsageError` (no engine) or `SandboxError` with the reason.
    """
    from leadhand.sandboxes import engine, images

    images.check_volumes(name, images.ready(engine.find(), name, build, say), whole=whole)


def image_workdir(name: str) -> str:
    """Where work starts in an image; "" where the image is not here. Blocks."""
    from leadhand.sandboxes import engine, images

    try:
        found = images.look(engine.find(), name)
    except (UsageError, SandboxError):
        return ""
    return found.workdir if found else ""


def problems() -> list[tuple[str, str, str]]:
    """What this machine lacks: (name, state, remedy); no remedy where all is well. Blocks (a second)."""
    from leadhand.sandboxes import bwrap, cgroups, engine

    found = []
    for name, check in (("docker", engine.check), ("bwrap", bwrap.check)):
        try:
            found.append((name, check(), ""))
        except UsageError as failure:
            found.append((name, "not usable", str(failure)))
    held = cgroups.state()
    remedy = "" if held else "run as root, or below `systemd-run --user --scope -p Delegate=yes` (docker needs neither)"
    found.append(("cgroups", f"bwrap and local can limit: {held or 'nothing'}", remedy))
    return found
