"""What techniques come by that apply rows: those of a table, read by another reader than theirs, or those of the code.

Of a function's own code no second reader is at hand. Where it does not say how to unwind is found by what the trace
shows of the function's activations.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from testbed.arch import Arch
from testbed.contract.assumption import (
    ADDRESS,
    AS_CALLED,
    ASCENDS,
    ENTERED,
    KEPT,
    KIND,
    KNOWN,
    MOST,
    NAMED,
    NO_RETURN,
    ONE_CFA,
    OUTERMOST,
    ROOT,
    THERE,
    Clause,
    TableRow,
)
from testbed.contract.frames import FrameKind
from testbed.image import Image, image_covering, once_per_image
from testbed.rereading import CFA, Evaluated, NoRow, Plus, SecondRow, Word, evaluate, reread
from testbed.trace import Snapshot
from testbed.truth import Activation, TrueFrame, Truth
from testbed.verdicts.assumptions.along import Failed, Filling, ForetoldEnd, FoundCaller
from testbed.words.errors import UnreadableMemory


@dataclass(frozen=True, slots=True)
class _InForce:
    """A row, in words."""

    row: SecondRow
    leads: bool

    def __str__(self) -> str:
        if self.leads:
            return f"the row's {self.row.return_address} with CFA {self.row.cfa} leads to"
        return f"the row with CFA {self.row.cfa}"


def table_rows(snapshot: Snapshot, assumption: TableRow) -> Iterator[FoundCaller | ForetoldEnd]:
    """The row of each frame, on the registers that the row before gave."""
    arch = snapshot.arch
    here: Mapping[str, int] = snapshot.registers
    pc, kind, k = snapshot.pc, FrameKind.INTERRUPTED, 0
    while True:
        at = pc - (kind is FrameKind.CALLER)
        loaded = image_covering(snapshot.images, at)
        row = reread(loaded.image, assumption.format, at - loaded.bias) if loaded else NoRow(f"no file covers {at:#x}")
        if loaded is None or isinstance(row, NoRow):
            yield ForetoldEnd(THERE, True, {"why": row})
            return
        if row.undefined_return:
            yield ForetoldEnd(ROOT, False)
            return
        found = evaluate(row, here, _words(snapshot), loaded.bias)
        if found.return_address is None or (found.cfa is None and row.cfa is not None):
            lost = "the return address" if found.return_address is None else "the CFA"
            yield ForetoldEnd(KNOWN, True, {"register": lost})
            return
        signature = (snapshot.pac_mask or 0) if row.signed else 0
        pc = arch.code_address(found.return_address & ~signature)
        if pc == 0 and not row.signal_frame:
            yield ForetoldEnd(NO_RETURN, False, {"how": "the row's return address is"})
            return
        there = {name: value for name, value in found.registers.items() if value is not None and name != arch.pc}
        may_stay = kind is FrameKind.INTERRUPTED or not isinstance(row.return_address, Word)
        may_go_back = _has_moved_up(row, found, here)
        stays = _no_further_out(arch, here, there, may_stay=may_stay, may_go_back=may_go_back)
        if stays and not row.signal_frame:
            yield ForetoldEnd(ASCENDS, True, stays)
            return
        if k + 1 >= assumption.most_frames:
            yield ForetoldEnd(MOST, True, {"frame": str(k), "most": str(assumption.most_frames)})
            return
        kind = FrameKind.INTERRUPTED if row.signal_frame else FrameKind.CALLER
        yield FoundCaller(pc, ADDRESS, _InForce(row, True), there, found.cfa, _InForce(row, False), kind)
        k, here = k + 1, there


def _no_further_out(
    arch: Arch, here: Mapping[str, int], there: Mapping[str, int], *, may_stay: bool, may_go_back: bool
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


def _words(snapshot: Snapshot) -> Callable[[int, int], int | None]:
    def read(address: int, size: int) -> int | None:
        try:
            return snapshot.memory.unsigned(address & snapshot.arch.word_mask, size)
        except UnreadableMemory:
            return None

    return read


def _has_moved_up(row: SecondRow, found: Evaluated, here: Mapping[str, int]) -> bool:
    """True where the caller's SP may lie below this one's: it is the CFA, by a register, and the return address lives.

    On the stack it lives at SP or above. Of one in a register, a CFA from a frame pointer is not believed.
    """
    arch, sp, cfa = row.arch, here.get(row.arch.sp), row.cfa
    if sp is None or not isinstance(cfa, Plus) or cfa.base == CFA or found.registers.get(arch.sp) != found.cfa:
        return False
    match row.return_address:
        case Plus(str(base)) if base != CFA:
            return cfa.base not in arch.frame_pointers
        case Word(Plus(str(base), offset)):
            at = found.cfa if base == CFA else here.get(base)
            return at is not None and sp <= at + offset <= arch.word_mask
        case _:
            return False


_COLD = ".cold"  # compilers name so what they moved out of a function: it is entered by jumps, with its frame
_LARGEST = 1 << 20  # bytes of a frame
_Unlike = tuple[Clause, Filling]


class _NamedStart(NamedTuple):
    """A function by its symbol: where it begins, at run time, and whether the file's execution begins in it."""

    start: int
    is_entry: bool


def code_rows_fail_at(watched: Truth, step: int) -> Failed | None:
    """The first frame of which the code alone does not say the row; None where there is none."""
    snapshot, frames = watched.trace.snapshot(step), watched.stack(step).frames
    last = step  # that the frame's activation executed
    for k, frame in enumerate(frames):
        activation = watched.activations[frame.activation]
        caller = frames[k + 1] if k + 1 < len(frames) else None
        for clause, filling in _reasons(snapshot, watched, frame, caller, activation, last):
            return Failed(k, clause, None, {"here": frame.pc, **filling})
        last = activation.opened - 1
    return None


