"""Pointers in a Mach-O file that its loader completes: which words hold addresses of the image itself.

Two ways (Apple, ``mach-o/loader.h`` and ``mach-o/fixup-chains.h``):

* rebase opcodes (LC_DYLD_INFO): a byte program that lists the words; each holds a link-time address already;
* chained fixups: each word holds its target and the distance to the next word of its page's chain::

      bits 0-35 target    36-43 top byte    44-50 reserved    51-62 next, in units of 4 bytes    63: an import instead

  Format 2 has the link-time address as its target, format 6 the distance from the image's base.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from testbed.image.file_bytes import FileBytes

_WORD = 8

_POINTER = 1  # the rebase type that 64-bit files use
_ADDRESS, _OFFSET = 2, 6  # chained pointer formats
_NO_CHAIN, _MORE_CHAINS = 0xFFFF, 0x8000


class _AnySegment(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def address(self) -> int: ...
    @property
    def file_offset(self) -> int: ...
    @property
    def file_size(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Fixups:
    """``rebases``: link-time addresses of the words to which the loader adds the load bias. ``values``: what words
    hold at bias 0, where the file holds something else."""

    rebases: tuple[int, ...] = ()
    values: dict[int, int] = field(default_factory=dict)


def rebase_opcodes(program: FileBytes, segments: Sequence[_AnySegment]) -> Fixups:
    """Run the byte program of LC_DYLD_INFO. Raises ImageError for an opcode that does not exist, a type other than a
    pointer, or a word outside its segment's bytes."""
    found: list[int] = []
    segment: _AnySegment | None = None
    at, offset = 0, 0

    def rebase(times: int, skip: int) -> None:
        nonlocal offset
        program.account.spend("entries", times, program.start + at)
        for _ in range(times):
            if segment is None or not 0 <= offset <= segment.file_size - _WORD:
                raise program.error(at, f"a rebase at {offset:#x} of {segment.name if segment else 'no segment'}")
            found.append(segment.address + offset)
            offset += _WORD + skip

    while at < len(program):
        start = at
        byte = program.unsigned(at, 1, "a rebase opcode")
        opcode, low = byte & 0xF0, byte & 0x0F
        at += 1
        match opcode:
            case 0x00:
                break
            case 0x10:
                if low != _POINTER:
                    raise program.error(start, f"a rebase of type {low}; 64-bit files rebase pointers (1)")
            case 0x20:
                if low >= len(segments):
                    raise program.error(start, f"a rebase in segment {low} of {len(segments)}")
                segment = segments[low]
                offset, at = program.uleb(at, "a rebase opcode")
            case 0x30:
                more, at = program.uleb(at, "a rebase opcode")
                offset = offset + more & (1 << 64) - 1  # a distance back is written as its two's complement
            case 0x40:
                offset += low * _WORD
            case 0x50:
                rebase(low, 0)
            case 0x60:
                times, at = program.uleb(at, "a rebase opcode")
                rebase(times, 0)
            case 0x70:
                rebase(1, 0)
                more, at = program.uleb(at, "a rebase opcode")
                offset = offset + more & (1 << 64) - 1
            case 0x80:
                times, at = program.uleb(at, "a rebase opcode")
                skip, at = program.uleb(at, "a rebase opcode")
                rebase(times, skip)
            case _:
                raise program.error(start, f"there is no rebase opcode {byte:#04x}")
    return Fixups(tuple(found))


def chained_fixups(said: FileBytes, file: FileBytes, segments: Sequence[_AnySegment], base: int) -> Fixups:
    """Follow the chains of LC_DYLD_CHAINED_FIXUPS. Imports are left as they are: `Image.imports` names them.

    Raises ImageError for a pointer format other than 2 and 6, and for a chain that leaves its page or its segment.
    """
    starts = said.unsigned(4, 4, "LC_DYLD_CHAINED_FIXUPS")
    count = said.unsigned(starts, 4, "the chain starts")
    if count > len(segments):
        raise said.error(starts, f"chain starts for {count} segments of {len(segments)}")
    rebases: list[int] = []
    values: dict[int, int] = {}
    for number in range(count):
        info = said.unsigned(starts + 4 + 4 * number, 4, "the chain starts")
        if not info:
            continue
        head, segment = starts + info, segments[number]
        what = f"the chain starts of {segment.name}"
        page_size, form = said.unsigned(head + 4, 2, what), said.unsigned(head + 6, 2, what)
        if form not in (_ADDRESS, _OFFSET):
            raise said.error(head + 6, f"chained pointers of format {form}; {_ADDRESS} and {_OFFSET} are read")
        for page in range(said.unsigned(head + 20, 2, what)):
            at = said.unsigned(head + 22 + 2 * page, 2, what)
            if at == _NO_CHAIN:
                continue
            if at & _MORE_CHAINS:
                raise said.error(head + 22 + 2 * page, "several chains in a page: 64-bit files have one")
            while True:
                if at > page_size - _WORD or page * page_size + at > segment.file_size - _WORD:
                    raise said.error(head, f"a chain leaves page {page} of {segment.name} at {at:#x}")
                place = page * page_size + at
                word = file.unsigned(segment.file_offset + place, _WORD, f"a pointer in {segment.name}")
                said.account.spend("entries", 1, segment.file_offset + place)
                if not word >> 63:
                    target = (word & (1 << 36) - 1) + (base if form == _OFFSET else 0)
                    values[segment.address + place] = (word >> 36 & 0xFF) << 56 | target & (1 << 56) - 1
                    rebases.append(segment.address + place)
                if not word >> 51 & 0xFFF:
                    break
                at += 4 * (word >> 51 & 0xFFF)
    return Fixups(tuple(rebases), values)
