"""A small assembler for call frame information, and images and snapshots to put it into.

It shares nothing with the testbed's own writers: what these tests feed to the readers is spelled out in bytes.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from testbed.arch import ARCHES, Arch
from testbed.contract.rows import RegisterPlus, RowTable, UnwindRow
from testbed.image import Image, LoadedImage, Section, Segment, Symbol
from testbed.trace import Memory, Snapshot
from tests.unwinders.beside import read_alike
from unwinders.formats.cfi import cfi_index

X86_64, ARM64, ARM32 = ARCHES["x86_64"], ARCHES["arm64"], ARCHES["arm32"]

rsp, rbp, sp = (partial(RegisterPlus, name) for name in ("rsp", "rbp", "sp"))
START, SIZE = 0x1000, 0x100  # the code that the FDEs of these tests cover


def uleb(value: int) -> bytes:
    out = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        out.append(byte | (0x80 if value else 0))
        if not value:
            return bytes(out)


def sleb(value: int) -> bytes:
    out = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        done = (value == 0 and not byte & 0x40) or (value == -1 and byte & 0x40 != 0)
        out.append(byte | (0 if done else 0x80))
        if done:
            return bytes(out)


def u(size: int, value: int) -> bytes:
    return (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")


def block(content: bytes) -> bytes:
    return uleb(len(content)) + content


def entry(body: bytes, *, wide: bool = False) -> bytes:
    """A length, then the body: CIE id or pointer and all that follows."""
    return (b"\xff\xff\xff\xff" + u(8, len(body)) if wide else u(4, len(body))) + body


def cie(
    instructions: bytes = b"",
    *,
    id: bytes = b"\xff\xff\xff\xff",
    version: int = 1,
    augmentation: bytes = b"",
    word: int = 8,
    code: int = 1,
    data: int = -8,
    ra: int = 16,
    area: bytes | None = None,
    wide: bool = False,
) -> bytes:
    """A CIE; ``area`` is the augmentation data, its length is written before it."""
    body = id + bytes([version]) + augmentation + b"\0"
    if version == 4:
        body += bytes([word, 0])
    body += uleb(code) + sleb(data) + (bytes([ra]) if version == 1 else uleb(ra))
    if area is not None:
        body += block(area)
    return entry(body + instructions, wide=wide)


def fde(
    instructions: bytes = b"", *, pointer: bytes = b"\0\0\0\0", start: int = START, size: int = SIZE, word: int = 8
) -> bytes:
    """An FDE with absolute addresses, whose CIE is at offset 0 of `.debug_frame`."""
    return entry(pointer + u(word, start) + u(word, size) + instructions)


def image(arch: Arch = X86_64, *, symbols: tuple[Symbol, ...] = (), **sections: tuple[int, bytes]) -> Image:
    """An image with one executable segment at 0x1000 and the given sections (``_`` in a name stands for the dot)."""
    code = Segment(START, b"\x90" * 0x1000, 0x1000, True, False, True)
    named = {name.replace("_", ".", 1): content for name, content in sections.items()}
    found = {name: Section(name, address, 0, data) for name, (address, data) in named.items()}
    return Image(Path("made-up"), arch, START, (code,), found, symbols)


def rows(
    instructions: bytes,
    initial: bytes = b"",
    *,
    arch: Arch = X86_64,
    code: int = 1,
    data: int = -8,
    version: int = 1,
    ra: int | None = None,
    alike: bool = True,
) -> tuple[UnwindRow, ...]:
    """The rows of one FDE for [START, START + SIZE), from a `.debug_frame` of its bytes; ``alike``: both readers'."""
    number = arch.by_name[arch.return_address].dwarf if ra is None else ra
    assert number is not None

    def made(before: bytes) -> Image:
        section = cie(before + initial, code=code, data=data, ra=number, version=version, word=arch.word)
        return image(arch, _debug_frame=(0, section + fde(instructions, word=arch.word)))

    if alike:  # the return address is somewhere, so that there is a caller to compare
        read_alike(made(bytes([0x80 | number, 1])), ".debug_frame")
    return told(cfi_index(made(b""), ".debug_frame").all_rows()).rows


def told(table: RowTable) -> RowTable:
    """A table in which everything can be read. Raises what is wrong with the first part that cannot."""
    for part in table.broken:
        raise part.why.again()
    if table.unplaced is not None:
        raise table.unplaced.again()
    return table


def instructions_at(initial: bytes = b"") -> int:
    """The section offset of the first instruction of the FDE that `rows` makes (64-bit addresses)."""
    return len(cie(initial)) + 4 + 4 + 16


def snapshot(
    arch: Arch,
    registers: Mapping[str, int],
    memory: Iterable[tuple[int, bytes]] = (),
    images: Iterable[LoadedImage] = (),
) -> Snapshot:
    return Snapshot(arch, dict(registers), Memory.of(memory), tuple(images), pac_mask=arch.signature)


def words(arch: Arch, *values: int) -> bytes:
    """Machine words, one after the other."""
    return b"".join(u(arch.word, value) for value in values)
