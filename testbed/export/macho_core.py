"""Mach-O core files (MH_CORE): one stopped thread and its memory, as LLDB and Apple's kernel write them.

Layout::

    mach_header_64        file type 4 (MH_CORE)
    LC_SEGMENT_64 ...     one per piece of memory, without sections
    LC_THREAD             {flavor, count in words of 4 bytes, state} for each thread state
    LC_NOTE               "all image infos": version 1, count, where the entries begin, size of an entry, 0
    LC_NOTE               "addrable bits", where addresses are signed: version 3, how many bits are the address, 0
    what notes point to   entries {where the path is, UUID, load address, where its segments are, how many, executing}
    memory                each piece at a page boundary of the file

The UUID is that of LC_UUID; of a file without one it is zero, and LLDB asks for none. Segments of their own are not
listed: a file is loaded as one piece.

Source: Mach-O, mach-o/loader.h; mach/i386/_structs.h, mach/arm/_structs.h; LLDB, ObjectFileMachO.cpp (SaveCore).
"""

from __future__ import annotations

import os
import struct

from testbed.export.build_id import mach_o_uuid
from testbed.export.dumped_memory import BELOW_SP, PAGE, filled, has_any, image_range, pieces
from testbed.export.register_layouts import LAYOUTS, MACHO_ADDRESS_BITS, MACHO_IMAGES
from testbed.image.macho_arches import MACH_O
from testbed.trace import Snapshot
from testbed.words.errors import UsageError

_MAGIC, _CORE = 0xFEED_FACF, 4
_SEGMENT, _THREAD, _NOTE = 0x19, 0x4, 0x31
_HEADER_SIZE, _SEGMENT_SIZE, _NOTE_SIZE = 32, 72, 40
_IMAGES_HEADER, _IMAGE = struct.Struct("<IIQII"), struct.Struct("<Q16sQQII")


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
    memory = pieces(snapshot, below=below)
    notes = 1 + bool(snapshot.pac_mask)
    size = len(memory) * _SEGMENT_SIZE + 8 + len(states) + notes * _NOTE_SIZE
    note_commands, contents = _notes(snapshot, _HEADER_SIZE + size)
    at = first = -(-(_HEADER_SIZE + size + len(contents)) // PAGE) * PAGE
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
    commands += [struct.pack("<II", _THREAD, 8 + len(states)) + states, *note_commands]
    header = struct.pack("<IIIIIIII", _MAGIC, numbers.cpu, 0, _CORE, len(commands), size, 0, 0)
    return b"".join(((header + b"".join(commands) + contents).ljust(first, b"\0"), *body))


def _notes(snapshot: Snapshot, at: int) -> tuple[list[bytes], bytes]:
    """The commands of the notes, and their contents, which begin at a file offset."""
    mask = snapshot.pac_mask or 0
    bits = struct.pack("<IIQ", 3, (mask & -mask).bit_length() - 1, 0) if mask else b""
    said = [(MACHO_ADDRESS_BITS, bits)] if mask else []
    said.append((MACHO_IMAGES, _images(snapshot, at + len(bits))))
    commands, contents = [], b""
    for owner, content in said:
        place = struct.pack("<QQ", at + len(contents), len(content))
        commands.append(struct.pack("<II16s", _NOTE, _NOTE_SIZE, owner) + place)
        contents += content
    return commands, contents


def _images(snapshot: Snapshot, at: int) -> bytes:
    """The note of the program files: its header, the entries, the paths."""
    listed = [loaded for loaded in snapshot.images if loaded.image.segments]
    entries_at = at + _IMAGES_HEADER.size
    paths_at, paths, entries = entries_at + len(listed) * _IMAGE.size, b"", b""
    for loaded in listed:
        uuid, start = mach_o_uuid(loaded.image.content), image_range(loaded)[0]
        entries += _IMAGE.pack(paths_at + len(paths), uuid, start, 0, 0, 0)
        paths += os.fsencode(loaded.image.path.absolute()) + b"\0"
    return _IMAGES_HEADER.pack(1, len(listed), entries_at, _IMAGE.size, 0) + entries + paths
