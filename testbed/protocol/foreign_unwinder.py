"""A command as an unwinder: it is started once in each process of ours, and again where it died.

What becomes of the program is an outcome at the snapshot where it happened: `ToolCrashed`, `BrokenAnswer`, `ToolHung`.
It states no assumption, so it is held to honesty: a lie, a crash or a hang fails its run, an honest stop does not.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from testbed.contract.unwinder import Backtrace, Unwinder, nothing_found
from testbed.image import LoadedImage
from testbed.protocol.conversation import Conversation, Hello
from testbed.trace import Snapshot
from testbed.words.errors import ForeignStop, ToolCrashed, ToolHung, UnwindError, UsageError

SECONDS = 5.0  # for one snapshot
CRASHES, HANGS = 40, 3  # at snapshots of one program: then it is not asked about that program any more
ALL_HANGS = 12  # in one process of ours: then it is not asked at all


def foreign_unwinder(command: str | Sequence[str], *, seconds: float = SECONDS) -> Unwinder:
    """The unwinder that a program is. The program is started, to hear its name, and is kept for what will be asked.

    ``command`` is a command line, split as a shell would (quotes, no variables), or its words. ``seconds`` is the time
    for one snapshot. Raises UsageError where the program does not start or does not say hello.
    """
    words = command_words(command)
    program = ForeignProgram(words, seconds)
    hello = program.greet()
    name = re.sub(r"[^\w.+-]+", "_", hello.name or os.path.basename(words[0]))[:40]
    version = f"{hello.name or name} {hello.version}".strip()
    return Unwinder(
        name=name,
        summary=f"from outside: {shlex.join(words)}",
        unwind=program.unwind,
        arches=hello.arches,
        tool=lambda: version,
        repeatable=False,
    )


@dataclass(slots=True)
class ForeignProgram:
    """A command, the process that it is now, and how often that came to an end.

    ``failed`` are its failures at steps of the current images: asked about one again, as when a difference is told,
    it is the same failure, and no second one.
    """

    words: tuple[str, ...]
    seconds: float
    running: Conversation | None = None
    owner: int = field(default_factory=os.getpid)
    images: tuple[LoadedImage, ...] = ()
    crashes: int = 0
    hangs: int = 0
    all_hangs: int = 0
    failed: dict[int, UnwindError] = field(default_factory=dict)

    def greet(self) -> Hello:
        """What it says of itself. Raises UsageError where it cannot be asked."""
        try:
            self.running = Conversation(self.words, self.seconds)
        except OSError as error:
            raise does_not_start(self.words, error) from error
        except UnwindError as error:
            raise UsageError(
                f"{_title(self.words)} does not speak the protocol (docs/protocol.md): it {error}; "
                "testbed protocol --check tells more"
            ) from error
        return self.running.hello

    def unwind(self, snapshot: Snapshot) -> Backtrace:
        """Its backtrace; where it fails, the interrupted frame and how it failed."""
        try:
            return self._ask(snapshot)
        except (ForeignStop, ToolCrashed, ToolHung) as error:
            stop = error.again()
            if not isinstance(error, ForeignStop):
                stop.args = (f"it {error}",)
            return nothing_found(snapshot, stop)

    def _ask(self, snapshot: Snapshot) -> Backtrace:
        if self.owner != os.getpid():  # forked since: the process is the parent's
            self.running, self.owner = None, os.getpid()
        if self.images != snapshot.images:
            self.images, self.crashes, self.hangs, self.failed = snapshot.images, 0, 0, {}
        if snapshot.step in self.failed:
            raise self.failed[snapshot.step]
        self._say_if_given_up()
        try:
            if self.running is None:
                self.running = Conversation(self.words, self.seconds)
            return self.running.unwind(snapshot)
        except ForeignStop:
            raise
        except BaseException as error:
            if self.running is None or not self.running.in_step:
                self._forget(error)
            if isinstance(error, OSError):
                raise ToolCrashed(f"does not start again: {_why(error)}") from error
            if isinstance(error, UnwindError) and snapshot.step is not None:
                self.failed[snapshot.step] = error
            raise

    def _forget(self, error: BaseException) -> None:
        """End the process: what it would say next belongs to this snapshot, or to none."""
        if self.running is not None:
            self.running.process.close()
            self.running = None
        hung = isinstance(error, ToolHung)
        self.hangs, self.all_hangs = self.hangs + hung, self.all_hangs + hung
        self.crashes += not hung

    def _say_if_given_up(self) -> None:
        if self.all_hangs >= ALL_HANGS:
            raise ToolHung(f"gave no answer to {self.all_hangs} snapshots; it is not asked any more")
        if self.hangs >= HANGS:
            raise ToolHung(f"gave no answer to {self.hangs} snapshots of this program; no more are asked")
        if self.crashes >= CRASHES:
            raise ToolCrashed(f"failed at {self.crashes} snapshots of this program; no more are asked")


def command_words(command: str | Sequence[str]) -> tuple[str, ...]:
    """The words of a command line, or of one that is split already. Raises UsageError."""
    try:
        words = tuple(shlex.split(command)) if isinstance(command, str) else tuple(command)
    except ValueError as error:
        raise UsageError(f"--unwinder-cmd {command}: {error}") from error
    if not words:
        raise UsageError("--unwinder-cmd is empty: give the command that starts your unwinder")
    return words


def does_not_start(words: Sequence[str], error: OSError) -> UsageError:
    """The mistake that a command is which starts nothing."""
    return UsageError(f"{_title(words)} does not start: {_why(error)}{_instead(words[0], error)}")


def _instead(program: str, error: OSError) -> str:
    """What may have been meant: a file of this folder, a script."""
    if error.errno == errno.ENOENT and "/" not in program and os.path.isfile(program):
        return f"; the one in this folder is ./{program}"
    if error.errno == errno.EACCES and program.endswith(".py"):
        return f"; of a script that is not executable: 'python3 {program}'"
    return ""


def _title(words: Sequence[str]) -> str:
    return f"--unwinder-cmd {shlex.quote(shlex.join(words))}"


def _why(error: OSError) -> str:
    if error.errno == errno.ENOEXEC:
        return "it is no program; a script begins with a line such as #!/usr/bin/env python3"
    return error.strerror or str(error)
