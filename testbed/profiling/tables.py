"""The tables of all files of a process held against the truth: what is wrong with the row of any frame.

An unwinder that follows a table is wrong at a frame because that frame's row is. The row of the innermost frame is held
against the truth at the step itself; that of a frame further out at the step of its call, and that of one that a signal
interrupted at the signal's. Where the row is right there, it may be wrong later (`testbed.profiling.tables`);
else nothing is explained.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.checks.code_words import cfa_words, rule_words
from testbed.checks.native.codes import CFA, NO_ROW, OUTERMOST, REGISTERS, RETURN_ADDRESS, SIGNATURE, UNREADABLE
from testbed.checks.row_checks import RowChecks, check_rows, wrong_things
from testbed.checks.row_columns import Evaluate, caller_columns
from testbed.checks.true_rows import ObservedRow, true_rows
from testbed.contract.coded import register_rules, return_address_rule
from testbed.contract.rows import Offset, RegisterPlus, RowTable, UnwindRow
from testbed.contract.unwinder import Unwinder
from testbed.conventions import platform
from testbed.image import LoadedImage
from testbed.truth import Truth
from testbed.truth.events import Bools
from testbed.truth.frame_sites import FrameSites
from testbed.words.errors import UnwindError
from testbed.words.table_formats import AT_CALLS

# What was right at a call and is wrong later: rows that hold where they stand, and still give a false caller.
#
# Two things are no mistake of a row at its own place. A function that is called may write over a slot in which its
# caller's row says that a register is kept: `uw_install_context` of libgcc does, to load the registers of another
# frame. And a table may have no way to say that a signal interrupted the caller (EHABI), so that its pc is taken for a
# return address. Both are found by what is true: a slot's word at the step beside the register as it was at the call.

# Bits of a mask beside those of `testbed.checks.native.codes`. WRITTEN_OVER stands with the bits of registers.
WRITTEN_OVER, NOT_A_SIGNALS = 1 << 62, 1 << 61


def later_masks(
    watched: Truth, sites: FrameSites, places: NDArray[np.uint64], loaded: LoadedImage, table: RowTable
) -> NDArray[np.uint64]:
    """What is wrong with the rows of some frames of one image. ``places`` are the run-time pcs that they are of."""
    found = np.zeros(len(sites), np.uint64)
    index, of_site = np.unique(np.stack((places, sites.node.astype(np.uint64)), axis=1), axis=0, return_inverse=True)
    of_site = of_site.reshape(-1)
    order = np.argsort(of_site, kind="stable")
    ends = np.searchsorted(of_site[order], np.arange(len(index)), "right")
    slots = _FrameWords(watched)
    start = 0
    for (place, node), end in zip(index.tolist(), ends.tolist(), strict=True):
        own, start = order[start:end], end
        row = table.at(place - loaded.bias)
        if row is None:
            continue
        if watched.activations[node].signal and not row.signal_frame:
            found[own] = NOT_A_SIGNALS
        else:
            slots.add(own[sites.depth[own] > 0], sites, node, row)
    slots.mark(found)
    return found


class _FrameWord(NamedTuple):
    """A slot in the frame of some sites, and the value that it should have at their steps."""

    own: NDArray[np.int64]
    step: NDArray[np.int64]
    address: int
    true: int
    bit: int


class _FrameWords:
    """The slots of some frames that should have a caller's register still: what is read of all together.

    Of a word only what ``mask`` has is compared: a return address carries an instruction set, or a signature.
    """

    def __init__(self, watched: Truth) -> None:
        self._watched = watched
        self._slots: dict[tuple[int, int], list[_FrameWord]] = {}  # by size and mask

    def add(self, own: NDArray[np.int64], sites: FrameSites, node: int, row: UnwindRow) -> None:
        watched, arch = self._watched, self._watched.trace.arch
        if not len(own) or watched.activations.parent[node] < 0:
            return
        cfa, steps = int(watched.activations.cfa[node]), sites.step[own]
        at_call = watched.trace.registers[int(caller_columns(watched).own[node])]
        for name, rule in register_rules(row, arch).items():
            if isinstance(rule, Offset) and name in watched.promised(node):
                size, column = arch.by_name[name].bits // 8, arch.index[name]
                mask = (1 << 8 * size) - 1
                slot = _FrameWord(
                    own, steps, cfa + rule.offset & arch.word_mask, int(at_call[column]) & mask, 1 << REGISTERS + column
                )
                self._slots.setdefault((size, mask), []).append(slot)
        address = return_address_rule(row, arch)
        if isinstance(address, Offset) and not watched.activations.goes_on[node]:
            mask = arch.code_mask & ~arch.signature
            true = int(watched.activations.return_address[node]) & mask
            slot = _FrameWord(own, steps, cfa + address.offset & arch.word_mask, true, RETURN_ADDRESS)
            self._slots.setdefault((arch.word, mask), []).append(slot)

    def mark(self, found: NDArray[np.uint64]) -> None:
        for (size, mask), slots in self._slots.items():
            counts = [len(slot.own) for slot in slots]
            steps = np.concatenate([slot.step for slot in slots])
            addresses = np.repeat(np.array([slot.address for slot in slots], np.uint64), counts)
            true = np.repeat(np.array([slot.true for slot in slots], np.uint64), counts)
            bits = np.repeat(np.array([slot.bit | WRITTEN_OVER for slot in slots], np.uint64), counts)
            values, mapped = self._watched.trace.words.at(steps, addresses, size)
            differ = ~mapped | (values & np.uint64(mask) != true)
            np.bitwise_or.at(found, np.concatenate([slot.own for slot in slots])[differ], bits[differ])


def later_words(row: UnwindRow, mask: int, names: Callable[[int], tuple[str, ...]]) -> str:
    """Such a mask in words; "" where it is none of these."""
    if mask & NOT_A_SIGNALS:
        return "the row does not say that a signal interrupted the caller"
    if not mask & WRITTEN_OVER:
        return ""
    first, *more = names(mask & ~WRITTEN_OVER)
    others = f" (and {', '.join(more)})" if more else ""
    register = row.return_address if mask & RETURN_ADDRESS else first
    what = "the return address" if mask & RETURN_ADDRESS else first
    return f"{what} is {rule_words(row.registers.get(register), register)}, written over since the call{others}"


def _said(row: UnwindRow, name: str, arch: Arch) -> str:
    """Where a row says a register is; the ABI speaks where the row does not."""
    rule = return_address_rule(row, arch) if name == row.return_address else register_rules(row, arch).get(name)
    return rule_words(rule, name)


NO_ROW_SAID = "no row"
BETWEEN_CALLS = "the row is for calls only"  # what such a table promises nothing of


@dataclass(frozen=True, eq=False)
class _CheckedImage:
    """One file's table, and what is wrong with its rows: at each step, and at the call that each step makes."""

    loaded: LoadedImage
    table: RowTable | None
    unreadable: str
    here: RowChecks | None = field(repr=False)
    calls: RowChecks | None = field(repr=False)


