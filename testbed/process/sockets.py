"""Sockets of a run: processes of it reach each other, and nobody else. There is no network behind them."""

from __future__ import annotations

import errno
import stat
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from testbed.process.channels import Channel, Packet
from testbed.process.open_files import (
    POLL_ERROR,
    POLL_HUNG_UP,
    POLL_IN,
    POLL_OUT,
    POLL_READ_HUNG_UP,
    OpenFile,
    SentFiles,
)
from testbed.process.threads import Refusal

UNIX, INET, INET6 = 1, 2, 10
STREAM, DATAGRAM, PACKETS = 1, 2, 5  # SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET
BUFFER = 212_992  # net.core.wmem_default
SENDERS = 1, 16  # SOL_SOCKET, SO_PASSCRED
MOST_WAITING = 128  # net.core.somaxconn, of then
FIRST_PORT, LAST_PORT = 32768, 60999  # net.ipv4.ip_local_port_range


@dataclass(frozen=True, slots=True)
class SocketName:
    """Where a socket is found: a path, or ``\\0`` and an abstract name, of ``AF_UNIX``; else an address and a port."""

    family: int
    path: bytes = b""
    host: bytes = b""
    port: int = 0

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine's own; the address of all zeros is, too."""
        if self.family == INET6:
            mapped = self.host.startswith(bytes(10) + b"\xff\xff")
            return (not any(self.host[:15]) and self.host[15] < 2) or (mapped and self.host[12] in (0, 127))
        return self.host[0] == 127 or not any(self.host)


@dataclass(eq=False)
class Network:
    """The names that sockets have: abstract ones, and ports by kind. Those with a path lie in the file tree."""

    abstract: dict[bytes, Socket] = field(default_factory=dict)
    ports: dict[tuple[int, int], Socket] = field(default_factory=dict)
    last_port: int = FIRST_PORT - 1
    asker: Callable[[], int] = lambda: 0  # the process that sends

    def free_port(self, kind: int) -> int:
        """A port that nobody has. Raises Refusal (EADDRINUSE)."""
        for _ in range(FIRST_PORT, LAST_PORT + 1):
            self.last_port = self.last_port + 1 if self.last_port < LAST_PORT else FIRST_PORT
            if (kind, self.last_port) not in self.ports:
                return self.last_port
        raise Refusal(errno.EADDRINUSE)

    def bind(self, socket: Socket, name: SocketName) -> None:
        """Give a socket a name that has no path. Raises Refusal (EADDRINUSE, EADDRNOTAVAIL)."""
        if name.family == UNIX:
            if name.path in self.abstract:
                raise Refusal(errno.EADDRINUSE)
            self.abstract[name.path] = socket
        else:
            if not name.is_loopback:
                raise Refusal(errno.EADDRNOTAVAIL)
            name = SocketName(name.family, host=name.host, port=name.port or self.free_port(socket.kind))
            if (socket.kind, name.port) in self.ports:
                raise Refusal(errno.EADDRINUSE)
            self.ports[socket.kind, name.port] = socket
        socket.own = name

    def find(self, kind: int, name: SocketName) -> Socket:
        """The socket that has this name. Raises Refusal (ECONNREFUSED; ENETUNREACH for another machine's address)."""
        if name.family != UNIX and not name.is_loopback:
            raise Refusal(errno.ENETUNREACH)
        found = self.abstract.get(name.path) if name.family == UNIX else self.ports.get((kind, name.port))
        if found is None:
            raise Refusal(errno.ECONNREFUSED)
        return found

    def forget(self, socket: Socket) -> None:
        """Its name is free again."""
        self.abstract = {name: each for name, each in self.abstract.items() if each is not socket}
        self.ports = {name: each for name, each in self.ports.items() if each is not socket}


