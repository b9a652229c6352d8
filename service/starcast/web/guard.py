"""Middleware for all requests: Host and Origin checks, security headers, and ETags.

The middleware also converts a format suffix of an API path (``/forests.csv``) to the parameter
``format``.

A page of another site must neither read data of this server nor start computations on the server.
Browsers let such a page send requests to this machine. The headers of these requests show that the
page has another origin or, after DNS rebinding, another host name than this server.
"""

import hashlib
import ipaddress
import logging
import re
from collections import Counter
from dataclasses import dataclass, field
from time import perf_counter
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from starcast.support import log
from starcast.support.errors import BusyError
from starcast.support.vocabulary import Format
from starcast.web.api.problems import describe_problem, problem_response, refusal

#: Maximum length of a path with its query string, in bytes.
MAX_URL = 8_000
#: Maximum number of requests that are handled at the same time.
MAX_REQUESTS = 64
_LOCAL_NAMES = frozenset({"localhost"})
_MAX_PORT = 65_535
#: Pattern of a ``Host`` header: a name, an IPv4 address, or an IPv6 address in brackets; with or
#: without a port.
_HOST = re.compile(
    r"(?P<name>[a-z0-9._-]+|\[[0-9a-f.]*:[0-9a-f:.]*\])(:(?P<port>[0-9]{0,5}))?", re.IGNORECASE
)
#: Content security policy of pages: no inline scripts or styles, nothing from another host, and no
#: embedding in another page.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
#: Policy of SVG drawings, which contain their styles and must not load anything.
SVG_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # A browser may cache a response, but must ask the server before each use whether its ETag is
    # still valid, because stored data can change.
    "Cache-Control": "no-cache",
}
_FORMATS = (Format.JSON, Format.CSV, Format.SVG)
_API = "/api/v1/"
_OPENAPI = f"{_API}openapi.json"


@dataclass
class RequestCounts:
    """Counts of the requests to a server.

    Attributes:
        running: the number of requests that are being handled.
        finished: the number of finished requests by HTTP status.
        seconds: the sum of the durations of the finished requests.
    """

    running: int = 0
    finished: Counter[int] = field(default_factory=Counter)
    seconds: float = 0.0

    def add(self, status: int, seconds: float) -> None:
        """Count a request that has finished."""
        self.finished[status] += 1
        self.seconds += seconds


class Guard:
    """ASGI middleware that refuses requests from pages of other sites, and adds response headers.

    Args:
        app: the application.
        host: the address or name that the server listens on.
        counts: counts of the requests, which the middleware updates.
    """

    def __init__(self, app: ASGIApp, host: str, counts: "RequestCounts | None" = None) -> None:
        self.app = app
        self.host = host.casefold()
        self.counts = RequestCounts() if counts is None else counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the application, or answer it with an error if it is refused."""
        if scope["type"] != "http":
            # This is not a request but a notice that the server is starting or stopping.
            await self.app(scope, receive, send)
            return
        start = perf_counter()
        is_head = scope["method"] == "HEAD"
        reply = _Reply(send, Headers(scope=scope), hides_body=is_head)
        problem = None
        if refused := self._refusal(scope):
            problem = refusal(*refused, scope["path"])
        elif self.counts.running >= MAX_REQUESTS:
            busy = BusyError(
                "the server is already handling the maximum number of requests",
                hint="try again in a few seconds",
            )
            problem = describe_problem(busy, scope["path"])
        try:
            if problem is not None:
                await problem_response(problem)(scope, receive, reply)
            else:
                await self._answer(scope, receive, reply, is_head=is_head)
        finally:
            # After its response to an unexpected error, the application raises the error again.
            # `finally` counts such requests too.
            status, seconds = reply.status or 500, perf_counter() - start
            self.counts.add(status, seconds)
            log.event(
                "request",
                logging.DEBUG,
                path=scope["path"],
                status=status,
                seconds=round(seconds, 3),
            )

    async def _answer(
        self, scope: Scope, receive: Receive, reply: "_Reply", *, is_head: bool
    ) -> None:
        # HEAD is handled as GET without the body, so that the headers are the same.
        method = "GET" if is_head else scope["method"]
        self.counts.running += 1
        try:
            await self.app({**scope, "method": method, **_split_suffix(scope)}, receive, reply)
        finally:
            self.counts.running -= 1

    def _refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        """Return HTTP status, message and hint if the request is refused, else None."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_served(host):
            hint = "open http://127.0.0.1 with the port, or start 'starcast serve --host NAME'"
            return 400, f"the host '{host}' is not served here", hint
        # NUL is allowed neither in PostgreSQL's text nor in file names.
        if "\0" in scope["path"] or b"%00" in scope["query_string"]:
            return 400, "the URL contains the character NUL", "remove %00 from the URL"
        origin = headers.get("origin")
        is_foreign = origin is not None and _netloc(origin) != host.casefold()
        if is_foreign or _is_part_of_foreign_page(headers):
            hint = "open the URL directly; pages of other origins cannot use this server"
            page = origin if is_foreign else "another origin"
            return 403, f"the request comes from a page of {page}", hint
        if len(scope.get("raw_path", b"")) + len(scope["query_string"]) > MAX_URL:
            return 414, f"the URL is longer than {MAX_URL:,} characters", "shorten the URL"
        return None

    def _is_served(self, host: str) -> bool:
        """Return whether requests with this ``Host`` header are answered.

        The check is needed because a page of another site can use DNS rebinding to reach this
        server under the host name of that site.
        """
        match = _HOST.fullmatch(host)
        if match is None or int(match["port"] or 0) > _MAX_PORT:
            return False
        name = match["name"].strip("[]").casefold()
        if name in _LOCAL_NAMES or name == self.host:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        # DNS rebinding can make a host name, but not a numeric address, refer to this machine.
        return address.is_loopback or not is_loopback(self.host)


