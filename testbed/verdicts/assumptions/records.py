"""What techniques come by that follow frame records, lists of them, or a shadow stack."""

from __future__ import annotations

from collections.abc import Mapping

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
from testbed.image import Symbol, image_covering
from testbed.trace import Snapshot
from testbed.verdicts.assumptions.along import Filling, ForetoldEnd, FoundCaller, ReadAlong, TrueSite, too_deep
from testbed.words.errors import UnreadableMemory


def word_at(snapshot: Snapshot, address: int) -> int | None:
    """The word of memory at an address; None where it is not mapped."""
    arch = snapshot.arch
    try:
        return snapshot.memory.unsigned(address & arch.word_mask, arch.word)
    except UnreadableMemory:
        return None


def code_of(snapshot: Snapshot, value: int) -> int:
    """The code address that a stored return address names, its signature left on."""
    return snapshot.arch.code_address(value)


def symbol_at(snapshot: Snapshot, address: int) -> tuple[Symbol, int] | None:
    """The function that covers a run-time address, and the load bias of its image."""
    loaded = image_covering(snapshot.images, address)
    function = loaded.image.function_at(address - loaded.bias) if loaded else None
    return (function, loaded.bias) if loaded and function else None


def layout_at(snapshot: Snapshot, pc: int) -> FrameRecord:
    """The layout of frame records of the code at a pc; outside all images the architecture's first."""
    loaded = image_covering(snapshot.images, pc)
    return loaded.image.frame_record_at(pc - loaded.bias) if loaded else snapshot.arch.isas[0].records[0]


def at_its_first_instruction(snapshot: Snapshot) -> bool:
    found = symbol_at(snapshot, snapshot.pc)
    return found is not None and found[0].address + found[1] == snapshot.pc


def no_further_out(
    arch: Arch, here: Mapping[str, int], there: Mapping[str, int], *, may_stay: bool, may_go_back: bool = False
) -> Filling | None:
    """Why a caller with the registers ``there`` is not further out than ``here``: SP decides, else the frame pointer.

    None where it is, or where neither register is known of both.
    """
    for name in (arch.sp, *arch.frame_pointers):
        if name in here and name in there:
            was, found = here[name], there[name]
            zero = found == 0 and name != arch.sp
            back = found < was and not (may_go_back and name == arch.sp)
            if not zero and (back or (found == was and not may_stay)):
                return {"register": name, "was": was, "found": found}
            return None
    return None


def chained(site: TrueSite, assumption: Record) -> ReadAlong:
    """The chain of frame records, with what a technique knows besides about the interrupted function."""
    snapshot = site.snapshot
    chain = _chain(site, assumption, 0, snapshot.pc, snapshot.registers)
    first = next(chain)
    if assumption.entry and at_its_first_instruction(snapshot):
        yield from _from_the_entry(site, assumption)
        return
    if assumption.link and (caller := _linked(snapshot, first)) is not None:
        # The record that the interrupted code's FP leads to is then the caller's.
        yield FoundCaller(caller, LINK, f"{snapshot.arch.link} is")
    yield first
    yield from chain


def _linked(snapshot: Snapshot, first: FoundCaller | ForetoldEnd) -> int | None:
    """The caller by the link register, where that names another function and the chain does not begin there."""
    arch = snapshot.arch
    assert arch.link is not None
    caller = code_of(snapshot, snapshot.registers[arch.link])
    named, own = symbol_at(snapshot, caller - 1), symbol_at(snapshot, snapshot.pc)
    if named is None or named == own or (isinstance(first, FoundCaller) and first.pc == caller):
        return None
    return caller


def _from_the_entry(site: TrueSite, assumption: Record) -> ReadAlong:
    """The call left the return address behind, and every register; from the caller on it is a chain."""
    snapshot, arch = site.snapshot, site.snapshot.arch
    cfa = snapshot.sp + arch.entry_cfa & arch.word_mask
    value = snapshot.registers[arch.link] if arch.link else word_at(snapshot, snapshot.sp)
    how = f"{arch.link} is" if arch.link else f"{arch.sp} leads to"
    if value is None:
        yield ForetoldEnd(MAPPED, True, {"at": snapshot.sp, "how": "the return address would be"})
    elif code_of(snapshot, value) == 0:
        yield ForetoldEnd(NO_RETURN, False, {"how": how})
    else:
        pc, there = code_of(snapshot, value), {name: snapshot.registers[name] for name in platform(arch).preserved}
        there[arch.sp] = cfa
        yield FoundCaller(pc, ENTRY, how, there, cfa, "the call")
        yield from _chain(site, assumption, 1, pc, there)


