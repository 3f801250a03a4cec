"""What techniques come by that follow frame records, lists of them, or a shadow stack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from testbed.arch import Arch, FrameRecord
from testbed.contract.assumption import (
    ASCENDS,
    BOUNDS,
    ENTRY,
    KNOWN,
    LAST,
    LEADS,
    LINK,
    MAPPED,
    NO_LIST,
    NO_RETURN,
    ZERO,
    Record,
    RecordList,
    ShadowStack,
)
from testbed.conventions import platform
from testbed.image import LoadedImage, frame_record_at, function_covering
from testbed.verdicts.assumptions.along import (
    CALLER,
    STOPS,
    Bools,
    ComeBy,
    Filling,
    Numbers,
    ReadingAlong,
    Sites,
    ToldHow,
    Words,
    either,
    found_callers,
    too_deep,
    unless,
)


def code_of(arch: Arch, values: Words) -> Words:
    """The code addresses that stored return addresses name, their signatures left on."""
    return values & np.uint64(arch.code_mask)


def at_its_first_instruction(images: tuple[LoadedImage, ...], pc: int) -> bool:
    """True for the pc at which some symbol's function begins."""
    found = function_covering(images, pc)
    return found is not None and found[1].address + found[0].bias == pc


@dataclass(frozen=True, eq=False)
class AtFrame:
    """What a technique knows at a frame of some sites; ``depth`` is how many records it has followed."""

    rows: Numbers
    pc: Words
    values: Words
    known: Bools
    depth: Numbers

    def after(self, come: ComeBy, go_on: Bools, again: Bools) -> AtFrame:
        """At the next frame of those that go on; where it is ``again``, the record of this frame is yet to come."""
        wide = again[:, np.newaxis]
        return AtFrame(
            self.rows[go_on],
            np.where(again, self.pc, come.pc)[go_on],
            np.where(wide, self.values, come.values)[go_on],
            np.where(wide, self.known, come.known)[go_on],
            (self.depth + ~again)[go_on],
        )


def at_first(sites: Sites) -> AtFrame:
    """The interrupted frame of each site: its pc and registers, all known, and no frame further in."""
    rows = np.arange(len(sites))
    known = np.ones(sites.registers.shape, np.bool_)
    return AtFrame(rows, sites.register(sites.arch.pc), sites.registers, known, np.zeros(len(rows), np.int64))


def chained(sites: Sites, assumption: Record) -> ReadingAlong:
    """The chain of frame records, with what a technique knows besides about the interrupted function."""
    here = at_first(sites)
    come, again = _chain(sites, here, assumption), np.zeros(len(sites), np.bool_)
    if assumption.link:
        # The record that the interrupted code's FP leads to is then the caller's.
        again, linked = _linked(sites, come)
        come = either(again, linked, come)
    if assumption.entry:
        first = _of_each(here.pc, lambda pc: at_its_first_instruction(sites.trace.images, pc)).astype(np.bool_)
        come = either(first, _from_the_entry(sites, here), come)
    while True:
        go_on = yield come
        here = here.after(come, go_on, again)
        come, again = _chain(sites, here, assumption), np.zeros(len(here.rows), np.bool_)


def _linked(sites: Sites, first: ComeBy) -> tuple[Bools, ComeBy]:
    """The caller by the link register, where that names another function and the chain does not begin there."""
    arch, images = sites.arch, sites.trace.images
    assert arch.link is not None
    caller, own = code_of(arch, sites.register(arch.link)), sites.register(arch.pc)
    pairs, place = np.unique(np.stack((caller, own)), axis=1, return_inverse=True)
    named = [function_covering(images, pc - 1) for pc in pairs[0].tolist()]
    elsewhere = [
        there is not None and there != function_covering(images, pc)
        for there, pc in zip(named, pairs[1].tolist(), strict=True)
    ]
    begins_there = (first.ends == CALLER) & (first.pc == caller)
    found = found_callers(LINK, sites, caller, lambda row: ToldHow(f"{arch.link} is"))
    return np.array(elsewhere, np.bool_)[place.reshape(-1)] & ~begins_there, found


