"""The HTTP server of the editor: the loopback address alone, a token in every path, bounded in every direction."""

from __future__ import annotations

import hmac
import json
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader
from socket import SocketIO, socket
from threading import BoundedSemaphore, Lock
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urlsplit

from testbed.serve.edited_source import EditedSource, read_edit
from testbed.words.errors import TestbedError

# Who may ask the server, and for what: decided from the head of a request, before anything of it is used.
#
# The server listens on the loopback address, where every page in every browser of the machine can send requests. So a
# request is answered only where
#
# * ``Host`` names the loopback address and our port: a name that an attacker lets resolve to 127.0.0.1 is refused;
# * its path begins with the token, 32 random characters that no other page knows (compared in constant time);
# * ``Origin`` and ``Sec-Fetch-Site``, where a browser sends them, say that our own page asks;
# * its body is JSON, of a stated length of at most MAX_BODY bytes.

MAX_BODY = 256 << 10  # bytes; the longest source of the corpus has 20 thousand
_NAMES = ("127.0.0.1", "localhost", "[::1]")


class RefusedRequest(Exception):
    """A request that is not answered: the status, and why."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True)
class Guard:
    """What a server of one port expects of a request."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(f"{name}:{self.port}" for name in _NAMES)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    def path(self, target: str, headers: Message) -> str:
        """The path behind the token. Raises RefusedRequest."""
        named = headers.get_all("Host", [])
        if len(named) != 1 or named[0].strip().lower() not in self.hosts:
            raise RefusedRequest(HTTPStatus.MISDIRECTED_REQUEST, "the Host is not this machine's loopback address")
        origin = headers.get("Origin")
        if origin is not None and origin.lower() not in (f"http://{host}" for host in self.hosts):
            raise RefusedRequest(HTTPStatus.FORBIDDEN, "the request comes from another origin")
        if headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise RefusedRequest(HTTPStatus.FORBIDDEN, "the request comes from another site")
        token, stroke, rest = target.removeprefix("/").partition("/")
        if not stroke or not hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode()):
            raise RefusedRequest(HTTPStatus.NOT_FOUND, "the address lacks the token that was printed")
        return rest

    @staticmethod
    def length(headers: Message) -> int:
        """The length of a body in bytes. Raises RefusedRequest."""
        if headers.get("Transfer-Encoding") is not None or headers.get("Content-Length") is None:
            raise RefusedRequest(HTTPStatus.LENGTH_REQUIRED, "the length of the body is not stated")
        if headers.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
            raise RefusedRequest(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the body is not application/json")
        stated = headers.get("Content-Length", "")
        if not (stated.isascii() and stated.isdecimal()) or len(stated) > 12:
            raise RefusedRequest(HTTPStatus.BAD_REQUEST, "the length of the body is not a number")
        if int(stated) > MAX_BODY:
            raise RefusedRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a source has at most {MAX_BODY} bytes")
        return int(stated)


KEPT_PAGES = 8
MOST_CONNECTIONS = 32
SECONDS = 15.0  # of silence after which a connection is closed
WHOLE_SECONDS = 30.0  # in which a request has arrived, however little of it comes at once
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
        "frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
}


class EditorServer(ThreadingHTTPServer):
    """``page()`` is the editor, ``source(program, arch)`` a program to begin with, ``judge(edit)`` what became of one.

    What ``judge`` returns holds ``page``, the stepper's text; it is kept, and the browser is told where it lies.
    """

    daemon_threads = True

    def __init__(
        self,
        page: Callable[[], str],
        source: Callable[[str, str], dict[str, Any]],
        judge: Callable[[EditedSource], dict[str, Any]],
        *,
        port: int = 0,
    ) -> None:
        self.page, self.source, self.judge = page, source, judge
        self._pages: OrderedDict[int, str] = OrderedDict()
        self._lock, self._number = Lock(), 0
        self._connections = BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__(("127.0.0.1", port), _Handler)
        self.guard = Guard(self.server_address[1])

    def keep(self, text: str) -> int:
        """The number under which a page can be asked for, for a while."""
        with self._lock:
            self._number += 1
            self._pages[self._number] = text
            while len(self._pages) > KEPT_PAGES:
                self._pages.popitem(last=False)
            return self._number

    def kept(self, number: str) -> str | None:
        with self._lock:
            return self._pages.get(int(number)) if number.isascii() and number.isdecimal() and len(number) < 9 else None

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._connections.acquire(blocking=False):
            self.shutdown_request(request)  # one program holds all connections: others are not queued behind it
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks off is nothing to report."""


class _Arriving(SocketIO):
    """What a request is read from: TimeoutError after SECONDS of silence, and WHOLE_SECONDS after it was opened."""

    def __init__(self, connection: socket) -> None:
        super().__init__(connection, "r")
        self._connection, self._until = connection, monotonic() + WHOLE_SECONDS

    def readinto(self, buffer: Any) -> int | None:
        left = self._until - monotonic()
        if left <= 0:
            raise TimeoutError("the request did not arrive in time")
        self._connection.settimeout(min(SECONDS, left))
        return super().readinto(buffer)


class _Handler(BaseHTTPRequestHandler):
    server: EditorServer
    timeout = SECONDS
    server_version, sys_version = "testbed", ""

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self.rfile = BufferedReader(_Arriving(self.connection))

    def do_GET(self) -> None:
        self._answered(self._get)

    def do_POST(self) -> None:
        self._answered(self._post)

    def _get(self, path: str) -> None:
        try:
            asked = urlsplit(path)
            words = {name: values[0] for name, values in parse_qs(asked.query, max_num_fields=8).items()}
        except ValueError as error:
            raise RefusedRequest(HTTPStatus.BAD_REQUEST, "the address is none") from error
        if asked.path == "":
            self._send(HTTPStatus.OK, "text/html", self.server.page())
        elif asked.path == "source":
            self._send_json(self.server.source(words.get("program", ""), words.get("arch", "")))
        elif asked.path.startswith("page/") and (text := self.server.kept(asked.path.removeprefix("page/"))):
            self._send(HTTPStatus.OK, "text/html", text)
        else:
            raise RefusedRequest(HTTPStatus.NOT_FOUND, "nothing is here")

    def _post(self, path: str) -> None:
        if path != "judge":
            raise RefusedRequest(HTTPStatus.NOT_FOUND, "nothing is here")
        length = self.server.guard.length(self.headers)
        body = self.rfile.read(length)
        if len(body) < length:
            raise RefusedRequest(HTTPStatus.BAD_REQUEST, "the body is shorter than was stated")
        answer = self.server.judge(read_edit(body))
        if page := answer.pop("page", None):
            answer["at"] = f"page/{self.server.keep(page)}"
        self._send_json(answer)

    def _answered(self, answer: Callable[[str], None]) -> None:
        try:
            answer(self.server.guard.path(self.path, self.headers))
        except RefusedRequest as refused:
            self.close_connection = True  # what is left of the request is not read
            self._send(refused.status, "text/plain", f"{refused}\n")
        except TestbedError as error:
            self._send_json({"error": str(error)})

    def _send_json(self, data: dict[str, Any]) -> None:
        self._send(HTTPStatus.OK, "application/json", json.dumps(data))

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode("utf-8", "replace")
        self.connection.settimeout(SECONDS)  # reading may have left less
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged: their paths hold the token."""
