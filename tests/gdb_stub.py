"""Just enough of gdb's remote protocol to show it one snapshot: registers, memory, nothing runs.

Source: the manual of gdb, appendix E (remote serial protocol).
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from testbed.errors import UnreadableMemory
from testbed.trace import Snapshot

# Registers in the order of gdb's `g` packet: (name, bytes); a name that the architecture has not is sent as zeros.
LAYOUT = {
    "x86_64": [
        *((name, 8) for name in ("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp")),
        *((f"r{i}", 8) for i in range(8, 16)),
        ("rip", 8),
        ("rflags", 4),
    ],
    "arm64": [*((f"x{i}", 8) for i in range(31)), ("sp", 8), ("pc", 8), ("nzcv", 4)],
    "arm32": [
        *((f"r{i}", 4) for i in range(13)),
        *(("sp", 4), ("lr", 4), ("pc", 4)),
        *((f"old floating point {i}", 12) for i in range(8)),
        *(("its status", 4), ("cpsr", 4)),
    ],
}


@contextmanager
def serving(snapshot: Snapshot) -> Iterator[int]:
    """A port of this machine at which gdb finds the snapshot."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        thread = threading.Thread(target=_serve, args=(server, snapshot), daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(timeout=30)


def _serve(server: socket.socket, snapshot: Snapshot) -> None:
    connection, _ = server.accept()
    with connection:
        connection.settimeout(30)
        pending = b""
        while more := connection.recv(4096):
            pending += more
            while match := re.search(rb"\$([^#]*)#[0-9a-f]{2}", pending):
                pending = pending[match.end() :]
                request = match[1].decode()
                reply = _reply(snapshot, request)
                connection.sendall(f"+${reply}#{sum(reply.encode()) & 0xFF:02x}".encode())
                if request in ("k", "D"):
                    return


def _reply(snapshot: Snapshot, request: str) -> str:
    if request == "?":
        return "S05"
    if request == "g":
        values = ((snapshot.registers.get(name, 0), size) for name, size in LAYOUT[snapshot.arch.name])
        return "".join((value & ((1 << (8 * size)) - 1)).to_bytes(size, "little").hex() for value, size in values)
    if match := re.fullmatch(r"m([0-9a-f]+),([0-9a-f]+)", request):
        try:
            return snapshot.memory.read(int(match[1], 16), int(match[2], 16)).hex()
        except UnreadableMemory:
            return "E01"
    return "OK" if request[:1] in ("H", "D") else "1" if request == "qAttached" else ""
