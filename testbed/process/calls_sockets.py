"""System calls about sockets, all of them between processes of the run."""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Mapping, Sequence
from functools import partial

from testbed.process.calls_files import pieces, ready, written
from testbed.process.calls_paths import AT_CWD, folder_of
from testbed.process.channels import Packet
from testbed.process.file_tree import FileNode
from testbed.process.open_files import MOST_AT_ONCE, POLL_IN, SentFiles
from testbed.process.sockets import BUFFER, DATAGRAM, INET, INET6, PACKETS, SENDERS, STREAM, UNIX, Socket, SocketName
from testbed.process.starting import GROUP, USER
from testbed.process.state import KernelCall, Process
from testbed.process.threads import MustWait, Refusal, Wait

_KIND = 0xF
_PEEK, _ALL_LENGTH, _AT_ONCE, _NO_SIGNAL, _CLOSED = 2, 0x20, 0x40, 0x4000, 0x4000_0000
_TRUNCATED, _CONTROL_CUT = 0x20, 8
_SOCKET_LEVEL, _RIGHTS, _CREDENTIALS = 1, 1, 2
_MOST_CONTROL, _MOST_FILES = 20480, 253  # net.core.optmem_max, SCM_MAX_FD
_REUSE, _TYPE, _ERROR, _SEND_BUFFER, _RECEIVE_BUFFER, _PEER, _ACCEPTS, _PROTOCOL, _DOMAIN = (
    2,
    3,
    4,
    7,
    8,
    17,
    30,
    38,
    39,
)
_MOST_OPTION = 128
_HOSTS = {INET: bytes((127, 0, 0, 1)), INET6: bytes(15) + b"\1"}


def _socket(process: Process, number: int) -> Socket:
    """Raises Refusal (EBADF, ENOTSOCK)."""
    return process.descriptors.of(Socket, process.signed(number), errno.ENOTSOCK)


def _made(process: Process, family: int, kind: int, protocol: int) -> Socket:
    """Raises Refusal (EAFNOSUPPORT, EPROTONOSUPPORT, EPERM for raw ones)."""
    if family not in (UNIX, INET, INET6):
        raise Refusal(errno.EAFNOSUPPORT)
    if kind & _KIND not in ((STREAM, DATAGRAM, PACKETS) if family == UNIX else (STREAM, DATAGRAM)):
        raise Refusal(errno.EPERM if kind & _KIND == 3 and family != UNIX else errno.EPROTONOSUPPORT)
    flags = os.O_RDWR | kind & os.O_NONBLOCK
    return Socket(flags, family=family, kind=kind & _KIND, protocol=protocol, network=process.kernel.network)


def _add(process: Process, made: Socket, kind: int) -> int:
    return process.descriptors.add(made, close_on_exec=bool(kind & os.O_CLOEXEC))


def socket(process: Process, a: tuple[int, ...]) -> int:
    """``socket(family, kind, protocol)``: the number of a socket that has no name and no peer."""
    return _add(process, _made(process, *a[:3]), a[1])


def socketpair(process: Process, a: tuple[int, ...]) -> None:
    """``socketpair(family, kind, protocol, fds)``: 0, and at ``fds`` two sockets that are connected."""
    process.memory.write(a[3], bytes(8))  # EFAULT before anything is open
    ends = [_made(process, *a[:3]) for _ in range(2)]
    if a[0] != UNIX:
        raise Refusal(errno.EOPNOTSUPP)
    ends[0].connected_to(ends[1])
    for end in ends:
        end.owner = process.number
    numbers = [_add(process, end, a[1]) for end in ends]
    process.memory.write(a[3], process.pack(*numbers, size=4))


def _name(process: Process, address: int, size: int, family: int) -> SocketName:
    """A ``sockaddr``. Raises Refusal (EINVAL, EAFNOSUPPORT)."""
    if not 2 <= size <= _MOST_OPTION:
        raise Refusal(errno.EINVAL)
    data = process.memory.read(address, size)
    given = int.from_bytes(data[:2], "little")
    if given != family:
        raise Refusal(errno.EINVAL if family == UNIX else errno.EAFNOSUPPORT)
    if family == UNIX:
        path = data[2:]
        return SocketName(UNIX, path if path.startswith(b"\0") else path.partition(b"\0")[0])
    start, length = (4, 4) if family == INET else (8, 16)
    if len(data) < start + length:
        raise Refusal(errno.EINVAL)
    return SocketName(family, host=data[start : start + length], port=int.from_bytes(data[2:4], "big"))


