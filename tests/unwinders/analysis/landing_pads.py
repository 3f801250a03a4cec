"""Where exceptions land, as a library's own tables of handlers say: for the witness, the analysis may not read them.

An FDE's augmentation data points at a language-specific data area. That begins with a table of call sites, which says
for each where its exceptions land (GCC's `gcc/except.cc`, `output_one_function_exception_table`).
"""

from __future__ import annotations

import io
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from pathlib import Path

from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile

from testbed.image import Image
from unwinders.analysis.function_code import FunctionCode
from unwinders.analysis.operations import Jump, Return, Trap

OMITTED = 0xFF
_SIZES = {0x02: 2, 0x03: 4, 0x04: 8, 0x0A: 2, 0x0B: 4, 0x0C: 8}  # DW_EH_PE_udata2 ... sdata8


def landing_pads(path: Path, image: Image) -> tuple[int, ...]:
    """The addresses at which exceptions land in a file, in order."""
    elf = ELFFile(io.BytesIO(path.read_bytes()))
    if not elf.has_dwarf_info() or ".gcc_except_table" not in image.sections:
        return ()
    pads = set[int]()
    for entry in elf.get_dwarf_info().EH_CFI_entries() or ():
        if isinstance(entry, FDE) and entry.lsda_pointer:
            pads |= set(_pads(image, entry.lsda_pointer, entry["initial_location"]))
    return tuple(sorted(pads))


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def uleb128(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def encoded(self, encoding: int) -> int:
        if encoding & 0x0F == 0x01:
            return self.uleb128()
        size = _SIZES[encoding & 0x0F]
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "little")


def _pads(image: Image, area: int, function: int) -> Iterable[int]:
    section = image.sections[".gcc_except_table"]
    if not section.address <= area < section.address + len(section.data):
        return
    reader = _Reader(section.data[area - section.address :])
    encoding = reader.byte()
    start = function if encoding == OMITTED else reader.encoded(encoding)
    if reader.byte() != OMITTED:
        reader.uleb128()
    encoding, length = reader.byte(), reader.uleb128()
    end = reader.at + length
    while reader.at < end:
        _, _, pad, _ = reader.encoded(encoding), reader.encoded(encoding), reader.encoded(encoding), reader.uleb128()
        if pad:
            yield start + pad


def landing_code(code: FunctionCode, pads: Sequence[int]) -> tuple[frozenset[int], frozenset[int]]:
    """The instructions of a function to which only exceptions lead; and others to which control gets from there too.

    What lies in front of a place where exceptions land is a call that does not return: nothing goes on into it.
    """
    own = [pad for start, end in code.function.parts for pad in pads[bisect_left(pads, start) : bisect_left(pads, end)]]
    if not own:
        return frozenset(), frozenset()
    landing, entered = _reached(code, own), _reached(code, [code.function.entry], frozenset(own))
    return landing - entered, landing & entered


def _reached(code: FunctionCode, starts: Iterable[int], without: frozenset[int] = frozenset()) -> frozenset[int]:
    found, work = set[int](), list(starts)
    while work:
        pc = work.pop()
        if pc in without:
            continue
        instruction = code.at(pc) if pc not in found and code.function.covers(pc) else None
        if instruction is None:
            continue
        found.add(pc)
        match instruction.control:
            case Jump(targets, conditional):
                work += [*targets, *([instruction.end] if conditional else [])]
            case Return() | Trap():
                pass
            case _:
                work.append(instruction.end)
    return frozenset(found)
