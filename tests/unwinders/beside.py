"""The rows of both readers, compared by what they make of the same registers and the same memory.

Registers differ from each other, and every word of memory is a hash of its address: two rules that are not the same
give different values, so nothing needs to be known of how either reader writes its rules.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from testbed.arch import Arch
from testbed.contract.rows import UnwindRow
from testbed.contract.unwinder import Frame, FrameKind
from testbed.image import Image
from testbed.rereading import KnownValues, NoRow, RowFrames, SecondRow, evaluate, reread, rule_columns, rules_of
from testbed.trace import Snapshot
from testbed.words.errors import UnwindError
from unwinders import UNWINDERS
from unwinders.rows.walk import apply

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
