"""Before a run is made: does anything listen at the servers that the user named, are the tasks' images here?

Nothing is asked of a model, so it is free.
"""

from __future__ import annotations

import socket
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from urllib.parse import urlsplit

from leadhand import sandboxes
from leadhand.core.errors import SandboxError, UsageError
from leadhand.core.values import Task

PATIENCE_S = 3.0
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def check_servers(base_urls: Mapping[str, str]) -> None:
    """Raise `UsageError` for a server that refuses connections or whose name is unknown.

    A server that is only slow passes, and so does one behind a proxy: their faults are retried when the run asks them.
    """
    for url in dict.fromkeys(base_urls.values()):
        parts = urlsplit(url)
        host = parts.hostname or ""
        if host not in _LOOPBACK and urllib.request.getproxies().get(parts.scheme):
            continue
        port = parts.port or (443 if parts.scheme == "https" else 80)
        try:
            socket.create_connection((host, port), PATIENCE_S).close()
        except ConnectionRefusedError:
            raise UsageError(f"nothing listens at {url}: start the server, or correct --base-url") from None
        except socket.gaierror:
            raise UsageError(f"there is no host {host!r}: correct --base-url {url}") from None
        except OSError:
            continue


def ready_images(tasks: Iterable[Task], sandbox: str, say: Callable[[str], None]) -> None:
    """Pull or build the tasks' images where they are not here, telling each step. Raises `UsageError`: why not."""
    if sandbox != "docker":
        return
    for task in tasks:
        if task.image:
            _ready_image(task, say)


def _ready_image(task: Task, say: Callable[[str], None]) -> None:
    try:
        sandboxes.ready_image(task.image, task.build, lambda step: say(f"{task.id}: {step}"), whole=task.whole)
    except SandboxError as failure:
        raise UsageError(f"task {task.id}: {failure}") from failure