class ProcessTables:
    """One unwinder's tables beside some frames of one thread; without an unwinder no table is looked at.

    Rows are held against the truth where those frames stand, and where trampolines are executed.
    """

    def __init__(self, watched: Truth, sites: FrameSites, unwinder: Unwinder | None, evaluate: Evaluate | None) -> None:
        self._watched, self._trace = watched, watched.trace
        self._at_calls = unwinder is not None and unwinder.name in AT_CALLS
        steps = np.isin(watched.node, self._signals)
        steps[sites.own] = True
        self._images = [_checked(watched, loaded, unwinder, evaluate, steps) for loaded in watched.trace.images]
        self._image_of: dict[int, int] = {}

    def image_at(self, pc: int) -> int:
        """The number of the image that covers a run-time pc; -1 where none does."""
        if pc not in self._image_of:
            covering = (i for i, each in enumerate(self._trace.images) if each.covers(pc))
            self._image_of[pc] = next(covering, -1)
        return self._image_of[pc]

    def masks(self, sites: FrameSites) -> NDArray[np.uint64]:
        """What is wrong with the row of each frame: bits of `testbed.checks.native.codes`; 0 where nothing is."""
        innermost = sites.depth == 0
        stands = innermost | (self._trace.sizes[sites.own] == 0)  # at an instruction that is not a call
        places, of_site = np.unique(np.where(stands, sites.pc, sites.pc - np.uint64(1)), return_inverse=True)
        images = np.array([self.image_at(pc) for pc in places.tolist()], np.int64)[of_site]
        found = np.full(len(sites), NO_ROW, np.uint64)
        for number, each in enumerate(self._images):
            here = images == number
            if each.table is None:
                found[here] = UNREADABLE if each.unreadable else NO_ROW
                continue
            assert each.here is not None and each.calls is not None
            own = sites.own
            at_step, at_call = here & stands, here & ~stands
            found[at_step] = each.here.wrong[own[at_step]]
            found[at_call] = each.calls.wrong[own[at_call]]
            # A call in several instructions, and a signal's trampoline, stand where nothing was executed.
            open_ = (at_call & ~each.calls.compared[own]) | (here & ~innermost & stands & self._trampolines(sites))
            for i in np.flatnonzero(open_).tolist():
                pc = int(sites.pc[i]) - each.loaded.bias
                found[i] = self._trampoline(each, int(sites.node[i]), pc) if stands[i] else _silent(each.table, pc - 1)
            # The row is right where it stands, but for registers that no call preserves, of which nothing is judged.
            later = np.flatnonzero(here & (found & ~_unkept(self._trace.arch) == 0))
            if len(later):
                looked_up = sites.pc[later] - (~stands[later]).astype(np.uint64)
                since = later_masks(self._watched, sites.some(later), looked_up, each.loaded, each.table)
                found[later] = np.where(since, since, found[later])
        return found

    def looked_up(self, site: FrameSites) -> tuple[RowTable | None, int]:
        """The table of the code of one frame, and the link-time pc that its row is looked up by."""
        pc = int(site.pc[0]) - (0 if site.depth[0] == 0 or self._trace.sizes[site.own[0]] == 0 else 1)
        number = self.image_at(pc)
        if number < 0:
            return None, pc
        return self._images[number].table, pc - self._images[number].loaded.bias

    def _trampolines(self, sites: FrameSites) -> NDArray[np.bool_]:
        """Which frames are those of signals, whose handlers return to their trampolines."""
        return np.isin(sites.node, self._signals)

    @cached_property
    def _signals(self) -> list[int]:
        """The activations that are signals' own frames."""
        if self._trace.sizes.all():
            return []
        return [each.index for each in self._watched.activations if each.signal]

    def _trampoline(self, each: _CheckedImage, node: int, pc: int) -> int:
        """A trampoline's row is tried where it is executed: when the handler has returned."""
        assert each.table is not None and each.here is not None
        executed = np.flatnonzero(self._watched.node == node)
        if not _silent(each.table, pc) and len(executed):
            return int(each.here.wrong[executed[0]])
        return _silent(each.table, pc)

    def start_of(self, image: int, pc: int) -> int:
        """Where the function of a link-time pc begins, by the table: at the next row before it that is an entry's."""
        table, arch = self._images[image].table, self._trace.arch
        i = bisect_right(table.starts, pc) - 1 if table is not None else -1
        if table is None or i < 0 or not table.rows[i].contains(pc):
            return pc
        entry = RegisterPlus(arch.sp, arch.entry_cfa)
        while i and table.rows[i].cfa != entry and table.rows[i - 1].end == table.rows[i].start:
            i -= 1
        return table.rows[i].start

    def because(self, image: int, pc: int, mask: int, step: int, *, calling: bool) -> str:
        """Why a row with this mask is wrong, in a few words. ``pc`` is a link-time one, of the frame."""
        if image < 0:
            return "no file has this code, so no table"
        each = self._images[image]
        if each.table is None:
            return each.unreadable or "the file has no such table"
        if mask & NO_ROW:
            return NO_ROW_SAID
        if mask & UNREADABLE:
            return f"the row cannot be read: {each.table.stop_at(pc - calling)}"
        checks = each.calls if calling else each.here
        row = each.table.at(pc - calling)
        assert checks is not None and row is not None
        if said := later_words(row, mask, lambda bits: wrong_things(bits, checks.arch)):
            return said
        own = int(checks.pc[step])
        true = true_rows(self._watched, _only(checks, step), each.table, [own]).get(own)
        said = _words(row, mask, true, checks)
        return said if calling or not self._at_calls else f"{BETWEEN_CALLS}: {said}"


