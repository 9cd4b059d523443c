"""Views at addresses, for a browser on this machine.

Nothing is written, and nothing but GET is answered. Each view is made in a thread of its own, which
ends when the browser leaves or the time is up, so a slow query holds up no other.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from kgagg.errors import Failed, InputError
from kgagg.explore.explorer import Explorer, View
from kgagg.explore.pages import ASSETS, Pages, address, to_csv
from kgagg.util.machine import processors

# views that are made at once, that may wait, and how many seconds one may take
_WORKERS, _WAITING, _SECONDS = max(4, 2 * processors()), 64, 60.0
_LONGEST_QUERY = 8192
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_COOKIE = "kgagg-token"
LOOPBACK = ("127.0.0.1", "localhost")


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(24)


def serve(explorer: Explorer, listening: socket.socket, host: str, token: str | None) -> None:
    """Answer until Ctrl-C.

    Parameters
    ----------
    explorer : Explorer
    listening : socket
        Bound to its address.
    host, token
        See `application`.
    """
    import uvicorn

    server = uvicorn.Server(
        uvicorn.Config(
            application(explorer, host=host, token=token),
            log_level="warning",
            server_header=False,
            limit_concurrency=2 * _WAITING,
            h11_max_incomplete_event_size=2 * _LONGEST_QUERY,
            timeout_graceful_shutdown=1,
        )
    )
    # Ctrl-C is how one ends it
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])


def application(
    explorer: Explorer,
    *,
    host: str = "127.0.0.1",
    token: str | None = None,
    seconds: float = _SECONDS,
) -> Starlette:
    """Return the server's application.

    Parameters
    ----------
    explorer : Explorer
    host : str
        The name under which browsers reach it; others are refused.
    token : str, optional
        What a browser must show once, as ``?token=...``; then it has a cookie.
    seconds : float
        The most that a view may take.
    """
    views = _Views(explorer, seconds)
    # who listens everywhere has many names, and a token
    hosts = LOOPBACK if host in LOOPBACK else ("*",) if host in ("0.0.0.0", "::") else (host,)
    routes = [Route(f"/{name}", views.view(name)) for name in _VIEWS if name != "home"]
    return Starlette(
        routes=[
            Route("/", views.view("home")),
            *routes,
            Route("/find", views.find),
            Mount("/assets", StaticFiles(directory=ASSETS)),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=hosts),
            Middleware(_Guard, token=token),
        ],
    )


def _number(text: str, kind: type[int] | type[float] = int) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise InputError(f"{text}: expected a number") from None


def _page(asked: Mapping[str, str]) -> int:
    page: int = _number(asked.get("page", "1"))
    if page < 1:
        raise InputError(f"page {page}: expected 1 or more")
    return page


def _ask(explorer: Explorer, asked: Mapping[str, str], stop: np.ndarray) -> View:
    words = {name: asked.get(name, "").strip() for name in ("head", "relation", "tail")}
    if not any(words.values()):
        values = {**words, "asked": "", "strategies": list(explorer.strategies), "chosen": []}
        return View("ask", "Ask", values)
    by = {name: asked.get(name, "") for name in ("strategy", "beside")}
    for name in filter(None, by.values()):
        explorer.start_calibrating(name)
    return explorer.ask(**words, **by, stop=stop)


def _rules(explorer: Explorer, asked: Mapping[str, str]) -> View:
    return explorer.rule_table(
        asked.get("relation", ""),
        asked.get("type", ""),
        _number(asked.get("min_confidence") or "0", float),
        _number(asked.get("min_support") or "0"),
        asked.get("sort") or "confidence",
        _page(asked),
    )


_VIEWS: dict[str, Callable[[Explorer, Mapping[str, str], np.ndarray], View]] = {
    "home": lambda explorer, asked, stop: explorer.home(),
    "search": lambda explorer, asked, stop: explorer.search(asked.get("text", "")),
    "entity": lambda explorer, asked, stop: explorer.entity(
        asked.get("name", ""),
        asked.get("relation", ""),
        asked.get("direction", "tail"),
        _page(asked),
    ),
    "ask": _ask,
    "why": lambda explorer, asked, stop: explorer.why(
        asked.get("head", ""),
        asked.get("relation", ""),
        asked.get("tail", ""),
        asked.get("strategy", ""),
        stop,
    ),
    "rules": lambda explorer, asked, stop: _rules(explorer, asked),
    "rule": lambda explorer, asked, stop: explorer.rule(_number(asked.get("number", ""))),
}


class _Views:
    """Makes views in threads."""

    def __init__(self, explorer: Explorer, seconds: float) -> None:
        self._explorer, self._seconds = explorer, seconds
        self._pages = Pages(explorer.label, address, "/assets/", live=True)
        self._threads = ThreadPoolExecutor(_WORKERS)
        self._under_way = 0

    def view(self, name: str) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            asked = {key: value for key, value in request.query_params.items() if key != "format"}
            here = address(name, asked)
            as_csv = request.query_params.get("format") == "csv"

            def make(stop: np.ndarray) -> Response:
                view = _VIEWS[name](self._explorer, asked, stop)
                if not as_csv:
                    return _html(self._pages.html(view, here))
                file = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
                return Response(to_csv(view), headers=file, media_type="text/csv")

            return await self._made(request, make)

        return respond

    async def find(self, request: Request) -> Response:
        asked = request.query_params
        text, kind = asked.get("text", ""), asked.get("kind", "")
        return await self._made(request, lambda stop: JSONResponse(self._explorer.find(text, kind)))

    async def _made(self, request: Request, make: Callable[[np.ndarray], Response]) -> Response:
        """Run `make` in a thread, until it is done, the browser leaves, or the time is up."""
        if self._under_way >= _WAITING:
            return self._message(503, "Busy", "Too many requests at once: try again.")
        loop = asyncio.get_running_loop()
        stop = np.zeros(1, np.bool_)
        end = loop.time() + self._seconds
        self._under_way += 1
        task = loop.run_in_executor(self._threads, make, stop)
        try:
            while not (await asyncio.wait({task}, timeout=0.1))[0]:
                if loop.time() > end or await request.is_disconnected():
                    stop[0] = True
                    task.cancel()
                    return self._message(
                        504, "Cancelled", f"It took more than {self._seconds:g} s."
                    )
            return task.result()
        except (InputError, Failed) as error:
            return self._message(404, "Not found", str(error))
        except (CancelledError, asyncio.CancelledError):
            return self._message(504, "Cancelled", "The query was cancelled.")
        finally:
            stop[0] = True
            self._under_way -= 1

    def _message(self, status: int, title: str, text: str) -> Response:
        view = View("message", title, {"text": text})
        return _html(self._pages.html(view, "/"), status)


def _html(text: str, status: int = 200) -> Response:
    return Response(text, status, media_type="text/html")


class _Guard:
    """Refuses what a page of another site sends, long queries, and browsers without the token."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refused(Request(scope))
        response: ASGIApp = self._app if refused is None else refused

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                more = [(name.lower().encode(), text.encode()) for name, text in _HEADERS.items()]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        await response(scope, receive, with_headers)

    def _refused(self, request: Request) -> Response | None:
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
            return Response("another site's page must not ask\n", 403)
        if len(request.scope.get("query_string", b"")) > _LONGEST_QUERY:
            return Response("too long\n", 414)
        if self._token is None:
            return None
        shown = request.query_params.get("token")
        if shown is not None and hmac.compare_digest(shown.encode(), self._token.encode()):
            response = RedirectResponse(str(request.url.remove_query_params("token")))
            response.set_cookie(_COOKIE, self._token, httponly=True, samesite="strict")
            return response
        known = request.cookies.get(_COOKIE, "")
        if not hmac.compare_digest(known.encode(), self._token.encode()):
            return Response("expected the address with the token that kgagg printed\n", 403)
        return None
