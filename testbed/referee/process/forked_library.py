"""A library that may crash or hang, kept in a process of its own: one forked child serves a whole run.

The child is forked where the first snapshot of some images is asked about, and inherits them. Each question is a
message with the registers and the stack around SP; the code and the read-only data are the images'; what else the
library wants to read, the child asks for. A child that dies is the answer ``ToolCrashed``, one that is silent for
``seconds`` the answer ``ToolHung``; the next question starts another.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

from testbed.build.confinement import confining
from testbed.contract.frames import Backtrace, Frame, FrameKind
from testbed.image import LoadedImage
from testbed.referee.process.limits import agents_confinement, mapped_now
from testbed.trace import Memory, Regions, Snapshot
from testbed.words import errors
from testbed.words.errors import ToolCrashed, ToolHung, UnreadableMemory, UnwindError

SECONDS = 10.0  # for one snapshot
BELOW, ABOVE = 1024, 8192  # bytes of the stack that a question carries: from SP downwards and upwards
_LAST_WORDS = 500  # bytes of what a dead child printed

Unwind = Callable[[Snapshot], Backtrace]


def forked(unwind: Unwind, *, seconds: float = SECONDS, prepare: Callable[[], object] | None = None) -> Unwind:
    """``unwind``, executed in a child process that outlives neither a change of images nor its own crash.

    ``prepare`` is called before each fork: what may take longer than a snapshot's time, and may raise.
    """
    kept: list[_ForkedUnwinder] = []

    def ask(snapshot: Snapshot) -> Backtrace:
        if kept and not kept[0].serves(snapshot):
            kept.pop().end()
        if not kept:
            if prepare is not None:
                prepare()
            kept.append(_ForkedUnwinder(unwind, snapshot))
        try:
            return kept[0].ask(snapshot, seconds)
        except (ToolCrashed, ToolHung) as stop:
            kept.pop().end()
            stop.pc = snapshot.pc
            first = Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers, found_by="registers")
            return Backtrace((first,), stop)

    return ask


class _ForkedUnwinder:
    """A forked process that unwinds snapshots of the same images."""

    def __init__(self, unwind: Unwind, first: Snapshot) -> None:
        self._images, self._parent = first.images, os.getpid()
        self._connection, theirs = Pipe()
        self._printed = os.memfd_create("printed")
        self._id = os.fork()
        if self._id == 0:
            self._connection.close()  # or the parent's end would not be gone with the parent
            _serve(unwind, first, theirs, self._printed)
        theirs.close()

    def serves(self, snapshot: Snapshot) -> bool:
        """True for the same images, asked for by the process that forked it: a fork of that needs its own."""
        return snapshot.images == self._images and os.getpid() == self._parent

    def ask(self, snapshot: Snapshot, seconds: float) -> Backtrace:
        until = time.monotonic() + seconds
        try:
            self._connection.send((dict(snapshot.registers), *_stack(snapshot)))
            while True:
                if not self._connection.poll(max(0.0, until - time.monotonic())):
                    raise ToolHung(f"no answer within {seconds:g} s")
                what, said = self._connection.recv()
                if what == "backtrace":
                    return _read_backtrace(said)
                if what == "raised":
                    raise ToolCrashed(said)
                self._connection.send(_read(snapshot, *said))
        except (EOFError, OSError) as gone:
            raise ToolCrashed(self._death()) from gone

    def end(self) -> None:
        """Kill it and forget it. In a fork of the process that made it: only forget it."""
        self._connection.close()
        os.close(self._printed)
        if self._id and os.getpid() == self._parent:
            os.kill(self._id, signal.SIGKILL)
            os.waitpid(self._id, 0)

    def _death(self) -> str:
        """How the child died, and the last line that it printed."""
        _, status = os.waitpid(self._id, 0)
        self._id = 0  # the number may become another process's
        how = f"it ended with exit status {os.waitstatus_to_exitcode(status)}"
        if os.WIFSIGNALED(status):
            how = f"it died of {signal.Signals(os.WTERMSIG(status)).name}"
        size = os.fstat(self._printed).st_size
        last = os.pread(self._printed, _LAST_WORDS, max(0, size - _LAST_WORDS)).decode("utf-8", "replace").strip()
        return f"{how}: {last.splitlines()[-1]}" if last else how


def _stack(snapshot: Snapshot) -> tuple[int, bytes]:
    """The part of the stack around SP that is mapped, and where it begins."""
    memory, sp = snapshot.memory, snapshot.sp
    try:
        end = min(memory.mapped_until(sp), sp + ABOVE)
        below = next(n for n in (BELOW, 0) if not n or _is_mapped(memory, sp - n))
        return sp - below, memory.read(sp - below, end - sp + below)
    except UnreadableMemory:
        return 0, b""


def _is_mapped(memory: Memory, address: int) -> bool:
    try:
        return address >= 0 and bool(memory.mapped_until(address))
    except UnreadableMemory:
        return False


def _read(snapshot: Snapshot, address: int, size: int) -> bytes | None:
    try:
        return snapshot.memory.read(address, size)
    except UnreadableMemory:
        return None


def _serve(unwind: Unwind, first: Snapshot, connection: Connection, printed: int) -> None:
    """What the child does until its parent is gone. Never returns."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's to handle
        faulthandler.disable()  # a death here is told as the tool's, not as Python's
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        with confining(agents_confinement(Path(tempfile.gettempdir()), mapped=mapped_now())) as confine:
            confine()
        memory = _AskedMemory(first.images, connection)
        while True:
            registers, memory.start, memory.stack = connection.recv()
            snapshot = replace(first, registers=registers, memory=Memory(memory))
            try:
                connection.send(("backtrace", _plain(unwind(snapshot))))
            except EOFError:
                raise
            except Exception:  # a mistake of ours: the parent tells it as this snapshot's end, the child goes on
                connection.send(("raised", traceback.format_exc().strip().splitlines()[-1]))
    except (EOFError, OSError):
        status = 0
    finally:
        os._exit(status)


class _AskedMemory(Regions):
    """The child's memory: the stack that came with the question, the images, or the parent's answer."""

    def __init__(self, images: tuple[LoadedImage, ...], connection: Connection) -> None:
        super().__init__(())
        self.start, self.stack = 0, b""
        self._connection = connection
        self._parts = [
            (segment.address + loaded.bias, segment.data)
            for loaded in images
            for segment in loaded.image.segments
            if not segment.writable
        ]

    def read(self, address: int, size: int) -> bytes:
        at = address - self.start
        if at >= 0 and at + size <= len(self.stack):
            return self.stack[at : at + size]
        for start, data in self._parts:
            at = address - start
            if at >= 0 and at + size <= len(data):
                return data[at : at + size]
        self._connection.send(("read", (address, size)))
        found: bytes | None = self._connection.recv()
        if found is None:
            raise UnreadableMemory(address, size)
        return found


def _plain(said: Backtrace) -> tuple[Any, ...]:
    """A backtrace as plain data: errors with arguments of their own do not survive pickling."""
    frames = [(f.kind.name, f.pc, dict(f.registers), f.cfa, f.found_by) for f in said.frames]
    stop = said.stopped
    return frames, None if stop is None else (stop.reason, str(stop), stop.pc)


def _read_backtrace(plain: tuple[Any, ...]) -> Backtrace:
    frames, stop = plain
    error: UnwindError | None = None
    if stop is not None:
        kind: type[UnwindError] = getattr(errors, stop[0])
        error = kind.__new__(kind)
        error.args, error.pc = (stop[1],), stop[2]
    return Backtrace(tuple(Frame(FrameKind[frame[0]], *frame[1:]) for frame in frames), error)
