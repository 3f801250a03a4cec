"""A process: all that its system calls read and change. What they do stands in ``calls_*.py``."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType

from testbed.arch import Arch
from testbed.image import Image, LoadedImage
from testbed.process.abi import KernelAbi
from testbed.process.address_space import AddressSpace
from testbed.process.channels import AllEpolls
from testbed.process.file_tree import FileTree
from testbed.process.known_files import AS_IT_LIES, FileReading
from testbed.process.open_files import Descriptors, FileLocks, OpenFile
from testbed.process.recorder import ProcessRecorder, Recorded
from testbed.process.sockets import Network
from testbed.process.threads import FutexWaiter, GuestThread, SignalTimer
from testbed.trace import Exited

EPOCH = 2_000_000_000 * 10**9  # when every process starts, in nanoseconds: later than what lies on the host
MOST_THREADS = 256
MOST_PROCESSES, MOST_EVER = 64, 1000  # at once, and in all of a run


@dataclass(frozen=True, slots=True)
class SignalAction:
    """What ``sigaction`` was told for a signal: a handler (0 the default, 1 ignored), and how it is called."""

    handler: int = 0
    flags: int = 0
    restorer: int = 0
    mask: int = 0


class ProcessEnds(Exception):
    """Raised where nothing of a process runs any more: by its exit ``status``, or by ``detail``, a sentence why.

    ``signal`` is the one that ended it, if one did. ``becomes`` is the process that goes on in its place, by execve.
    """

    def __init__(
        self, status: int | None, detail: str = "", *, signal: int = 0, becomes: Process | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.signal, self.becomes = status, detail, signal, becomes

    @property
    def end(self) -> Exited | str:
        """The end of a trace: its exit, or the sentence."""
        return Exited(self.status) if self.status is not None else self.detail


class RunIsOver(Exception):
    """Raised where no process of a run can go on: why."""


@dataclass(eq=False)
class Kernel:
    """What all processes of a run have in common: who they are, whose turn it is, one clock, the numbers given out.

    ``ended`` are the steps of processes that are over; ``is_native``: one ran so long that its hooks are compiled;
    ``groups`` are process groups by the number of a process, ``sessions`` what it is in of those.
    """

    seed: int
    budget: int
    piece: int | None  # steps after which those of a process are taken
    switching: Random
    last_number: int  # of a process or a thread
    processes: list[Process] = field(default_factory=list)
    living: list[Process] = field(default_factory=list)
    turn: Process | None = None  # whose it is
    slept: int = 0  # nanoseconds
    ended: int = 0
    is_native: bool = False
    turn_is_over: bool = False
    groups: dict[int, int] = field(default_factory=dict)
    sessions: dict[int, int] = field(default_factory=dict)
    waiting: dict[tuple[object, int], list[FutexWaiter]] = field(default_factory=dict)  # by the place of the futex
    network: Network = field(default_factory=Network)
    epolls: AllEpolls = field(default_factory=AllEpolls)
    asked: Process | None = None
    sent: int = 0  # signals
    interrupted: Callable[[], bool] = lambda: False  # asked whenever a process leaves for the kernel

    def __post_init__(self) -> None:
        self.network.asker = lambda: self.current.number
        self.locks = FileLocks(self._lives)

    def _lives(self, owner: Hashable) -> bool:
        """Whether somebody who locked a file is still there: an open file, or a process by its number."""
        return owner.is_open if isinstance(owner, OpenFile) else any(each.number == owner for each in self.living)

    @property
    def steps(self) -> int:
        """Of all processes."""
        return self.ended + sum(process.own_steps for process in self.living)

    @property
    def now(self) -> int:
        """Nanoseconds since 1970."""
        return EPOCH + self.steps + self.slept

    @property
    def asker(self) -> Process:
        """The process that a question to an open file is asked for."""
        return self.asked or self.current

    @property
    def left(self) -> int:
        """How many steps may still be executed."""
        return max(0, self.budget - self.steps)

    @property
    def current(self) -> Process:
        assert self.turn is not None
        return self.turn

    def used_by(self, number: int) -> int:
        """How many steps a process executed, as all its programs: nanoseconds of a processor."""
        return sum(each.own_steps for each in self.processes if each.number == number)

    def next_number(self) -> int:
        self.last_number += 1
        return self.last_number

    def add(self, process: Process) -> None:
        self.processes.append(process)
        self.living.append(process)

    def group_of(self, number: int) -> int:
        return self.groups.get(number, self.processes[0].number)

    def session_of(self, number: int) -> int:
        return self.sessions.get(number, self.processes[0].number)

    def joins(self, number: int, other: int) -> None:
        """A new process is in the group and session of another one, unless it has chosen already."""
        self.groups.setdefault(number, self.group_of(other))
        self.sessions.setdefault(number, self.session_of(other))

    def is_orphaned(self, group: int) -> bool:
        """No process of it has a parent in another group of its session: nobody would let it go on."""
        parents = [(each, each.parent) for each in self.living if self.group_of(each.number) == group]
        return not any(
            parent
            and self.group_of(parent.number) != group
            and self.session_of(parent.number) == self.session_of(each.number)
            for each, parent in parents
        )


@dataclass(eq=False)
class Process:
    """One program that a process executes. ``now`` is made of steps and sleeps, so it is the same in every such run.

    A forked one has ``inherited`` steps and ``inherited_writes`` of its parent's, from which it ``comes``: its thread
    goes on on a copy of that stack. ``stopped`` is the signal by which it waits for SIGCONT; ``change`` the wait status
    by which its parent has yet to be told that it stopped, or goes on. ``ends`` is how it ended; ``executed`` is how
    many steps it made then, and ``recorded`` has them.
    """

    arch: Arch
    abi: KernelAbi
    recorder: ProcessRecorder
    memory: AddressSpace
    tree: FileTree
    descriptors: Descriptors
    threads: list[GuestThread]
    current: GuestThread
    random: Random
    kernel: Kernel
    number: int
    path: str
    arguments: tuple[str, ...]
    folder: str = "/"
    images: list[LoadedImage] = field(default_factory=list)
    files: dict[str, Image] = field(default_factory=dict)
    reading: FileReading = AS_IT_LIES
    actions: dict[int, SignalAction] = field(default_factory=dict)
    heap: tuple[int, int] = (0, 0)  # its start, and where brk is
    parent: Process | None = None
    begun_by: int = 0  # its first parent's number
    comes: Process | None = None
    inherited: int = 0
    inherited_writes: int = 0
    ends: ProcessEnds | None = None
    recorded: Recorded | None = None
    executed: int = 0
    waited_for: bool = False
    stopped: int = 0
    change: int = 0
    timers: dict[int, SignalTimer] = field(default_factory=dict)  # that of ``setitimer(which, ...)`` at ~which
    umask: int = 0o22
    nice: int = 0
    piece_start: int = 0  # the step at which the running thread came to run
    resumed: list[tuple[GuestThread, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def now(self) -> int:
        """Nanoseconds since 1970."""
        return self.kernel.now

    @property
    def monotonic(self) -> int:
        """Nanoseconds since the machine started, which was a thousand seconds before the process."""
        return self.now - EPOCH + 1000 * 10**9

    @property
    def own_steps(self) -> int:
        """How many steps it executed itself."""
        return self.executed if self.ends is not None else self.recorder.total - self.inherited

    def ran(self, thread: GuestThread) -> int:
        """How many steps one of its threads executed till now."""
        return thread.steps + (self.recorder.total - self.piece_start if thread is self.current else 0)

    @property
    def wait_status(self) -> int | None:
        """What its parent's ``wait`` is told; None while it runs. A process that the testbed ended died of SIGSYS."""
        if self.ends is None or self.ends.becomes is not None:
            return None
        return self.ends.signal or SIGSYS if self.ends.status is None else self.ends.status << 8

    def thread_numbered(self, number: int) -> GuestThread | None:
        return next((thread for thread in self.threads if thread.number == number), None)

    def signed(self, value: int, bits: int = 32) -> int:
        """The lowest bits of an argument as a number with a sign."""
        value &= (1 << bits) - 1
        return value - (1 << bits) if value >> bits - 1 else value

    def words(self, address: int, count: int) -> tuple[int, ...]:
        """Words of the program's memory, as wide as a pointer. Raises Refusal (EFAULT)."""
        word = self.arch.word
        data = self.memory.read(address, word * count)
        return tuple(int.from_bytes(data[at : at + word], "little") for at in range(0, word * count, word))

    def pack(self, *values: int, size: int = 0) -> bytes:
        """Words as bytes, each as wide as a pointer, or ``size`` bytes."""
        size = size or self.arch.word
        return b"".join((value & ((1 << 8 * size) - 1)).to_bytes(size, "little") for value in values)

    def wide(self, arguments: tuple[int, ...], at: int) -> int:
        """An argument of 64 bits: one register, or two, of which the first is an even one."""
        if not self.abi.split:
            return arguments[at]
        at += at % 2
        return arguments[at] | arguments[at + 1] << 32


_NAMES = (
    "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG "
    "XCPU XFSZ VTALRM PROF WINCH IO PWR SYS"
)
SIGNALS = MappingProxyType({number: f"SIG{name}" for number, name in enumerate(_NAMES.split(), 1)})
SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV, SIGALRM, SIGCHLD, SIGSTOP = 4, 5, 6, 7, 8, 9, 11, 14, 17, 19
SIGHUP, SIGPIPE, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGVTALRM, SIGPROF, SIGSYS = 1, 13, 18, 20, 21, 22, 26, 27, 31


KernelCall = Callable[[Process, tuple[int, ...]], int | None]
"""What a call does with its arguments. Its result; None: 0."""