def _tell_name(process: Process, name: SocketName | None, family: int, address: int, size: int) -> None:
    """Write a ``sockaddr``, cut to the room that there is, and its length."""
    if not address:
        return
    name = name or SocketName(family)
    host = name.host or bytes(len(_HOSTS.get(family, b"")))
    port = name.port.to_bytes(2, "big")
    data = family.to_bytes(2, "little")
    if family == UNIX:
        data += name.path + b"\0" * (bool(name.path) and not name.path.startswith(b"\0"))
    elif family == INET:
        data += port + (host if len(host) == 4 else _HOSTS[INET]) + bytes(8)
    else:
        data += port + bytes(4) + (host if len(host) == 16 else _HOSTS[INET6]) + bytes(4)
    room = process.signed(process.memory.word(size, 4))
    if room < 0:
        raise Refusal(errno.EINVAL)
    process.memory.write(address, data[:room])
    process.memory.write(size, process.pack(len(data), size=4))


def bind(process: Process, a: tuple[int, ...]) -> None:
    """``bind(fd, name, size)``: 0; a path is a socket in the tree from now on."""
    own = _socket(process, a[0])
    name = _name(process, a[1], a[2], own.family)
    if own.own is not None:
        raise Refusal(errno.EINVAL)
    if own.family != UNIX or name.path.startswith(b"\0") or not name.path:
        if not name.path and own.family == UNIX:  # the kernel finds one
            name = SocketName(UNIX, b"\0%05x" % process.kernel.next_number())
        process.kernel.network.bind(own, name)
        return
    path = os.fsdecode(name.path)
    at = process.tree.locate(path, folder_of(process, AT_CWD, path))
    try:
        process.tree.place(FileNode(at, stat.S_IFSOCK | 0o777 & ~process.umask, holds=own))
    except Refusal as refusal:
        raise Refusal(errno.EADDRINUSE if refusal.number == errno.EEXIST else refusal.number) from refusal
    own.own = name


def _found(process: Process, own: Socket, name: SocketName) -> Socket:
    """The socket that has a name. Raises Refusal (ECONNREFUSED, ENOENT, ENETUNREACH, EPROTOTYPE)."""
    if name.family == UNIX and not name.path.startswith(b"\0"):
        holds = process.tree.find(os.fsdecode(name.path), process.folder).holds
        if not isinstance(holds, Socket) or not holds.is_open:
            raise Refusal(errno.ECONNREFUSED)
    else:
        holds = process.kernel.network.find(own.kind, name)
    if holds.kind != own.kind:
        raise Refusal(errno.EPROTOTYPE)
    return holds


def listen(process: Process, a: tuple[int, ...]) -> None:
    """``listen(fd, backlog)``: 0; a port is found where it has none."""
    own = _socket(process, a[0])
    if own.kind == DATAGRAM:
        raise Refusal(errno.EOPNOTSUPP)
    if own.incoming is not None or (own.own is None and own.family == UNIX):
        raise Refusal(errno.EINVAL)
    if own.own is None:
        process.kernel.network.bind(own, SocketName(own.family, host=bytes(len(_HOSTS[own.family]))))
    own.owner = process.number
    own.listen(process.signed(a[1]))


