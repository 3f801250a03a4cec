"""Mach-O core files (MH_CORE): one stopped thread and its memory, as LLDB and Apple's kernel write them.

Layout::

    mach_header_64        file type 4 (MH_CORE)
    LC_SEGMENT_64 ...     one per piece of memory, without sections
    LC_THREAD             {flavor, count in words of 4 bytes, state} for each thread state
    LC_NOTE               "addrable bits", where addresses are signed: version 3, how many bits are the address, 0
    memory                each piece at a page boundary of the file

Where the images lie is not said: a debugger finds their headers in the memory.

Source: Mach-O, mach-o/loader.h; mach/i386/_structs.h, mach/arm/_structs.h.
"""

from __future__ import annotations

import struct

from testbed.export.dumped_memory import BELOW_SP, PAGE, filled, has_any, pieces
from testbed.export.register_layouts import LAYOUTS, MACHO_ADDRESS_BITS
from testbed.image.macho_arches import MACH_O
from testbed.trace import Snapshot
from testbed.words.errors import UsageError

_MAGIC, _CORE = 0xFEED_FACF, 4
_SEGMENT, _THREAD, _NOTE = 0x19, 0x4, 0x31
_HEADER_SIZE, _SEGMENT_SIZE, _NOTE_SIZE = 32, 72, 40


def macho_core_bytes(snapshot: Snapshot, *, below: int = BELOW_SP) -> bytes:
    """A snapshot as a Mach-O core file; ``below``: how many bytes under SP are kept.

    Raises UsageError for an architecture that has no 64-bit Mach-O files, for a register that is not known, and for a
    stack that is not all there.
    """
    numbers = MACH_O[snapshot.arch.name]
    if numbers is None:
        known = ", ".join(name for name, of in MACH_O.items() if of)
        raise UsageError(f"no Mach-O core of {snapshot.arch}: there are 64-bit ones only ({known}); use --format core")
    if not snapshot.is_whole:
        raise UsageError("a Mach-O core cannot say that a part of the stack is missing: use --format json")
    states = b""
    for flavor, block in LAYOUTS[snapshot.arch.name].mach_o.items():
        if has_any(block, snapshot):
            states += struct.pack("<II", flavor, block.size // 4) + filled(block, snapshot, "a Mach-O core")
    memory = pieces(snapshot, below=below)
    mask = snapshot.pac_mask or 0
    size = len(memory) * _SEGMENT_SIZE + 8 + len(states) + bool(mask) * _NOTE_SIZE
    at = first = -(-(_HEADER_SIZE + size + 16) // PAGE) * PAGE
    commands, body = [], []
    for piece in memory:
        data = piece.data.ljust(-(-len(piece.data) // PAGE) * PAGE, b"\0")
        allowed = 1 | 2 * piece.writable | 4 * piece.executable
        commands.append(
            struct.pack(
                "<II16sQQQQIIII",
                *(_SEGMENT, _SEGMENT_SIZE, b"", piece.address, len(piece.data), at, len(piece.data)),
                *(allowed, allowed, 0, 0),
            )
        )
        body.append(data)
        at += len(data)
    commands.append(struct.pack("<II", _THREAD, 8 + len(states)) + states)
    if mask:
        place = struct.pack("<QQ", _HEADER_SIZE + size, 16)
        commands.append(struct.pack("<II16s", _NOTE, _NOTE_SIZE, MACHO_ADDRESS_BITS) + place)
    bits = struct.pack("<IIQ", 3, (mask & -mask).bit_length() - 1 if mask else 0, 0)
    header = struct.pack("<IIIIIIII", _MAGIC, numbers.cpu, 0, _CORE, len(commands), size, 0, 0)
    return b"".join(((header + b"".join(commands) + bits).ljust(first, b"\0"), *body))