def _from_the_entry(sites: Sites, here: AtFrame) -> ComeBy:
    """The call left the return address behind, and every register; from the caller on it is a chain."""
    arch, kept = sites.arch, platform(sites.arch).preserved
    sp = sites.register(arch.sp)
    cfa = sp + np.uint64(arch.entry_cfa) & np.uint64(arch.word_mask)
    everywhere = np.ones(len(sp), np.bool_)
    value, mapped = (sites.register(arch.link), everywhere) if arch.link else sites.words(here.rows, sp, everywhere)
    how, pc = f"{arch.link} is" if arch.link else f"{arch.sp} leads to", code_of(arch, value)
    found = found_callers(ENTRY, sites, pc, lambda row: ToldHow(how, "the call"))
    found.cfa[:], found.cfa_known[:] = cfa, True
    for name in (*kept, arch.sp):
        found.values[:, arch.index[name]] = cfa if name == arch.sp else sites.register(name)
        found.known[:, arch.index[name]] = True
    return unless(
        found,
        (~mapped, MAPPED, True, lambda row: {"at": int(sp[row]), "how": "the return address would be"}),
        (pc == 0, NO_RETURN, False, lambda row: {"how": how}),
    )


def _chain(sites: Sites, here: AtFrame, assumption: Record) -> ComeBy:
    """What the frame record gives that the frame pointer leads to."""
    arch, rows = sites.arch, here.rows
    # Every caller's pc is taken for a return address.
    layouts = _Layouts.at(sites, here.pc - (here.depth > 0).astype(np.uint64))
    every = np.arange(len(rows))
    pointer, is_known = here.values[every, layouts.column], here.known[every, layouts.column]
    is_set = is_known & (pointer != 0)
    saved, saved_there = sites.words(rows, pointer + layouts.saved, is_set)
    value, mapped = sites.words(rows, pointer + layouts.returns, is_set)
    pc = code_of(arch, value)
    found = found_callers(LEADS, sites, pc, lambda row: ToldHow(f"{layouts.pointer(row)} leads to", "the record"))
    found.values[every, layouts.column], found.known[every, layouts.column] = saved, saved_there
    found.cfa[:] = np.where(layouts.has_cfa, pointer + layouts.cfa & np.uint64(arch.word_mask), 0)
    found.cfa_known[:] = layouts.has_cfa
    sp = arch.index[arch.sp]
    found.values[:, sp], found.known[:, sp] = found.cfa, found.cfa_known
    stays, back = no_further_out(sites, here, found, here.depth == 0, np.zeros(len(rows), np.bool_))

    def no_record(row: int) -> Filling:
        at = (int(pointer[row]) + int(layouts.returns[row])) & arch.word_mask
        return {"at": at, "how": f"the record of {layouts.pointer(row)} would be"}

    return unless(
        found,
        (~is_known, KNOWN, True, lambda row: {"register": layouts.pointer(row)}),
        (pointer == 0, ZERO, False, lambda row: {"register": layouts.pointer(row)}),
        (~mapped, MAPPED, True, no_record),
        (pc == 0, NO_RETURN, False, lambda row: {"how": f"{layouts.pointer(row)} leads to"}),
        (stays, ASCENDS, True, back),
        too_deep(here.depth, assumption.most_frames, stops=True),
    )


def no_further_out(
    sites: Sites, here: AtFrame, there: ComeBy, may_stay: Bools, may_go_back: Bools
) -> tuple[Bools, Callable[[int], Filling]]:
    """Where a caller is not further out than the frame, and why: SP decides, else the frame pointer.

    It is further out where neither is known of both. Where it ``may_go_back``, SP may be lower.
    """
    arch = sites.arch
    names = (arch.sp, *arch.frame_pointers)
    undecided, stays, which = (
        np.ones(len(here.rows), np.bool_),
        np.zeros(len(here.rows), np.bool_),
        np.zeros(len(here.rows), np.int64),
    )
    for i, name in enumerate(names):
        column = arch.index[name]
        both = undecided & here.known[:, column] & there.known[:, column]
        was, found = here.values[:, column], there.values[:, column]
        zero, back = (found == 0) & (name != arch.sp), (found < was) & ~(may_go_back & (name == arch.sp))
        which[both] = i
        stays |= both & ~zero & (back | (found == was) & ~may_stay)
        undecided &= ~both

    def why(row: int) -> Filling:
        name = names[which[row]]
        column = arch.index[name]
        return {"register": name, "was": int(here.values[row, column]), "found": int(there.values[row, column])}

    return stays, why


