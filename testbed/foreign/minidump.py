"""Minidumps, as Breakpad, Crashpad, rust-minidump and `testbed export` write them.

The registers are those of the exception's context, where there is one, else of the chosen thread. Memory is the
MemoryList or Memory64List, and each thread's stack. A register that the context's flags do not speak for is unknown.
What was mapped is said by MemoryInfoList or LinuxMaps; without them, nothing is known of what the dump does not have.
A module's file is known by its CodeView record: 0x4270454c ("BpEL" as a number, so its bytes stand the other way round)
and a build id, or ``RSDS`` and a GUID.

Source: Microsoft, minidumpapiset.h; Breakpad, minidump_format.h.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from testbed.arch import ARCHES, Arch
from testbed.export.register_layouts import LAYOUTS, MINIDUMP_MAPPINGS, MINIDUMP_PAC_MASK, RegisterBlock
from testbed.foreign.model import MOST_PIECES, TAKE_IT_AGAIN, Dump, DumpBytes, Module, disjoint, registers_in
from testbed.words.budget import Account

_THREADS, _MODULES, _MEMORY, _EXCEPTION, _SYSTEM, _MEMORY64 = 3, 4, 5, 6, 7, 9
_NAMES = {_THREADS: "ThreadList", _MODULES: "ModuleList", _SYSTEM: "SystemInfo"}
_THREAD_SIZE, _MODULE_SIZE = 48, 108
_LINUX_MAPS = 0x4767_0009
_COMMIT, _INFO_SIZE = 0x1000, 48  # MEM_COMMIT: mapped and not only reserved
_MOST_STREAMS = 4096


def read_minidump(path: Path, content: bytes, account: Account, thread: int | None = None) -> Dump:
    """The minidump ``path``, whose bytes are ``content``; ``thread`` counts from 0; None: the one that crashed.

    Raises SnapshotFileError (file, offset, what is wrong, what to do), and BudgetExceeded: what is read draws on
    ``account``.
    """
    file = DumpBytes(path, content, 0, account)
    streams = _streams(file)
    arch = _arch(streams)
    threads = list(_items(streams[_THREADS], _THREAD_SIZE, "ThreadList"))
    context = _context(file, streams, threads, thread)
    memory = list(_memory(file, streams))
    for entry in threads:
        where = (entry.unsigned(at, size, "a thread's stack") for at, size in ((24, 8), (32, 4), (36, 4)))
        address, size, at = where
        memory.append((address, file.take(at, size, f"a thread's stack; {TAKE_IT_AGAIN}")))
    if any(address + len(data) > 1 << 8 * arch.word for address, data in memory):
        raise file.error(streams[_SYSTEM].start, f"memory leaves the address space of {arch}; {TAKE_IT_AGAIN}")
    return Dump(
        path,
        "minidump",
        arch,
        registers_in(arch, _context_layout(arch, context), context, "the CPU context"),
        disjoint(memory),
        tuple(_module(file, entry) for entry in _items(streams[_MODULES], _MODULE_SIZE, "ModuleList")),
        len(threads),
        _pac_mask(streams),
        _mapped(streams),
        account,
    )


def _streams(file: DumpBytes) -> dict[int, DumpBytes]:
    if file.take(0, 32, "the header")[:4] != b"MDMP":
        raise file.error(0, "not a minidump (no MDMP)")
    count, at = file.unsigned(8, 4, "the header"), file.unsigned(12, 4, "the header")
    if count > _MOST_STREAMS:
        raise file.error(8, f"{count} streams; {TAKE_IT_AGAIN}")
    found: dict[int, DumpBytes] = {}
    for i in range(count):
        kind, size, offset = (file.unsigned(at + 12 * i + 4 * j, 4, f"directory entry {i}") for j in range(3))
        if kind:
            found.setdefault(kind, file.part(offset, size, f"the stream of type {kind:#x}; {TAKE_IT_AGAIN}:"))
    for kind, name in _NAMES.items():
        if kind not in found:
            raise file.error(at, f"no {name} stream; {TAKE_IT_AGAIN}")
    return found


def _arch(streams: dict[int, DumpBytes]) -> Arch:
    processor = streams[_SYSTEM].unsigned(0, 2, "SystemInfo")
    for arch in ARCHES.values():
        if LAYOUTS[arch.name].minidump_processor == processor:
            return arch
    known = ", ".join(f"{a.name} ({LAYOUTS[a.name].minidump_processor})" for a in ARCHES.values())
    raise streams[_SYSTEM].error(0, f"unknown architecture: processor {processor:#x}; known are {known}")


def _items(stream: DumpBytes, size: int, what: str) -> Iterator[DumpBytes]:
    """The entries of a list: a count, then (some writers pad to 8 bytes) the entries."""
    count = stream.unsigned(0, 4, what)
    if count > MOST_PIECES:
        raise stream.error(0, f"{what} claims {count} entries; {TAKE_IT_AGAIN}")
    start = 8 if len(stream) == 8 + count * size else 4
    for i in range(count):
        stream.account.spend("entries", 1, stream.start + start + i * size)
        yield stream.part(start + i * size, size, f"entry {i} of {what}; {TAKE_IT_AGAIN}:")


def _context(file: DumpBytes, streams: dict[int, DumpBytes], threads: list[DumpBytes], thread: int | None) -> DumpBytes:
    if thread is None and _EXCEPTION in streams:
        where = streams[_EXCEPTION].part(160, 8, "the exception's context")
    elif not threads:
        raise streams[_THREADS].error(0, f"no thread; {TAKE_IT_AGAIN}")
    elif not 0 <= (thread or 0) < len(threads):
        raise streams[_THREADS].error(0, f"there is no thread {thread}: the file has {len(threads)}, counted from 0")
    else:
        where = threads[thread or 0].part(40, 8, "a thread's context")
    return file.part(
        where.unsigned(4, 4, "a context"), where.unsigned(0, 4, "a context"), f"the CPU context; {TAKE_IT_AGAIN}:"
    )


def _pac_mask(streams: dict[int, DumpBytes]) -> int | None:
    stream = streams.get(MINIDUMP_PAC_MASK)
    return None if stream is None else stream.unsigned(8, 8, "the masks of signature bits")


def _mapped(streams: dict[int, DumpBytes]) -> tuple[tuple[int, int], ...]:
    """All that was mapped: MemoryInfoList, which Crashpad and Windows write, else Breakpad's copy of /proc/PID/maps."""
    if stream := streams.get(MINIDUMP_MAPPINGS):
        what = "MemoryInfoList"
        header, size, count = (stream.unsigned(at, n, what) for at, n in ((0, 4), (4, 4), (8, 8)))
        if count > MOST_PIECES or size < _INFO_SIZE:
            raise stream.error(0, f"{what} claims {count} entries of {size} bytes; {TAKE_IT_AGAIN}")
        stream.account.spend("entries", count, stream.start)
        entries = [stream.part(header + i * size, size, f"entry {i} of {what}; {TAKE_IT_AGAIN}:") for i in range(count)]
        used = [entry for entry in entries if entry.unsigned(32, 4, what) == _COMMIT]
        ranges = [(entry.unsigned(0, 8, what), entry.unsigned(24, 8, what)) for entry in used]
        return tuple((start, start + length) for start, length in ranges if 0 < length <= (1 << 64) - start)
    text = streams[_LINUX_MAPS].data.decode("latin-1") if _LINUX_MAPS in streams else ""
    matches = re.finditer(r"^([0-9a-f]{1,16})-([0-9a-f]{1,16}) ", text, re.M)
    found = ((int(m[1], 16), int(m[2], 16)) for m in matches)
    return tuple((start, end) for start, end in found if start < end)


