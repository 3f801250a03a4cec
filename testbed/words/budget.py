"""What reading one file from elsewhere may cost: the limits, and the account that readers draw on.

A file of ``n`` bytes may be damaged or made to harm: a few bytes that say a thousand times "the megabyte at the
beginning", or that unpack to gigabytes. Each reader bounds what one entry costs; the account bounds the sum::

    most(kind) = fixed(kind) + per_byte(kind) * n

    mapped     bytes copied from the file: segments, sections, memory of a dump
    unpacked   bytes made of compressed data, and of texts that many entries may share
    entries    values made of the file's entries: symbols, lines, rows, modules. One is some 400 bytes of memory.
    parts      segments of a program file, modules of a dump: each is compared with every other
    steps      steps of interpretation: a call frame instruction, an operation, an instruction emulated abstractly
    seconds    CPU seconds
    analysis   CPU seconds in which the instructions of all functions are analysed, where a user asked for all

All of this together is at most 64 n + 256 MB of memory, and 20 s; an analysis of all instructions takes 20 s, and a
minute for each megabyte: an honest library of two megabytes takes about half a minute. A reader calls `Account.spend`
where it copies, unpacks, makes an entry or goes round a loop that the file decides on. Whoever goes over a limit gets
BudgetExceeded: the file, the offset, the limit, and the option that raises it.
"""

from __future__ import annotations

import ctypes
import gc
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path

from testbed.words.catalogue import nearest
from testbed.words.errors import BudgetExceeded, UsageError

LEAST = 4  # steps that every chunk of a long run has but the last one: the truth looks two steps ahead

# Free memory given back to the system, so that a long run has no more of it than one of its pieces needs.


def free_garbage() -> None:
    """Free what refers to itself: an emulator and its callbacks do, with all memory of the program that it ran."""
    gc.collect()
    give_back()


def give_back() -> None:
    """Give free pages back: glibc keeps those between blocks in use until it is told. Elsewhere this does nothing."""
    if trim := _trim():
        trim(0)


@cache
def _trim() -> ctypes._NamedFuncPointer | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)


OPTION = "--file-limit"
VARIABLE = "TESTBED_FILE_LIMITS"  # the same for a process and those that it starts: "steps=50000000,seconds=60"
_BETWEEN = 1 << 10  # spendings between two looks at the clock
_SHARED = ("entries", "steps")
_CLOCKS = ("seconds", "analysis")
_PER_BYTE: Mapping[str, float] = {
    "mapped": 6,
    "unpacked": 8,
    "entries": 1 / 8,
    "parts": 0,
    "steps": 4,
    "seconds": 0,
    "analysis": 60 / 1e6,
}


@dataclass(frozen=True, slots=True)
class Budget:
    """The fixed part of each limit. A limit that a user gives holds as it is, however large the file is."""

    mapped: int = 32 << 20
    unpacked: int = 64 << 20
    entries: int = 300_000
    parts: int = 2_000
    steps: int = 400_000
    seconds: float = 20.0
    analysis: float = 20.0
    given: frozenset[str] = frozenset()  # the limits that a user gave

    def most(self, size: int) -> dict[str, float]:
        """The limits for a file of ``size`` bytes, by kind."""
        return {
            kind: getattr(self, kind) + (0 if kind in self.given else int(per_byte * size))
            for kind, per_byte in _PER_BYTE.items()
        }


KINDS = tuple(field.name for field in fields(Budget) if field.name != "given")
DEFAULT = Budget()


def budget_of(text: str) -> Budget:
    """The budget of ``steps=50000000,seconds=60``. Raises UsageError for a name or a number that is none."""
    given: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        if name not in KINDS:
            raise UsageError(f"{OPTION} {part[:80]}: {name[:40]!r} is no limit; {nearest(name, KINDS)}")
        try:
            given[name] = float(value) if name in _CLOCKS else int(value)
        except ValueError:
            given[name] = -1
        if not 0 <= given[name] < 1 << 60:
            raise UsageError(f"{OPTION} {part[:80]}: write {name}=NUMBER, for example {name}=50000000")
    return replace(DEFAULT, **given, given=frozenset(given))  # type: ignore[arg-type]


def current_budget() -> Budget:
    """The budget of this process: ``TESTBED_FILE_LIMITS``, else the default. Raises UsageError as `budget_of` does."""
    text = os.environ.get(VARIABLE)
    return budget_of(text) if text else DEFAULT


class Account:
    """What has been spent on one file. ``budget`` None: that of the process.

    Several readers look at one file: each draws on a share of its own, so that one does not take it all.
    """

    def __init__(self, path: Path | str, size: int, budget: Budget | None = None, whole: Account | None = None) -> None:
        self.path, self.size = path, size
        self.budget = budget or current_budget()
        self.most = self.budget.most(size)
        if whole is not None:
            self.most |= {kind: self.most[kind] * 3 / 4 for kind in _SHARED}
        self.spent: dict[str, float] = dict.fromkeys(KINDS, 0)
        self._whole, self._shares = whole, dict[str, Account]()
        self._since: float | None = None  # the CPU time at which the outermost `working` began
        self._clock, self._late = "seconds", False  # the kind that it counts as, and whether it has run out
        self.exceeded: BudgetExceeded | None = None  # the last limit that was gone over
        self._calls = 0

    def share(self, reader: str) -> Account:
        """The account of one reader of several: most of the entries and steps. What it spends, the file has cost."""
        if reader not in self._shares:
            self._shares[reader] = Account(self.path, self.size, self.budget, self)
        return self._shares[reader]

    def spend(self, kind: str, amount: int = 1, offset: int = 0) -> None:
        """So much more of a kind, for what stands at ``offset``. Raises BudgetExceeded where that is too much."""
        spent, whole = self.spent, self._whole
        if self._late or (whole is not None and whole._late):  # whoever caught it is not to go on all the same
            late = self if self._late or whole is None else whole
            raise late._exceeded(late._clock, offset)
        spent[kind] += amount
        if spent[kind] > self.most[kind]:
            raise self._exceeded(kind, offset)
        if whole is not None:
            whole.spent[kind] += amount
            if whole.spent[kind] > whole.most[kind]:
                raise whole._exceeded(kind, offset)
        self._calls += 1
        if not self._calls % _BETWEEN:
            self._look_at_the_clock(offset)
            if whole is not None:
                whole._look_at_the_clock(offset)

    def left(self, kind: str) -> int:
        """How much of a kind may still be spent."""
        return max(0, int(self.most[kind] - self.spent[kind]))

    @contextmanager
    def working(self, clock: str = "seconds") -> Iterator[None]:
        """CPU time counts while this lasts: where a file is read, or a snapshot that others made is unwound."""
        if self._since is not None:
            yield
            return
        self._since, self._clock = time.process_time(), clock
        try:
            self._look_at_the_clock(0)
            yield
        finally:
            took, self._since, self._late = time.process_time() - self._since, None, False
            self.spent[clock] += took
            if self._whole is not None and self._whole._since is None:
                self._whole.spent[clock] += took

    def _look_at_the_clock(self, offset: int) -> None:
        now = 0.0 if self._since is None else time.process_time() - self._since
        if self.spent[self._clock] + now > self.most[self._clock]:
            self._late = self._since is not None
            raise self._exceeded(self._clock, offset)

    def _exceeded(self, kind: str, offset: int) -> BudgetExceeded:
        enough = max(2 * int(self.budget.most(self.size)[kind]), 1)
        self.exceeded = BudgetExceeded(self.path, offset, kind, self.most[kind], f"{OPTION} {kind}={enough}")
        return self.exceeded
