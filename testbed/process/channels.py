"""What processes of a run tell each other through: one-way channels, pipes, counters, sets of files to wait for."""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from testbed.process.open_files import (
    POLL_ERROR,
    POLL_HUNG_UP,
    POLL_IN,
    POLL_OUT,
    OpenFile,
    SentFiles,
)
from testbed.process.threads import Refusal

PIPE_SIZE, ATOMIC = 65536, 4096  # what a pipe holds; what is written to it in one piece
PACKET_COST = 512  # bytes that a packet takes besides its own, so that empty ones are bounded too
MOST_COUNT = (1 << 64) - 2
MOST_WATCHED, MOST_NESTED = 4096, 5  # descriptors in all epolls of a run, epolls within each other
EDGE, ONCE = 1 << 31, 1 << 30  # EPOLLET, EPOLLONESHOT


class Packet(NamedTuple):
    """Bytes with their sender's name, the open files that go along, and the number of the process that sent them."""

    data: bytes
    sender: Hashable = None
    sent: SentFiles | None = None
    process: int = 0

    def close(self) -> None:
        if self.sent is not None:
            self.sent.close()


@dataclass(eq=False)
class Channel:
    """Bytes on their way, in one direction: a stream, or ``whole`` packets, each with its sender's name.

    ``held`` are the bytes in it, ``most`` those that it takes; ``readers`` and ``writers`` are how many are left.
    """

    most: int = PIPE_SIZE
    whole: bool = False
    readers: int = 1
    writers: int = 1
    packets: deque[Packet] = field(default_factory=deque)
    held: int = 0
    came: int = 0  # how often bytes came, or the last writer went
    went: int = 0  # how often bytes were taken out, or the last reader went

    @property
    def has_room(self) -> bool:
        return self.held <= self.most - ATOMIC

    @property
    def first(self) -> int:
        """Bytes that can be read at once: all, or those of the first packet."""
        return len(self.packets[0].data) if self.whole and self.packets else self.held

    def put(self, data: bytes, sender: Hashable = None, sent: SentFiles | None = None, process: int = 0) -> int:
        """Take in as much as there is room for, of a packet all; and files, with the first byte.

        Raises Refusal (EPIPE, EMSGSIZE, EAGAIN).
        """
        if not self.readers:
            raise Refusal(errno.EPIPE)
        if self.whole and len(data) + PACKET_COST > self.most:
            raise Refusal(errno.EMSGSIZE)
        if self.whole and self._cost(data) > self.most - self.held:
            raise Refusal(errno.EAGAIN)
        taken = data if self.whole else data[: self.most - self.held]
        if not taken and not self.whole and sent is not None:
            sent.close()
        if taken or self.whole:
            self.packets.append(Packet(taken, sender, sent, process))
            self.held += self._cost(taken)
            self.came += 1
        return len(taken)

    def take(self, size: int, *, peek: bool = False, of_one: bool = False) -> tuple[Packet, int]:
        """Up to so many bytes, or one packet cut to that; and how long it was. Files are what a stream stops after.

        ``of_one``: nothing of another process than the first bytes are of.
        """
        if not self.packets or not (size or self.whole):
            return Packet(b""), 0
        last = first = self.packets[0]
        if self.whole:
            found, length = first.data[:size], len(first.data)
        else:
            parts, length = [], 0
            for each in self.packets:
                if of_one and each.process != first.process:
                    break
                last = each
                parts.append(last.data[: size - length])
                length += len(parts[-1])
                if length == size or last.sent is not None:
                    break
            found = b"".join(parts)
        sent = last.sent.copy() if last.sent is not None and peek else last.sent
        if not peek:
            self._drop(length)
            self.went += 1
        return Packet(found, first.sender, sent, first.process), length

    def _drop(self, size: int) -> None:
        if self.whole:
            self.held -= self._cost(self.packets.popleft().data)
            return
        self.held -= size
        while size:
            first = self.packets.popleft()
            if len(first.data) > size:
                self.packets.appendleft(first._replace(data=first.data[size:], sent=None))
            size -= min(size, len(first.data))

    def _cost(self, data: bytes) -> int:
        return len(data) + PACKET_COST * self.whole

    def leave(self, *, reader: bool) -> None:
        """One who read, or wrote, is gone."""
        if reader:
            self.readers -= 1
            self.went += 1
            for packet in self.packets if not self.readers else ():
                packet.close()
        else:
            self.writers -= 1
            self.came += 1
        if not self.readers and not self.writers:  # one that has a name may be opened again
            self.packets.clear()
            self.held = 0


