"""A snapshot as JSON, for people and for tools without a parser of core files.

::

    {"format": "testbed snapshot", "version": 1,
     "arch": "arm64",
     "registers": {"x0": "0x2a", ..., "sp": "0x7fffffff0000", "pc": "0x410050"},
     "memory": [{"address": "0x400000", "zlib": "eJz..."}, {"address": "0x7ffffffef000", "hex": "00ff..."}],
     "images": [{"path": "/build/program.elf", "bias": "0x0", "build_id": "5f28...", "frame_records": {...}}],
     "pac_mask": "0x7f000000000000",
     "mappings": [{"start": "0x400000", "end": "0x411000"}, {"start": "0x7ffffffdf000", "end": "0x7ffffffff000"}]}

A register that is missing is unknown; pc and SP must be there. Numbers that are addresses or registers are text, ``0x``
and hexadecimal: JSON's own lose bits above 2**53. Memory is ``hex``, or ``zlib``: compressed (RFC 1950), then base64.
``bias`` is run-time minus link-time address. A path may be relative: to the JSON file. ``frame_records`` name the
layout that each instruction set's code was built with, which no program file says. ``pac_mask`` are the bits of a
return address that its signature lies in, where addresses are signed: NT_ARM_PAC_MASK of a core, ``0x7f000000000000``
where addresses have 48 bits, ``0x7fff8000000000`` where they have 39, as on Android. ``mappings`` are all ranges that
were mapped in the process, whether their bytes are in ``memory`` or not; without them the end of what is in ``memory``
is not taken for the end of the stack. The schema is beside this file: ``snapshot.schema.json``.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

from testbed.export.build_id import build_id
from testbed.export.dumped_memory import BELOW_SP, all_mappings, pieces
from testbed.image import LoadedImage
from testbed.trace import Snapshot

FORMAT = "testbed snapshot"
VERSION = 1
_SHORT = 64  # bytes up to which memory is written as hex


def snapshot_data(snapshot: Snapshot, *, below: int = BELOW_SP) -> dict[str, Any]:
    """A snapshot as values of JSON; ``below``: how many bytes under SP are kept."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "arch": snapshot.arch.name,
        "registers": {name: hex(value) for name, value in snapshot.registers.items()},
        "memory": [{"address": hex(piece.address), **_encoded(piece.data)} for piece in pieces(snapshot, below=below)],
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
