"""The threads of a process: who runs, who waits for what, and what each of them was doing when."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from unicorn.unicorn_py3.unicorn import UcContext

# A system call that Linux would refuse: the error number that the program gets.


class Refusal(Exception):
    """Raised inside a system call; the program sees ``-number``. Never leaves the room.

    ``path`` is what the host has and the run does not show, where an open is refused for that.
    """

    path = ""

    def __init__(self, number: int) -> None:
        super().__init__(errno.errorcode.get(number, str(number)))
        self.number = number


# Timers: how often a time has come by one of the clocks; and what is known of those that send signals.


@dataclass(eq=False)
class Timer:
    """It goes off at ``first`` by the clock ``now``, in nanoseconds, then ``every`` so many; ``taken`` were told."""

    now: Callable[[], int]
    first: int | None = None
    every: int = 0
    taken: int = 0

    @property
    def times(self) -> int:
        """How often it has gone off since it was set, and nobody was told."""
        return self._times - self.taken

    @property
    def _times(self) -> int:
        if self.first is None or self.now() < self.first:
            return 0
        return 1 + ((self.now() - self.first) // self.every if self.every else 0)

    @property
    def left(self) -> int | None:
        """How long it takes till it goes off next."""
        times = self._times
        if self.first is None or (times and not self.every):
            return None
        return self.first + times * self.every - self.now()

    def set(self, first: int | None, every: int) -> None:
        """From now on it goes off then; never with None."""
        self.first, self.every, self.taken = first, every, 0

    def take(self) -> int:
        """How often it has gone off; somebody is told now."""
        new, self.taken = self.times, self._times
        return new


@dataclass(eq=False)
class SignalTimer(Timer):
    """A timer of a process that sends it a signal; None: it sends none.

    ``number`` is what ``timer_create`` gave it, and ``value`` what it was given to tell; both None for an interval
    timer. ``thread`` is the only one that gets the signal. ``sleeps``: its clock goes on while nobody runs.
    ``overrun`` is how often it had gone off besides when the signal was taken last.
    """

    signal: int | None = field(kw_only=True)
    sleeps: bool = field(kw_only=True)
    number: int | None = None
    value: int = 0
    thread: int | None = None
    overrun: int = 0


@dataclass(frozen=True, slots=True)
class Wait:
    """A thread goes on once ``ready`` says so or the clock has reached ``deadline``; ``then`` gives the call's result.

    ``then`` is told whether the time ran out; without it the call is made once more. ``restart``: a signal with
    SA_RESTART makes the call happen once more. ``ready_at`` is when time alone makes it ready, if it ever does.
    """

    ready: Callable[[], bool]
    then: Callable[[bool], int] | None = None
    deadline: int | None = None
    restart: bool = False
    what: str = ""
    ready_at: Callable[[], int | None] = lambda: None


class MustWait(Exception):
    """Raised inside a system call that cannot be done yet."""

    def __init__(self, wait: Wait) -> None:
        super().__init__(wait.what)
        self.wait = wait


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A system call that this kernel does not do, and said so: which, what the program got, and where it was made.

    ``path``: of an open, what the host has there and the run does not show. ``where`` is the pc by name.
    """

    name: str
    error: str
    step: int
    pc: int
    path: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class Pending:
    """A signal that has come to a thread: its siginfo, or the timer of whom it tells when it is taken."""

    number: int
    info: bytes = b""
    timer: SignalTimer | None = None


@dataclass(eq=False, slots=True)
class GuestThread:
    """One thread. ``context`` is its processor state while another one runs; ``pieces`` are the steps it executed.

    A vforked child is a process that is kept here, with its parent's memory, until it becomes a program or exits.
    ``calls`` counts its system calls, ``refused`` are those that it was not let do. ``after`` are steps of another
    thread that this one's own follow, as those of a vfork's parent: its stack is theirs.
    """

    number: int
    context: UcContext | None = None
    pieces: list[tuple[int, int]] = field(default_factory=list)
    first: int = 0  # it was made before this step
    after: tuple[tuple[int, int], ...] = ()
    wait: Wait | None = None
    mask: int = 0
    saved_mask: int | None = None  # what sigsuspend comes back to
    pending: list[Pending] = field(default_factory=list)
    alternate: tuple[int, int, int] = (0, 0, 2)  # stack_t: address, size, flags (SS_DISABLE)
    clear_on_exit: int = 0  # address of the word that is cleared and woken (CLONE_CHILD_CLEARTID)
    vfork_child: bool = False
    waited_for: bool = False
    call: tuple[str, tuple[int, ...], int, int] | None = None  # name, arguments, result register before, pc
    status: int | None = None  # of its exit
    calls: Counter[str] = field(default_factory=Counter)
    refused: list[RefusedCall] = field(default_factory=list)

    @property
    def steps(self) -> int:
        """How many it executed."""
        return sum(end - first for first, end in self.pieces)

    @property
    def wait_status(self) -> int | None:
        """What the parent of a vforked child is told; None while it runs."""
        return None if self.status is None else self.status << 8

    def ran(self, first: int, end: int) -> None:
        """It executed the steps [first, end)."""
        if self.pieces and self.pieces[-1][1] == first:
            first = self.pieces.pop()[0]
        if end > first:
            self.pieces.append((first, end))


@dataclass(eq=False, slots=True)
class FutexWaiter:
    """A thread of a process that waits at a place of memory until it is woken with one of its bits."""

    process: object
    bits: int
    woken: bool = False