def _chain(site: TrueSite, assumption: Record, k: int, pc: int, here: Mapping[str, int]) -> ReadAlong:
    """Frame records from the ``k``-th frame of an answer on, at ``pc`` and out of the registers ``here``."""
    snapshot, arch = site.snapshot, site.snapshot.arch
    while True:
        layout = layout_at(snapshot, pc - (k > 0))  # every caller's pc is taken for a return address
        pointer = here.get(layout.pointer)
        if pointer is None:
            yield ForetoldEnd(KNOWN, True, {"register": layout.pointer})
            return
        if pointer == 0:
            yield ForetoldEnd(ZERO, False, {"register": layout.pointer})
            return
        saved, value = _words(snapshot, layout, pointer)
        if value is None:
            at = pointer + layout.return_address & arch.word_mask
            yield ForetoldEnd(MAPPED, True, {"at": at, "how": f"the record of {layout.pointer} would be"})
            return
        how, pc = f"{layout.pointer} leads to", code_of(snapshot, value)
        if pc == 0:
            yield ForetoldEnd(NO_RETURN, False, {"how": how})
            return
        cfa = None if layout.cfa is None else pointer + layout.cfa & arch.word_mask
        there = {name: found for name, found in ((layout.pointer, saved), (arch.sp, cfa)) if found is not None}
        if stays := no_further_out(arch, here, there, may_stay=k == 0):
            yield ForetoldEnd(ASCENDS, True, stays)
            return
        yield from too_deep(k, assumption.most_frames, stops=True)
        yield FoundCaller(pc, LEADS, how, there, cfa, "the record")
        k, here = k + 1, there


def record_list(site: TrueSite, assumption: RecordList) -> ReadAlong:
    """Addresses that a logger lists: the link register perhaps, then what each record has."""
    snapshot, arch = site.snapshot, site.snapshot.arch
    layout = layout_at(snapshot, snapshot.pc)
    chain = _bounded(site, layout, assumption) if assumption.bounded else _listed(site, layout, assumption)
    first, k = next(chain), 0
    link = snapshot.registers[arch.link] if assumption.link and arch.link else 0
    if link and not (assumption.looks_ahead and isinstance(first, ForetoldEnd) and first.stops):
        yield FoundCaller(code_of(snapshot, link), LINK, f"{arch.link} is")
        k = 1
    for come_by in _again(first, chain):
        yield from too_deep(k, assumption.most_frames, stops=False)
        yield come_by
        k += 1


def _again(first: FoundCaller | ForetoldEnd, rest: ReadAlong) -> ReadAlong:
    yield first
    yield from rest


def _bounded(site: TrueSite, layout: FrameRecord, assumption: RecordList) -> ReadAlong:
    snapshot = site.snapshot
    end, _ = snapshot.stack_end()
    pointer = snapshot.registers[layout.pointer]
    while snapshot.sp <= pointer < end:
        saved, value = _words(snapshot, layout, pointer)
        if saved is None or value is None:
            yield ForetoldEnd(MAPPED, False, {"at": pointer, "how": "a record would be"})
            return
        yield FoundCaller(code_of(snapshot, value), LEADS, f"the pointer {pointer:#x} leads to")
        pointer = saved
    yield ForetoldEnd(BOUNDS, False, {"register": layout.pointer, "found": pointer, "low": snapshot.sp, "high": end})


def _listed(site: TrueSite, layout: FrameRecord, assumption: RecordList) -> ReadAlong:
    snapshot = site.snapshot
    pointer, is_first = snapshot.registers[layout.pointer], True
    while True:
        how = f"the pointer {pointer:#x} leads to"
        stops = assumption.looks_ahead and is_first
        if assumption.checked and pointer == 0:
            yield ForetoldEnd(NO_LIST if stops else ZERO, stops, {"register": layout.pointer})
            return
        saved, value = _words(snapshot, layout, pointer)
        if saved is None or value is None:
            yield ForetoldEnd(MAPPED, stops or not assumption.checked, {"at": pointer, "how": "a record would be"})
            return
        if value == 0:
            yield ForetoldEnd(NO_RETURN, False, {"how": how})
            return
        if assumption.looks_ahead and (saved == 0 or None in _words(snapshot, layout, saved)):
            yield ForetoldEnd(LAST, False)
            return
        address = snapshot.arch.code_address(value & ~_signature(snapshot, assumption))
        yield FoundCaller(address, LEADS, how)
        pointer, is_first = saved, False


def _signature(snapshot: Snapshot, assumption: RecordList) -> int:
    """The bits to take off: those that the process's addresses leave to signatures."""
    return (snapshot.pac_mask or 0) if assumption.stripped and snapshot.arch.signature else 0


def _words(snapshot: Snapshot, layout: FrameRecord, pointer: int) -> tuple[int | None, int | None]:
    """The two words of a record."""
    return word_at(snapshot, pointer + layout.saved_pointer), word_at(snapshot, pointer + layout.return_address)


def shadow_stack(site: TrueSite, assumption: ShadowStack) -> ReadAlong:
    """The words below the shadow stack's pointer, down to one of zero."""
    snapshot, arch = site.snapshot, site.snapshot.arch
    assert arch.shadow_pointer is not None
    at = snapshot.registers[arch.shadow_pointer]
    for k in range(len(site.frames)):
        yield from too_deep(k, assumption.most_frames, stops=True)
        at = at - arch.word
        value = word_at(snapshot, at)
        if value is None:
            yield ForetoldEnd(MAPPED, True, {"at": at & arch.word_mask, "how": "the return address would be"})
        elif value == 0:
            yield ForetoldEnd(NO_RETURN, False, {"how": f"[{at:#x}] is"})
        else:
            yield FoundCaller(code_of(snapshot, value), LEADS, f"[{at:#x}] =")
