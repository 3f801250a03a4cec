"""The file descriptors of a process: small numbers that stand for open files."""

from __future__ import annotations

import errno
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from testbed.process.open_files import OpenFile
from testbed.process.threads import Refusal

OpenKind = TypeVar("OpenKind", bound=OpenFile)

MOST_DESCRIPTORS = 1024
OPEN_LIMIT = 7  # RLIMIT_NOFILE
MOST_SENT = 1024  # open files that are on their way from one process to another, in all of a run


class OpenFiles:
    """How often each open file stands in a table, or is on its way to one: with the last time it is closed."""

    def __init__(self, files: Iterable[OpenFile]) -> None:
        self._counts = Counter(files)
        self.sent = 0
        self._leaving: deque[OpenFile] = deque()

    def take(self, *files: OpenFile) -> None:
        self._counts.update(files)

    def give_back(self, *files: OpenFile) -> None:
        """One after the other: a socket that is closed may have been the last place of the next one."""
        is_first = not self._leaving
        self._leaving.extend(files)
        while is_first and self._leaving:
            file = self._leaving[0]
            if self._counts[file] == 1:
                del self._counts[file]
                file.is_open = False
                file.close()
            elif self._counts[file]:
                self._counts[file] -= 1
            self._leaving.popleft()

    def close(self) -> None:
        """Close all, also what nothing but itself keeps open."""
        while self._counts:
            file = next(iter(self._counts))
            self._counts[file] = 1
            self.give_back(file)


@dataclass(eq=False)
class SentFiles:
    """Open files on their way through a socket. They stay open until somebody has them, or nobody can."""

    held: OpenFiles
    files: tuple[OpenFile, ...]

    def __post_init__(self) -> None:
        """Raises Refusal (ETOOMANYREFS)."""
        if self.held.sent + len(self.files) > MOST_SENT:
            raise Refusal(errno.ETOOMANYREFS)
        self.held.sent += len(self.files)
        self.held.take(*self.files)

    def copy(self) -> SentFiles:
        return SentFiles(self.held, self.files)

    def close(self) -> None:
        files, self.files = self.files, ()
        self.held.sent -= len(files)
        self.held.give_back(*files)


class Descriptors:
    """Open files by number. One open file may have several; it is closed with the last of them.

    ``limits`` are those that the process has set, soft and hard, by resource.
    """

    def __init__(self, *standard: OpenFile) -> None:
        self._files: dict[int, OpenFile] = dict(enumerate(standard))
        self._close_on_exec: set[int] = set()
        self.limits: dict[int, tuple[int, int]] = {}
        self._held = OpenFiles(standard)  # of all tables of the run

    def file(self, number: int, other: int) -> OpenFile:
        """The open file that is to be read or written; ``other`` is O_WRONLY or O_RDONLY, which keeps it from that.

        Raises Refusal (EBADF).
        """
        file = self[number]
        if file.flags & os.O_ACCMODE == other:
            raise Refusal(errno.EBADF)
        return file

    def __getitem__(self, number: int) -> OpenFile:
        """Raises Refusal (EBADF)."""
        if number not in self._files:
            raise Refusal(errno.EBADF)
        return self._files[number]

    def of(self, kind: type[OpenKind], number: int, otherwise: int) -> OpenKind:
        """An open file of this kind. Raises Refusal (EBADF, and ``otherwise`` for another kind)."""
        file = self[number]
        if not isinstance(file, kind):
            raise Refusal(otherwise)
        return file

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._files))

    def __contains__(self, number: int) -> bool:
        return number in self._files

    def add(self, file: OpenFile, lowest: int = 0, *, close_on_exec: bool = False) -> int:
        """The lowest number that is free. Raises Refusal (EMFILE), and closes the file then."""
        most = min(MOST_DESCRIPTORS, self.limits.get(OPEN_LIMIT, (MOST_DESCRIPTORS,))[0])
        number = next((n for n in range(lowest, most) if n not in self._files), None)
        if number is None:
            self._held.take(file)
            self._held.give_back(file)
            raise Refusal(errno.EMFILE)
        self._files[number] = file
        self._held.take(file)
        self.keep_on_exec(number, not close_on_exec)
        return number

    def put(self, number: int, file: OpenFile) -> None:
        """As dup2: whatever had the number is closed before."""
        if not 0 <= number < MOST_DESCRIPTORS:
            raise Refusal(errno.EBADF)
        self._held.take(file)
        if number in self._files:
            self.close(number)
        self._files[number] = file
        self.keep_on_exec(number, True)

    def close(self, number: int) -> None:
        file = self[number]
        del self._files[number]
        self._close_on_exec.discard(number)
        self._held.give_back(file)

    def send(self, numbers: Iterable[int]) -> SentFiles:
        """Raises Refusal (EBADF, ETOOMANYREFS)."""
        return SentFiles(self._held, tuple(self[number] for number in numbers))

    def receive(self, sent: SentFiles, most: int, *, close_on_exec: bool) -> list[int]:
        """The numbers of up to so many that were sent, as far as there are any; the others are closed."""
        numbers: list[int] = []
        with suppress(Refusal):
            for file in sent.files[:most]:
                numbers.append(self.add(file, close_on_exec=close_on_exec))
        sent.close()
        return numbers

    def keep_on_exec(self, number: int, keep: bool) -> None:
        (self._close_on_exec.discard if keep else self._close_on_exec.add)(number)

    def closes_on_exec(self, number: int) -> bool:
        return number in self._close_on_exec

    def close_all(self) -> None:
        for number in list(self._files):
            self.close(number)

    def close_sent(self) -> None:
        """Close what is on its way where no process is left: sockets that were sent through each other."""
        self._held.close()

    def close_for_exec(self) -> None:
        for number in list(self._close_on_exec):
            self.close(number)

    def copy(self) -> Descriptors:
        """The same open files, with numbers of their own: they are closed with the last number in any of the tables."""
        other = Descriptors()
        other._files, other._close_on_exec, other._held = dict(self._files), set(self._close_on_exec), self._held
        other.limits = dict(self.limits)
        self._held.take(*self._files.values())
        return other
