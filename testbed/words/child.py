"""A child process that is asked and answers, and that may do anything: die, hang, never stop talking, leave others.

Neither side waits for the other without end: requests, answers and what it prints go through pipes that are written and
read without blocking, until a deadline. What it prints is read away, and its end is kept: the last words of one that
died. Its requests end where its parent is gone, however that went.
"""

from __future__ import annotations

import base64
import faulthandler
import os
import pickle
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO, Protocol

from testbed.words.errors import BrokenAnswer, ToolCrashed, ToolHung

LONGEST = 1 << 24  # bytes of one line: more is a program that has run wild
_CHUNK = 1 << 16
_WORDS = 2000  # bytes of what it printed that are kept
_TOLD = 300  # characters of them that a message shows
_DYING = 1.0  # seconds that a program has to end after it closed its output

PipeEnds = tuple[int, int, int]
"""Of three pipes the descriptors at one side: requests, answers, what is printed."""


class _Started(Protocol):
    """What is needed of a process: `subprocess.Popen` has it."""

    pid: int

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def kill(self) -> None: ...


class Child:
    """One process, in a session of its own: an interrupt at the terminal does not reach it.

    It is killed, with what it forked, when this is closed, forgotten, or the interpreter ends.
    """

    def __init__(self, process: _Started, ends: PipeEnds) -> None:
        from multiprocessing.util import Finalize  # ten milliseconds that few commands need

        self._process, self._owner = process, os.getpid()
        self._in, self._out, self._err = ends
        self._poll = select.poll()
        for descriptor in ends:
            os.set_blocking(descriptor, False)
        for descriptor in (self._out, self._err):
            self._poll.register(descriptor, select.POLLIN)
        self._pending = bytearray()
        self._searched = 0  # bytes of `pending` that hold no end of a line
        self._words = b""
        self._ended = False
        self._finalizer = Finalize(self, _end, args=(process, ends), exitpriority=10)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ours(self) -> bool:
        """False in a process that was forked off since: the pipes belong to the parent."""
        return self._owner == os.getpid()

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
        os.dup2(self._err, self._in)  # the number stays taken until all are closed

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
        """End it at once, if it is not ended. In a fork of the process that made it nothing is done."""
        self._finalizer()

    def last_words(self) -> str:
        """The end of what it printed."""
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
        status = None
        with suppress(subprocess.TimeoutExpired):
            status = self._process.wait(timeout=_DYING)
        with suppress(OSError):  # what is left of its last words; a process that it forked may still write some
            self._words = (self._words + os.read(self._err, _CHUNK))[-_WORDS:]
        if status is None:
            return otherwise + self._after_words()
        if status < 0:
            return f"was killed by {_signal(-status)}{self._after_words()}"
        return f"ended with exit status {status}{'' if status else f', and {otherwise}'}{self._after_words()}"

    def _after_words(self) -> str:
        said = self.last_words()
        return f"; it printed: {said}" if said else ""


def started(arguments: Sequence[str]) -> Child:
    """A program that is asked over its standard streams. Raises OSError where it cannot be started."""

    def start(reads: int, writes: int, prints: int, _: PipeEnds) -> _Started:
        return subprocess.Popen(arguments, stdin=reads, stdout=writes, stderr=prints, start_new_session=True)

    return _child(start)


def started_beside(
    command: Callable[[int, int], Sequence[str]],
    *,
    environment: Mapping[str, str],
    confine: Callable[[], None],
    standard_input: bool = False,
) -> Child:
    """A program that prints what it likes, apart from its answers. Raises OSError where it cannot be started.

    ``command`` gets two file descriptors, of requests to read and of answers to write. With ``standard_input`` the
    requests are its standard input, too. ``confine`` is called in the child before it becomes the program.
    """

    def start(reads: int, writes: int, prints: int, _: PipeEnds) -> _Started:
        return subprocess.Popen(
            command(reads, writes),
            stdin=reads if standard_input else subprocess.DEVNULL,
            stdout=prints,
            stderr=prints,
            pass_fds=(reads, writes),
            env=environment,
            start_new_session=True,
            preexec_fn=confine,
        )

    return _child(start)


def forked(serve: Callable[[BinaryIO, BinaryIO], None]) -> Child:
    """A fork of this process: it reads requests and writes answers until none come, and prints what it likes."""
    return _child(partial(_Fork, serve))


class _Fork:
    """A fork of this process, as `subprocess.Popen` has another program."""

    def __init__(
        self, serve: Callable[[BinaryIO, BinaryIO], None], reads: int, writes: int, prints: int, others: PipeEnds
    ) -> None:
        self._status: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _be_forked(serve, (reads, writes, prints), others)

    def poll(self) -> int | None:
        if self._status is None:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            self._status = os.waitstatus_to_exitcode(status) if done else None
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        until = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if until is not None and time.monotonic() > until:
                raise subprocess.TimeoutExpired("a fork", timeout or 0)
            time.sleep(0.001)
        return status

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


def _be_forked(serve: Callable[[BinaryIO, BinaryIO], None], own: PipeEnds, others: PipeEnds) -> None:
    """What the fork does. Never returns."""
    status = 1
    try:
        for descriptor in others:  # or the parent's ends would not be gone with the parent
            os.close(descriptor)
        os.setsid()
        faulthandler.disable()  # a death here is told as the child's, not as Python's
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for stream in (1, 2):
            os.dup2(own[2], stream)
        serve(os.fdopen(own[0], "rb"), os.fdopen(own[1], "wb"))
        status = 0
    except OSError:  # who asked is gone
        status = 0
    finally:
        os._exit(status)


def _child(start: Callable[[int, int, int, PipeEnds], _Started]) -> Child:
    """A process that is started with its ends of three pipes."""
    (reads, requests), (answers, writes), (printed, prints) = (os.pipe() for _ in range(3))
    ours = requests, answers, printed
    try:
        process = start(reads, writes, prints, ours)
    except BaseException:
        for descriptor in ours:
            os.close(descriptor)
        raise
    finally:
        for descriptor in (reads, writes, prints):
            os.close(descriptor)
    return Child(process, ours)


def packed(value: Any) -> bytes:
    """Any value as a line, for a child that is ours."""
    return base64.b64encode(pickle.dumps(value)) + b"\n"


def unpacked(line: bytes) -> Any:
    """The value of a line that `packed` made."""
    return pickle.loads(base64.b64decode(line))


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _end(process: _Started, ends: PipeEnds) -> None:
    """Kill a process and its group: also what it forked and left, unless that made a group of its own."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
    for descriptor in ends:
        os.close(descriptor)
