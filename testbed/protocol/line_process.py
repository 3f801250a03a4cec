"""A program whose standard input and output are lines, and which may do anything: die, hang, or never stop talking.

Neither side waits for the other without end: all three streams are read and written without blocking, until a deadline.
What it prints to standard error is read away, and its end is kept: the last words of one that died.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.util import Finalize

from testbed.words.errors import BrokenAnswer, ToolCrashed, ToolHung

LONGEST = 1 << 24  # bytes of one line: more is a program that has run wild
_CHUNK = 1 << 16
_WORDS = 2000  # bytes of standard error that are kept
_TOLD = 300  # characters of them that a message shows
_DYING = 1.0  # seconds that a program has to end after it closed its output


class LineProcess:
    """One process, in a session of its own: an interrupt at the terminal does not reach it.

    It is killed, with what it forked, when this is closed, forgotten, or the interpreter ends.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        """Start it. Raises OSError where it cannot be started."""
        self._process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._in, self._out, self._err = (
            stream.fileno() for stream in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._poll = select.poll()
        for descriptor in (self._in, self._out, self._err):
            os.set_blocking(descriptor, False)
        for descriptor in (self._out, self._err):
            self._poll.register(descriptor, select.POLLIN)
        self._pending = bytearray()
        self._searched = 0  # bytes of `pending` that hold no end of a line
        self._words = b""
        self._ended = False
        self._finalizer = Finalize(self, _end, args=(self._process,), exitpriority=10)

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, data: bytes, until: float) -> None:
        """Write all of it. Raises ToolCrashed, ToolHung, BrokenAnswer; ``until`` is a time of `time.monotonic`."""
        view = memoryview(data)
        try:
            while view:
                try:
                    view = view[os.write(self._in, view) :]
                except BlockingIOError:
                    self._poll.register(self._in, select.POLLOUT)
                    try:
                        self._wait_for_it(until, "did not read what it was sent")
                    finally:
                        self._poll.unregister(self._in)
        except BrokenPipeError as error:
            raise ToolCrashed(self._how("closed its standard input")) from error

    def line(self, until: float, what: str = "an answer") -> bytes:
        """The next line that it writes, without its end. Raises ToolCrashed, ToolHung, BrokenAnswer."""
        while (end := self._pending.find(b"\n", self._searched)) < 0:
            self._searched = len(self._pending)
            if self._ended:
                raise ToolCrashed(self._how(f"wrote half a line and owes {what}" if self._pending else f"owes {what}"))
            self._wait_for_it(until, f"gave no answer ({what})")
        line = bytes(self._pending[:end])
        del self._pending[: end + 1]
        self._searched = 0
        return line

    def close_input(self) -> None:
        """Tell it that nothing more will come."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def ended(self, seconds: float) -> int | None:
        """Its exit status, negative that of a signal; None where it does not end in time. Its output is dropped."""
        until = time.monotonic() + seconds
        while self._process.poll() is None and time.monotonic() < until:
            with suppress(ToolHung, BrokenAnswer):
                self._wait(min(until, time.monotonic() + 0.02), "")
            self._pending.clear()
        return self._process.poll()

    @property
    def unread(self) -> bytes:
        """What it wrote and nobody asked for, as far as that is here."""
        with suppress(ToolHung, BrokenAnswer):
            self._wait(0.0, "")
        return bytes(self._pending)

    def close(self) -> None:
        """End it at once, if it is not ended."""
        self._finalizer()

    def last_words(self) -> str:
        """The end of what it printed to standard error."""
        lines = self._words.decode("utf-8", "replace").split("\n")
        text = " ".join(line.strip() for line in lines[-6:] if line.strip())[-_TOLD:]
        return "".join(c if c.isprintable() else " " for c in text)

    def _wait_for_it(self, until: float, why: str) -> None:
        """The same for what only it can do: where it has ended, and what it forked keeps its streams, it crashed."""
        try:
            self._wait(until, why)
        except ToolHung:
            if self._process.poll() is None:
                raise
            raise ToolCrashed(self._how(why)) from None

    def _wait(self, until: float, why: str) -> None:
        """Read what is there, once something is. Raises ToolHung at the deadline, BrokenAnswer for an endless line."""
        ready = self._poll.poll(max(0.0, until - time.monotonic()) * 1000)
        if not ready:
            raise ToolHung(why + self._after_words())
        for descriptor, _ in ready:
            if descriptor == self._out:
                self._read_output()
            elif descriptor == self._err:
                self._read_words()

    def _read_output(self) -> None:
        more = os.read(self._out, _CHUNK)
        if not more:
            self._ended = True
            self._poll.unregister(self._out)
        self._pending += more
        if len(self._pending) > LONGEST + _CHUNK:
            raise BrokenAnswer(f"wrote more than {LONGEST >> 20} MiB without being asked, or in one line")

    def _read_words(self) -> None:
        more = os.read(self._err, _CHUNK)
        if not more:
            self._poll.unregister(self._err)
        self._words = (self._words + more)[-_WORDS:]

    def _how(self, otherwise: str) -> str:
        """How it died; where it lives, what it did instead."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=_DYING)
        with suppress(OSError):  # what is left of its last words; a process that it forked may still write some
            self._words = (self._words + os.read(self._err, _CHUNK))[-_WORDS:]
        status = self._process.returncode
        if status is None:
            return otherwise + self._after_words()
        if status < 0:
            return f"was killed by {_signal(-status)}{self._after_words()}"
        return f"ended with exit status {status}{'' if status else f', and {otherwise}'}{self._after_words()}"

    def _after_words(self) -> str:
        said = self.last_words()
        return f"; it printed: {said}" if said else ""


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its group: also what it forked and left, unless that made a group of its own."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.close()
