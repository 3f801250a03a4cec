"""What a stack scan comes by: the first word of the stack that passes its test.

Whether the instruction before an address is a call is decided from its bits. A scanner asks a disassembler; so that the
two do not share a mistake, this is the instruction sets' encoding itself. As a scanner does, it tries every length that
a call may have, shortest first.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from testbed.arch import Arch, Isa
from testbed.arch.tables import PerIsa
from testbed.contract.assumption import FIRST, MAPPED, REACHED, ROOM, StackWords
from testbed.image import Image, LoadedImage, function_covering, image_covering, once_per_image
from testbed.trace import Trace
from testbed.trace.distinct_rows import are_among
from testbed.truth import Truth
from testbed.verdicts.assumptions.along import (
    Bools,
    ComeBy,
    Filling,
    Numbers,
    ReadingAlong,
    Sites,
    ToldHow,
    Words,
    found_callers,
    too_deep,
    unless,
)
from testbed.verdicts.assumptions.records import code_of, stack_ends


def scanned(sites: Sites, assumption: StackWords) -> ReadingAlong:
    """The words of the stack that are accepted, from SP up."""
    arch, word = sites.arch, np.uint64(sites.arch.word)
    stack = _AcceptedWords.of(sites.truth, assumption.accepts)
    rows, below, k = np.arange(len(sites)), sites.register(arch.pc), 0
    at, ends = (sites.register(arch.sp) + word - np.uint64(1)) // word * word, stack_ends(sites)
    while True:
        words = assumption.words if k else assumption.first_words
        last = at + np.uint64(words) * word
        place, value = stack.first(sites.steps[rows], at, np.minimum(last, ends[rows]), below)
        come = _accepted(sites, rows, at, place, code_of(arch, value))
        if assumption.sp:
            come.values[:, arch.index[arch.sp]], come.known[:, arch.index[arch.sp]] = place + word, True
        go_on = yield unless(
            come,
            (ends[rows] == 0, MAPPED, True, partial(_no_stack, sites, rows)),
            too_deep(np.full(len(rows), k), assumption.most_frames, stops=True),
            ((place == 0) & (last >= ends[rows]), REACHED, False, partial(_from, at, "")),
            (place == 0, ROOM, True, partial(_from, at, str(words))),
        )
        rows, k = rows[go_on], k + 1
        at, below = (place + word)[go_on], (come.pc - np.uint64(1))[go_on]


def _accepted(sites: Sites, rows: Numbers, at: Words, place: Words, pc: Words) -> ComeBy:
    return found_callers(FIRST, sites, pc, lambda row: ToldHow(f"[{place[row]:#x}] =", "the scan", int(place[row])))


def _no_stack(sites: Sites, rows: Numbers, row: int) -> Filling:
    return {"at": int(sites.register(sites.arch.sp)[rows[row]]), "how": "the stack would be"}


def _from(at: Words, words: str, row: int) -> Filling:
    return {"at": int(at[row])} | ({"words": words} if words else {})


@dataclass(frozen=True, eq=False)
class _AcceptedWords:
    """The words of all stacks of a run that are accepted at some time, in the order in which they come and go.

    Before ``step`` executes there is ``value`` at ``place``; 0: none that is accepted. ``accepts`` may look at the
    frame below, too.
    """

    word: int
    step: Sequence[int]
    place: Sequence[int]
    value: Sequence[int]
    accepts: Callable[[int, int], bool]
    looks_below: bool

    @classmethod
    def of(cls, truth: Truth, accepts: str) -> _AcceptedWords:
        known = _KNOWN.setdefault(truth, {})
        if accepts not in known:
            known[accepts] = cls._find(truth, accepts)
        return known[accepts]

    @classmethod
    def _find(cls, truth: Truth, accepts: str) -> _AcceptedWords:
        images, arch = truth.trace.images, truth.trace.arch
        test = _ACCEPTS[accepts]
        step, place, value = _code_words(truth)
        some, which = np.unique(value, return_inverse=True)
        whatever = [each != 0 and test(images, arch, each, None) for each in some.tolist()]
        value = np.where(np.array(whatever, np.bool_)[which.reshape(-1)], value, np.uint64(0))
        order = np.lexsort((np.arange(len(step)), place))
        before, same = np.roll(value[order], 1), np.roll(place[order], 1) == place[order]
        same[:1] = False
        changes = np.sort(order[value[order] != np.where(same, before, np.uint64(0))])
        changes = changes[np.argsort(step[changes], kind="stable")]

        @cache
        def accepted(value: int, below: int) -> bool:
            return test(images, arch, value, below)

        columns = (step[changes].tolist(), place[changes].tolist(), value[changes].tolist())
        return cls(arch.word, *columns, accepted, accepts == "callee")

    def first(self, steps: Numbers, starts: Words, ends: Words, below: Words) -> tuple[Words, Words]:
        """For each site the first place from a start to an end at which a word is accepted, and the word; 0: none."""
        event, living = 0, list[int]()
        now: dict[int, int] = {}
        places, values = [0] * len(steps), [0] * len(steps)
        order = np.argsort(steps, kind="stable")
        asked = (order, steps[order], starts[order], ends[order], below[order])
        for row, step, start, end, frame in zip(*(each.tolist() for each in asked), strict=True):
            while event < len(self.step) and self.step[event] <= step:
                at, value = self.place[event], self.value[event]
                if value and at not in now:
                    insort(living, at)
                elif not value:
                    del living[bisect_left(living, at)]
                    del now[at]
                if value:
                    now[at] = value
                event += 1
            i = bisect_left(living, start)
            while i < len(living) and living[i] + self.word <= end:
                value = now[living[i]]
                if not self.looks_below or self.accepts(value, frame):
                    places[row], values[row] = living[i], value
                    break
                i += 1
        return np.array(places, np.uint64), np.array(values, np.uint64)


_KNOWN: WeakKeyDictionary[Truth, dict[str, _AcceptedWords]] = WeakKeyDictionary()


def _code_words(truth: Truth) -> tuple[Numbers, Words, Words]:
    """The words of stacks as the run begins and as each write leaves them: from which step on, where, which value.

    They point behind the first byte of code and not behind the last; any other one is 0.
    """
    trace, word = truth.trace, np.uint64(truth.trace.arch.word)
    writes, (low, high) = trace.writes, _extent(trace.images)
    first = writes.address // word
    last = (writes.address + writes.size.astype(np.uint64) - np.uint64(1)) // word
    steps, places, values = [], [], []
    for region in trace.initial:
        if not ((trace.sp >= np.uint64(region.address)) & (trace.sp < np.uint64(region.end))).any():
            continue
        skip = -region.address % int(word)
        there = np.frombuffer(region.data, f"<u{word}", (len(region.data) - skip) // int(word), skip)
        found = np.flatnonzero((there > low) & (there <= high | 1))
        steps.append(np.zeros(len(found), np.int64))
        places.append(np.uint64(region.address + skip) + found.astype(np.uint64) * word)
        values.append(there[found].astype(np.uint64))
        inside = (writes.address >= np.uint64(region.address)) & (writes.address < np.uint64(region.end))
        inside &= _may_be_code(trace, first, last, inside, places[-1] // word)
        for at in (first, np.minimum(first + np.uint64(1), last), last):
            own = np.flatnonzero(inside & ((at != first) | (at is first)))
            written, mapped = truth.trace.words.at(writes.step[own].astype(np.int64) + 1, at[own] * word)
            is_code = mapped & (written > low) & (written <= high | 1)
            steps.append(writes.step[own].astype(np.int64) + 1)
            places.append(at[own] * word)
            values.append(np.where(is_code, written, np.uint64(0)))
    none = np.zeros(0, np.uint64)
    step = np.concatenate([np.zeros(0, np.int64), *steps])
    order = np.argsort(step, kind="stable")
    return step[order], np.concatenate([none, *places])[order], np.concatenate([none, *values])[order]


def _may_be_code(trace: Trace, first: Words, last: Words, inside: Bools, initial: Words) -> Bools:
    """The writes that touch a word that points into code at some time, or may: of one written in parts nobody knows."""
    writes, (low, high) = trace.writes, _extent(trace.images)
    value = writes.value & np.uint64(trace.arch.word_mask)
    in_parts = (first != last) | (writes.size != trace.arch.word)
    some = inside & (in_parts | (value > low) & (value <= high | 1))
    known = np.sort(
        np.concatenate((initial, first[some], np.minimum(first[some] + np.uint64(1), last[some]), last[some]))
    )
    return are_among(first, known) | are_among(last, known)


@lru_cache(maxsize=16)
def _extent(images: tuple[LoadedImage, ...]) -> tuple[int, int]:
    """From where to where there is code, in any image."""
    spans = [_code(each) for each in images]
    return min(span[0] for span in spans), max(span[1] for span in spans)


def _code(loaded: LoadedImage) -> tuple[int, int]:
    """From where to where an image has executable segments."""
    found = [(s.address + loaded.bias, s.address + s.size + loaded.bias) for s in loaded.image.segments if s.executable]
    return min((low for low, _ in found), default=1 << 64), max((high for _, high in found), default=0)


Images = tuple[LoadedImage, ...]


def _call(images: Images, arch: Arch, value: int) -> tuple[CallEnding, LoadedImage] | None:
    """The call that would return to a value, in the instruction set that its lowest bit says, and the call's image.

    Where a symbol names the code, that must be the one that the file says.
    """
    address = arch.code_address(value)
    loaded = image_covering(images, address - 1)
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


def _ends_a_call(images: Images, arch: Arch, value: int, below: int | None) -> bool:
    return _call(images, arch, value) is not None


def _calls_the_frame_below(images: Images, arch: Arch, value: int, below: int | None) -> bool:
    """Whether a call ends there, and names the function of the frame below, where that is given."""
    found = _call(images, arch, value)
    frame = None if below is None else function_covering(images, below)
    if found is None or found[0].target is None or frame is None:
        return found is not None
    return found[0].target + found[1].bias == frame[1].address + frame[0].bias


def _in_a_function(images: Images, arch: Arch, value: int, below: int | None) -> bool:
    return function_covering(images, arch.code_address(value) - 1) is not None


_ACCEPTS: Mapping[str, Callable[[Images, Arch, int, int | None], bool]] = {
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
