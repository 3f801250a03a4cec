"""A small assembler for call frame information, and images and snapshots to put it into.

It shares nothing with the testbed's own writers: what these tests feed to the readers is spelled out in bytes.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from testbed.arch import ARCHES, Arch
from testbed.contract.rows import RegisterPlus, RowTable, UnwindRow
from testbed.contract.unwinder import Frame, FrameKind
from testbed.image import Image, LoadedImage, Section, Segment, Symbol
from testbed.rereading import KnownValues, NoRow, RowFrames, SecondRow, evaluate, reread, rule_columns, rules_of
from testbed.trace import Memory, Snapshot
from testbed.words.errors import UnwindError
from unwinders import UNWINDERS
from unwinders.formats.cfi import cfi_index
from unwinders.rows.walk import apply

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


# The rows of both readers, compared by what they make of the same registers and the same memory.
#
# Registers differ from each other, and every word of memory is a hash of its address: two rules that are not the same
# give different values, so nothing needs to be known of how either reader writes its rules.

TECHNIQUES = {  # which technique reads what
    ".eh_frame": "eh_frame",
    ".eh_frame_hdr": "eh_frame_hdr",
    ".debug_frame": "debug_frame",
    ".ARM.exidx": "ehabi",
    ".sframe": "sframe",
    ".orc_unwind": "orc",
    "__compact_unwind": "compact_unwind",
    ".gopclntab": "gopclntab",
}


class Said(NamedTuple):
    """What a row gives of a frame; ``registers`` are those that it knows."""

    cfa: int | None
    pc: int | None
    registers: dict[str, int]
    is_signal_frame: bool


class Difference(NamedTuple):
    image: Image
    format: str
    pc: int
    first: Said | str
    second: Said | str

    def __str__(self) -> str:
        return f"{self.image} {self.format} at {self.pc:#x}: {self.first}, read again {self.second}"


def word_at(address: int, size: int) -> int:
    """A word of the memory that rules are compared on; the parts of a word are where they belong."""
    found = (hashlib.blake2b(f"{at}".encode(), digest_size=1).digest() for at in range(address, address + size))
    return int.from_bytes(b"".join(found), "little")


class _Memory:
    def unsigned(self, address: int, size: int) -> int:
        return word_at(address, size)


def registers_at(arch: Arch, pc: int) -> dict[str, int]:
    """Registers that are far apart, SP and all."""
    values = {
        r.name: (0x1111_1111_1111_1110 * (i + 1) >> 3 << 3) & ((1 << r.bits) - 1) for i, r in enumerate(arch.registers)
    }
    return values | {arch.pc: pc}


def first(row: UnwindRow, arch: Arch, pc: int) -> Said | str:
    """By the technique's own row."""
    memory: Any = _Memory()
    state = Snapshot(arch, registers_at(arch, pc), memory, (), pac_mask=arch.signature)
    try:
        cfa, caller = apply(row, Frame(FrameKind.INTERRUPTED, pc, state.registers), state)
    except UnwindError as error:
        return f"no caller: {error}"
    if caller is None:
        return "outermost"
    registers = {name: value for name, value in caller.registers.items() if name != arch.pc}
    return Said(cfa, caller.pc, registers, caller.kind is FrameKind.INTERRUPTED)


class OneEvaluated(NamedTuple):
    """The caller that a row gives of one frame; None is unknown."""

    cfa: int | None
    return_address: int | None
    registers: dict[str, int | None]


def evaluated(
    row: SecondRow, registers: Mapping[str, int], read: Callable[[int, int], int | None] = word_at
) -> OneEvaluated:
    """A row evaluated on one frame; ``read`` is its memory, of an address and a size."""
    arch = row.arch

    def words(frames: Any, addresses: Any, size: int) -> Any:
        found = [read(address, size) for address in addresses.tolist()]
        return np.array([each or 0 for each in found], np.uint64), np.array([each is not None for each in found])

    values = np.array([[registers.get(name, 0) for name in arch.index]], np.uint64)
    known = np.array([[name in registers for name in arch.index]])
    frames = RowFrames(arch, values, known, words, lambda i: 0)
    said = evaluate(rule_columns(arch, [rules_of(row)]), np.zeros(1, np.int64), frames)

    def one(found: KnownValues) -> int | None:
        return int(found.value[0]) if found.known[0] else None

    columns = {name: KnownValues(said.values[:, i], said.known[:, i]) for name, i in arch.index.items()}
    return OneEvaluated(one(said.cfa), one(said.return_address), {name: one(each) for name, each in columns.items()})


def second(row: SecondRow, pc: int) -> Said | str:
    """By the row as it was read again."""
    arch = row.arch
    if row.undefined_return:
        return "outermost"
    said = evaluated(row, registers_at(arch, pc))
    if said.return_address is None or (said.cfa is None and row.cfa is not None):
        return "no caller: unknown"
    address = arch.without_signature(said.return_address) if row.signed else arch.code_address(said.return_address)
    registers = {name: value for name, value in said.registers.items() if value is not None and name != arch.pc}
    return Said(said.cfa, address, registers, row.signal_frame)


def differences(image: Image, format: str, pcs: Iterable[int]) -> Iterator[Difference]:
    """Where the two readers do not say the same."""
    told = UNWINDERS[TECHNIQUES[format]].rows
    assert told is not None
    for pc in pcs:
        try:
            theirs, ours = told(image).at(pc), reread(image, format, pc)
        except UnwindError:  # the whole table cannot be read
            theirs, ours = None, reread(image, format, pc)
        one = "no row" if theirs is None else first(theirs, image.arch, pc)
        other = "no row" if isinstance(ours, NoRow) else second(ours, pc)
        if one != other and not (str(one)[:3] == str(other)[:3] == "no "):
            yield Difference(image, format, pc, one, f"{other}: {ours}" if isinstance(ours, NoRow) else other)


def read_alike(image: Image, format: str, *pcs: int) -> Image:
    """The image, after both readers said the same of its table: at some pcs, or at all borders of rows."""
    told = UNWINDERS[TECHNIQUES[format]].rows
    assert told is not None
    if not pcs:
        table = told(image)
        parts = [(row.start, row.end) for row in table.rows] + [(part.start, part.end) for part in table.broken]
        pcs = tuple(sorted({pc for start, end in parts for pc in (start - 1, start, end - 1, end)}))
    found = [str(each) for each in differences(image, format, pcs)]
    assert found == [], found[0]
    return image