def connect(process: Process, a: tuple[int, ...]) -> None:
    """``connect(fd, name, size)``: 0 once it is connected; it waits while too many others wait to be accepted."""
    own = _socket(process, a[0])
    family = process.memory.word(a[1], 2) if a[2] >= 2 else 0
    if own.kind == DATAGRAM and not family:  # AF_UNSPEC: no peer any more
        own.peer = own.outgoing = None
        return
    name = _name(process, a[1], a[2], own.family)
    if own.kind != DATAGRAM and (own.incoming is not None or own.waiting is not None):
        own.take_error()
        raise Refusal(errno.EISCONN)
    at_once = own.family != UNIX and own.kind == STREAM and bool(own.flags & os.O_NONBLOCK)
    try:
        other = _found(process, own, name)
        if own.kind == DATAGRAM:
            if own.own is None and own.family != UNIX:
                process.kernel.network.bind(own, SocketName(own.family, host=_HOSTS[own.family]))
            own.peer, own.outgoing = name, other.incoming
            return
        if not other.takes_more:
            if own.flags & os.O_NONBLOCK:
                raise Refusal(errno.EAGAIN)
            raise MustWait(Wait(lambda: other.takes_more, restart=True, what="connect"))
        _connected(process, own, other, name)
    except Refusal as refusal:
        if not at_once or refusal.number != errno.ECONNREFUSED:
            raise
        own.error = refusal.number
    if at_once:
        raise Refusal(errno.EINPROGRESS)


def _connected(process: Process, own: Socket, other: Socket, name: SocketName) -> None:
    if other.waiting is None or not other.is_open:
        raise Refusal(errno.ECONNREFUSED)
    network = process.kernel.network
    if own.own is None and own.family != UNIX:
        host = _HOSTS[own.family]
        own.own = SocketName(own.family, host=host, port=network.free_port(own.kind))
    flags = os.O_RDWR
    end = Socket(flags, family=other.family, kind=own.kind, protocol=other.protocol, network=network, own=other.own)
    if own.family != UNIX:
        end.own = SocketName(other.family, host=_HOSTS[other.family], port=name.port)
    own.connected_to(end)
    own.owner, end.owner = other.owner, process.number
    own.peer = end.own
    end.options[SENDERS] = other.options.get(SENDERS, bytes(4))
    other.offer(end)


def accept4(process: Process, a: tuple[int, ...]) -> int:
    """``accept4(fd, name, size, flags)``: the number of the end of the oldest connection, and its peer's name."""
    own = _socket(process, a[0])
    if own.waiting is None:
        raise Refusal(errno.EOPNOTSUPP if own.kind == DATAGRAM else errno.EINVAL)
    ready(own, POLL_IN, what="accept")
    end = own.waiting.popleft()
    end.flags |= a[3] & os.O_NONBLOCK
    number = _add(process, end, a[3])
    _tell_name(process, end.peer, end.family, a[1], a[2])
    return number


def getsockname(process: Process, a: tuple[int, ...]) -> None:
    """``getsockname(fd, name, size)``: 0, and the socket's own name."""
    own = _socket(process, a[0])
    _tell_name(process, own.own, own.family, a[1], a[2])


def getpeername(process: Process, a: tuple[int, ...]) -> None:
    """``getpeername(fd, name, size)``: 0, and the name of whom it is connected to; ENOTCONN."""
    own = _socket(process, a[0])
    if own.peer is None:
        raise Refusal(errno.ENOTCONN)
    _tell_name(process, own.peer, own.family, a[1], a[2])


def setsockopt(process: Process, a: tuple[int, ...]) -> None:
    """``setsockopt(fd, level, option, value, size)``: 0; the value is kept, and changes nothing here."""
    own = _socket(process, a[0])
    if a[4] > _MOST_OPTION:
        raise Refusal(errno.EINVAL)
    own.options[a[1] & 0xFFFF, a[2] & 0xFFFF] = process.memory.read(a[3], a[4])
    if len(own.options) > _MOST_OPTION:
        own.options.popitem()


def getsockopt(process: Process, a: tuple[int, ...]) -> None:
    """``getsockopt(fd, level, option, value, size)``: 0, and the value; that which was set, or 0."""
    own, level, option = _socket(process, a[0]), a[1], a[2]
    room = process.memory.word(a[4], 4)
    known = {
        _TYPE: own.kind,
        _ERROR: own.error,
        _ACCEPTS: int(own.waiting is not None),
        _DOMAIN: own.family,
        _PROTOCOL: own.protocol,
        _SEND_BUFFER: BUFFER,
        _RECEIVE_BUFFER: BUFFER,
    }
    if level == _SOCKET_LEVEL and option == _PEER:
        data = struct.pack("<iii", own.owner, USER, GROUP) if own.owner else struct.pack("<iii", 0, -1, -1)
    elif level == _SOCKET_LEVEL and option in known:
        data = process.pack(known[option], size=4)
        own.error = 0 if option == _ERROR else own.error
    else:
        data = own.options.get((level & 0xFFFF, option & 0xFFFF), bytes(4))
    process.memory.write(a[3], data[:room])
    process.memory.write(a[4], process.pack(min(room, len(data)), size=4))