def _reasons(
    snapshot: Snapshot, watched: Truth, frame: TrueFrame, caller: TrueFrame | None, activation: Activation, last: int
) -> Iterator[_Unlike]:
    """What does not hold of a frame, of an activation that executed the step ``last`` last."""
    place = _place(snapshot, frame.lookup_pc)
    if place is None:
        yield NAMED, {"at": frame.lookup_pc}
        return
    if place.is_entry or caller is None:
        if place.is_entry is not (caller is None):
            yield OUTERMOST, {"not_": "" if caller is None else "not ", "where": "there" if caller else "elsewhere"}
        return
    if caller.interrupted or activation.signal:
        yield KIND, {"true": caller.pc}
        return
    entered = _last_visit(watched, place.start, activation, last)
    if entered is None:
        yield ENTERED, {"at": place.start}
        return
    yield from _not_as_called(watched, activation, caller, entered)
    if not _keeps(snapshot, frame, caller, activation, last, watched):
        yield KEPT, {"true": caller.pc}
    pc = int(watched.trace.pc[last])
    if not _has_one_cfa(watched, pc):
        yield ONE_CFA, {"at": pc}


def _place(snapshot: Snapshot, pc: int) -> _NamedStart | None:
    loaded = image_covering(snapshot.images, pc)
    start = None if loaded is None else _start(loaded.image, pc - loaded.bias)
    if loaded is None or start is None:
        return None
    return _NamedStart(start + loaded.bias, start == _start(loaded.image, loaded.image.entry))


@once_per_image
def _start(image: Image, address: int) -> int | None:
    """Where the function that covers a link-time address begins; one without a size ends where the next begins."""
    functions = [symbol for symbol in image.symbols if symbol.is_function]
    i = bisect_right(functions, address, key=lambda symbol: symbol.address)
    found = functions[i - 1] if i else None
    if found is not None and found.size and address >= found.address + found.size:
        found = image.function_at(address)
    if found is not None and _COLD in found.name:
        found = image.symbol_named(found.name.partition(_COLD)[0])
    return None if found is None else found.address


def _visits(watched: Truth, pc: int) -> list[int]:
    """The steps at a pc, in order."""
    if watched not in _VISITS:
        order = np.argsort(watched.trace.pc, kind="stable")
        _VISITS[watched] = order, watched.trace.pc[order]
    order, pcs = _VISITS[watched]
    first, end = np.searchsorted(pcs, np.uint64(pc)), np.searchsorted(pcs, np.uint64(pc), side="right")
    steps: list[int] = order[first:end].tolist()
    return steps


_VISITS: WeakKeyDictionary[Truth, tuple[np.ndarray, np.ndarray]] = WeakKeyDictionary()


def _last_visit(watched: Truth, pc: int, activation: Activation, last: int) -> int | None:
    """The last step at a pc, up to ``last``, that an activation executed."""
    steps = _visits(watched, pc)
    for step in reversed(steps[: bisect_right(steps, last)]):
        if step < activation.opened:
            return None
        if watched.node[step] == activation.index:
            return step
    return None


def _not_as_called(watched: Truth, activation: Activation, caller: TrueFrame, entered: int) -> Iterator[_Unlike]:
    """The first register that is not what the call left there, when a function was entered."""
    trace = watched.trace
    arch, first, now = trace.arch, trace.registers[activation.opened], trace.registers[entered]
    for name in (name for name in caller.registers if name not in (arch.pc, arch.flags)):
        was, found = int(first[arch.index[name]]), int(now[arch.index[name]])
        if was != found:
            yield AS_CALLED, {"register": name, "found": found, "was": was}
            return
    if arch.link is not None:
        found = int(now[arch.index[arch.link]])
        if not caller.is_at(arch.code_address(found)):
            yield AS_CALLED, {"register": arch.link, "found": found, "was": caller.pc}


def _keeps(
    snapshot: Snapshot, frame: TrueFrame, caller: TrueFrame, activation: Activation, last: int, watched: Truth
) -> bool:
    """Whether the return address is in the link register, or in a word between SP and the CFA."""
    arch = snapshot.arch
    if not frame.calling and arch.link and caller.is_at(arch.without_signature(snapshot.registers[arch.link])):
        return True
    sp, cfa = frame.registers[arch.sp], activation.cfa
    if cfa is None or not 0 <= cfa - sp <= _LARGEST:
        return False
    try:
        data = snapshot.memory.read(sp, cfa - sp)
    except UnreadableMemory:
        return False
    words = np.frombuffer(data, f"<u{arch.word}", len(data) // arch.word)
    values = words.astype(np.uint64) & np.uint64(~arch.signature & arch.code_mask)
    return bool(np.isin(values, (caller.pc, caller.pc if caller.goes_on is None else caller.goes_on)).any())


_ONE_CFA: WeakKeyDictionary[Truth, dict[int, bool]] = WeakKeyDictionary()


def _has_one_cfa(watched: Truth, pc: int) -> bool:
    """Whether at all visits of an instruction SP, or a frame pointer, is equally far from the CFA."""
    known = _ONE_CFA.setdefault(watched, {})
    if pc not in known:
        steps = np.array(_visits(watched, pc))
        cfa = watched.activations.cfa[watched.node[steps]]
        arch = watched.trace.arch
        known[pc] = any(
            len(set((cfa - watched.trace.column(name)[steps]).tolist())) == 1
            for name in (arch.sp, *arch.frame_pointers)
        )
    return known[pc]
