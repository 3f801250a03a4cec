"""What browsers, and whoever else reaches the loopback address, send to the editor's server."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

from testbed.serve.edited_source import EditedSource
from testbed.serve.server import Guard, _Handler
from testbed.words.errors import UsageError
from tests.hostile.damage import damaged_bytes, damaged_json, damaged_text
from tests.hostile.target import Target

_TOKEN = "t" * 32
_HOST = "127.0.0.1:80"
_LENGTH = re.compile(rb"(?<=Content-Length: )\d+")
_EDIT = {"program": "leaf_call", "suffix": ".arm64.S", "text": "ret\n", "arch": "arm64", "recipe": ""}


def _request(method: str, path: str, body: bytes | None = None, **headers: str) -> bytes:
    lines = [f"{method} /{_TOKEN}/{path} HTTP/1.1", f"Host: {_HOST}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


@cache
def _requests() -> Sequence[bytes]:
    edit = json.dumps(_EDIT).encode()
    return [
        _request("GET", ""),
        _request("GET", "source?program=leaf_call&arch=arm64", Origin=f"http://{_HOST}", Sec_Fetch_Site="same-origin"),
        _request("GET", "page/1"),
        _request("POST", "judge", edit),
        _request("POST", "judge", json.dumps({**_EDIT, "text": "nop\n" * 200, "recipe": "keystone"}).encode()),
        _request("HEAD", "", Connection="close", Accept_Encoding="gzip"),
        b"GET / HTTP/1.0\r\n\r\n",
    ]


def _damaged(content: bytes, dice: Random, seeds: Sequence[bytes]) -> bytes:
    """The head or the body damaged; the body's length is made right again more often than not."""
    head, gap, body = content.partition(b"\r\n\r\n")
    match dice.randrange(6):
        case 0:
            return damaged_bytes(content, dice, seeds)
        case 1 | 2 if body:
            body = damaged_json(body, dice, seeds)
        case 3:
            path = damaged_text(head.split(b" ")[1] if b" " in head else head, dice, seeds)
            head = b" ".join([*head.split(b" ")[:1], path.replace(b" ", b"%20"), *head.split(b" ")[2:]])
        case _:
            head = damaged_text(head, dice, [seed.partition(b"\r\n\r\n")[0] for seed in seeds])
    if dice.randrange(4):
        head = _LENGTH.sub(str(len(body)).encode(), head)
    return head + gap + body


class _Server:
    """What a handler asks of its server, without one."""

    guard = Guard(80, _TOKEN)

    def page(self) -> str:
        return "<p>editor"

    def source(self, program: str, arch: str) -> dict[str, Any]:
        if program != "leaf_call":
            raise UsageError(f"no such program or architecture: {program} {arch}")
        return {"text": "ret", "program": program, "arch": arch}

    def judge(self, edit: EditedSource) -> dict[str, Any]:
        return {"page": f"<p>{edit.text}", "text": edit.text, "recipe": edit.recipe}

    def keep(self, text: str) -> int:
        del text
        return 1

    def kept(self, number: str) -> str | None:
        return "<p>page" if number == "1" else None


class NoAnswer(Exception):
    """A whole request to which the server said nothing at all."""


def _read(content: bytes) -> None:
    """A whole connection: what is sent at once, then the end of it."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(20)
        answer = bytearray()
        reader = threading.Thread(target=_drain, args=(theirs, answer), daemon=True)
        reader.start()
        sender = threading.Thread(target=_send, args=(theirs, content), daemon=True)
        sender.start()
        _Handler(ours, ("127.0.0.1", 1), _Server())  # type: ignore[arg-type]
        ours.shutdown(socket.SHUT_RDWR)
        reader.join(20)
        sender.join(20)
    whole = re.match(rb"(GET|POST) [^ \r\n]+ HTTP/1\.[01]\r\n([\w-]+: [ -~]*\r\n)*\r\n", content)
    if whole and not answer:
        raise NoAnswer(content[:200])
    if answer.startswith(b"HTTP/1.") and not answer.startswith((b"HTTP/1.0 2", b"HTTP/1.1 2")):
        raise UsageError("refused")


def _send(connection: socket.socket, content: bytes) -> None:
    try:
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        return


def _drain(connection: socket.socket, answer: bytearray) -> None:
    try:
        while part := connection.recv(1 << 16):
            answer += part
    except OSError:
        return


TARGETS = (Target("serve", "HTTP requests to the editor", _requests, _read, _damaged, weight=0.5),)
