"""Minidumps: one stopped thread, its memory, and the modules with what identifies each of their files.

Layout::

    header                MDMP, version 0xa793, number of streams, where their directory is
    directory             {stream type, size, offset} for each stream
    streams               ThreadList, ModuleList, MemoryList, Exception, SystemInfo; MemoryInfoList: what was mapped
    what they point to    the thread's CPU context, names, CodeView records, memory

A module's CodeView record is the number ``BpEL`` (0x4270454c: its bytes stand the other way round) followed by the
build id, or, where it has 16 bytes (a computed one, or a Mach-O file's), ``RSDS``: the same 16 bytes as a GUID, age 0,
and the file's name. The fields are unaligned and little-endian.

No stream that others define says which bits of a return address are its signature. One of type 0x54420406 does here,
where that is known: two words of 64 bits, the mask of data pointers and that of code pointers.

Source: Microsoft, minidumpapiset.h; Breakpad, minidump_format.h (MDCVInfoELF, MD_OS_LINUX).
"""

from __future__ import annotations

import struct

from testbed.export.build_id import build_id
from testbed.export.dumped_memory import Piece, all_mappings, filled, image_range, pieces
from testbed.export.register_layouts import LAYOUTS, MINIDUMP_MAPPINGS, MINIDUMP_PAC_MASK
from testbed.image import LoadedImage
from testbed.trace import Snapshot

_THREADS, _MODULES, _MEMORY, _EXCEPTION, _SYSTEM = 3, 4, 5, 6, 7
_LINUX, _MACOS = 0x8201, 0x8101
_SIGTRAP = 5
_COMMIT, _PRIVATE = 0x1000, 0x2_0000  # MEM_COMMIT, MEM_PRIVATE
_PROTECTIONS = {(False, False): 0x02, (True, False): 0x04, (False, True): 0x20, (True, True): 0x40}  # PAGE_*
THREAD = 1
BUILD_ID_RECORD = 0x4270_454C  # MD_CVINFOELF_SIGNATURE


def minidump_bytes(snapshot: Snapshot) -> bytes:
    """A snapshot as a minidump.

    Raises UsageError where some registers of a group are known and others not: its flags speak of whole groups.
    """
    layouts = LAYOUTS[snapshot.arch.name]
    streams = 5 + bool(snapshot.pac_mask) + bool(all_mappings(snapshot))
    out = _MinidumpParts(bytearray(32 + 12 * streams))
    context = out.put(bytes(filled(layouts.minidump, snapshot, "a minidump")))
    memory = [(piece, out.put(piece.data)) for piece in pieces(snapshot)]
    directory = [
        (_THREADS, out.put(_thread(snapshot, context, layouts.minidump.size, memory))),
        (_MODULES, out.put(_modules(snapshot, out))),
        (_MEMORY, out.put(_memory(memory))),
        (_EXCEPTION, out.put(_exception(snapshot, context, layouts.minidump.size))),
        (_SYSTEM, out.put(_system(snapshot, layouts.minidump_processor, out.put(struct.pack("<IH", 0, 0))))),
    ]
    if snapshot.pac_mask:
        directory.append((MINIDUMP_PAC_MASK, out.put(struct.pack("<2Q", snapshot.pac_mask, snapshot.pac_mask))))
    if mappings := all_mappings(snapshot):
        directory.append((MINIDUMP_MAPPINGS, out.put(_mapped(mappings, pieces(snapshot)))))
    struct.pack_into("<4sIIIIIQ", out.data, 0, b"MDMP", 0xA793, streams, 32, 0, 0, 0)
    for i, (kind, at) in enumerate(directory):
        struct.pack_into("<III", out.data, 32 + 12 * i, kind, out.sizes[at], at)
    return bytes(out.data)


