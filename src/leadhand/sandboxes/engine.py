"""The Docker Engine API over its Unix socket, with the standard library alone: requests, and hijacked streams."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urlencode

from leadhand.core.errors import SandboxError, UsageError
from leadhand.sandboxes.channel import Channel

VERSION = "v1.40"  # Docker 19.03; later engines still serve it


class EngineError(SandboxError):
    """The engine refused. `status` is its HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("docker", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _sockets() -> Iterator[str]:
    """Where an engine may answer: DOCKER_HOST alone if it is set, else the usual places."""
    named = os.environ.get("DOCKER_HOST", "")
    if named:
        if not named.startswith("unix://"):
            raise UsageError(f"DOCKER_HOST={named}: only unix:// sockets are supported; forward it to a local socket")
        yield named.removeprefix("unix://")
        return
    yield "/var/run/docker.sock"
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        yield f"{runtime}/docker.sock"
    for place in (".docker/run/docker.sock", ".docker/desktop/docker.sock"):
        yield str(Path.home() / place)


def find() -> Engine:
    """The first engine that answers. Raises `UsageError` with the remedy. Blocks."""
    tried = []
    for path in _sockets():
        if not os.path.exists(path):
            continue
        try:
            engine = Engine(path)
            engine.call("GET", "/_ping", timeout=5)
            return engine
        except PermissionError:
            tried.append(f"no permission for {path}: add yourself to the group docker")
        except (OSError, SandboxError) as failure:
            tried.append(f"{path}: {failure}")
    raise UsageError(f"no Docker Engine answers ({'; '.join(tried) or 'no socket'}): start Docker, or set DOCKER_HOST")


def check() -> str:
    """Which engine answers, in words. Raises `UsageError`."""
    engine = find()
    return f"Docker Engine {engine.get('/version').get('Version', '?')} answers at {engine.path}"


class Engine:
    """Calls block and belong in a thread; streams live on the event loop."""

    def __init__(self, path: str) -> None:
        self.path = path

    @contextmanager
    def answer(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: Any = None,
        data: IO[bytes] | bytes | None = None,
        timeout: float = 120,
    ) -> Iterator[http.client.HTTPResponse]:
        """One request, and its answer to be read. `body` is sent as JSON, `data` as it is (a tar archive).

        Raises `EngineError`, also from within the block that reads.
        """
        connection = _Connection(self.path, timeout)
        headers = {"Content-Type": "application/json" if data is None else "application/x-tar"}
        payload = json.dumps(body).encode() if body is not None else data
        target = f"/{VERSION}{path}" + (f"?{urlencode(query)}" if query else "")
        try:
            connection.request(method, target, payload, headers)
            answer = connection.getresponse()
            if answer.status >= 400:
                raise EngineError(answer.status, _message(answer.read(), answer.status))
            yield answer
        except http.client.HTTPException as failure:
            raise EngineError(0, f"the Docker Engine answered nonsense: {failure}") from failure
        except TimeoutError:
            raise EngineError(0, f"the Docker Engine did not answer within {timeout:g} s: {method} {path}") from None
        finally:
            connection.close()

    def call(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: Any = None,
        data: IO[bytes] | bytes | None = None,
        into: IO[bytes] | None = None,
        timeout: float = 120,
    ) -> bytes:
        """As `answer`; the whole of it, or none of it where it goes `into` a file."""
        with self.answer(method, path, query=query, body=body, data=data, timeout=timeout) as answer:
            if into is None:
                return answer.read()
            shutil.copyfileobj(answer, into, 1 << 20)
            return b""

    def get(self, path: str, **query: str) -> Any:
        return json.loads(self.call("GET", path, query=query))

    def post(self, path: str, body: Any = None, **query: str) -> Any:
        answer = self.call("POST", path, query=query, body=body if body is not None else {})
        return json.loads(answer) if answer.strip() else None

    async def stream(self, path: str, channel: Channel, body: Any = None) -> None:
        """Hijack the connection of a POST: what the process in the container writes goes to `channel`, and back."""
        loop = asyncio.get_running_loop()
        data = json.dumps(body or {}).encode()
        head = (
            f"POST /{VERSION}{path} HTTP/1.1\r\nHost: docker\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(data)}\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
        )
        opened: asyncio.Future[None] = loop.create_future()
        transport, _ = await loop.create_unix_connection(lambda: _Hijack(channel, opened), self.path)
        transport.write(head.encode() + data)
        try:
            await opened
        except BaseException:
            transport.abort()
            raise
        channel.bind(transport.write, transport.abort)


class _Hijack(asyncio.Protocol):
    """The HTTP answer, then chunks of 8 bytes of header (stream, 0, 0, 0, length) and content; stderr is dropped."""

    def __init__(self, channel: Channel, opened: asyncio.Future[None]) -> None:
        self._channel = channel
        self._opened = opened
        self._buffer = bytearray()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._opened.done() and not self._answered():
            return
        buffer = self._buffer
        while len(buffer) >= 8:
            end = 8 + int.from_bytes(buffer[4:8], "big")
            if len(buffer) < end:
                return
            if buffer[0] == 1:
                self._channel.data_received(bytes(buffer[8:end]))
            del buffer[:end]

    def _answered(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        status = bytes(self._buffer.split(b" ", 2)[1][:3])
        if status in (b"101", b"200"):
            del self._buffer[: end + 4]
            self._opened.set_result(None)
            return True
        text = _message(bytes(self._buffer[end + 4 :]), int(status))
        self._opened.set_exception(EngineError(int(status), text))
        return False

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._opened.done():
            self._opened.set_exception(EngineError(0, "the Docker Engine closed the stream"))
        self._channel.connection_lost(exc)


def _message(body: bytes, status: int) -> str:
    try:
        return str(json.loads(body)["message"])[:500]
    except (ValueError, KeyError, TypeError):
        return f"the Docker Engine answered {status}"


def labelled(label: str) -> str:
    """The `filters` parameter that selects by label."""
    return json.dumps({"label": [label]})


def path_of(*parts: str) -> str:
    return "/" + "/".join(quote(part, safe="") for part in parts)
