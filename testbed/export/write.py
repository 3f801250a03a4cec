"""One snapshot to one file, in a format chosen by name."""

from __future__ import annotations

import base64
import json
import os
import struct
import tempfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from testbed.export.build_id import build_id, mach_o_uuid
from testbed.export.core import core_bytes
from testbed.export.dumped_memory import PAGE, all_mappings, filled, has_any, image_range, pieces
from testbed.export.minidump import minidump_bytes
from testbed.export.register_layouts import LAYOUTS, MACHO_ADDRESS_BITS, MACHO_IMAGES
from testbed.image import LoadedImage
from testbed.image.macho import MACH_O
from testbed.trace import Snapshot
from testbed.words.errors import UsageError

# Mach-O core files (MH_CORE): one stopped thread and its memory, as LLDB and Apple's kernel write them.
#
# Layout::
#
#     mach_header_64        file type 4 (MH_CORE)
#     LC_SEGMENT_64 ...     one per piece of memory, without sections
#     LC_THREAD             {flavor, count in words of 4 bytes, state} for each thread state
#     LC_NOTE               "all image infos": version 1, count, where the entries begin, size of an entry, 0
#     LC_NOTE               "addrable bits", where addresses are signed: version 3, how many bits are the address, 0
#     what notes point to   entries {where the path is, UUID, load address, where its segments are, how many, executing}
#     memory                each piece at a page boundary of the file
#
# The UUID is that of LC_UUID; of a file without one it is zero, and LLDB asks for none. Segments of their own are not
# listed: a file is loaded as one piece.
#
# Source: Mach-O, mach-o/loader.h; mach/i386/_structs.h, mach/arm/_structs.h; LLDB, ObjectFileMachO.cpp (SaveCore).

_MAGIC, _CORE = 0xFEED_FACF, 4
_SEGMENT, _THREAD, _NOTE = 0x19, 0x4, 0x31
_HEADER_SIZE, _SEGMENT_SIZE, _NOTE_SIZE = 32, 72, 40
_IMAGES_HEADER, _IMAGE = struct.Struct("<IIQII"), struct.Struct("<Q16sQQII")


def macho_core_bytes(snapshot: Snapshot) -> bytes:
    """A snapshot as a Mach-O core file.

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
    memory = pieces(snapshot)
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


# A snapshot as JSON, for people and for tools without a parser of core files.
#
# ::
#
#     {"format": "testbed snapshot", "version": 1,
#      "arch": "arm64",
#      "registers": {"x0": "0x2a", ..., "sp": "0x7fffffff0000", "pc": "0x410050"},
#      "memory": [{"address": "0x400000", "zlib": "eJz..."}, {"address": "0x7ffffffef000", "hex": "00ff..."}],
#      "images": [{"path": "/build/program.elf", "bias": "0x0", "build_id": "5f28...", "frame_records": {...}}],
#      "pac_mask": "0x7f000000000000",
#      "mappings": [{"start": "0x400000", "end": "0x411000"}, {"start": "0x7ffffffdf000", "end": "0x7ffffffff000"}]}
#
# A register that is missing is unknown; pc and SP must be there. Numbers that are addresses or registers are text,
# ``0x`` and hexadecimal: JSON's own lose bits above 2**53. Memory is ``hex``, or ``zlib``: compressed (RFC 1950), then
# base64. ``bias`` is run-time minus link-time address. A path may be relative: to the JSON file. ``frame_records``
# name the layout that each instruction set's code was built with, which no program file says. ``pac_mask`` are the
# bits of a return address that its signature lies in, where addresses are signed: NT_ARM_PAC_MASK of a core,
# ``0x7f000000000000`` where addresses have 48 bits, ``0x7fff8000000000`` where they have 39, as on Android.
# ``mappings`` are all ranges that were mapped in the process, whether their bytes are in ``memory`` or not; without
# them the end of what is in ``memory`` is not taken for the end of the stack. The schema is beside this file:
# ``snapshot.schema.json``.

FORMAT = "testbed snapshot"
VERSION = 1
_SHORT = 64  # bytes up to which memory is written as hex


def snapshot_data(snapshot: Snapshot) -> dict[str, Any]:
    """A snapshot as values of JSON."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "arch": snapshot.arch.name,
        "registers": {name: hex(value) for name, value in snapshot.registers.items()},
        "memory": [{"address": hex(piece.address), **_encoded(piece.data)} for piece in pieces(snapshot)],
        "images": [_image(loaded) for loaded in snapshot.images],
        **({"pac_mask": hex(snapshot.pac_mask)} if snapshot.pac_mask else {}),
        **({"mappings": mapped} if (mapped := _mappings(snapshot)) else {}),
    }


def _mappings(snapshot: Snapshot) -> list[dict[str, str]]:
    return [{"start": hex(start), "end": hex(end)} for start, end in all_mappings(snapshot)]


def _encoded(data: bytes) -> dict[str, str]:
    if len(data) <= _SHORT:
        return {"hex": data.hex()}
    return {"zlib": base64.b64encode(zlib.compress(data, 9)).decode("ascii")}


def _image(loaded: LoadedImage) -> dict[str, Any]:
    image = loaded.image
    said: dict[str, Any] = {
        "path": str(image.path.absolute()),
        "bias": hex(loaded.bias),
        "build_id": build_id(image).hex(),
    }
    if image.frame_records:
        said["frame_records"] = {isa: record.name for isa, record in image.frame_records.items()}
    return said


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: its name on the command line, how its files end, and what makes its bytes."""

    name: str
    suffix: str
    summary: str
    encode: Callable[[Snapshot], bytes]


def _json(snapshot: Snapshot) -> bytes:
    return (json.dumps(snapshot_data(snapshot), indent=1) + "\n").encode("ascii")


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        each.name: each
        for each in (
            Format("core", ".core", "ELF core file: gdb, LLDB, drgn, eu-stack", core_bytes),
            Format("minidump", ".dmp", "minidump: minidump-stackwalk, LLDB, Visual Studio", minidump_bytes),
            Format("json", ".json", "registers, memory, mapped files as text: snapshot.schema.json", _json),
            Format("macho-core", ".mcore", "Mach-O core file: LLDB", macho_core_bytes),
        )
    }
)


def write_snapshot(snapshot: Snapshot, path: Path, how: Format, *, force: bool = False) -> int:
    """Write a snapshot; the size of the file. Without ``force`` an existing file stays, which is a UsageError.

    The file appears when it is complete. Raises UsageError where it cannot be written.
    """
    data = how.encode(snapshot)
    try:
        descriptor, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.chmod(name, 0o644)
            if force:
                os.replace(name, path)
            else:
                os.link(name, path)  # fails where the name is taken, also in the last moment
        finally:
            if os.path.exists(name):
                os.unlink(name)
    except FileExistsError as error:
        raise UsageError(f"{path} exists already; give another name with -o, or --force") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
    return len(data)