def record_list(sites: Sites, assumption: RecordList) -> ReadingAlong:
    """Addresses that a logger lists: the link register perhaps, then what each record has."""
    arch = sites.arch
    layouts = _Layouts.at(sites, sites.register(arch.pc))
    pointer = sites.registers[np.arange(len(sites)), layouts.column]
    here = _ListedPointers(
        np.arange(len(sites)), pointer, np.zeros(len(sites), np.int64), np.zeros(len(sites), np.int64)
    )
    come, saved = _record_of(sites, layouts, here, assumption)
    again = np.zeros(len(sites), np.bool_)
    if assumption.link and arch.link:
        link = sites.register(arch.link)
        again = (link != 0) & ~((come.ends == STOPS) & assumption.looks_ahead)
        come = either(
            again, found_callers(LINK, sites, code_of(arch, link), lambda row: ToldHow(f"{arch.link} is")), come
        )
    while True:
        go_on = yield come
        layouts, here = layouts.some(go_on), here.after(saved, go_on, again)
        come, saved = _record_of(sites, layouts, here, assumption)
        again = np.zeros(len(here.rows), np.bool_)


@dataclass(frozen=True, eq=False)
class _ListedPointers:
    """The pointers arrived with, at frame ``k`` of some sites, and how many records were listed of each."""

    rows: Numbers
    pointer: Words
    k: Numbers
    depth: Numbers

    def after(self, saved: Words, go_on: Bools, again: Bools) -> _ListedPointers:
        pointer = np.where(again, self.pointer, saved)
        return _ListedPointers(self.rows[go_on], pointer[go_on], (self.k + 1)[go_on], (self.depth + ~again)[go_on])


def _record_of(sites: Sites, layouts: _Layouts, here: _ListedPointers, assumption: RecordList) -> tuple[ComeBy, Words]:
    """What the record gives that the pointer leads to, and the next pointer."""
    arch, pointer = sites.arch, here.pointer
    low, high = sites.register(arch.sp)[here.rows], stack_ends(sites)[here.rows]
    outside = (pointer < low) | (pointer >= high) if assumption.bounded else np.zeros(len(pointer), np.bool_)
    zero = (pointer == 0) & (assumption.checked and not assumption.bounded)
    asked = ~outside & ~zero
    saved, saved_there = sites.words(here.rows, pointer + layouts.saved, asked)
    value, value_there = sites.words(here.rows, pointer + layouts.returns, asked)
    mapped = saved_there & value_there
    stripped = assumption.stripped and not assumption.bounded
    pc = code_of(arch, value & ~np.uint64(arch.signature if stripped else 0))
    found = found_callers(LEADS, sites, pc, lambda row: ToldHow(f"the pointer {pointer[row]:#x} leads to"))
    stops = (here.depth == 0) & assumption.looks_ahead
    deep = too_deep(here.k, assumption.most_frames, stops=False)

    def unmapped(row: int) -> Filling:
        return {"at": int(pointer[row]), "how": "a record would be"}

    def bounds(row: int) -> Filling:
        found_at, first, end = int(pointer[row]), int(low[row]), int(high[row])
        return {"register": layouts.pointer(row), "found": found_at, "low": first, "high": end}

    if assumption.bounded:
        return unless(found, deep, (outside, BOUNDS, False, bounds), (~mapped, MAPPED, False, unmapped)), saved
    last = mapped & (saved == 0)
    if assumption.looks_ahead:
        ahead = asked & mapped & (saved != 0)
        _, first_there = sites.words(here.rows, saved + layouts.saved, ahead)
        _, second_there = sites.words(here.rows, saved + layouts.returns, ahead)
        last = mapped & ~(first_there & second_there)
    return (
        unless(
            found,
            deep,
            (zero & stops, NO_LIST, True, lambda row: {"register": layouts.pointer(row)}),
            (zero, ZERO, False, lambda row: {"register": layouts.pointer(row)}),
            (~mapped, MAPPED, stops | (not assumption.checked), unmapped),
            (value == 0, NO_RETURN, False, lambda row: {"how": f"the pointer {pointer[row]:#x} leads to"}),
            (last & assumption.looks_ahead, LAST, False, lambda row: {}),
        ),
        saved,
    )


