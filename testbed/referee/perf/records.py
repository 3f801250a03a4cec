"""Samples as `perf record --call-graph dwarf` writes them: one record per snapshot, in a stream that never ends.

A stream is a header of 16 bytes (the magic, its own size), then records, each with a header of 8 bytes (type, misc,
size). The first record says what the samples have (``perf_event_attr``); one says that a process began, one for each
segment of a file where it is mapped; then come the samples::

    ip u64, pid u32, tid u32, time u64, callchain: count u64,
    registers: abi u64, one u64 for each bit of `_REGISTERS`,
    stack: size u64, size bytes from SP up, how many of them could be read u64

perf sorts samples by time. A record FINISHED_ROUND says that nothing older than what came before the last such record
will come: behind two of them perf looks at the sample at once.

Source: linux/perf_event.h; tools/perf/Documentation/perf.data-file-format.txt; asm/perf_regs.h (x86).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from testbed.export.dumped_memory import PAGE
from testbed.image import LoadedImage
from testbed.referee.process.without_tables import file_of
from testbed.trace import Snapshot
from testbed.words.errors import UnreadableMemory

DUMP = 8192  # bytes of the stack in a sample: what perf record takes where nobody says another number
NAMES = (*("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "rip"), *(f"r{number}" for number in range(8, 16)))

_MAGIC = b"PERFILE2" + struct.pack("<Q", 16)
_COMM, _SAMPLE, _MMAP2, _ATTRIBUTES, _FINISHED_ROUND = 3, 9, 10, 64, 68
_USER, _DATA = 2, 1 << 13  # PERF_RECORD_MISC_USER, PERF_RECORD_MISC_MMAP_DATA
_IP, _TID, _TIME, _CALLCHAIN, _REGS_USER, _STACK_USER = 1, 2, 4, 1 << 5, 1 << 12, 1 << 13
_FLAGS = 1 << 8 | 1 << 9 | 1 << 17 | 1 << 22 | 1 << 23  # mmap, comm, mmap_data, exclude_callchain_user, mmap2
_REGISTERS = 0xFF0FFF  # ax to ip, flags, cs, ss, r8 to r15
_FLAGS_CS_SS = (0x202, 0x33, 0x2B)
_PROCESS = 1
_CLOCK = 1  # PERF_TYPE_SOFTWARE; PERF_COUNT_SW_CPU_CLOCK is 0
_ROUNDS = struct.pack("<IHH", _FINISHED_ROUND, 0, 8) * 2


def opening(images: Iterable[LoadedImage], names: Iterable[str] | None = None) -> bytes:
    """What a stream begins with: what its samples have, and a process with the images, under the names of files."""
    images = tuple(images)
    files = [str(file_of(each.image).absolute()) for each in images] if names is None else names
    fields = _IP | _TID | _TIME | _CALLCHAIN | _REGS_USER | _STACK_USER
    attributes = struct.pack("<IIQQQQQ", _CLOCK, 112, 0, 1, fields, 0, _FLAGS)
    attributes += struct.pack("<IIQQQQIiQIHH", 0, 0, 0, 0, 0, _REGISTERS, DUMP, 0, 0, 0, 0, 0)
    program = struct.pack("<II8s", _PROCESS, _PROCESS, b"program")
    mapped = b"".join(_mappings(loaded, name) for loaded, name in zip(images, files, strict=True))
    return _MAGIC + _record(_ATTRIBUTES, 0, attributes) + _record(_COMM, _USER, program) + mapped


def sample(snapshot: Snapshot, time: int) -> bytes:
    """One snapshot as a sample at ``time`` nanoseconds, and what makes perf look at it at once."""
    registers = [snapshot.registers[name] for name in NAMES]
    registers[9:9] = _FLAGS_CS_SS
    words = struct.pack("<QIIQQQ", snapshot.pc, _PROCESS, _PROCESS, time, 0, 2)  # abi 2: 64 bits
    words += struct.pack(f"<{len(registers)}Q", *registers)
    stack = _stack(snapshot)
    dump = struct.pack("<Q", DUMP) + stack.ljust(DUMP, b"\0") + struct.pack("<Q", len(stack))
    return _record(_SAMPLE, _USER, words + dump) + _ROUNDS


def _stack(snapshot: Snapshot) -> bytes:
    """What the kernel can read from SP up, in whole words."""
    try:
        size = min(snapshot.memory.mapped_until(snapshot.sp) - snapshot.sp, DUMP)
        return snapshot.memory.read(snapshot.sp, size & -8)
    except UnreadableMemory:
        return b""


def _mappings(loaded: LoadedImage, file: str) -> bytes:
    """MMAP2: pid, tid, address, length, offset in the file, device, inode, protection, flags, the file's name."""
    name = file.encode() + b"\0"
    found = b""
    for segment in loaded.image.segments:
        start = segment.address + loaded.bias
        skip = start % PAGE
        size = (skip + segment.size + PAGE - 1) & -PAGE
        protection = segment.readable | segment.writable << 1 | segment.executable << 2
        where = struct.pack("<IIQQQ", _PROCESS, _PROCESS, start - skip, size, segment.offset - skip)
        what = struct.pack("<IIQQII", 0, 0, 0, 0, protection, 2)  # flags 2: MAP_PRIVATE
        misc = _USER if segment.executable else _USER | _DATA
        found += _record(_MMAP2, misc, where + what + name + bytes(-len(name) % 8))
    return found


def _record(kind: int, misc: int, body: bytes) -> bytes:
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body