class _Reply:
    """A sender of a response, which adds security headers and, if the status is 200, an ETag.

    If the client already has this ETag, a response with status 304 and without a body is sent.

    Args:
        send: function that sends a message of the response to the client.
        asked: the headers of the request.
        hides_body: whether the request is HEAD, so that the response has no body.
    """

    def __init__(self, send: Send, asked: Headers, *, hides_body: bool) -> None:
        self.status = 0
        self._send = send
        self._asked = asked
        self._hides_body = hides_body
        self._start: Message = {}
        self._body = bytearray()

    async def __call__(self, message: Message) -> None:
        """Collect the parts of a response, and send the response when it is complete."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        # The ETag is computed from the complete body.
        self._body += message.get("body", b"")
        if message.get("more_body", False):
            return
        headers = MutableHeaders(scope=self._start)
        for name, value in _HEADERS.items():
            headers.setdefault(name, value)
        is_svg = headers.get("content-type", "").startswith("image/svg")
        headers["Content-Security-Policy"] = SVG_POLICY if is_svg else POLICY
        self.status = self._start["status"]
        if self.status == 200:
            tag = f'"{hashlib.sha256(self._body).hexdigest()[:32]}"'
            headers["ETag"] = tag
            # Weak tags (W/) match too, because a proxy that compresses responses makes their tags
            # weak.
            known = self._asked.get("if-none-match", "").split(",")
            if tag in {each.strip().removeprefix("W/") for each in known}:
                self.status = 304
                self._body.clear()
                # These headers describe the body, and a response with status 304 has no body.
                for name in ("content-length", "content-type"):
                    del headers[name]
        body = b"" if self._hides_body else bytes(self._body)
        await self._send({**self._start, "status": self.status})
        await self._send({"type": "http.response.body", "body": body})


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches the host: localhost or a loopback address."""
    if host.casefold() in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _netloc(origin: str) -> str:
    """Return the host and port of an ``Origin`` header.

    The result is "", which equals no host, if the header is malformed.
    """
    try:
        return urlsplit(origin).netloc.casefold()
    except ValueError:
        return ""


def _is_part_of_foreign_page(headers: Headers) -> bool:
    """Return whether a page of another origin requests the URL, other than by navigating to it.

    For example, the page may load the URL as an image, a script or a frame. Browsers send many of
    these requests without an Origin header.
    """
    # Clients other than browsers send no such headers; their requests do not come from a page.
    if headers.get("sec-fetch-site", "none") in {"none", "same-origin"}:
        return False
    return (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) != (
        "navigate",
        "document",
    )


def _split_suffix(scope: Scope) -> dict[str, object]:
    """Return the changes to an ASGI scope that turn a path's suffix into the parameter ``format``.

    For example, ``/api/v1/forests.csv`` becomes ``/api/v1/forests?format=csv``.
    """
    path, dot, suffix = scope["path"].rpartition(".")
    if not dot or suffix not in _FORMATS or not path.startswith(_API) or scope["path"] == _OPENAPI:
        return {}
    asked = scope["query_string"]
    joint = b"&" if asked else b""
    return {"path": path, "query_string": asked + joint + b"format=" + suffix.encode()}