def _checked(
    watched: Truth, loaded: LoadedImage, unwinder: Unwinder | None, evaluate: Evaluate | None, steps: Bools
) -> _CheckedImage:
    """The rows of one file held against the truth at some steps, and at the calls that they make."""
    if unwinder is None or unwinder.rows is None or not unwinder.applies_to(loaded.image):
        return _CheckedImage(loaded, None, "", None, None)
    try:
        table = unwinder.rows(loaded.image)
    except UnwindError as why:
        return _CheckedImage(loaded, None, f"the table cannot be read: {why}", None, None)
    here = check_rows(watched, table, loaded, steps=steps, evaluate=evaluate)
    calls = check_rows(watched, table, loaded, steps=steps, at_calls=True, evaluate=evaluate)
    return _CheckedImage(loaded, table, "", here, calls)


def _unkept(arch: Arch) -> np.uint64:
    """The bits of registers that no call preserves."""
    return np.uint64(
        sum(1 << REGISTERS + column for name, column in arch.index.items() if name not in platform(arch).preserved)
    )


def _silent(table: RowTable, pc: int) -> int:
    """NO_ROW or UNREADABLE where a table has no row for a link-time pc, else 0."""
    if table.at(pc) is not None:
        return 0
    return UNREADABLE if table.stop_at(pc) is not None else NO_ROW


