"""`.sframe`, versions 1 and 2: the row entry (FRE) in force at a pc, in the function entry (FDE) that covers it.

::

    magic dee2, version, flags, ABI, fixed places of FP and RA from the CFA (0: none), length of an auxiliary header
    numbers of FDEs and FREs, bytes of FREs, where FDEs and FREs begin behind all that
    FDE: start of the function, its size, where its first FRE is, how many, kind (and of version 2: block size)
    FRE: start in the function, info (base of the CFA, number and width of offsets, signed), the offsets

Source: The SFrame Format, version 2, with its errata; version 1.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from testbed.arch import Arch
from testbed.image import Image, Section
from testbed.rereading.dwarf import SecondReader
from testbed.rereading.rows import CFA, Lost, NoRow, Plus, SecondRow, SecondRule, Word

_FDE_SIZES = {1: 17, 2: 20}
_FROM_OWN_PLACE = 4  # a flag: starts of functions count from the field that says them
_MASKED = 0x10  # an FDE whose FREs repeat in blocks, as in a PLT
_FROM_SP, _SIGNED = 0x01, 0x80


class _SframeHead(NamedTuple):
    version: int
    flags: int
    fixed_fp: int
    fixed_ra: int
    functions: int
    fdes: int
    fres: int


class _SframeFde(NamedTuple):
    start: int
    end: int
    place: int
    fres: int  # where its first FRE is
    rows: int
    info: int
    block: int


def sframe(image: Image) -> SecondReader:
    """The rows of the first table in ``.sframe``: what linkers put behind it no reader finds."""
    section, arch = image.sections[".sframe"], image.arch
    head = _head(section)
    fdes = sorted(_fdes(section, head, arch))

    def row_at(pc: int) -> SecondRow | NoRow:
        i = bisect_right(fdes, pc, key=lambda fde: fde.start) - 1
        if i < 0 or pc >= fdes[i].end:
            return NoRow(f"no FDE of .sframe covers {pc:#x}")
        return _row(section, head, fdes[i], pc, arch)

    return row_at


def _head(section: Section) -> _SframeHead:
    fields = struct.unpack_from("<HBBBbbBIIIII", section.data)
    magic, version, flags, _, fixed_fp, fixed_ra, auxiliary, count, _, _, fdes, fres = fields
    if magic != 0xDEE2 or version not in _FDE_SIZES:
        raise ValueError(f"magic {magic:#x}, version {version}")
    behind = 28 + auxiliary
    return _SframeHead(version, flags, fixed_fp, fixed_ra, count, behind + fdes, behind + fres)


def _fdes(section: Section, head: _SframeHead, arch: Arch) -> Iterator[_SframeFde]:
    for i in range(head.functions):
        at = head.fdes + i * _FDE_SIZES[head.version]
        distance, size, first, count, info = struct.unpack_from("<iIIIB", section.data, at)
        block = section.data[at + 17] if head.version > 1 else 0
        start = distance + section.address + (at if head.flags & _FROM_OWN_PLACE else 0) & arch.word_mask
        yield _SframeFde(start, start + size, at, head.fres + first, count, info, block)


def _row(section: Section, head: _SframeHead, fde: _SframeFde, pc: int, arch: Arch) -> SecondRow | NoRow:
    wanted, found = pc - fde.start, None
    if fde.info & _MASKED:
        if not fde.block:
            return NoRow("the second reader cannot read rows of version 1 that repeat")
        wanted %= fde.block
    at, width = fde.fres, 1 << (fde.info & 0x0F)
    for _ in range(fde.rows):
        start, info = int.from_bytes(section.data[at : at + width], "little"), section.data[at + width]
        count, size = info >> 1 & 0x0F, 1 << (info >> 5 & 3)
        if start > wanted:
            break
        found = at, info
        at += width + 1 + count * size
    if found is None:
        return NoRow(f"the FDE at .sframe+{fde.place:#x} has no row for {pc:#x}")
    place, info = found
    at, count, size = place + width + 1, info >> 1 & 0x0F, 1 << (info >> 5 & 3)
    offsets = [int.from_bytes(section.data[at + i * size :][:size], "little", signed=True) for i in range(count)]
    pointer = arch.frame_pointers[0]
    if not offsets:
        return SecondRow(arch, fde.start, fde.end, place, None, Lost(), {}, False)
    cfa = Plus(arch.sp if info & _FROM_SP else pointer, offsets.pop(0))
    returns: SecondRule | None = None if arch.link is None else Plus(arch.link)
    if head.fixed_ra:
        returns = Word(Plus(CFA, head.fixed_ra), arch.word)
    elif offsets and (offset := offsets.pop(0)):
        returns = Word(Plus(CFA, offset), arch.word)
    if returns is None:
        return NoRow("the row does not say where the return address is")
    saved = head.fixed_fp or (offsets.pop(0) if offsets else 0)
    kept: dict[str, SecondRule] = {pointer: Word(Plus(CFA, saved), arch.word) if saved else Plus(pointer)}
    return SecondRow(arch, fde.start, fde.end, place, cfa, returns, kept, False, signed=bool(info & _SIGNED))
