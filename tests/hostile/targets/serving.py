"""What browsers, and whoever else reaches the loopback address, send to the editor's server."""

import json
import re
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any

from testbed.protocol.conversation import Conversation, _greeting, read_line
from testbed.remote.packets import LONGEST, checksum, converse
from testbed.remote.replay import Replay
from testbed.remote.snapshot_target import ShownSnapshot
from testbed.serve.edited_source import EditedSource
from testbed.serve.server import Guard, _Handler
from testbed.words.child import Child
from testbed.words.errors import ToolHung, UsageError
from tests.hostile import real
from tests.hostile.damage import damaged_bytes, damaged_json, damaged_lines_of_json, damaged_text
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
        return 1

    def kept(self, number: str) -> str | None:
        return "<p>page" if number == "1" else None


class NoAnswer(Exception):
    """A whole request to which the server said nothing at all."""


def _read(content: bytes) -> None:
    """A whole connection: what is sent at once, then the end of it."""
    answer = _answered(content, lambda ours: _Handler(ours, ("127.0.0.1", 1), _Server()))  # type: ignore[arg-type]
    whole = re.match(rb"(GET|POST) [^ \r\n]+ HTTP/1\.[01]\r\n([\w-]+: [ -~]*\r\n)*\r\n", content)
    if whole and not answer:
        raise NoAnswer(content[:200])
    if answer.startswith(b"HTTP/1.") and not answer.startswith((b"HTTP/1.0 2", b"HTTP/1.1 2")):
        raise UsageError("refused")


def _answered(content: bytes, serve: Callable[[socket.socket], object]) -> bytearray:
    """What a server says to all of this, up to the end of the connection."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(20)
        answer = bytearray()
        threads = [
            threading.Thread(target=_drain, args=(theirs, answer), daemon=True),
            threading.Thread(target=_send, args=(theirs, content), daemon=True),
        ]
        for thread in threads:
            thread.start()
        serve(ours)
        ours.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join(20)
    return answer


def _send(connection: socket.socket, content: bytes) -> None:
    with suppress(OSError):
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)


def _drain(connection: socket.socket, answer: bytearray) -> None:
    with suppress(OSError):
        while part := connection.recv(1 << 16):
            answer += part


SERVING = (Target("serve", "HTTP requests to the editor", _requests, _read, _damaged, weight=0.5),)


# What other programs say to us: gdb's packets, and the lines of a foreign unwinder.


_REQUESTS = (
    *(
        "qSupported:multiprocess+;swbreak+",
        "vMustReplyEmpty",
        "QStartNoAckMode",
        "Hg0",
        "qTStatus",
        "?",
        "qfThreadInfo",
    ),
    *(
        "qsThreadInfo",
        "qAttached",
        "qOffsets",
        "g",
        "p0",
        "p10",
        "m7fff0000,40",
        "m0,ffffffff",
        "qHostInfo",
        "qRcmd,73746570",
    ),
    *(
        "qXfer:features:read:target.xml:0,fff",
        "qXfer:features:read:target.xml:ffffffffffffffff,1",
        "vCont?",
        "vCont;s:1;c",
    ),
    *(
        "Z0,1000,1",
        "z0,1000,1",
        "Z1,1000,4",
        "Z2,ffffffffffffffff,1",
        "Z2,0,8",
        "z2,7fff0000,8",
        "c",
        "s",
        "bc",
        "bs",
        "C05",
    ),
    *("M1000,4:00000000", "P0=00", "X1000,0:", "T1", "D", "k", "vKill;1", "qC", "jThreadsInfo", "qMemoryRegionInfo:0"),
)
_PACKET = re.compile(rb"\$([^#]*)#[0-9a-fA-F]{0,2}")


def _framed(request: bytes) -> bytes:
    return b"$" + request + b"#" + checksum(request)


@cache
def _conversations() -> Sequence[bytes]:
    """Some requests after each other; the first byte says who is asked."""
    dice = Random("conversations")
    found = []
    for index in range(12):
        asked = dice.choices(_REQUESTS, k=6)
        found.append(bytes([index]) + b"+".join(_framed(each.encode()) for each in asked))
    return found


def _damaged_packets(content: bytes, dice: Random, seeds: Sequence[bytes]) -> bytes:
    """One request damaged, or brought from another conversation; now and then the bytes as they are on the wire."""
    requests = [match[1] for match in _PACKET.finditer(content[1:])]
    if not requests or not dice.randrange(8):
        return content[:1] + damaged_bytes(content[1:], dice, seeds)
    at = dice.randrange(len(requests))
    requests[at] = damaged_text(requests[at], dice, [each.encode() for each in _REQUESTS])
    return content[:1] + b"".join(_framed(request) for request in requests)


def _mended(content: bytes) -> bytes:
    return content[:1] + _PACKET.sub(lambda match: _framed(match[1]), content[1:])


def _read_packets(content: bytes) -> None:
    """A whole conversation over a socket, as the server has it."""
    if not content:
        return
    run = real.runs()[content[0] % len(real.runs())]
    target = Replay(run.trace) if content[0] & 1 else ShownSnapshot(run.trace.snapshot(len(run.trace) // 2))
    _answered(content[1:][: 4 * LONGEST], lambda ours: converse(_Local(ours), target.answer))  # type: ignore[arg-type]


class _Local:
    """A connection of this machine that has no options of TCP."""

    def __init__(self, connection: socket.socket) -> None:
        self.recv, self.sendall = connection.recv, connection.sendall

    def setsockopt(self, *unused: object) -> None:
        pass


class _Script(Child):
    """A process that has written its lines already, and ends after them."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines = iter(lines)

    def send(self, data: bytes, until: float) -> None:
        assert data.endswith(b"\n")

    def line(self, until: float, what: str = "a line") -> bytes:
        found = next(self._lines, None)
        if found is None:
            raise ToolHung(what)
        return found

    def close(self) -> None:
        pass