def shutdown(process: Process, a: tuple[int, ...]) -> None:
    """``shutdown(fd, how)``: 0; nothing is read any more, or written, or both."""
    if a[1] > 2:
        raise Refusal(errno.EINVAL)
    _socket(process, a[0]).shut(reading=a[1] != 1, writing=a[1] != 0)


def _send(
    process: Process, own: Socket, data: bytes, flags: int, name: SocketName | None, sent: SentFiles | None = None
) -> int:
    if name is not None and own.kind == DATAGRAM:
        other = _found(process, own, name)
        return own.send_to(name, other, data, sent)
    if name is not None and own.outgoing is not None:
        raise Refusal(errno.EISCONN)
    put = partial(own.write, sent=sent)
    return written(process, own, data, at_once=bool(flags & _AT_ONCE), silent=bool(flags & _NO_SIGNAL), put=put)


def _receive(own: Socket, size: int, flags: int) -> tuple[Packet, int]:
    if own.incoming is not None and own.reads and not own.error:
        ready(own, POLL_IN, at_once=bool(flags & _AT_ONCE), what="recv")
    return own.receive(size, peek=bool(flags & _PEEK))


def sendto(process: Process, a: tuple[int, ...]) -> int:
    """``sendto(fd, buffer, size, flags, name, size)``: how many bytes were sent."""
    own = _socket(process, a[0])
    name = _name(process, a[4], a[5], own.family) if a[4] else None
    return _send(process, own, process.memory.read(a[1], min(a[2], MOST_AT_ONCE)), a[3], name)


def recvfrom(process: Process, a: tuple[int, ...]) -> int:
    """``recvfrom(fd, buffer, size, flags, name, size)``: how many bytes came, and from whom."""
    own = _socket(process, a[0])
    size = min(a[2], MOST_AT_ONCE)
    packet, length = _receive(own, size, a[3])
    packet.close()
    process.memory.write(a[1], packet.data)
    if own.kind == DATAGRAM:
        _tell_name(process, _sender(packet), own.family, a[4], a[5])
    elif a[4]:
        process.memory.write(a[5], bytes(4))
    return length if a[3] & _ALL_LENGTH and own.incoming is not None and own.incoming.whole else len(packet.data)


def _sender(packet: Packet) -> SocketName | None:
    return packet.sender if isinstance(packet.sender, SocketName) else None


def _message(process: Process, address: int) -> tuple[int, ...]:
    """``struct msghdr``: name, its size, pieces, how many, control data, its size, flags."""
    return process.words(address, 7)


