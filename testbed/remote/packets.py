"""Packets of gdb's remote protocol over a socket of this machine: ``$request#checksum`` in, the same form back.

Source: manual of gdb, appendix "Remote Serial Protocol", sections "Overview" and "Packet Acknowledgment".
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from testbed.words.errors import TestbedError, UnwindError, UsageError

LOOPBACK = "127.0.0.1"  # never another: whoever connects may read the whole recorded memory
LONGEST = 1 << 16  # bytes of a request; gdb is told less (PacketSize)

Answer = Callable[[str], str | None]
_PACKET = re.compile(rb"\$([^#$]*)#([0-9a-fA-F]{2})")


def listen(port: int = 0) -> socket.socket:
    """A socket that gdb can connect to from this machine; port 0 takes a free one. Raises UsageError if it is taken."""
    try:
        return socket.create_server((LOOPBACK, port), backlog=1)
    except (OSError, OverflowError) as error:
        raise UsageError(f"{LOOPBACK}:{port} cannot be listened at: {error}; choose another --port") from error


def serve(listener: socket.socket, answers: Callable[[], Answer]) -> None:
    """Converse with one gdb after the other, each with an ``Answer`` of its own, until the listener is shut down."""
    while True:
        try:
            connection, _ = listener.accept()
        except ConnectionAbortedError:  # who wanted to connect is gone already
            continue
        except OSError:
            return
        with connection:
            converse(connection, answers())


@contextmanager
def serving(answers: Callable[[], Answer]) -> Iterator[int]:
    """The port at which a thread serves while the context lasts."""
    with listen() as listener:
        thread = threading.Thread(target=serve, args=(listener, answers), daemon=True, name="gdb's target")
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits in it


def converse(connection: socket.socket, answer: Answer) -> None:
    """Answer requests until the other side hangs up, or ``answer`` says None: its request ends the conversation.

    A request longer than LONGEST ends it too. Bytes between packets (acknowledgments, interrupts) mean nothing here:
    every request is answered at once.
    """
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    pending = b""
    acknowledging = True
    with suppress(ConnectionError):
        while more := connection.recv(LONGEST):
            pending += more
            while match := _PACKET.search(pending):
                pending = pending[match.end() :]
                if acknowledging:
                    right = checksum(match[1]) == match[2].lower()
                    connection.sendall(b"+" if right else b"-")
                    if not right:
                        continue
                request = match[1].decode("latin-1")
                if request == "QStartNoAckMode":
                    connection.sendall(framed("OK"))
                    acknowledging = False
                    continue
                reply = _answered(answer, request)
                connection.sendall(framed("OK" if reply is None else reply))
                if reply is None:
                    return
            if len(pending) > LONGEST:
                return


def _answered(answer: Answer, request: str) -> str | None:
    """The reply; "E01" for a request with numbers that nothing can be done with: it ends no conversation."""
    try:
        return answer(request)
    except (ArithmeticError, LookupError, ValueError, TestbedError, UnwindError):
        return "E01"


def framed(reply: str) -> bytes:
    """A reply as a packet. What means something to the protocol is escaped: ``}`` and the byte XOR 0x20."""
    data = re.sub(rb"[#$}*]", lambda m: b"}" + bytes([m[0][0] ^ 0x20]), reply.encode("latin-1"))
    return b"$" + data + b"#" + checksum(data)


def checksum(data: bytes) -> bytes:
    """The sum of the bytes modulo 256, as two hexadecimal digits."""
    return b"%02x" % (sum(data) & 0xFF)
