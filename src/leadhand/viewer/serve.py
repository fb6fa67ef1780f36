"""Serve the viewer on this machine only."""

from __future__ import annotations

import contextlib
import secrets
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from leadhand.core.errors import LeadhandError, UsageError
from leadhand.viewer.app import HOME_S, app
from leadhand.viewer.folder import Folder

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Viewer:
    """A bound port and what will answer on it. `address` holds the secret path."""

    address: str
    server: uvicorn.Server
    listener: socket.socket
    folder: Folder

    def run(self) -> None:
        """Serve until interrupted, or until `server.should_exit` is set."""
        # The first look reads journals: it begins before the browser is there.
        threading.Thread(target=_warm, args=(self.folder,), daemon=True).start()
        self.server.run(sockets=[self.listener])


def bind(folder: Path, port: int = 0) -> Viewer:
    """Raises `UsageError` for a folder that holds no runs, or a port that is taken."""
    looking, token = Folder(folder), secrets.token_urlsafe(18)
    listener = _listen(port)
    config = uvicorn.Config(
        app(looking, token), log_level="warning", access_log=False, timeout_graceful_shutdown=1, server_header=False
    )
    address = f"http://{HOST}:{listener.getsockname()[1]}/{token}/"
    return Viewer(address=address, server=uvicorn.Server(config), listener=listener, folder=looking)


def serve(folder: Path, port: int, ready: Callable[[str], None]) -> None:
    """Serve until interrupted. `ready` is given the address once the port is bound."""
    viewer = bind(folder, port)
    # While a long journal is read, an answer needs the interpreter several times: each wait for it is this long.
    sys.setswitchinterval(0.0002)
    ready(viewer.address)
    viewer.run()


def _warm(looking: Folder) -> None:
    # The page that asks gets to see what went wrong.
    with contextlib.suppress(LeadhandError, OSError):
        for paths in looking.runs()[:1] if looking.single else []:
            looking.run(paths.id).refresh()
        looking.home(HOME_S)


def _listen(port: int) -> socket.socket:
    # The protocol is named: asyncio sends at once (TCP_NODELAY) only where it sees that it is TCP, and else a reader's
    # delayed acknowledgement costs 40 ms an answer.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise UsageError(f"cannot listen on {HOST}:{port}: {error.strerror}; choose another --port") from error
    listener.listen(128)
    return listener