class _MinidumpParts:
    """The file as it grows; every part begins at a multiple of 8."""

    def __init__(self, data: bytearray) -> None:
        self.data = data
        self.sizes: dict[int, int] = {}

    def put(self, part: bytes) -> int:
        self.data.extend(bytes(-len(self.data) % 8))
        at = len(self.data)
        self.data.extend(part)
        self.sizes[at] = len(part)
        return at


def _thread(snapshot: Snapshot, context: int, size: int, memory: list[tuple[Piece, int]]) -> bytes:
    """MDRawThreadList with one MDRawThread; its stack is the piece that holds SP."""
    stack = next(((p, at) for p, at in memory if p.address <= snapshot.sp < p.end), None)
    where = (stack[0].address, len(stack[0].data), stack[1]) if stack else (snapshot.sp, 0, 0)
    return struct.pack("<IIIIIQQIIII", 1, THREAD, 0, 0, 0, 0, *where, size, context)


def _modules(snapshot: Snapshot, out: _MinidumpParts) -> bytes:
    """MDRawModuleList: base, size, checksum, time, name, VS_FIXEDFILEINFO, CodeView record, misc, two reserved."""
    listed = [loaded for loaded in snapshot.images if loaded.image.segments]
    parts = [struct.pack("<I", len(listed))]
    for loaded in listed:
        start, end = image_range(loaded)
        name = str(loaded.image.path.absolute()).encode("utf-16-le", "surrogatepass")
        name_at = out.put(struct.pack("<I", len(name)) + name + b"\0\0")
        record = _code_view(loaded)
        record_at = out.put(record)
        parts.append(struct.pack("<QIIII", start, end - start, 0, 0, name_at) + bytes(52))
        parts.append(struct.pack("<IIIIQQ", len(record), record_at, 0, 0, 0, 0))
    return b"".join(parts)


def _code_view(loaded: LoadedImage) -> bytes:
    identifier = build_id(loaded.image)
    if len(identifier) != 16:
        return struct.pack("<I", BUILD_ID_RECORD) + identifier
    name = loaded.image.path.name.encode("utf-8", "surrogateescape")
    return b"RSDS" + identifier + struct.pack("<I", 0) + name + b"\0"


def _memory(memory: list[tuple[Piece, int]]) -> bytes:
    entries = [struct.pack("<QII", piece.address, len(piece.data), at) for piece, at in memory]
    return struct.pack("<I", len(entries)) + b"".join(entries)


def _mapped(mappings: tuple[tuple[int, int], ...], memory: tuple[Piece, ...]) -> bytes:
    """MDRawMemoryInfoList: size of header and entry, count; base, allocation, protection, size, state, type each."""
    out = [struct.pack("<IIQ", 16, 48, len(mappings))]
    for start, end in mappings:
        inside = [piece for piece in memory if piece.address < end and start < piece.end]
        allowed = any(piece.writable for piece in inside), any(piece.executable for piece in inside)
        protection = _PROTECTIONS[allowed]
        out.append(
            struct.pack("<QQIIQIIII", start, start, protection, 0, end - start, _COMMIT, protection, _PRIVATE, 0)
        )
    return b"".join(out)


def _exception(snapshot: Snapshot, context: int, size: int) -> bytes:
    """MDRawExceptionStream: the thread, a SIGTRAP at pc, no parameters, the thread's context."""
    record = struct.pack("<IIQQII", _SIGTRAP, 0, 0, snapshot.pc, 0, 0) + bytes(15 * 8)
    return struct.pack("<II", THREAD, 0) + record + struct.pack("<II", size, context)


def _system(snapshot: Snapshot, processor: int, version: int) -> bytes:
    apple = bool(snapshot.images) and snapshot.images[0].image.content[:4] == b"\xcf\xfa\xed\xfe"
    platform = _MACOS if apple else _LINUX
    return struct.pack("<HHHBBIIIIIHH", processor, 0, 0, 1, 0, 0, 0, 0, platform, version, 0, 0) + bytes(24)
