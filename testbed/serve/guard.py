"""Who may ask the server, and for what: decided from the head of a request, before anything of it is used.

The server listens on the loopback address, where every page in every browser of the machine can send requests. So a
request is answered only where

* ``Host`` names the loopback address and our port: a name that an attacker lets resolve to 127.0.0.1 is refused;
* its path begins with the token, 32 random characters that no other page knows (compared in constant time);
* ``Origin`` and ``Sec-Fetch-Site``, where a browser sends them, say that our own page asks;
* its body is JSON, of a stated length of at most MAX_BODY bytes.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from email.message import Message
from http import HTTPStatus

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
