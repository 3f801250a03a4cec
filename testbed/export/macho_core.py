"""Mach-O core files (MH_CORE): one stopped thread and its memory, as LLDB and Apple's kernel write them.

Layout::

    mach_header_64        file type 4 (MH_CORE)
    LC_SEGMENT_64 ...     one per piece of memory, without sections
    LC_THREAD             {flavor, count in words of 4 bytes, state} for each thread state
    memory                each piece at a page boundary of the file

Where the images lie is not said: a debugger finds their headers in the memory.

Source: Mach-O, mach-o/loader.h; mach/i386/_structs.h, mach/arm/_structs.h.
"""

from __future__ import annotations

import struct

from testbed.export.dumped_memory import BELOW_SP, PAGE, filled, has_any, pieces
from testbed.export.register_layouts import LAYOUTS
from testbed.image.macho_arches import MACH_O
from testbed.trace import Snapshot
from testbed.words.errors import UsageError

_MAGIC, _CORE = 0xFEED_FACF, 4
_SEGMENT, _THREAD = 0x19, 0x4
_HEADER_SIZE, _SEGMENT_SIZE = 32, 72


def macho_core_bytes(snapshot: Snapshot, *, below: int = BELOW_SP) -> bytes:
    """A snapshot as a Mach-O core file; ``below``: how many bytes under SP are kept.

    Raises UsageError for an architecture that has no 64-bit Mach-O files, and for a register that is not known.
    """
    numbers = MACH_O[snapshot.arch.name]
    if numbers is None:
        known = ", ".join(name for name, of in MACH_O.items() if of)
        raise UsageError(f"no Mach-O core of {snapshot.arch}: there are 64-bit ones only ({known}); use --format core")
    states = b""
    for flavor, block in LAYOUTS[snapshot.arch.name].mach_o.items():
        if has_any(block, snapshot):
            states += struct.pack("<II", flavor, block.size // 4) + filled(block, snapshot, "a Mach-O core")
    memory = pieces(snapshot, below=below)
    size = len(memory) * _SEGMENT_SIZE + 8 + len(states)
    at = first = -(-(_HEADER_SIZE + size) // PAGE) * PAGE
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
    header = struct.pack("<IIIIIIII", _MAGIC, numbers.cpu, 0, _CORE, len(commands), size, 0, 0)
    return b"".join(((header + b"".join(commands)).ljust(first, b"\0"), *body))
