"""The `docker` backend: one container per run, one hijacked exec stream per runner.

The control runner is pid 1, reached by an attached stream: no process inside can kill it, and it can kill when no
process can be started any more. A `whole` container is itself the workspace: see `container` and `layers`.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import msgspec
from anyio import to_thread

from leadhand.core.errors import SandboxError, SandboxLost
from leadhand.core.values import SandboxInfo, SandboxSpec
from leadhand.sandboxes import archive, engine, frames, images, layers
from leadhand.sandboxes.bwrap import SCRATCH, WORKSPACE
from leadhand.sandboxes.channel import Channel
from leadhand.sandboxes.container import LABEL, OURS, container
from leadhand.sandboxes.engine import Engine, EngineError
from leadhand.sandboxes.limits import clamp
from leadhand.sandboxes.runner import SOURCE, program_for

IMAGE = "python:3.12-bookworm"  # where a task names none: bash, git, compilers, Python
RUNNER = f"{OURS}/runner-{SOURCE[:12]}"  # a container may be older than this Leadhand
START_S = 60.0
OTHER_IMAGE = "the image was made anew since"

# Pid 1: the login shell's environment is taken once; the image's own PATH stays in front of the profile's.
_LOGIN = 'export LH_PATH="$PATH"; exec /bin/bash -lc "$0"'
_CONTROL = f'export PATH="$LH_PATH:$PATH"; unset LH_PATH; {frames.BOOT}'
# A runner: puts the program in place, if it is not there, takes over the environment of pid 1 and becomes the program.
_ARM = '[[ -x $0 ]] || { printf "$1" >"$0.$$" && chmod 555 "$0.$$" && mv -f "$0.$$" "$0"; }; '
_ENVIRONMENT = "while IFS= read -r -d '' lh_kv; do export \"$lh_kv\"; done </proc/1/environ; "
_RUNNER = f'{_ARM}{_ENVIRONMENT}exec -a leadhand "$0" "${{@:2}}"'


class Docker:
    """See `leadhand.sandboxes.team.Backend`."""

    sweep_root = 0
    changes = None  # the workspace is the engine's; a look at it after each command would cost more than the command

    def __init__(self, engine: Engine, info: SandboxInfo, program: bytes, *, whole: bool = False) -> None:
        self.engine = engine
        self.whole = whole
        self.info = info
        self.control = Channel()
        self._program = "".join(f"\\{byte:03o}" for byte in program)

    @property
    def _outputs(self) -> tuple[str, int]:
        """Their folder, and the largest file in KiB."""
        return f"{SCRATCH}/outputs", self.info.limits.file_mb << 10

    async def attach(self, *, fresh: bool) -> None:
        """Connect to pid 1; `fresh`: it is about to be started and waits for its script."""
        self.control = Channel()
        path = engine.path_of("containers", self.info.id, "attach") + "?stream=1&stdin=1&stdout=1"
        await self.engine.stream(path, self.control)
        if not fresh:
            self.control.pid = 1
            self.control.skip_hello()
            self.control.tell(b"\n")  # ends whatever line was cut

    async def begin(self) -> None:
        """Attach to the created (or stopped) container and start it."""
        await self.attach(fresh=True)
        path = engine.path_of("containers", self.info.id, "start")
        await to_thread.run_sync(self.engine.post, path)
        spool, file_kib = self._outputs
        self.control.tell(frames.boot(sweep="0", folder=OURS, spool=spool, file_kib=file_kib))
        await self.control.hello.within(START_S)
        if self.control.hello.reply is None:
            raise SandboxError(f"image {self.info.image}: the container ended at once; does it have /bin/bash?")

    async def open(self, name: str) -> Channel:
        spool, file_kib = self._outputs
        argv = ["/bin/bash", "--norc", "--noprofile", "-c", _RUNNER, RUNNER, self._program]
        argv += frames.arguments(spool=spool, name=name, file_kib=file_kib)
        streams = {"AttachStdin": True, "AttachStdout": True, "AttachStderr": False, "Tty": False}
        path = engine.path_of("containers", self.info.id, "exec")
        made = await to_thread.run_sync(self.engine.post, path, {**streams, "Cmd": argv})
        channel = Channel()
        await self.engine.stream(engine.path_of("exec", made["Id"], "start"), channel, {"Detach": False, "Tty": False})
        await channel.hello.within(START_S)
        if channel.hello.reply is None:
            channel.close()
            raise SandboxError(f"a runner did not start in container {self.info.id}")
        return channel

    async def revive(self) -> bool:
        try:
            state = await to_thread.run_sync(self.engine.get, engine.path_of("containers", self.info.id, "json"))
            if not state["State"]["Running"]:
                return False
            await self.attach(fresh=False)
        except (OSError, SandboxError):
            return False
        return True

    async def archive(self, destination: Path) -> None:
        await to_thread.run_sync(self._archive, destination)

    def _archive(self, destination: Path) -> None:
        if self.whole:
            state = self.engine.get(engine.path_of("containers", self.info.id, "json"))
            layers.collect(self.engine, self.info.id, state["Image"], destination)
            return
        path = engine.path_of("containers", self.info.id, "archive")
        with tempfile.NamedTemporaryFile(prefix="leadhand-collect-") as raw:
            self.engine.call("GET", path, query={"path": WORKSPACE}, into=raw.file, timeout=600)
            raw.flush()
            archive.filtered(Path(raw.name), destination, WORKSPACE.lstrip("/"))

    def fill(self, spec: SandboxSpec) -> None:
        """Put in what the sandbox starts with, and give workspace and scratch to its user. Blocks."""
        uid, _, gid = self.control.user.partition(":")
        if uid != "0":
            self._own(spec.run_id, self.control.user)
        if self.whole:
            layers.restore(self.engine, self.info.id, spec.layer, tuple(m for m in spec.mounts if m.copy))
        if self.whole and not any(Path(spec.workspace).iterdir()):
            return
        with tempfile.TemporaryFile() as packed:
            archive.pack_plain(Path(spec.workspace), packed, owner=(int(uid), int(gid)), links=_links(spec))
            packed.seek(0)
            path = engine.path_of("containers", self.info.id, "archive")
            self.engine.call("PUT", path, query={"path": self.info.workspace}, data=packed, timeout=600)

    def _own(self, run_id: str, user: str) -> None:
        """Give the volumes to a user that is not root, by a container of its own that may do just that."""
        settings = {
            "Image": self.info.image,
            "User": "0:0",
            "Entrypoint": ["chown", user, SCRATCH, *(() if self.whole else (WORKSPACE,))],
            "Labels": {LABEL: run_id},
            "HostConfig": {
                "VolumesFrom": [self.info.id],
                "NetworkMode": "none",
                "CapDrop": ["ALL"],
                "CapAdd": ["CHOWN"],
                "LogConfig": {"Type": "none"},
            },
        }
        made = self.engine.post("/containers/create", settings)["Id"]
        try:
            self.engine.post(engine.path_of("containers", made, "start"))
            code = self.engine.post(engine.path_of("containers", made, "wait"))["StatusCode"]
        finally:
            self.engine.call("DELETE", engine.path_of("containers", made), query={"force": "1"})
        if code:
            raise SandboxError(f"image {self.info.image}: chown of the workspace ended with code {code}")

    async def stop(self, *, keep: bool = False) -> None:
        self.control.close()
        if not keep:
            await to_thread.run_sync(remove, self.engine, self.info.id)


def remove(engine_: Engine, container: str) -> None:
    """Remove a container and its volumes; none is fine too. Blocks."""
    try:
        engine_.call("DELETE", engine.path_of("containers", container), query={"force": "1", "v": "1"})
    except EngineError as failure:
        if failure.status not in (404, 409):  # gone; being removed already
            raise


def _links(spec: SandboxSpec) -> dict[str, str]:
    return {mount.link: mount.target for mount in spec.mounts if mount.link}


async def start(spec: SandboxSpec) -> Docker:
    """Start a container for the run, pulling the image if it is not there. Raises `UsageError`, `SandboxError`."""
    found = await to_thread.run_sync(engine.find)
    info, program = await to_thread.run_sync(_create, found, spec)
    docker = Docker(found, info, program, whole=spec.whole)
    try:
        await docker.begin()
        await to_thread.run_sync(docker.fill, spec)
    except BaseException:
        with anyio.CancelScope(shield=True):
            await docker.stop()
        raise
    return docker


async def reattach(info: SandboxInfo, spec: SandboxSpec) -> Docker:
    """The container of an interrupted run, everything in it killed; started again if it had stopped."""
    found = await to_thread.run_sync(engine.find)
    host = await to_thread.run_sync(found.get, "/info")
    docker = Docker(found, info, program_for(host.get("Architecture", "")), whole=spec.whole)
    try:
        state = await to_thread.run_sync(found.get, engine.path_of("containers", info.id, "json"))
        if not state["State"]["Running"]:
            await docker.begin()
            return docker
        await docker.attach(fresh=False)
    except EngineError as failure:
        raise SandboxLost(f"the container {info.id} of run {spec.run_id} is gone: {failure}") from None
    swept = docker.control.send(partial(frames.sweep, root=0))
    if not await swept.within(START_S) or swept.reply is None:
        raise SandboxLost(f"the container {info.id} of run {spec.run_id} does not answer")
    return docker


def _create(found: Engine, spec: SandboxSpec) -> tuple[SandboxInfo, bytes]:
    """Create the container; not started. Blocks (for minutes when an image must be pulled)."""
    host = found.get("/info")
    limits, warnings = clamp(spec.limits, cpus=host["NCPU"], memory_mb=host["MemTotal"] >> 20)
    image = spec.image or IMAGE
    here = images.ready(found, image, spec.build)
    images.check_volumes(image, here, whole=spec.whole)
    info = SandboxInfo(
        kind="docker",
        id=f"leadhand-{spec.run_id}-{secrets.token_hex(4)}",
        workspace=(spec.workdir or here.workdir) if spec.whole else WORKSPACE,
        scratch=SCRATCH,
        limits=limits,
        not_enforced=_not_enforced(host),
        warnings=warnings + _other_image(spec, here.id),
        network=spec.network,
        image=image,
    )
    first = ["/bin/bash", "-c", _LOGIN, _CONTROL]
    made = found.post("/containers/create", container(spec, info, first), name=info.id)
    said = tuple(str(text) for text in made.get("Warnings") or ())
    return msgspec.structs.replace(info, warnings=info.warnings + said), program_for(host.get("Architecture", ""))


def _other_image(spec: SandboxSpec, image: str) -> tuple[str, ...]:
    """A warning where the layer to begin with is of another image, however the image is called."""
    before = layers.image_of(Path(spec.layer)) if spec.layer else image
    return () if before == image else (f"{OTHER_IMAGE}: {before[:19]} became {image[:19]}",)


def _not_enforced(host: dict[str, Any]) -> tuple[str, ...]:
    known = {"MemoryLimit": "memory", "CpuCfsQuota": "cpus", "PidsLimit": "processes"}
    return tuple(name for key, name in known.items() if host.get(key) is False)


def reap(chosen: Callable[[str], bool]) -> tuple[int, int]:
    """Remove the containers and volumes of the runs that are `chosen`; the number of each. Blocks."""
    found = engine.find()
    listed = found.get("/containers/json", all="1", filters=engine.labelled(LABEL))
    containers = [c["Id"] for c in listed if chosen(c["Labels"][LABEL])]
    for one in containers:
        remove(found, one)
    volumes = found.get("/volumes", filters=engine.labelled(LABEL)).get("Volumes") or ()
    names = [v["Name"] for v in volumes if chosen(v["Labels"][LABEL])]
    for name in names:
        found.call("DELETE", engine.path_of("volumes", name), query={"force": "1"})
    return len(containers), len(names)
