"""HTTP for the adapters, behind one small class. aiohttp, chosen by measuring (`benchmarks/transport.py`).

One attempt is one POST. Everything that can go wrong below HTTP becomes a classified `ModelError` here. The texts never
hold a header, so never a key; redirects are not followed, because they would carry the key elsewhere.
"""

from __future__ import annotations

import asyncio
import ssl
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from leadhand.core.errors import Fault, ModelError

if TYPE_CHECKING:
    import aiohttp

MAX_REPLY_BYTES = 32 * 2**20
CONNECT_S = 30.0


class Answer:
    """Status, headers (asked for in lower case), and a body that is read once: whole or in pieces."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers  # in any case

    async def pieces(self) -> AsyncIterator[bytes]:
        total = 0
        async for piece in self._response.content.iter_any():
            total += len(piece)
            if total > MAX_REPLY_BYTES:
                raise ModelError("malformed", f"the reply is larger than {MAX_REPLY_BYTES} bytes", maybe_billed=True)
            yield piece

    async def body(self) -> bytes:
        length = self._response.content_length
        if length is not None and length <= MAX_REPLY_BYTES and "content-encoding" not in self.headers:
            return await self._response.read()
        return b"".join([piece async for piece in self.pieces()])


class Transport:
    """A pool of connections to one server. Opened on first use, in the event loop of that use.

    `streams`: answers will be streamed. llama.cpp closes after a stream without saying so, and a call that went out in
    that moment would be lost: so without TLS, where a connection is cheap, each stream has its own.
    """

    def __init__(self, base_url: str, *, streams: bool = False) -> None:
        self.base_url = base_url.rstrip("/")
        self._once = streams and self.base_url.startswith("http:")
        self._session: aiohttp.ClientSession | None = None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            import aiohttp

            # Local servers (uvicorn) close idle connections after 5 s; letting go first avoids the race.
            keep = 30.0 if self.base_url.startswith("https:") else 4.0
            pool = {"force_close": True} if self._once else {"keepalive_timeout": keep}
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, **pool),
                cookie_jar=aiohttp.DummyCookieJar(),
                proxy=_proxy(self.base_url),
            )
        return self._session

    @asynccontextmanager
    async def post(
        self, path: str, headers: Mapping[str, str], body: bytes, *, total_s: float, idle_s: float | None
    ) -> AsyncIterator[Answer]:
        """POST `body`; the answer's body must be read inside. `total_s` spans it all, `idle_s` each silence
        (None: any).

        Raises `ModelError` (timeout, connection, malformed), also from reading the body.
        """
        session, timeout = self._open(), _timeout(idle_s)
        from aiohttp import ClientError
        from yarl import URL

        from leadhand.models.payload import Body

        try:
            async with asyncio.timeout(total_s):  # anyio's takes three times as long to set up
                async with session.post(
                    URL(self.base_url + path, encoded=True),  # as it was signed
                    data=Body(body),
                    headers={"accept-encoding": "identity", "user-agent": "leadhand", **headers},
                    timeout=timeout,
                    allow_redirects=False,
                ) as response:
                    yield Answer(response)
        except (ClientError, OSError, ValueError) as e:
            if isinstance(e, TimeoutError) and not isinstance(e, ClientError):
                late = f"no complete answer within {total_s:g} s"
                raise ModelError("timeout", late, maybe_billed=True) from None
            raise _as_fault(e, self.base_url, idle_s) from None

    async def aclose(self) -> None:
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()


@cache
def _timeout(idle_s: float | None) -> aiohttp.ClientTimeout:
    """Silences are cut by the HTTP client; the whole attempt by us, since it has no deadline for that to the moment."""
    import aiohttp

    return aiohttp.ClientTimeout(total=None, connect=None, sock_connect=CONNECT_S, sock_read=idle_s)


def _proxy(base_url: str) -> str | None:
    """The proxy from the usual environment variables. Not aiohttp's `trust_env`, which also reads ~/.netrc."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    if host in ("localhost", "127.0.0.1", "::1") or urllib.request.proxy_bypass(host):
        return None
    return urllib.request.getproxies().get(parts.scheme)


def _as_fault(error: Exception, base_url: str, idle_s: float | None) -> ModelError:
    """Where an exception of the HTTP client came before the request was sent, nothing can have been billed."""
    import aiohttp

    where = urlsplit(base_url)
    server = f"{where.scheme}://{where.hostname}" + (f":{where.port}" if where.port else "")
    fault: Fault = "connection"
    match error:
        case aiohttp.ConnectionTimeoutError():
            text, billed = f"no connection to {server} within {CONNECT_S:g} s", False
        case aiohttp.ServerTimeoutError():
            fault, text, billed = "timeout", f"{server} was silent for {idle_s or 0:g} s", True
        case aiohttp.ClientConnectorCertificateError() | ssl.SSLError():
            text, billed = f"{server} has no valid certificate", False
        case aiohttp.ClientConnectorError():
            text, billed = f"cannot connect to {server}: {error.os_error.strerror or 'no such host'}", False
        case aiohttp.InvalidURL():
            fault, text, billed = "bad_request", f"{server} is not a URL that can be asked", False
        case aiohttp.ClientPayloadError() | aiohttp.ClientResponseError() | ValueError():
            # A cut body arrives as a payload error as well: the HTTP client does not tell it from broken framing.
            fault, text, billed = "malformed", f"{server} sent a broken or cut answer", True
        case _:
            text, billed = f"{server} closed the connection ({type(error).__name__})", True
    return ModelError(fault, text, maybe_billed=billed)
