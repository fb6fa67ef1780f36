"""The `local` backend: no isolation. Commands run as the user who started Leadhand; chosen only by name."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from anyio import to_thread

from leadhand.core.values import SandboxInfo, SandboxSpec
from leadhand.sandboxes import cgroups
from leadhand.sandboxes.bwrap import environment
from leadhand.sandboxes.hosted import Folder, Hosted, HostedBackend, require_workspace, show_links
from leadhand.sandboxes.limits import clamp_here


async def start(spec: SandboxSpec, *, again: bool = False) -> HostedBackend:
    """Start runners on this machine as it is; `again`: on a workspace that a team has worked in.

    Raises `SandboxError` or `SandboxLost` (no workspace).
    """
    argv, hosted, info = await to_thread.run_sync(_prepare, spec, again)
    try:
        await hosted.start(argv, _environment(spec, hosted.inside), cwd=info.workspace)
    except BaseException:
        await to_thread.run_sync(hosted.clean)
        raise
    return HostedBackend(spec, hosted, info)


def _prepare(spec: SandboxSpec, again: bool) -> tuple[list[str], Hosted, SandboxInfo]:
    require_workspace(spec)
    limits, warnings = clamp_here(spec.limits)
    folder = Folder(spec.run_id)
    for name in ("home", "tmp"):
        (folder.path / name).mkdir(mode=0o700)
    paths = _copies(spec, folder)
    show_links(spec, paths, again=again)
    scratch, inside = os.path.realpath(spec.scratch), str(folder.path)
    group = cgroups.make(folder.path.name, limits)
    hosted = Hosted(
        folder, group, inside=inside, spool=f"{scratch}/outputs", file_kib=limits.file_mb << 10, sweep="self"
    )
    info = SandboxInfo(
        kind="local",
        id=folder.path.name,
        workspace=os.path.realpath(spec.workspace),
        scratch=scratch,
        limits=limits,
        not_enforced=("isolation", "network", *group.not_enforced(limits)),
        warnings=(*warnings, "no isolation: commands run as you, on this machine"),
        network=True,
        paths=paths,
    )
    return [f"{inside}/runner", "-", "/bin/bash", "--norc", "--noprofile", "-c"], hosted, info


def _environment(spec: SandboxSpec, inside: str) -> dict[str, str]:
    host = {"PATH": os.environ.get("PATH", os.defpath), "HOME": f"{inside}/home", "TMPDIR": f"{inside}/tmp"}
    return {**environment(spec), **host, **spec.env}


def _copies(spec: SandboxSpec, folder: Folder) -> dict[str, str]:
    """There are no mounts here: copies, so that at least the originals cannot be changed."""
    paths = {}
    for number, mount in enumerate(spec.mounts):
        source = Path(mount.source)
        copy = folder.path / f"mount{number}" / Path(mount.target).name
        copy.parent.mkdir()
        if source.is_dir():
            shutil.copytree(source, copy, symlinks=True)
        else:
            shutil.copy2(source, copy)
        paths[mount.target] = str(copy)
    return paths