@dataclass(eq=False)
class PipeEnd(OpenFile):
    """One end of a pipe, by its flags the one to read from or the one to write to."""

    channel: Channel = field(default_factory=Channel)

    @property
    def reads(self) -> bool:
        return self.flags & os.O_ACCMODE != os.O_WRONLY

    @property
    def writes(self) -> bool:
        return self.flags & os.O_ACCMODE != os.O_RDONLY

    def read(self, size: int) -> bytes:
        return self.channel.take(size)[0].data

    def write(self, data: bytes) -> int:
        return self.channel.put(data)

    @property
    def waits(self) -> int:
        """Bytes that could be read now."""
        return self.channel.first

    def polled(self) -> int:
        channel = self.channel
        found = (POLL_IN * bool(channel.packets) | POLL_HUNG_UP * (not channel.writers)) * self.reads
        return (
            found
            | (POLL_OUT * (channel.has_room or not channel.readers) | POLL_ERROR * (not channel.readers)) * self.writes
        )

    @property
    def changes(self) -> int:
        return self.channel.came * self.reads + self.channel.went * self.writes

    def close(self) -> None:
        for reader in [True] * self.reads + [False] * self.writes:
            self.channel.leave(reader=reader)


def pipe(flags: int) -> tuple[PipeEnd, PipeEnd]:
    """The end to read from, and the end to write to."""
    channel = Channel()
    return PipeEnd(flags | os.O_RDONLY, channel=channel), PipeEnd(flags | os.O_WRONLY, channel=channel)


@dataclass(eq=False)
class EventCount(OpenFile):
    """``eventfd``: a number that is added to by writing; reading takes it, or 1 of it where it is a ``semaphore``."""

    count: int = 0
    semaphore: bool = False

    def read(self, size: int) -> bytes:
        if size < 8:
            raise Refusal(errno.EINVAL)
        taken = 1 if self.semaphore else self.count
        self.count -= taken
        self._changes += 1
        return taken.to_bytes(8, "little")

    def write(self, data: bytes) -> int:
        more = int.from_bytes(data[:8], "little")
        if len(data) < 8 or more > MOST_COUNT:
            raise Refusal(errno.EINVAL)
        if self.count + more > MOST_COUNT:
            raise Refusal(errno.EAGAIN)
        self.count += more
        self._changes += 1
        return 8

    def polled(self) -> int:
        return POLL_IN * (self.count > 0) | POLL_OUT * (self.count < MOST_COUNT)


@dataclass(eq=False, slots=True)
class Awaited:
    """A file in an epoll: what for, what is told then, and how often it had changed when that was told last."""

    file: OpenFile
    events: int
    data: bytes
    told_at: int = -1

    @property
    def ready(self) -> int:
        """The events that are to be told now."""
        found = self.file.polled() & (self.events | POLL_ERROR | POLL_HUNG_UP) if self.events & ~(EDGE | ONCE) else 0
        return 0 if self.events & EDGE and self.told_at == self.file.changes else found


@dataclass(eq=False)
class AllEpolls:
    """What all epolls of a run have in common: how many files they watch, and the answers of one question."""

    watched: int = 0
    answers: dict[Epoll, int] | None = None


