"""The web application: read-only, one secret path, nothing from anywhere else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import anyio.to_thread
import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leadhand.core.errors import LeadhandError
from leadhand.viewer import live
from leadhand.viewer.columns import read_cursor
from leadhand.viewer.folder import Folder
from leadhand.viewer.index import RunIndex
from leadhand.viewer.linker import link
from leadhand.viewer.parts import part
from leadhand.viewer.search import search

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    b"content-security-policy": CSP.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cache-control": b"no-store",
}
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
HOME_S = 1.0
"""How long the list of runs may keep its reader waiting; it is asked for again while runs are still being read."""

STATIC = files("leadhand.viewer") / "static"

_encode = msgspec.json.Encoder().encode


class Guarded:
    """Adds the headers to every response, errors too."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *HEADERS.items()]
            await send(message)

        await self._app(scope, receive, guarded)


def app(folder: Folder, token: str) -> Starlette:
    """All pages of `folder`, below the path `/TOKEN/`; anything else does not exist."""

    async def home(request: Request) -> Response:
        return await _json(lambda: folder.home(HOME_S))

    async def head(request: Request) -> Response:
        return await _json(lambda: {**folder.run(request.path_params["run"]).head(), "alone": folder.single})

    async def delta(request: Request) -> Response:
        def read() -> Any:
            return _read(folder, request).delta(read_cursor(request.query_params.get("c", "")))

        return await _json(read)

    async def event(request: Request) -> Response:
        def read() -> bytes:
            seq = request.path_params["seq"]
            return _read(folder, request, seq + 1).line(seq)

        return await _json(read)

    async def parts(request: Request) -> Response:
        return await _json(lambda: part(_read(folder, request), request.path_params["name"]))

    async def find(request: Request) -> Response:
        def read() -> Any:
            hits, more = search(_read(folder, request), request.query_params.get("q", "")[:500])
            return {"hits": hits, "more": more}

        return await _json(read)

    async def stream(request: Request) -> Response:
        try:
            run = await anyio.to_thread.run_sync(folder.run, request.path_params["run"])
        except (KeyError, LeadhandError) as error:
            return _problem(error)
        cursor = request.headers.get("last-event-id") or request.query_params.get("c", "")
        return live.response(run, read_cursor(cursor), request)

    base = "/api/run/{run}"
    routes = [
        Route("/api/home", home),
        Route(f"{base}/head", head),
        Route(f"{base}/delta", delta),
        Route(f"{base}/live", stream),
        Route(f"{base}/search", find),
        Route(f"{base}/event/{{seq:int}}", event),
        Route(f"{base}/part/{{name}}", parts),
        Route("/{path:path}", _static(folder.name if folder.single else "")),
    ]
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"], www_redirect=False)
    return Starlette(routes=[Mount(f"/{token}", routes=routes)], middleware=[Middleware(Guarded), hosts])


def _read(folder: Folder, request: Request, events: int | None = None) -> RunIndex:
    """The run that a request names, read to its end, or as far as it is read already if that many events suffice."""
    run = folder.run(request.path_params["run"])
    if events is None or len(run) < events:
        run.refresh()
    return run


async def _json(read: Callable[[], Any]) -> Response:
    """What `read` gives, off the event loop; bytes are JSON already."""
    try:
        found = await anyio.to_thread.run_sync(read)
    except (KeyError, LeadhandError, OSError) as error:
        return _problem(error)
    return Response(found if isinstance(found, bytes) else _encode(found), media_type="application/json")


def _problem(error: Exception) -> Response:
    text = "there is no such thing here" if isinstance(error, KeyError) else str(error)
    return Response(_encode({"problem": text}), 404, media_type="application/json")


def _static(alone: str) -> Callable[[Request], Awaitable[Response]]:
    """Files of the package. Names are looked up, never joined to a path that a request chose freely.

    `alone`: the one run that is looked at, if it is only one; the page then need not ask.
    """
    meta = f'<meta name="leadhand-run" content="{escape(alone)}">'.encode() if alone else b""
    files = {**served(), "index.html": served()["index.html"].replace(b"<!--policy-->", meta)}

    async def static(request: Request) -> Response:
        name = request.path_params["path"] or "index.html"
        found = files.get(name)
        if found is None:
            return Response("not found", 404, media_type="text/plain")
        return Response(found, media_type=TYPES[name[name.rindex(".") :]])

    return static


@cache
def served() -> dict[str, bytes]:
    """Every file that the server gives out. The modules are one script, as in an export: it comes at once."""
    return {**assets(), "app.js": link(modules(), "main.js").encode()}


def assets() -> dict[str, bytes]:
    """Every static file that is no script, by name."""
    return {f.name: f.read_bytes() for f in STATIC.iterdir() if f.is_file() and f.name[f.name.rindex(".") :] in TYPES}


def modules() -> dict[str, bytes]:
    """Every script module, by name."""
    return {f.name: f.read_bytes() for f in (STATIC / "js").iterdir() if f.name.endswith(".js")}