def _given_files(process: Process, address: int, size: int) -> SentFiles | None:
    """The open files of a message's control data: ``struct cmsghdr`` with SCM_RIGHTS.

    With SCM_CREDENTIALS it can say who sends it, which is true (EPERM); there is nothing else (EINVAL).
    """
    if size > _MOST_CONTROL:
        raise Refusal(errno.ENOBUFS)
    word, numbers, at = process.arch.word, list[int](), 0
    data = process.memory.read(address, size)
    while at + word + 8 <= size:
        length = int.from_bytes(data[at : at + word], "little")
        level, kind = struct.unpack_from("<ii", data, at + word)
        if not word + 8 <= length <= size - at or level != _SOCKET_LEVEL or kind not in (_RIGHTS, _CREDENTIALS):
            raise Refusal(errno.EINVAL)
        given = struct.unpack_from(f"<{(length - word - 8) // 4}i", data, at + word + 8)
        if kind == _RIGHTS:
            numbers += given
        elif given != (process.number, USER, GROUP):
            raise Refusal(errno.EPERM if len(given) == 3 else errno.EINVAL)
        at += -(-length // word) * word
    if len(numbers) > _MOST_FILES:
        raise Refusal(errno.EINVAL)
    return process.descriptors.send(numbers) if numbers else None


def _tell_control(process: Process, message: int, own: Socket, packet: Packet, flags: int) -> int:
    """Say who sent it, if that is asked for, and give the process the files that were sent to it.

    Both as far as there is room for the numbers; MSG_CTRUNC where there is not.
    """
    word, sent = process.arch.word, packet.sent
    address, room = process.words(message + 4 * word, 2)
    used, cut = 0, False

    def tell(kind: int, numbers: Sequence[int]) -> None:
        nonlocal used
        length = word + 8 + 4 * len(numbers)
        head = process.pack(length) + process.pack(_SOCKET_LEVEL, kind, size=4)
        process.memory.write(address + used, (head + process.pack(*numbers, size=4))[: room - used])
        used = min(room, used + -(-length // word) * word)

    if own.names_senders:
        cut = not address or room < word + 20
        if address and room >= word + 8:
            tell(_CREDENTIALS, (packet.process, USER, GROUP))
    if sent is not None:
        most = max(0, room - used - word - 8) // 4 if address else 0
        count = len(sent.files)
        numbers = process.descriptors.receive(sent, most, close_on_exec=bool(flags & _CLOSED))
        if numbers:
            tell(_RIGHTS, numbers)
        cut |= count > len(numbers)
    process.memory.write(message + 5 * word, process.pack(used))
    return _CONTROL_CUT * cut


def sendmsg(process: Process, a: tuple[int, ...]) -> int:
    """``sendmsg(fd, message, flags)``: how many bytes were sent, and open files along with the first of them."""
    own = _socket(process, a[0])
    name, size, vector, count, control, control_size, _ = _message(process, a[1])
    if control_size and own.family != UNIX:
        raise Refusal(errno.EINVAL)
    given = list(pieces(process, vector, count))
    if sum(each for _, each in given) > MOST_AT_ONCE:
        raise Refusal(errno.EMSGSIZE)
    data = b"".join(process.memory.read(at, each) for at, each in given)
    to = _name(process, name, size & 0xFFFF_FFFF, own.family) if name else None
    sent = _given_files(process, control, control_size) if control_size else None
    try:
        return _send(process, own, data, a[2], to, sent)
    except (Refusal, MustWait):
        if sent is not None:
            sent.close()
        raise


def recvmsg(process: Process, a: tuple[int, ...]) -> int:
    """``recvmsg(fd, message, flags)``: how many bytes came, into all pieces together, and which files with them."""
    own, word = _socket(process, a[0]), process.arch.word
    name, _, vector, count, _, _, _ = _message(process, a[1])
    places = list(pieces(process, vector, count))
    packet, length = _receive(own, min(sum(size for _, size in places), MOST_AT_ONCE), a[2])
    cut = own.incoming is not None and own.incoming.whole and length > len(packet.data)
    try:
        at = 0
        for address, size in places:
            process.memory.write(address, packet.data[at : at + size])
            at += size
        if own.kind == DATAGRAM:
            _tell_name(process, _sender(packet), own.family, name, a[1] + word)
        else:
            process.memory.write(a[1] + word, bytes(4))
        flags = _TRUNCATED * cut | _tell_control(process, a[1], own, packet, a[2])
        process.memory.write(a[1] + 6 * word, process.pack(flags, size=4))
    finally:
        packet.close()
    return length if cut and a[2] & _ALL_LENGTH else len(packet.data)


CALLS: Mapping[str, KernelCall] = {
    "socket": socket,
    "socketpair": socketpair,
    "bind": bind,
    "listen": listen,
    "connect": connect,
    "accept": lambda process, a: accept4(process, (*a[:3], 0)),
    "accept4": accept4,
    "getsockname": getsockname,
    "getpeername": getpeername,
    "setsockopt": setsockopt,
    "getsockopt": getsockopt,
    "shutdown": shutdown,
    "send": lambda process, a: sendto(process, (*a[:4], 0, 0)),
    "sendto": sendto,
    "recv": lambda process, a: recvfrom(process, (*a[:4], 0, 0)),
    "recvfrom": recvfrom,
    "sendmsg": sendmsg,
    "recvmsg": recvmsg,
}
