"""The `docker` backend."""

from __future__ import annotations

from leadhand.core.errors import UsageError
from leadhand.core.values import SandboxInfo, SandboxSpec
from leadhand.sandboxes.hosted import HostedBackend


async def start(spec: SandboxSpec) -> HostedBackend:
    raise UsageError("docker comes next")


async def reattach(info: SandboxInfo, spec: SandboxSpec) -> HostedBackend:
    raise UsageError("docker comes next")
