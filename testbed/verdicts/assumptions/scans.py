"""What a stack scan comes by: the first word of the stack that passes its test.

Whether the instruction before an address is a call is decided from its bits. A scanner asks a disassembler; so that the
two do not share a mistake, this is the instruction sets' encoding itself. As a scanner does, it tries every length that
a call may have, shortest first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np

from testbed.arch import Isa
from testbed.arch.tables import PerIsa
from testbed.contract.assumption import FIRST, MAPPED, REACHED, ROOM, StackWords
from testbed.image import Image, LoadedImage, image_covering, once_per_image
from testbed.trace import Snapshot
from testbed.verdicts.assumptions.along import ForetoldEnd, FoundCaller, ReadAlong, TrueSite, too_deep
from testbed.verdicts.assumptions.records import code_of, symbol_at
from testbed.words.errors import UnreadableMemory

PARTS = range(6, 13)  # of the stack 64 bytes are read at first, then twice as many each time, up to 4,096


def scanned(site: TrueSite, assumption: StackWords) -> ReadAlong:
    """The words of the stack that are accepted, from SP up."""
    snapshot, arch = site.snapshot, site.snapshot.arch
    accepts = _ACCEPTS[assumption.accepts]
    at = (snapshot.sp + arch.word - 1) // arch.word * arch.word
    try:
        end, _ = snapshot.stack_end()
    except UnreadableMemory:
        yield ForetoldEnd(MAPPED, True, {"at": snapshot.sp, "how": "the stack would be"})
        return
    below, k = snapshot.pc, 0
    while True:
        yield from too_deep(k, assumption.most_frames, stops=True)
        words = assumption.words if k else assumption.first_words
        last = at + words * arch.word
        near = _near_code(snapshot, at, min(last, end))
        found = next(((place, value) for place, value in near if accepts(snapshot, value, below)), None)
        if found is None:
            yield (
                ForetoldEnd(REACHED, False, {"at": at})
                if last >= end
                else ForetoldEnd(ROOM, True, {"words": str(words), "at": at})
            )
            return
        place, value = found
        at, pc, k = place + arch.word, code_of(snapshot, value), k + 1
        below = pc - 1
        yield FoundCaller(pc, FIRST, f"[{place:#x}] =", {arch.sp: at} if assumption.sp else {}, by="the scan", at=place)


def _near_code(snapshot: Snapshot, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The words between two addresses that point behind the first byte of code and not behind the last."""
    size = snapshot.arch.word
    low, high = _extent(snapshot.images)
    parts = chain(PARTS, repeat(PARTS[-1]))  # most searches end soon
    while end - start >= size:
        data = snapshot.memory.read(start, min(1 << next(parts), (end - start) // size * size))
        values = np.frombuffer(data, f"<u{size}")
        for i in np.flatnonzero((values > low) & (values <= high | 1)).tolist():
            yield start + i * size, int(values[i])
        start += len(data)


@lru_cache(maxsize=16)
def _extent(images: tuple[LoadedImage, ...]) -> tuple[int, int]:
    """From where to where there is code, in any image."""
    spans = [_code(each) for each in images]
    return min(span[0] for span in spans), max(span[1] for span in spans)


def _code(loaded: LoadedImage) -> tuple[int, int]:
    """From where to where an image has executable segments."""
    found = [(s.address + loaded.bias, s.address + s.size + loaded.bias) for s in loaded.image.segments if s.executable]
    return min((low for low, _ in found), default=1 << 64), max((high for _, high in found), default=0)


def _call(snapshot: Snapshot, value: int) -> tuple[CallEnding, LoadedImage] | None:
    """The call that would return to a value, in the instruction set that its lowest bit says, and the call's image.

    Where a symbol names the code, that must be the one that the file says.
    """
    arch, address = snapshot.arch, snapshot.arch.code_address(value)
    loaded = image_covering(snapshot.images, address - 1)
    isa = None if loaded is None else _isa(loaded, address - 1 - loaded.bias, value & ~arch.code_mask)
    if loaded is None or isa is None:
        return None
    call = call_ending_at(loaded.image, address - loaded.bias, isa)
    return None if call is None else (call, loaded)


def _isa(loaded: LoadedImage, inside: int, bit: int) -> Isa | None:
    said = loaded.image.isa_at(inside)
    if said.address_bit == bit:
        return said
    if loaded.image.function_at(inside) is not None:
        return None
    return next((isa for isa in loaded.image.arch.isas if isa.address_bit == bit), None)


def _ends_a_call(snapshot: Snapshot, value: int, below: int) -> bool:
    return _call(snapshot, value) is not None


def _calls_the_frame_below(snapshot: Snapshot, value: int, below: int) -> bool:
    found, frame = _call(snapshot, value), symbol_at(snapshot, below)
    if found is None or found[0].target is None or frame is None:
        return found is not None
    return found[0].target + found[1].bias == frame[0].address + frame[1]


def _in_a_function(snapshot: Snapshot, value: int, below: int) -> bool:
    return symbol_at(snapshot, snapshot.arch.code_address(value) - 1) is not None


_ACCEPTS: Mapping[str, Callable[[Snapshot, int, int], bool]] = {
    "call": _ends_a_call,
    "callee": _calls_the_frame_below,
    "function": _in_a_function,
}


class CallEnding(NamedTuple):
    """A call; ``target`` is the link-time address that it names, None where a register or memory says it."""

    target: int | None


@once_per_image
def call_ending_at(image: Image, address: int, isa: Isa) -> CallEnding | None:
    """The call whose last byte lies before a link-time address, in the file's code; None where there is none."""
    for segment in image.segments:
        if segment.executable and segment.address < address <= segment.address + len(segment.data):
            before = segment.data[max(0, address - segment.address - 8) : address - segment.address]
            return _DECODERS[isa.name](before, address)
    return None


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def _x86(code: bytes, address: int) -> CallEnding | None:
    """``FF /2`` and ``FF /3`` of each length, ``E8`` with four bytes (Intel SDM, volume 2, CALL)."""
    for length in range(2, min(8, len(code)) + 1):
        at = code[-length:]
        if length == 5 and at[0] == 0xE8:
            return CallEnding(address + _signed(int.from_bytes(at[1:], "little"), 32) & 0xFFFF_FFFF_FFFF_FFFF)
        if at[0] == 0xFF and length == _length_of_ff(at) and at[1] >> 3 & 7 in (2, 3):
            if at[1] >> 3 & 7 == 3 and at[1] >> 6 == 3:
                continue  # a far call names memory
            return CallEnding(None)
    return None


def _length_of_ff(code: bytes) -> int:
    """How long an instruction of one opcode byte and an operand in ModRM is (Intel SDM, volume 2, table 2-2)."""
    mode, base = code[1] >> 6, code[1] & 7
    if mode == 3:
        return 2
    length = 2
    if base == 4:
        length += 1
        if len(code) > 2 and mode == 0 and code[2] & 7 == 5:
            length += 4
    elif mode == 0 and base == 5:
        length += 4
    return length + (0, 1, 4)[mode]


def _arm64(code: bytes, address: int) -> CallEnding | None:
    """BL, BLR and BLR with authentication (Arm ARM, C4.1.94)."""
    if len(code) < 4:
        return None
    word = int.from_bytes(code[-4:], "little")
    if word >> 26 == 0b100101:
        return CallEnding(address - 4 + 4 * _signed(word & 0x3FF_FFFF, 26) & 0xFFFF_FFFF_FFFF_FFFF)
    plain = word & 0xFFFF_FC1F == 0xD63F_0000
    keyed = word & 0xFEFF_F800 == 0xD63F_0800 and (word >> 24 & 1 or word & 0x1F == 0x1F)
    return CallEnding(None) if plain or keyed else None


def _a32(code: bytes, address: int) -> CallEnding | None:
    """BL, BLX with an offset, BLX with a register (Arm ARM, F5.1)."""
    if len(code) < 4:
        return None
    word = int.from_bytes(code[-4:], "little")
    pc, offset = address - 4 + 8, 4 * _signed(word & 0xFF_FFFF, 24)
    if word >> 25 == 0b1111101:
        return CallEnding(pc + offset + (word >> 24 & 1) * 2 & 0xFFFF_FFFF)
    if word >> 24 & 0xF == 0b1011 and word >> 28 != 0xF:
        return CallEnding(pc + offset & 0xFFFF_FFFF)
    return CallEnding(None) if word & 0x0FFF_FFF0 == 0x012F_FF30 and word >> 28 != 0xF else None


def _thumb(code: bytes, address: int) -> CallEnding | None:
    """BLX with a register, BL and BLX with an offset (Arm ARM, F5.1)."""
    half = int.from_bytes(code[-2:], "little")
    if len(code) >= 2 and half & 0xFF87 == 0x4780:
        return CallEnding(None)
    first = int.from_bytes(code[-4:-2], "little")
    if len(code) < 4 or first >> 11 != 0b11110 or half >> 14 != 0b11:
        return None
    exchanges = not half >> 12 & 1
    if exchanges and half & 1:
        return None
    sign = first >> 10 & 1
    high = sign << 24 | (1 ^ (half >> 13 & 1) ^ sign) << 23 | (1 ^ (half >> 11 & 1) ^ sign) << 22
    offset = _signed(high | (first & 0x3FF) << 12 | (half & 0x7FF) << 1, 25)
    pc = address & ~3 if exchanges else address  # of this instruction, four bytes ahead
    return CallEnding(pc + offset & 0xFFFF_FFFF)


_DECODERS = PerIsa[Callable[[bytes, int], CallEnding | None]](
    {"x86_64": _x86, "arm64": _arm64, "a32": _a32, "thumb": _thumb}
)