@dataclass(eq=False)
class Socket(OpenFile):
    """One end of a connection, or what takes connections in: ``waiting`` are the ends that nobody has accepted yet.

    ``incoming`` is what comes to it, ``outgoing`` what it sends to the one that it is connected to.
    """

    mode: int = stat.S_IFSOCK | 0o777
    family: int = UNIX
    kind: int = STREAM
    protocol: int = 0
    network: Network = field(default_factory=Network)
    own: SocketName | None = None
    peer: SocketName | None = None
    owner: int = 0  # the process that made its peer
    incoming: Channel | None = None
    outgoing: Channel | None = None
    waiting: deque[Socket] | None = None
    backlog: int = 0
    error: int = 0  # which the next call is told
    reads: bool = True
    writes: bool = True
    told_gone: bool = False  # its peer has answered that it takes no more
    options: dict[tuple[int, int], bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind == DATAGRAM:
            self.incoming = Channel(BUFFER, whole=True, writers=1)

    @property
    def names_senders(self) -> bool:
        """Whether messages say which process sent them (SO_PASSCRED)."""
        return any(self.options.get(SENDERS, b""))

    def connected_to(self, other: Socket) -> None:
        """Both are each other's peers from now on."""
        for one, its in ((self, other), (other, self)):
            if one.incoming is None:
                one.incoming = Channel(BUFFER, whole=one.kind != STREAM)
            its.outgoing, one.peer = one.incoming, its.own or SocketName(its.family)
            one._changes += 1

    def listen(self, backlog: int) -> None:
        self.waiting = self.waiting if self.waiting is not None else deque()
        self.backlog = min(max(backlog, 0), MOST_WAITING) + 1

    def offer(self, end: Socket) -> None:
        """One more end for who accepts. Raises Refusal (ECONNREFUSED)."""
        if self.waiting is None or not self.is_open:
            raise Refusal(errno.ECONNREFUSED)
        self.waiting.append(end)
        self._changes += 1

    @property
    def takes_more(self) -> bool:
        """Whether one more may wait to be accepted; where it is over, who connects is to be told."""
        return self.waiting is None or not self.is_open or len(self.waiting) < self.backlog

    def take_error(self) -> None:
        """Raise the Refusal that waits for the next call."""
        error, self.error = self.error, 0
        if error:
            raise Refusal(error)

    def read(self, size: int) -> bytes:
        packet, _ = self.receive(size)
        packet.close()
        return packet.data

    def receive(self, size: int, *, peek: bool = False) -> tuple[Packet, int]:
        """Bytes, or a packet: with its sender, its files, and how long it was. Raises Refusal (ENOTCONN)."""
        self.take_error()
        if self.incoming is None:
            raise Refusal(errno.ENOTCONN if self.waiting is None else errno.EINVAL)
        if not self.reads:
            return Packet(b""), 0
        return self.incoming.take(size, peek=peek, of_one=self.names_senders)

    def write(self, data: bytes, sent: SentFiles | None = None) -> int:
        self.take_error()
        if self.outgoing is None:
            raise Refusal(errno.EDESTADDRREQ if self.kind == DATAGRAM else errno.ENOTCONN)
        try:
            return self.outgoing.put(data, self.own, sent, self.network.asker())
        except Refusal as refusal:
            if refusal.number == errno.EPIPE and self.kind == DATAGRAM:
                raise Refusal(errno.ECONNREFUSED) from None
            if self.family == UNIX:
                raise
            if refusal.number == errno.EAGAIN:
                return len(data)  # a packet that nobody has room for is lost
            if refusal.number == errno.EPIPE and self.writes and not self.told_gone:
                self.told_gone = True  # by what the peer's machine sends back, which comes after this
                return len(data)
            raise

    def send_to(self, name: SocketName, other: Socket, data: bytes, sent: SentFiles | None) -> int:
        """A packet to whoever has a name. Raises Refusal (EMSGSIZE, EAGAIN)."""
        assert other.incoming is not None
        if self.own is None and self.family != UNIX:
            self.network.bind(self, SocketName(self.family, host=name.host))
        try:
            return other.incoming.put(data, self.own, sent, self.network.asker())
        except Refusal as refusal:
            if refusal.number == errno.EAGAIN and self.family != UNIX:
                return len(data)
            raise

    def shut(self, *, reading: bool, writing: bool) -> None:
        """As ``shutdown``. Raises Refusal (ENOTCONN)."""
        if self.incoming is None and self.waiting is None:
            raise Refusal(errno.ENOTCONN)
        if reading and self.reads:
            self.reads = False
            self._leave(self.incoming, reader=True)
        if writing and self.outgoing is not None:
            self._leave(self.outgoing, reader=False)
            self.outgoing, self.writes = Channel(readers=0), False
        self._changes += 1

    @property
    def waits(self) -> int:
        """Bytes that could be read now."""
        return self.incoming.first if self.incoming is not None else 0

    def polled(self) -> int:
        if self.waiting is not None:
            return POLL_IN * bool(self.waiting)
        error = (POLL_ERROR | POLL_IN) * bool(self.error)
        if self.kind == DATAGRAM:
            assert self.incoming is not None
            full = self.outgoing is not None and self.family == UNIX and not self.outgoing.has_room
            return POLL_IN * bool(self.incoming.packets) | POLL_OUT * (not full) | error
        if self.incoming is None or self.outgoing is None:
            return POLL_OUT | POLL_HUNG_UP | error
        over = not self.incoming.writers or not self.reads
        gone = not self.outgoing.readers
        hung_up = gone and (self.family == UNIX or self.told_gone or not self.writes)
        told = POLL_IN * (bool(self.incoming.packets) or over) | POLL_OUT * (self.outgoing.has_room or gone)
        return told | POLL_READ_HUNG_UP * over | POLL_HUNG_UP * (over and hung_up) | error

    @property
    def changes(self) -> int:
        came = self.incoming.came if self.incoming is not None else 0
        return self._changes + came + (self.outgoing.went if self.outgoing is not None else 0)

    def close(self) -> None:
        self.network.forget(self)
        for end in self.waiting or ():
            end.close()
        if self.reads:
            self._leave(self.incoming, reader=True)
        if self.kind != DATAGRAM or self.peer is not None:
            self._leave(self.outgoing, reader=False)

    def _leave(self, channel: Channel | None, *, reader: bool) -> None:
        """The other one is told that this one takes, or sends, no more."""
        if channel is not None:
            channel.leave(reader=reader)
