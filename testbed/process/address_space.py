"""The memory of a process: what is mapped where, and how that changes.

A trace has one set of regions and a journal. So everything that was ever readable is a region, with its first content;
what is mapped there later is written over it, as journal entries, and what is unmapped becomes zeros. Memory that was
only reserved (PROT_NONE) is no region, takes no memory, and counts against no limit.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from unicorn import Uc

from testbed.process.threads import Refusal
from testbed.trace import Region
from testbed.trace.sparse import used_pages, used_runs

# Memory that several processes map, or one of them twice: of nothing, or the bytes of a file of the run's own.

MOST_SHARED = 256 << 20  # bytes of one such memory, and that all processes of a run map of them
MOST_VIEWS = 32  # mappings that one process has of the same memory: a write is in its journal once for each
_READ_AT_ONCE = 1 << 20


class SharedBytes:
    """Bytes at one place of the host's memory, which all machines that map them see. They never move.

    ``file`` is a descriptor of the host: whatever is written to the file is written here, and the other way round.
    ``changed`` are ranges that were written through the file, and that no journal has yet. Room takes memory where it
    is written to.
    """

    def __init__(self, room: int, file: int | None = None) -> None:
        """Raises Refusal (ENOMEM) for more than one such memory may have."""
        if room > MOST_SHARED:
            raise Refusal(errno.ENOMEM)
        self.bytes = mmap.mmap(-1, room, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.bytes))
        self.changed: list[tuple[int, int]] = []
        self.file = None if file is None else os.dup(file)
        if self.file is not None:
            weakref.finalize(self, os.close, self.file)
            for at in range(0, os.fstat(self.file).st_size, _READ_AT_ONCE):
                part = os.pread(self.file, _READ_AT_ONCE, at)
                if part.count(0) < len(part):  # a hole takes no memory
                    self.bytes[at : at + len(part)] = part

    def write(self, data: bytes, at: int) -> None:
        """What was written to the file there, as far as there is room."""
        end = min(at + len(data), len(self.bytes))
        if at < end:
            self.bytes[at:end] = data[: end - at]
            self.changed.append((at, end))

    def write_back(self, at: int, end: int) -> None:
        """The file gets these bytes, as far as it has so many."""
        if self.file is not None:
            end = min(end, os.fstat(self.file).st_size)
            os.pwrite(self.file, self.bytes[at:end], at) if at < end else None


PAGE = 0x1000
READ, WRITE, EXECUTE = 1, 2, 4
LOWEST = 0x1_0000  # vm.mmap_min_addr
MOST_AREAS = 4096


@dataclass(frozen=True, slots=True)
class Area:
    """[start, end) with one protection; ``backed``: it has memory, since it was not only reserved."""

    start: int
    end: int
    protection: int
    backed: bool
    name: str = ""
    offset: int = 0  # of ``start`` in the file ``name``, or in what is shared
    shared: SharedBytes | None = None  # whose bytes these are
    most: int = READ | WRITE | EXECUTE  # what may ever be allowed there


class AddressSpace:
    """All areas of a process. ``journal`` is told what the kernel writes, ``most`` bytes have memory at most."""

    def __init__(self, uc: Uc, top: int, end: int, journal: Callable[[int, bytes], None], most: int) -> None:
        self._uc, self._top, self._end, self._journal, self.most = uc, top, end, journal, most
        self._areas: list[Area] = []
        self._ever: list[tuple[int, int]] = []
        self.initial: list[Region] = []
        self.changed_code: list[tuple[int, int]] = []  # executable bytes that are not what they were
        self._together = [self]  # those of all processes that live
        self._views: tuple[Area, ...] | None = None

    def copied(self, uc: Uc, journal: Callable[[int, bytes], None]) -> AddressSpace:
        """The same memory in another machine, with no part in common. Raises Refusal (ENOMEM)."""
        self._check_limits(self.mapped, sum(area.end - area.start for area in self.views))
        other = AddressSpace(uc, self._top, self._end, journal, self.most)
        other._areas, other._ever, other.initial = list(self._areas), list(self._ever), list(self.initial)
        for area in self._areas:
            if area.backed:
                other._map(area)
                if area.shared is not None:
                    continue
                content = bytes(self._uc.mem_read(area.start, area.end - area.start))
                for low, high in used_runs(used_pages(content)):  # the others would get memory of the host
                    uc.mem_write(area.start + low, content[low:high])
                other._note_code(area.start, area.end, area.protection)
        other.joins(self)
        return other

    def joins(self, others: AddressSpace) -> None:
        """From now on its memory counts with that of other processes."""
        self._together = others._together
        self._together.append(self)

    def release(self) -> None:
        """Give back all memory of a process that is over."""
        self._together.remove(self)
        for area in self._areas:
            if area.backed:
                self._uc.mem_unmap(area.start, area.end - area.start)
        self._areas = []
        del self._uc, self._journal

    def place_of(self, address: int) -> tuple[object, int]:
        """What memory an address is of, and where in it: equal wherever processes share it."""
        area = self.area_at(address)
        if area is None or area.shared is None:
            return self, address
        return area.shared, area.offset + address - area.start

    @property
    def mapped(self) -> int:
        """Bytes that have memory."""
        return sum(area.end - area.start for area in self._areas if area.backed)

    @property
    def views(self) -> tuple[Area, ...]:
        """The areas with bytes that others may see, too, in order."""
        if self._views is None:
            self._views = tuple(area for area in self._areas if area.shared is not None and area.backed)
        return self._views

    def __iter__(self) -> Iterator[Area]:
        return iter(self._areas)

    def area_at(self, address: int) -> Area | None:
        i = bisect_right(self._areas, address, key=lambda area: area.start) - 1
        return self._areas[i] if i >= 0 and address < self._areas[i].end else None

    # What the kernel reads and writes for a program.

    def check(self, address: int, size: int, wanted: int) -> None:
        """Raise Refusal (EFAULT) unless the program itself may do this with every byte."""
        at = address
        while at < address + size:
            area = self.area_at(at)
            if area is None or not area.backed or not _allowed(area.protection) & wanted:
                raise Refusal(errno.EFAULT)
            at = area.end

    def read(self, address: int, size: int) -> bytes:
        self.check(address, size, READ)
        return bytes(self._uc.mem_read(address, size)) if size else b""

    def write(self, address: int, data: bytes) -> int:
        """How many bytes were written."""
        self.check(address, len(data), WRITE)
        if data:
            self._uc.mem_write(address, data)
            self._journal(address, data)
            self._note_code(address, address + len(data))
        return len(data)

    def tell(self, address: int, data: bytes) -> None:
        """Write what a program may be told; at address 0 it did not ask for that."""
        if address:
            self.write(address, data)

    def word(self, address: int, size: int) -> int:
        return int.from_bytes(self.read(address, size), "little")

    def text(self, address: int, most: int = 4096) -> bytes:
        """The bytes before a zero byte. Raises Refusal where there is none: EFAULT, or ENAMETOOLONG."""
        found = b""
        while len(found) < most:
            found += self.read(address + len(found), min(64, PAGE - (address + len(found)) % PAGE))
            if 0 in found:
                return found[: found.index(0)]
        raise Refusal(errno.ENAMETOOLONG)

    # What is mapped.

    def map(
        self,
        start: int,
        size: int,
        protection: int,
        content: bytes = b"",
        *,
        name: str = "",
        offset: int = 0,
        shared: SharedBytes | None = None,
        most: int = READ | WRITE | EXECUTE,
    ) -> None:
        """Map pages, in place of what was there: ``content``, then zeros; or bytes that are shared.

        Raises Refusal (ENOMEM, EINVAL, EPERM).
        """
        end = start + _pages(size)
        if start % PAGE or end == start:
            raise Refusal(errno.EINVAL)
        if start < LOWEST or (end > self._end and not name.startswith("[")):
            raise Refusal(errno.EPERM if start < LOWEST else errno.ENOMEM)
        backed = bool(protection or content or shared is not None)
        area = Area(start, end, protection, backed, name, offset, shared, most)
        self._check_limits(end - start if backed else 0, end - start if shared is not None else 0, shared)
        before = [(low, high, self._content(low, high)) for low, high, new in self._met(start, end) if not new]
        self._remove(start, end)
        if backed:
            self._back(area, content)
            for low, high, old in before:
                self._journal_changes(low, old, bytes(self._uc.mem_read(low, high - low)))
        else:
            for low, _, old in before:
                self._journal_changes(low, old, bytes(len(old)))
        self._areas.insert(bisect_right(self._areas, start, key=lambda each: each.start), area)
        self._join(start, end)

    def unmap(self, start: int, size: int) -> None:
        """Take away whole pages. Raises Refusal (EINVAL)."""
        end = start + _pages(size)
        if start % PAGE or end == start:
            raise Refusal(errno.EINVAL)
        for area in self._split(start, end):
            if area.backed:
                self._journal_changes(area.start, self._content(area.start, area.end), bytes(area.end - area.start))
        self._remove(start, end)

    def protect(self, start: int, size: int, protection: int) -> None:
        """What programs may do there from now on. Raises Refusal (EINVAL, ENOMEM, EACCES)."""
        end = start + _pages(size)
        if start % PAGE:
            raise Refusal(errno.EINVAL)
        areas = self._split(start, end)
        if sum(area.end - area.start for area in areas) != end - start:
            raise Refusal(errno.ENOMEM)
        if any(protection & ~area.most for area in areas):
            raise Refusal(errno.EACCES)
        self._check_limits(sum(area.end - area.start for area in areas if not area.backed) if protection else 0)
        for area in areas:
            backed = area.backed or bool(protection)
            if area.backed:
                self._uc.mem_protect(area.start, area.end - area.start, _allowed(protection))
            elif backed:
                self._back(replace(area, protection=protection), b"")
            self._areas[self._areas.index(area)] = replace(area, protection=protection, backed=backed)
            self._note_code(area.start, area.end)
        self._join(start, end)

    def move(self, old: int, size: int, new: int, grown: int) -> None:
        """Map the pages [old, old + size) at ``new``, with ``grown`` bytes in all."""
        area = self.area_at(old)
        assert area is not None
        content = self._content(old, old + size) if area.backed and area.shared is None else b""
        at = area.offset + old - area.start
        if area.shared is not None and at + grown > len(area.shared.bytes):
            raise Refusal(errno.ENOMEM)
        shared, name, most = area.shared, area.name, area.most
        self.map(new, grown, area.protection, content, name=name, offset=at, shared=shared, most=most)
        self.unmap(old, size)

    def clear(self, start: int, size: int) -> None:
        """Zeros in place of what pages hold: they are given back, and stay mapped."""
        for area in self._split(start, start + _pages(size)):
            if area.backed and area.shared is None:
                old = self._content(area.start, area.end)
                for low, high in used_runs(used_pages(old)):  # the others would get memory of the host
                    self._uc.mem_write(area.start + low, bytes(high - low))
                self._journal_changes(area.start, old, bytes(len(old)))
        self._join(start, start + _pages(size))

    def is_free(self, start: int, end: int) -> bool:
        return start >= LOWEST and end <= self._end and not any(a.start < end and start < a.end for a in self._areas)

    def free_place(self, size: int) -> int:
        """The highest free range below the top that has room. Raises Refusal (ENOMEM)."""
        end, size = self._top, _pages(size)
        for area in reversed(self._areas):
            if area.start >= end:
                continue
            if end - area.end >= size:
                break
            end = min(end, area.start)
        if end - size < LOWEST:
            raise Refusal(errno.ENOMEM)
        return end - size

    @property
    def code(self) -> tuple[Area, ...]:
        """The areas that may execute."""
        return tuple(area for area in self._areas if area.backed and area.protection & EXECUTE)

    # Inside.

    def _check_limits(self, more: int, size: int = 0, shared: SharedBytes | None = None) -> None:
        used = sum(each.mapped for each in self._together)
        ever = sum(high - low for low, high in self._ever)
        if max(used, ever) + more > self.most or len(self._areas) >= MOST_AREAS:
            raise Refusal(errno.ENOMEM)
        seen = sum(area.end - area.start for each in self._together for area in each.views) if size else 0
        views = sum(area.shared is shared for area in self.views) if shared is not None else 0
        if seen + size > MOST_SHARED or views >= MOST_VIEWS:
            raise Refusal(errno.ENOMEM)

    def _map(self, area: Area) -> None:
        """Give an area's pages memory in this machine: of its own, or that which is shared."""
        size, allowed = area.end - area.start, _allowed(area.protection)
        if area.shared is None:
            self._uc.mem_map(area.start, size, allowed)
        else:
            self._uc.mem_map_ptr(area.start, size, allowed, area.shared.address + area.offset)

    def _back(self, area: Area, content: bytes) -> None:
        """Memory for pages that have none; where a trace has no region yet, this is its content."""
        start, end = area.start, area.end
        self._map(area)
        if content:
            self._uc.mem_write(start, content[: end - start])
        for low, high, new in list(self._met(start, end)):
            if new:
                data = bytes(self._uc.mem_read(low, high - low)) if content or area.shared else bytes(high - low)
                self.initial.append(Region(low, data))
        self._ever = _united(self._ever, start, end)
        self._note_code(start, end, area.protection)

    def _met(self, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
        """[start, end) in pieces: whether each is new, so that no region of the trace has it."""
        at = start
        for low, high in self._ever:
            if high <= at or low >= end:
                continue
            if at < low:
                yield at, low, True
            yield max(at, low), min(high, end), False
            at = min(high, end)
        if at < end:
            yield at, end, True

    def _content(self, start: int, end: int) -> bytes:
        """What the trace has there now: the memory, and zeros where nothing is mapped."""
        found = bytearray(end - start)
        for area in self._areas:
            low, high = max(area.start, start), min(area.end, end)
            if area.backed and low < high:
                found[low - start : high - start] = self._uc.mem_read(low, high - low)
        return bytes(found)

    def _journal_changes(self, address: int, old: bytes, new: bytes) -> None:
        """Journal entries for the words that differ."""
        if old == new:
            return
        differ = np.flatnonzero(np.frombuffer(old, np.uint64) != np.frombuffer(new, np.uint64))
        for run in np.split(differ, np.flatnonzero(np.diff(differ) != 1) + 1):
            low, high = 8 * int(run[0]), 8 * int(run[-1]) + 8
            self._journal(address + low, new[low:high])

    def _note_code(self, start: int, end: int, protection: int = EXECUTE) -> None:
        if protection & EXECUTE:
            self.changed_code.append((start, end))

    def _split(self, start: int, end: int) -> list[Area]:
        """The areas inside [start, end), after cutting those that reach out of it."""
        self._views = None  # whoever changes an area asks here before
        for cut in (start, end):
            area = self.area_at(cut)
            if area is not None and area.start < cut:
                i = self._areas.index(area)
                rest = replace(area, start=cut, offset=area.offset + cut - area.start)
                self._areas[i : i + 1] = parts = [replace(area, end=cut), rest]
                if area.shared is not None and area.backed:  # the emulator would copy what it cuts
                    self._uc.mem_unmap(area.start, area.end - area.start)
                    for part in parts:
                        self._map(part)
        return [area for area in self._areas if start <= area.start < end]

    def _remove(self, start: int, end: int) -> None:
        for area in self._split(start, end):
            self._areas.remove(area)
            if area.backed:
                self._uc.mem_unmap(area.start, area.end - area.start)
                self._note_code(area.start, area.end, area.protection)

    def _join(self, start: int, end: int) -> None:
        """Neighbours that differ in nothing are one area, as in Linux."""
        joined: list[Area] = []
        for area in self._areas:
            last = joined[-1] if joined else None
            if last is not None and last.end == area.start and start <= area.start <= end and area.shared is None:
                follows = replace(last, start=area.start, end=area.end, offset=last.offset + last.end - last.start)
                if follows == area or (replace(follows, offset=0) == replace(area, offset=0) and not area.name):
                    joined[-1] = replace(last, end=area.end)
                    continue
            joined.append(area)
        self._areas = joined


def _allowed(protection: int) -> int:
    """No processor here has memory that may be executed or written but not read."""
    return protection | READ if protection else 0


def _pages(size: int) -> int:
    return -(-size // PAGE) * PAGE


def _united(ranges: list[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """Disjoint ranges in order, with one more."""
    apart = [r for r in ranges if r[1] < start or r[0] > end]
    met = [r for r in ranges if not (r[1] < start or r[0] > end)]
    whole = (min([start, *(r[0] for r in met)]), max([end, *(r[1] for r in met)]))
    return sorted([*apart, whole])
