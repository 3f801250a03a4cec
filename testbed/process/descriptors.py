"""The file descriptors of a process: small numbers that stand for open files."""

from __future__ import annotations

import errno
import os
from collections import Counter

from testbed.process.open_files import OpenFile
from testbed.process.refusal import Refusal

MOST_DESCRIPTORS = 1024


class Descriptors:
    """Open files by number. One open file may have several; it is closed with the last of them."""

    def __init__(self, *standard: OpenFile) -> None:
        self._files: dict[int, OpenFile] = dict(enumerate(standard))
        self._close_on_exec: set[int] = set()
        self._held = Counter(standard)  # how often each file stands in any of the tables

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

    def __contains__(self, number: int) -> bool:
        return number in self._files

    def add(self, file: OpenFile, lowest: int = 0, *, close_on_exec: bool = False) -> int:
        """The lowest number that is free. Raises Refusal (EMFILE), and closes the file then."""
        number = next((n for n in range(lowest, MOST_DESCRIPTORS) if n not in self._files), None)
        if number is None:
            if not self._held[file]:
                file.is_open = False
                file.close()
            raise Refusal(errno.EMFILE)
        self._files[number] = file
        self._held[file] += 1
        self.keep_on_exec(number, not close_on_exec)
        return number

    def put(self, number: int, file: OpenFile) -> None:
        """As dup2: whatever had the number is closed before."""
        if not 0 <= number < MOST_DESCRIPTORS:
            raise Refusal(errno.EBADF)
        if number in self._files:
            self.close(number)
        self._files[number] = file
        self._held[file] += 1
        self.keep_on_exec(number, True)

    def close(self, number: int) -> None:
        file = self[number]
        del self._files[number]
        self._close_on_exec.discard(number)
        self._held[file] -= 1
        if not self._held[file]:
            del self._held[file]
            file.is_open = False
            file.close()

    def keep_on_exec(self, number: int, keep: bool) -> None:
        (self._close_on_exec.discard if keep else self._close_on_exec.add)(number)

    def closes_on_exec(self, number: int) -> bool:
        return number in self._close_on_exec

    def close_all(self) -> None:
        for number in list(self._files):
            self.close(number)

    def close_for_exec(self) -> None:
        for number in list(self._close_on_exec):
            self.close(number)

    def copy(self) -> Descriptors:
        """The same open files, with numbers of their own: they are closed with the last number in any of the tables."""
        other = Descriptors()
        other._files, other._close_on_exec, other._held = dict(self._files), set(self._close_on_exec), self._held
        self._held.update(self._files.values())
        return other