@cache
def _dialogues() -> Sequence[bytes]:
    """What right unwinders say: hello, ready, requests, frames."""
    found = []
    for index in (0, 1, 2, 14):
        snapshot = real.snapshots()[index]
        frames = [
            {"pc": hex(snapshot.pc), "registers": {snapshot.arch.sp: hex(snapshot.sp)}},
            {"pc": "0x1000", "kind": "caller"},
        ]
        said = (
            {
                "type": "hello",
                "protocol": 1,
                "name": "mine",
                "version": "1",
                "arches": [snapshot.arch.name],
                "stack_below": 64,
            },
            {"type": "read_file", "image": 0, "offset": 0, "size": 64},
            {"type": "ready"},
            {"type": "read", "address": hex(snapshot.sp), "size": 16},
            {"type": "frames", "id": 1, "frames": frames, "stopped": "no more"},
            {"type": "frames", "id": 2, "frames": frames[:1], "root": True},
        )
        found.append(bytes([index]) + b"\n" + b"\n".join(json.dumps(each).encode() for each in said))
    return found


def _damaged_dialogue(content: bytes, dice: Random, seeds: Sequence[bytes]) -> bytes:
    return content[:2] + damaged_lines_of_json(content[2:], dice, [seed[2:] for seed in seeds])


def _read_dialogue(content: bytes) -> None:
    if len(content) < 2:
        return
    snapshot = real.snapshots()[content[0] % len(real.snapshots())]
    lines = [line + b"\n" for line in content[2:].split(b"\n")]
    talk = Conversation.__new__(Conversation)
    talk.process, talk._seconds, talk._number, talk._about, talk._refused = _Script(lines[1:]), 1.0, 0, (), None
    talk.hello = _greeting(read_line(lines[0]))
    talk._stack = talk.hello.stack_below or 0, talk.hello.stack_above or 256
    for _ in range(2):
        talk.unwind(snapshot)


REMOTE = (
    Target(
        "gdb_packets",
        "conversations with gdb's target, packets with right checksums",
        _conversations,
        _read_packets,
        _damaged_packets,
        _mended,
    ),
    Target(
        "protocol",
        "the lines of a foreign unwinder: a whole conversation",
        _dialogues,
        _read_dialogue,
        _damaged_dialogue,
    ),
)


TARGETS = (*SERVING, *REMOTE)
