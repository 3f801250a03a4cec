"""Stack scanning, at one snapshot and over a trace: could this word of the stack be a return address?

From SP upwards, one word at a time::

    location       = first word at or above SP (then above the last one found) that is plausible
    return address = *location,  caller's SP = location + one word

What counts as plausible, and how many words are tried, is the unwinder's choice. The scan that reaches the end of the
stack's mapping has seen every word there is, so it claims the root; one that gives up before that stops honestly, and
so does one that reaches the end of what a dump has of the stack.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.contract.native import ROOT, STOPPED
from testbed.contract.unwinder import (
    Backtrace,
    Backtraces,
    CallerClaims,
    Frame,
    FrameKind,
    InnermostClaims,
    Unwinder,
    followed,
    interrupted_frame,
)
from testbed.image import LoadedImage
from testbed.trace import Snapshot, Trace
from testbed.trace.distinct_rows import are_among
from testbed.words.errors import NotInSnapshot, NoUnwindInfo, UnreadableMemory, UnwindError

MAX_FRAMES = 1024

Plausible = Callable[[Snapshot, int, Frame], bool]
"""(snapshot, code address, the frame that would return there) -> could it be a return address?"""


@dataclass(frozen=True, slots=True)
class Scan:
    """One scanner: how many words from SP for the first caller, how many for each later one, and what it believes."""

    first_words: int
    words: int
    plausible: Plausible
    claims_sp: bool  # takes location + one word for the caller's SP, whatever the ABI says
    possible: Plausible | None = None  # what a word must be whatever the frame; None: plausible looks at no frame


def scan(snapshot: Snapshot, options: Scan) -> Backtrace:
    """The callers that one scanner finds on the stack."""
    return followed(snapshot, _callers(snapshot, options))


def _callers(snapshot: Snapshot, options: Scan) -> Iterator[Frame]:
    arch, frame = snapshot.arch, interrupted_frame(snapshot)
    location = -(-snapshot.sp // arch.word) * arch.word
    end, whole = snapshot.stack_end()
    words = options.first_words
    for _ in range(1, MAX_FRAMES):
        behind = location + words * arch.word
        found = _next(snapshot, options, frame, location, min(end, behind))
        if found is None:
            if behind >= end and whole:
                return
            if behind > end:
                raise NotInSnapshot(end)
            raise NoUnwindInfo(f"no plausible return address in {words} words from {location:#x}")
        at, pc = found
        location, words = at + arch.word, options.words
        registers = {arch.pc: pc} | ({arch.sp: location} if options.claims_sp else {})
        frame = Frame(FrameKind.CALLER, pc, registers, found_by=f"scan, at {at:#x}")
        yield frame
    raise NoUnwindInfo(f"more than {MAX_FRAMES} frames")


def _next(snapshot: Snapshot, options: Scan, frame: Frame, location: int, end: int) -> tuple[int, int] | None:
    """Where the next plausible return address is, and the code address it names."""
    arch = snapshot.arch
    low, high = code_range(snapshot.images)
    data = snapshot.memory.read(location, max(0, end - location) // arch.word * arch.word)
    words = np.frombuffer(data, f"<u{arch.word}")
    # Almost no word of a stack points anywhere near code.
    for i in np.flatnonzero((words > low) & (words <= high | 1)).tolist():
        value = int(words[i])
        if options.plausible(snapshot, value, frame):
            return location + i * arch.word, arch.code_address(value)
    return None


@lru_cache(maxsize=64)
def code_range(images: tuple[LoadedImage, ...]) -> tuple[int, int]:
    """The lowest and the highest run-time address around executable segments."""
    spans = [
        (s.address + loaded.bias, s.address + len(s.data) + loaded.bias)
        for loaded in images
        for s in loaded.image.segments
        if s.executable
    ]
    return min((low for low, _ in spans), default=0), max((high for _, high in spans), default=0)


# Stack scanning over whole traces: what `scan` says at every step, found by what changes.
#
# A scan's answer depends on SP, on the words above it and, for a scanner that looks at the frame below, on that frame's
# pc. Words that could be return addresses are few, and a step writes at most a few. So those of the region that SP is
# in are kept in order while the journal is followed; a chain of callers is kept as nodes, and what is written at an
# address only concerns chains that begin below it::
#
#     node = (location, frame below) -> (pc, caller's node)      dropped when a word at or above the location changes


def by_scan(options: Scan, **described: Any) -> Unwinder:
    """The unwinder that scans so, one snapshot or a whole trace; ``described`` are fields of `Unwinder`."""
    return Unwinder(
        unwind=lambda snapshot: scan(snapshot, options),
        unwind_trace=lambda trace: _Scanned(trace, options).backtraces(),
        **described,
    )


@dataclass(slots=True)
class _ScannedStack:
    """A region that SP is or was in: its bytes now, and the words in it that may be return addresses, by address."""

    start: int
    octets: bytearray
    word: int
    code: tuple[int, int]
    possible: Callable[[int], bool]
    places: list[int] = field(default_factory=list)
    values: dict[int, int] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.start + len(self.octets)

    def find_all(self) -> None:
        first = -self.start % self.word
        words = np.frombuffer(self.octets, f"<u{self.word}", (len(self.octets) - first) // self.word, first)
        for i in np.flatnonzero((words > self.code[0]) & (words <= self.code[1] | 1)).tolist():
            place = self.start + first + i * self.word
            if self.possible(int(words[i])):
                self.places.append(place)
                self.values[place] = int(words[i])

    def write(self, address: int, size: int, value: int) -> int | None:
        """Write, and say the highest place where such a word came, went or changed."""
        at, changed = address - self.start, None
        self.octets[at : at + size] = value.to_bytes(8, "little")[:size]
        for place in range(address & -self.word, address + size, self.word):
            at = place - self.start
            if at < 0 or place + self.word > self.end:
                continue
            now = int.from_bytes(self.octets[at : at + self.word], "little")
            before = self.values.get(place)
            if self.code[0] < now <= self.code[1] | 1 and self.possible(now):
                if before is None:
                    insort(self.places, place)
                self.values[place] = now
            elif before is not None:
                del self.places[bisect_left(self.places, place)]
                del self.values[place]
                now = -1
            else:
                continue
            if now != before:
                changed = place
        return changed


class _Scanned:
    """A trace as it is followed: the stack now, the nodes made, and which of them still hold."""

    def __init__(self, trace: Trace, options: Scan) -> None:
        self.trace, self.options, self.word = trace, options, trace.arch.word
        self.any = trace.snapshot(0) if len(trace) else None  # for its images: scanners look at nothing else of it
        self.possible: dict[int, bool] = {}
        self.believed: dict[tuple[int, int], bool] = {}
        self.rows: list[tuple[int, int, int, int, int, int]] = []  # pc, SP, and the last four columns of `CallerClaims`
        self.numbers: dict[tuple[int, int, int], int] = {}
        self.names: dict[int, int] = {}
        self.outer_of: dict[int, dict[tuple[int, int], int]] = {}  # by location, then words tried and the frame below
        self.locations: list[int] = []

    def backtraces(self) -> Backtraces:
        trace = self.trace
        sites: dict[int, int] = {}
        writes = self._writes()
        asked = self._asked(writes)
        found = [sites.setdefault(outer, len(sites)) for outer in self._outers(asked, writes)]
        site = np.repeat(np.array(found, np.int32), np.diff(asked, append=len(trace)))
        rows = np.array(self.rows, np.uint64).reshape(-1, 6) if self.rows else np.empty((0, 6), np.uint64)
        pc, sp, *links = (np.ascontiguousarray(rows[:, i]) for i in range(6))
        registers = (trace.arch.sp,) if self.options.claims_sp else ()
        nowhere, unknown = np.zeros(len(rows), np.uint64), np.zeros(len(rows), np.bool_)
        nodes = CallerClaims(
            pc,
            np.full(len(rows), len(registers), np.uint64),
            sp[:, None][:, : len(registers)],
            nowhere,
            unknown,
            *(link.astype(np.int64).astype(np.int32) for link in links),
        )
        many = len(sites)
        firsts = InnermostClaims(np.zeros(many, np.uint64), np.zeros(many, np.bool_), np.array(list(sites), np.int32))
        names = tuple(f"scan, at {place:#x}" for place in self.names)
        options = self.options
        return Backtraces(
            trace, registers, site, firsts, nodes, names, MAX_FRAMES, lambda s: scan(s, options), self._why
        )

    def _why(self, _: tuple[Frame, ...], snapshot: Snapshot) -> UnwindError:
        said: Backtrace = scan(snapshot, self.options)
        assert said.stopped is not None, f"{snapshot}: the scan over the trace stops, the one of the snapshot does not"
        return said.stopped

    def _writes(self) -> NDArray[np.int64]:
        """The writes to words of stacks that are an address of code at some time. No other one changes what is found.

        Of a word that is written in parts nobody knows.
        """
        trace, writes, word = self.trace, self.trace.writes, np.uint64(self.word)
        first, last = writes.address // word, (writes.address + writes.size - np.uint64(1)) // word
        inside, places = np.zeros(len(writes), np.bool_), []
        for region in trace.initial:
            if ((trace.sp >= region.address) & (trace.sp < region.end)).any():
                inside |= (writes.address >= region.address) & (writes.address < region.end)
                stack = self._region(region.address, region.data)
                stack.find_all()
                places.append(np.array(stack.places, np.uint64) // word)
        if self.any is None or not places:
            return np.flatnonzero(inside)
        low, high = code_range(self.any.images)
        value = writes.value & np.uint64(trace.arch.word_mask)
        in_parts = (first != last) | (writes.size != word)
        asked = inside & (in_parts | (value > low) & (value <= high | 1))
        some, end = first[asked], last[asked]
        known = np.sort(np.concatenate([*places, some, np.minimum(some + np.uint64(1), end), end]))
        return np.flatnonzero(inside & (are_among(first, known) | are_among(last, known)))

    def _asked(self, writes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The steps at which a scan may find something else than at the one before."""
        trace = self.trace
        if self.options.possible is not None:
            return np.arange(len(trace))
        after = trace.writes.step[writes].astype(np.int64) + 1
        moved = np.flatnonzero(trace.sp[1:] != trace.sp[:-1]) + 1
        asked = np.zeros(len(trace) + 1, np.bool_)
        asked[:1] = asked[moved] = asked[after] = True
        return np.flatnonzero(asked[:-1])

    def _outers(self, asked: NDArray[np.int64], relevant: NDArray[np.int64]) -> Iterator[int]:
        """For each step that is asked the first caller's node, or why there is none."""
        trace, writes, at = self.trace, self.trace.writes, 0
        steps, addresses = writes.step[relevant].tolist(), writes.address[relevant].tolist()
        sizes, written = writes.size[relevant].tolist(), writes.value[relevant].tolist()
        seen: list[_ScannedStack] = []  # a program may go to and fro between stacks
        stack = None
        for step, pc, sp in zip(asked.tolist(), trace.pc[asked].tolist(), trace.sp[asked].tolist(), strict=True):
            while at < len(steps) and steps[at] < step:
                for known in seen:
                    if known.start <= addresses[at] < known.end:
                        changed = known.write(addresses[at], sizes[at], written[at])
                        if changed is not None:
                            self._forget(changed)
                at += 1
            if stack is None or not stack.start <= sp < stack.end:
                stack = next((known for known in seen if known.start <= sp < known.end), None)
                if stack is None and (stack := self._stack(step, sp)) is not None:
                    seen.append(stack)
            if stack is None:
                yield STOPPED
                continue
            frame = Frame(FrameKind.INTERRUPTED, pc, {})
            yield self._caller(stack, -(-sp // self.word) * self.word, frame, self.options.first_words)

    def _stack(self, step: int, sp: int) -> _ScannedStack | None:
        memory = self.trace.memory(step)
        try:
            memory.mapped_until(sp)
        except UnreadableMemory:
            return None
        start, size = next((start, size) for start, size in memory.regions if start <= sp < start + size)
        stack = self._region(start, memory.read(start, size))
        stack.find_all()
        return stack

    def _region(self, start: int, octets: bytes) -> _ScannedStack:
        assert self.any is not None
        return _ScannedStack(start, bytearray(octets), self.word, code_range(self.any.images), self._possible)

    def _forget(self, changed: int) -> None:
        """Drop what was found from locations at or below a place that changed."""
        kept = bisect_left(self.locations, changed + 1)
        for location in self.locations[:kept]:
            del self.outer_of[location]
        del self.locations[:kept]

    def _caller(self, stack: _ScannedStack, location: int, frame: Frame, words: int) -> int:
        """The node of the first caller that a scan from a location finds, or why there is none."""
        path: list[tuple[int, tuple[int, int], int, int]] = []
        while True:
            key = (words, frame.lookup_pc if self.options.possible else 0)
            known = self.outer_of.get(location, {}).get(key)
            if known is not None:
                break
            place = self._next(stack, location, frame, words)
            if place is None:
                known = ROOT if location + words * self.word >= stack.end else STOPPED
                self._keep(location, key, known)
                break
            pc = self.trace.arch.code_address(stack.values[place])
            path.append((location, key, place, pc))
            location, words, frame = place + self.word, self.options.words, Frame(FrameKind.CALLER, pc, {})
        for found_from, key, place, pc in reversed(path):
            known = self._node(place, pc, known)
            self._keep(found_from, key, known)
        return known

    def _keep(self, location: int, key: tuple[int, int], known: int) -> None:
        if location not in self.outer_of:
            insort(self.locations, location)
            self.outer_of[location] = {}
        self.outer_of[location][key] = known

    def _node(self, place: int, pc: int, outer: int) -> int:
        number = self.numbers.setdefault((place, pc, outer), len(self.rows))
        if number == len(self.rows):
            end, depth = (self.rows[outer][3], self.rows[outer][4] + 1) if outer >= 0 else (outer, 1)
            name = self.names.setdefault(place, len(self.names))
            word = (1 << 64) - 1
            self.rows.append((pc, place + self.word, outer & word, end & word, depth, name))
        return number

    def _possible(self, value: int) -> bool:
        believed = self.possible.get(value)
        if believed is None:
            ask, there = self.options.possible or self.options.plausible, self.any
            assert there is not None
            believed = self.possible[value] = ask(there, value, Frame(FrameKind.INTERRUPTED, there.pc, {}))
        return believed

    def _next(self, stack: _ScannedStack, location: int, frame: Frame, words: int) -> int | None:
        first = bisect_left(stack.places, location)
        last = bisect_left(stack.places, location + words * self.word, first)
        if self.options.possible is None:
            return stack.places[first] if first < last else None
        for place in stack.places[first:last]:
            key = stack.values[place], frame.lookup_pc
            believed = self.believed.get(key)
            if believed is None:
                assert self.any is not None
                believed = self.believed[key] = self.options.plausible(self.any, key[0], frame)
            if believed:
                return place
        return None