def _only(checks: RowChecks, step: int) -> RowChecks:
    """The checks of one step alone: what is true there and then."""
    one = np.zeros(len(checks.compared), np.bool_)
    one[step] = checks.compared[step]
    return RowChecks(checks.arch, checks.pc, one, checks.wrong, checks.untried)


def _words(row: UnwindRow, mask: int, true: ObservedRow | None, checks: RowChecks) -> str:
    """The gravest thing that a row says wrongly, and what is true."""
    arch = checks.arch
    if mask & OUTERMOST:
        return "the row says that nobody called, and somebody did"
    if mask & CFA:
        distance = true.cfa.get(arch.sp) if true else None
        really = f", true {arch.sp}{distance:+#x}" if distance is not None else ""
        return f"CFA is {cfa_words(row.cfa)}{really}"
    if mask & SIGNATURE:
        return f"the return address is said to be {'signed' if row.is_signed else 'not signed'}, and it is otherwise"
    names = wrong_things(mask, arch)
    name = row.return_address if mask & RETURN_ADDRESS else names[0]
    what = "the return address" if mask & RETURN_ADDRESS else name
    place = true.places.get(name) if true else None
    if place is not None and place.in_place:
        really = f", true still in {name}"
    elif place is not None and place.offsets:
        really = f", true at CFA{max(place.offsets):+#x}"
    else:
        really = ", true nowhere in the frame"
    more = f" (and {', '.join(names[1:])})" if len(names) > 1 and not mask & RETURN_ADDRESS else ""
    return f"{what} is {_said(row, name, arch)}{really}{more}"
