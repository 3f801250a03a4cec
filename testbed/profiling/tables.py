"""The tables of all files of a process held against the truth: what is wrong with the row of any frame.

A strategy that follows a table is wrong at a frame because that frame's row is. The row of the innermost frame is held
against the truth at the step itself; that of a frame further out at the step of its call, and that of one that a signal
interrupted at the signal's. Where the row is right there, it may be wrong later (`testbed.profiling.since_the_call`);
else nothing is explained.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.checks.native.codes import CFA, NO_ROW, OUTERMOST, REGISTERS, RETURN_ADDRESS, SIGNATURE, UNREADABLE
from testbed.checks.readers import AT_CALLS
from testbed.checks.row_checks import RowChecks, check_rows, wrong_things
from testbed.checks.row_rules import Evaluate
from testbed.checks.rule_words import cfa_words, rule_words
from testbed.checks.true_rows import TrueRow, true_rows
from testbed.contract.rows import RegisterPlus, RowTable, UnwindRow
from testbed.contract.unwinder import Unwinder
from testbed.image import LoadedImage
from testbed.profiling.since_the_call import later_masks, later_words
from testbed.truth import Truth
from testbed.truth.frame_sites import FrameSites
from testbed.words.errors import UnwindError

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
    """One strategy's tables beside one thread; without a strategy no table is looked at."""

    def __init__(self, watched: Truth, unwinder: Unwinder | None, evaluate: Evaluate | None) -> None:
        self._watched, self._trace = watched, watched.trace
        self._at_calls = unwinder is not None and unwinder.name in AT_CALLS
        self._images = [_checked(watched, loaded, unwinder, evaluate) for loaded in watched.trace.images]
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
        if self._trace.sizes.all():
            return np.zeros(len(sites), np.bool_)
        return np.isin(sites.node, [each.index for each in self._watched.activations if each.signal])

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
    watched: Truth, loaded: LoadedImage, unwinder: Unwinder | None, evaluate: Evaluate | None
) -> _CheckedImage:
    if unwinder is None or unwinder.rows is None or not unwinder.applies_to(loaded.image):
        return _CheckedImage(loaded, None, "", None, None)
    try:
        table = unwinder.rows(loaded.image)
    except UnwindError as why:
        return _CheckedImage(loaded, None, f"the table cannot be read: {why}", None, None)
    here = check_rows(watched, table, loaded, evaluate=evaluate)
    calls = check_rows(watched, table, loaded, at_calls=True, evaluate=evaluate)
    return _CheckedImage(loaded, table, "", here, calls)


def _unkept(arch: Arch) -> np.uint64:
    """The bits of registers that no call preserves."""
    return np.uint64(sum(1 << REGISTERS + column for name, column in arch.index.items() if name not in arch.preserved))


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


def _words(row: UnwindRow, mask: int, true: TrueRow | None, checks: RowChecks) -> str:
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
    return f"{what} is {rule_words(row.registers.get(name), name)}{really}{more}"