@dataclass(eq=False)
class Epoll(OpenFile):
    """A set of open files, by the descriptor that each was added with. ``holders`` are the sets that it is in."""

    mode: int = stat.S_IFREG | 0o600
    run: AllEpolls = field(default_factory=AllEpolls)
    watched: dict[tuple[int, OpenFile], Awaited] = field(default_factory=dict)
    holders: list[Epoll] = field(default_factory=list)

    def add(self, number: int, each: Awaited) -> None:
        """Raises Refusal (EEXIST, ENOSPC, ELOOP, EPERM for what is always ready)."""
        file = each.file
        if file is self:
            raise Refusal(errno.EINVAL)
        if (number, file) in self.watched:
            raise Refusal(errno.EEXIST)
        if isinstance(file, Epoll):
            below, above = _chains(file, Epoll.inner), _chains(self, lambda epoll: epoll.holders)
            if self in below or below[file] + above[self] > MOST_NESTED:
                raise Refusal(errno.ELOOP)
        elif stat.S_ISREG(file.mode) or stat.S_ISDIR(file.mode):
            raise Refusal(errno.EPERM)
        if self.run.watched >= MOST_WATCHED:
            raise Refusal(errno.ENOSPC)
        self.watched[number, file] = each
        self.run.watched += 1
        if isinstance(file, Epoll):
            file.holders.append(self)

    def remove(self, number: int, file: OpenFile) -> None:
        """Raises Refusal (ENOENT)."""
        if self.watched.pop((number, file), None) is None:
            raise Refusal(errno.ENOENT)
        self.run.watched -= 1
        if isinstance(file, Epoll):
            file.holders.remove(self)

    def inner(self) -> list[Epoll]:
        """The sets that are in it."""
        return [each.file for each in self.watched.values() if isinstance(each.file, Epoll)]

    def ready(self) -> Iterator[Awaited]:
        """What is ready; those that no descriptor stands for any more are let go."""
        for (number, file), each in list(self.watched.items()):
            if not file.is_open:
                self.remove(number, file)
            elif each.ready:
                yield each

    def polled(self) -> int:
        """Readable where one of its files is ready. In one question each set is asked once, however many hold it."""
        is_first = self.run.answers is None
        answers = self.run.answers = self.run.answers if self.run.answers is not None else {}
        try:
            if self not in answers:
                answers[self] = POLL_IN * any(True for _ in self.ready())
            return answers[self]
        finally:
            if is_first:
                self.run.answers = None

    def ready_at(self, wanted: int) -> int | None:
        return self._ready_at({}) if wanted & POLL_IN else None

    def _ready_at(self, known: dict[Epoll, int | None]) -> int | None:
        """As `ready_at`; each set is asked once, however many hold it."""
        if self not in known:
            asked = [each for each in self.watched.values() if each.events & ~(EDGE | ONCE) and each.file.is_open]
            plain = [each.file.ready_at(each.events) for each in asked if not isinstance(each.file, Epoll)]
            sets = [each.file for each in asked if isinstance(each.file, Epoll) and each.events & POLL_IN]
            times = (*plain, *(epoll._ready_at(known) for epoll in sets))
            known[self] = min((at for at in times if at is not None), default=None)
        return known[self]

    @property
    def changes(self) -> int:
        every = {key: each for epoll in _chains(self, Epoll.inner) for key, each in epoll.watched.items()}
        return sum(each.file.changes for each in every.values() if not isinstance(each.file, Epoll))

    def close(self) -> None:
        for number, file in list(self.watched):
            self.remove(number, file)


def _chains(start: Epoll, following: Callable[[Epoll], Iterable[Epoll]]) -> dict[Epoll, int]:
    """How long the longest chain is that begins with each set that a set leads to; 1 where it leads no further."""
    known: dict[Epoll, int] = {}

    def longest(epoll: Epoll) -> int:
        if epoll not in known:
            known[epoll] = 1 + max(map(longest, following(epoll)), default=0)
        return known[epoll]

    longest(start)
    return known
