"""A small assembler for `.sframe` sections: every field can be given, right or wrong. It shares nothing with writers.

Sources: The SFrame Format, versions 1, 2 and 3.
"""

import struct
from collections.abc import Sequence

import pytest

from testbed.arch import Arch
from testbed.contract.rows import UnwindRow
from testbed.image import Image
from testbed.words.errors import MalformedTable
from tests.unwinders.frames import SIZE, START, X86_64, image, read_alike, told, u
from unwinders.formats.sframe import sframe_index

ADDRESS = 0x4000  # of the section
SP, FP, SIGNED = 1, 0, 0x80
HEADER = 28
ENTRY = {1: 17, 2: 20, 3: 16}
ATTRIBUTES = 5  # V3: what stands before a function's rows
PC_RELATIVE = 4


def fre(start: int, *words: int, base: int = SP, size: int = 1, width: int = 1, extra: int = 0) -> bytes:
    """A row: ``size`` bytes per word, ``width`` bytes of start."""
    info = base | len(words) << 1 | {1: 0, 2: 1, 4: 2}[size] << 5 | extra
    return u(width, start) + bytes([info]) + b"".join(u(size, word) for word in words)


def section(
    *functions: tuple[int, int, Sequence[bytes]],
    version: int = 2,
    flags: int = PC_RELATIVE,
    abi: int = 3,
    fp: int = 0,
    ra: int = -8,
    auxiliary: bytes = b"",
    info: int = 0,
    kind: int = 0,
    block: int = 0,
    total: int | None = None,
    magic: int = 0xDEE2,
) -> bytes:
    """A whole section at ADDRESS: functions are (start, size, rows). ``info`` and ``block`` are for all of them."""
    rows, entries = b"", b""
    for i, (start, size, fres) in enumerate(functions):
        at = ADDRESS + HEADER + len(auxiliary) + i * ENTRY[version]
        distance = start - (at if flags & PC_RELATIVE else ADDRESS)
        if version == 3:
            entries += struct.pack("<qII", distance, size, len(rows))
            rows += struct.pack("<HBBB", len(fres), info, kind, block)
        else:
            entries += struct.pack("<iIIIB", distance, size, len(rows), len(fres), info)
            entries += bytes([block, 0, 0]) if version == 2 else b""
        rows += b"".join(fres)
    count = sum(len(fres) for _, _, fres in functions) if total is None else total
    preamble = struct.pack("<HBBBbbB", magic, version, flags, abi, fp, ra, len(auxiliary))
    counts = struct.pack("<IIIII", len(functions), count, len(rows), 0, len(entries))
    return preamble + counts + auxiliary + entries + rows


def made(content: bytes, arch: Arch = X86_64) -> Image:
    return image(arch, _sframe=(ADDRESS, content))


def read(content: bytes, arch: Arch = X86_64, *, alike: bool = True) -> tuple[UnwindRow, ...]:
    image = made(content, arch)
    rows = told(sframe_index(image).all_rows()).rows
    if alike and content[2] < 3:  # the versions that the second reader reads
        read_alike(image, ".sframe", *(row.start for row in rows))
    return rows


def one(
    *fres: bytes, arch: Arch = X86_64, size: int = SIZE, alike: bool = True, **fields: int
) -> tuple[UnwindRow, ...]:
    """The rows of one function at START."""
    if arch is not X86_64:
        fields = {"abi": 2, "ra": 0} | fields
    return read(section((START, size, fres), **fields), arch, alike=alike)  # type: ignore[arg-type]


def error(content: bytes, match: str) -> MalformedTable:
    """What reading the section fails with. Its message has to ``match``."""
    with pytest.raises(MalformedTable, match=match) as raised:
        read(content)
    assert raised.value.section == ".sframe"
    return raised.value
