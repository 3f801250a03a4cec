"""Linux perf: what `perf script` makes of samples that `perf record --call-graph dwarf` would have written.

One `perf script` reads a stream of samples, one per snapshot, and answers each at once: registers, 8 KiB of the stack,
the files. It remembers rows between them, as for any profile. Debian's perf unwinds with nongnu libunwind, over
`.eh_frame_hdr`'s table, then `.debug_frame`; where neither has a row, libunwind guesses. What comes out is a list of
addresses: no registers, and no word on why the list ends.

Of a caller perf lists the address before its pc, so that it lies in the call; of a frame that a signal interrupted, the
pc as it is. That is taken back here: where the frame before it is at the instructions of Linux's signal trampoline, an
address is the pc; elsewhere the pc is the one behind it.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from testbed.arch import Arch
from testbed.contract.unwinder import Backtrace, Frame, FrameKind, Unwinder, interrupted_frame, nothing_found
from testbed.export.dumped_memory import PAGE, stack_around
from testbed.image import LoadedImage
from testbed.referee.model import Found, Referee, called, read_findings
from testbed.referee.process.file_tool import JsonProcess
from testbed.referee.process.limits import printed, with_every_register
from testbed.referee.process.without_tables import file_of
from testbed.trace import Snapshot
from testbed.words.errors import NoUnwindInfo, ToolCrashed, ToolHung, UnreadableMemory

# Samples as `perf record --call-graph dwarf` writes them: one record per snapshot, in a stream that never ends.
#
# A stream is a header of 16 bytes (the magic, its own size), then records, each with a header of 8 bytes (type, misc,
# size). The first record says what the samples have (``perf_event_attr``); one says that a process began, one for each
# segment of a file where it is mapped; then come the samples::
#
#     ip u64, pid u32, tid u32, time u64, callchain: count u64,
#     registers: abi u64, one u64 for each bit of `_REGISTERS`,
#     stack: size u64, size bytes from SP up, how many of them could be read u64
#
# perf sorts samples by time. A record FINISHED_ROUND says that nothing older than what came before the last such record
# will come: behind two of them perf looks at the sample at once.
#
# Source: linux/perf_event.h; tools/perf/Documentation/perf.data-file-format.txt; asm/perf_regs.h (x86).

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


def opening(images: Iterable[LoadedImage]) -> bytes:
    """What a stream begins with: what its samples have, and a process with the images, under the names of files."""
    images = tuple(images)
    files = [str(file_of(each.image).absolute()) for each in images]
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
    _, stack = stack_around(snapshot, 0, DUMP)
    stack = stack[: len(stack) & -8]  # the kernel reads whole words
    dump = struct.pack("<Q", DUMP) + stack.ljust(DUMP, b"\0") + struct.pack("<Q", len(stack))
    return _record(_SAMPLE, _USER, words + dump) + _ROUNDS


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


MAX_FRAMES = 1024
SECONDS = 20.0  # for one snapshot; one takes half a millisecond, the first 0.1 s
# mov $15, %eax or %rax; syscall: with the bytes from its beginning to each of its two instructions.
_TRAMPOLINES = tuple((bytes.fromhex(move + "0f05"), (0, len(move) // 2)) for move in ("b80f000000", "48c7c00f000000"))
_INSIDE = Path(__file__).with_name("inside.py")
_OPTIONS = ("--no-inline", "--no-demangle", "--max-stack", str(MAX_FRAMES))


@cache
def find() -> Found | None:
    """A perf that unwinds with libunwind and can run our script; another one is not taken."""
    path = shutil.which("perf")
    told = printed([path, "version", "--build-options"]) if path else ""
    version = re.search(r"perf version (\S+)", told)
    has = {name for name in ("libunwind", "libpython") if re.search(rf"\b{name}: \[ on", told)}
    return Found(f"{version[1]} with libunwind", path) if path and version and len(has) == 2 else None


@dataclass(slots=True)
class PerfScript:
    """One process of perf, and the program that it was told of."""

    images: tuple[LoadedImage, ...]
    process: JsonProcess
    asked: int = 0

    def addresses(self, snapshot: Snapshot) -> list[int]:
        """What perf lists. Raises ToolCrashed or ToolHung."""
        self.asked += 1
        return [int(each) for each in self.process.ask_bytes(sample(snapshot, self.asked), seconds=SECONDS)]


_RUNNING: list[PerfScript] = []


def command(requests: int, replies: int) -> Sequence[str]:
    """perf with the stream as its standard input: it takes no other for one."""
    found = find()
    assert found is not None, "perf is not installed"
    perf = (found.path, "--buildid-dir", os.devnull, "script", "-i", "-", *_OPTIONS, "-s", str(_INSIDE))
    return ["/usr/bin/env", f"TESTBED_REPLIES={replies}", *perf]


def _script(snapshot: Snapshot) -> PerfScript:
    if _RUNNING and not (_RUNNING[0].images == snapshot.images and _RUNNING[0].process.ours):
        _RUNNING.pop().process.close()
    if not _RUNNING:
        environment = {"PERF_CONFIG": os.devnull, "PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
        process = JsonProcess(command, environment=environment, standard_input=True)
        process.tell(opening(snapshot.images))
        _RUNNING.append(PerfScript(snapshot.images, process))
    return _RUNNING[0]


def unwind(snapshot: Snapshot) -> Backtrace:
    """What perf says; a crash and a hang are a stop at the interrupted frame."""
    try:
        listed = _script(snapshot).addresses(snapshot)
    except (ToolCrashed, ToolHung) as stop:
        _RUNNING.clear()
        return nothing_found(snapshot, stop)
    if not listed:
        return nothing_found(snapshot, NoUnwindInfo("perf has no address for this sample"))
    return Backtrace(_frames(snapshot, listed[1:]), None)


def _frames(snapshot: Snapshot, addresses: Iterable[int]) -> tuple[Frame, ...]:
    frames = [interrupted_frame(snapshot)]
    for address in addresses:
        signalled = _in_trampoline(snapshot, frames[-1].pc)
        kind = FrameKind.INTERRUPTED if signalled else FrameKind.CALLER
        pc = address if signalled else (address + 1) & (1 << 64) - 1
        frames.append(Frame(kind, pc, {snapshot.arch.pc: pc}, found_by="perf"))
    return tuple(frames)


def _in_trampoline(snapshot: Snapshot, pc: int) -> bool:
    return any(_reads(snapshot, pc - skip, code) for code, skips in _TRAMPOLINES for skip in skips)


def _reads(snapshot: Snapshot, address: int, code: bytes) -> bool:
    try:
        return address >= 0 and snapshot.memory.read(address, len(code)) == code
    except UnreadableMemory:
        return False


def _sampled(arch: Arch) -> Iterable[str]:
    return NAMES


REFEREE = Referee(
    name="perf",
    summary="Linux perf script, on samples with registers and 8 KiB of the stack",
    package="apt-get install linux-perf",
    find=find,
    unwinders=(
        Unwinder(
            name="perf",
            summary="Linux perf, as built with libunwind: .eh_frame_hdr's table, .debug_frame, then guesses; pcs only",
            unwind=with_every_register(unwind, _sampled),
            arches=frozenset({"x86_64"}),
            needs=frozenset({".eh_frame_hdr"}),
            counted=True,
            tool=called("perf", find),
        ),
    ),
    findings=read_findings(__file__),
)