def _context_layout(arch: Arch, context: DumpBytes) -> RegisterBlock:
    layouts = LAYOUTS[arch.name]
    if layouts.minidump_old and context.unsigned(0, 4, "the CPU context") & layouts.minidump_old[0]:
        return layouts.minidump_old[1]
    return layouts.minidump


def _memory(file: DumpBytes, streams: dict[int, DumpBytes]) -> Iterator[tuple[int, bytes]]:
    if stream := streams.get(_MEMORY):
        for entry in _items(stream, 16, "MemoryList"):
            address, size, at = (entry.unsigned(a, s, "MemoryList") for a, s in ((0, 8), (8, 4), (12, 4)))
            yield address, file.take(at, size, f"the memory at {address:#x}; {TAKE_IT_AGAIN}:")
    if stream := streams.get(_MEMORY64):
        count, at = stream.unsigned(0, 8, "Memory64List"), stream.unsigned(8, 8, "Memory64List")
        for i in range(min(count, MOST_PIECES)):
            stream.account.spend("entries", 1, stream.start + 16 + 16 * i)
            address, size = (stream.unsigned(16 + 16 * i + 8 * j, 8, "Memory64List") for j in range(2))
            yield address, file.take(at, size, f"the memory at {address:#x}; {TAKE_IT_AGAIN}:")
            at += size


def _module(file: DumpBytes, entry: DumpBytes) -> Module:
    start, name_at = entry.unsigned(0, 8, "a module"), entry.unsigned(20, 4, "a module")
    size = file.unsigned(name_at, 4, "a module's name")
    name = file.take(name_at + 4, size, "a module's name").decode("utf-16-le", "replace")
    size, at = entry.unsigned(76, 4, "a module"), entry.unsigned(80, 4, "a module")
    record = file.take(at, size, f"the CodeView record of {name}")
    identifier = b""
    if record[:4] == b"LEpB":
        identifier = record[4:]
    elif record[:4] == b"RSDS":
        identifier = record[4:20]
    return Module(name, start, entry.start, identifier=identifier)