def stack_ends(sites: Sites) -> Words:
    """The end of the mapping that SP is in, at each site; 0 where it is in none."""
    sp, ends = sites.register(sites.arch.sp), np.zeros(len(sites), np.uint64)
    for region in sites.trace.initial:
        ends[(sp >= np.uint64(region.address)) & (sp < np.uint64(region.end))] = region.end
    return ends


def shadow_stack(sites: Sites, assumption: ShadowStack) -> ReadingAlong:
    """The words below the shadow stack's pointer, down to one of zero."""
    arch = sites.arch
    assert arch.shadow_pointer is not None
    rows, at, k = np.arange(len(sites)), sites.register(arch.shadow_pointer), 0
    while True:
        at = at - np.uint64(arch.word)
        value, mapped = sites.words(rows, at, np.ones(len(rows), np.bool_))
        go_on = yield _shadow_word(sites, at, value, mapped, k, assumption)
        rows, at, k = rows[go_on], at[go_on], k + 1


def _shadow_word(sites: Sites, at: Words, value: Words, mapped: Bools, k: int, assumption: ShadowStack) -> ComeBy:
    mask = sites.arch.word_mask
    found = found_callers(LEADS, sites, code_of(sites.arch, value), lambda row: ToldHow(f"[{at[row]:#x}] ="))
    return unless(
        found,
        too_deep(np.full(len(at), k), assumption.most_frames, stops=True),
        (~mapped, MAPPED, True, lambda row: {"at": int(at[row]) & mask, "how": "the return address would be"}),
        (value == 0, NO_RETURN, False, lambda row: {"how": f"[{at[row]:#x}] is"}),
    )


@dataclass(frozen=True, eq=False)
class _Layouts:
    """The layout of frame records of the code at each of some pcs; ``layouts[which]`` are they."""

    arch: Arch
    layouts: tuple[FrameRecord, ...]
    which: Numbers

    @classmethod
    def at(cls, sites: Sites, pcs: Words) -> _Layouts:
        layouts: dict[FrameRecord, int] = {}
        images, arch = sites.trace.images, sites.arch
        which = _of_each(pcs, lambda pc: layouts.setdefault(frame_record_at(images, arch, pc), len(layouts)))
        return cls(arch, tuple(layouts), which)

    def some(self, chosen: Bools) -> _Layouts:
        return _Layouts(self.arch, self.layouts, self.which[chosen])

    def pointer(self, row: int) -> str:
        return self.layouts[int(self.which[row])].pointer

    @property
    def column(self) -> Numbers:
        return np.array([self.arch.index[each.pointer] for each in self.layouts], np.int64)[self.which]

    @property
    def saved(self) -> Words:
        return np.array([each.saved_pointer for each in self.layouts], np.int64).astype(np.uint64)[self.which]

    @property
    def returns(self) -> Words:
        return np.array([each.return_address for each in self.layouts], np.int64).astype(np.uint64)[self.which]

    @property
    def has_cfa(self) -> Bools:
        return np.array([each.cfa is not None for each in self.layouts], np.bool_)[self.which]

    @property
    def cfa(self) -> Words:
        return np.array([each.cfa or 0 for each in self.layouts], np.int64).astype(np.uint64)[self.which]


def _of_each(values: Words, ask: Callable[[int], int]) -> Numbers:
    """The answer to each value, asked once for equal ones."""
    some, place = np.unique(values, return_inverse=True)
    found: Numbers = np.array([ask(value) for value in some.tolist()], np.int64)[place.reshape(-1)]
    return found
