"""What the engine is asked to create: a closed container around a workspace, or one that is all workspace."""

from __future__ import annotations

from typing import Any

from leadhand.core.values import SandboxInfo, SandboxSpec
from leadhand.sandboxes.bwrap import HOME, SCRATCH, WORKSPACE, environment

LABEL = "leadhand.run"
OURS = "/run/leadhand"
_FOLDER = "rw,exec,nosuid,nodev,mode=1777"


def container(spec: SandboxSpec, info: SandboxInfo, command: list[str]) -> dict[str, Any]:
    """The engine's settings of a container whose first process is `command`."""
    own = _own_environment(spec)
    return {
        "Image": info.image,
        "Hostname": "sandbox",
        "Entrypoint": command,
        "Cmd": [],
        "Env": [f"{key}={value}" for key, value in own.items()],
        "User": spec.user,
        "WorkingDir": info.workspace,
        "Labels": {LABEL: spec.run_id},
        "OpenStdin": True,
        "StdinOnce": False,
        "AttachStdin": True,
        "AttachStdout": True,
        "Tty": False,
        "HostConfig": {**_limits(info), **(_open(spec) if spec.whole else _closed(spec))},
    }


def _limits(info: SandboxInfo) -> dict[str, Any]:
    memory = (info.limits.memory_mb or 0) << 20
    return {
        "NetworkMode": "default" if info.network else "none",
        "Memory": memory,
        "MemorySwap": memory,
        "PidsLimit": info.limits.processes or 0,
        "NanoCpus": int((info.limits.cpus or 0) * 1e9),
        "LogConfig": {"Type": "none"},
        "Init": False,
    }


def _closed(spec: SandboxSpec) -> dict[str, Any]:
    """Only workspace, scratch, home, /tmp and /dev/shm can be written; no capability, nothing to gain one by.

    A user of the image's own has the home that the image gives it, with what is in it (a compiler's files, caches), and
    can write what the image lets it.
    """
    home = {} if _is_images(spec.user) else {HOME: _FOLDER}
    return {
        "ReadonlyRootfs": not _is_images(spec.user),
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges"],
        "Tmpfs": {"/tmp": _FOLDER, "/var/tmp": _FOLDER, OURS: _FOLDER, **home},
        "Mounts": [*_volumes(spec, WORKSPACE, SCRATCH), *_binds(spec)],
    }


def _open(spec: SandboxSpec) -> dict[str, Any]:
    """The image as `docker run` gives it: root of its own file system, with the engine's default capabilities.

    Nothing but our own folder is in memory: whatever else is written is a change of the image, and is handed in.
    """
    return {"Tmpfs": {OURS: _FOLDER}, "Mounts": [*_volumes(spec, SCRATCH), *_binds(spec)]}


def _volumes(spec: SandboxSpec, *targets: str) -> list[dict[str, Any]]:
    labels = {LABEL: spec.run_id}
    return [{"Type": "volume", "Target": target, "VolumeOptions": {"Labels": labels}} for target in targets]


def _binds(spec: SandboxSpec) -> list[dict[str, Any]]:
    shown = (m for m in spec.mounts if not m.copy)
    return [{"Type": "bind", "Source": m.source, "Target": m.target, "ReadOnly": True} for m in shown]


def _own_environment(spec: SandboxSpec) -> dict[str, str]:
    own = environment(spec)
    images = spec.whole or _is_images(spec.user)
    theirs = ("PATH", "HOME", "USER", "LANG") if images else ("PATH",)  # the image's
    return {key: value for key, value in own.items() if key not in theirs or (images and key in spec.env)}


def _is_images(user: str) -> bool:
    """Whether this is a user whom the image knows by name. The engine starts nothing for a name that it does not."""
    return user != "" and not user[0].isdigit()
