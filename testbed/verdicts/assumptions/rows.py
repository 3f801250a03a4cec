"""What techniques come by that apply rows: those of a table, read by another reader than theirs, or those of the code.

Of a function's own code no second reader is at hand. Where it does not say how to unwind is found by what the trace
shows of the function's activations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from testbed.arch import Arch
from testbed.contract.assumption import (
    ADDRESS,
    ASCENDS,
    KNOWN,
    NO_RETURN,
    ROOT,
    THERE,
    TableRow,
)
from testbed.image import image_covering
from testbed.rereading import (
    CFA,
    Evaluated,
    Lost,
    NoRow,
    Plus,
    RowFrames,
    RowRules,
    SecondRow,
    Word,
    evaluate,
    reread,
    rules_of,
)
from testbed.trace.distinct_rows import distinct
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
from testbed.verdicts.assumptions.records import AtFrame, at_first, code_of, no_further_out


@dataclass(frozen=True, slots=True)
class _InForce:
    """A row, in words."""

    row: SecondRow
    leads: bool

    def __str__(self) -> str:
        if self.leads:
            return f"the row's {self.row.return_address} with CFA {self.row.cfa} leads to"
        return f"the row with CFA {self.row.cfa}"


@dataclass(frozen=True, eq=False)
class _Reread:
    """The rows of a table at the addresses that were looked up so far, each asked for once."""

    sites: Sites
    format: str
    rows: list[SecondRow | NoRow] = field(default_factory=list)
    rules: list[int] = field(default_factory=list)  # of each row, in `distinct`
    biases: list[int] = field(default_factory=list)
    kinds: list[_Kind] = field(default_factory=list)
    distinct: dict[RowRules, int] = field(default_factory=dict)
    _known: dict[int, int] = field(default_factory=dict)

    def at(self, addresses: Words) -> Numbers:
        """The number of the row at each address."""
        known = np.sort(np.array([*self._known], np.uint64))
        place = np.searchsorted(known, addresses)
        new = (
            np.ones(len(addresses), np.bool_)
            if not len(known)
            else known[np.minimum(place, len(known) - 1)] != addresses
        )
        for at in distinct(addresses[new]).tolist():
            self._number(at)
        known = np.sort(np.array([*self._known], np.uint64))
        numbers = np.array([self._known[at] for at in known.tolist()], np.int64)
        found: Numbers = numbers[np.searchsorted(known, addresses)]
        return found

    def _number(self, at: int) -> int:
        if at not in self._known:
            self._known[at] = len(self.rows)
            loaded = image_covering(self.sites.trace.images, at)
            row = reread(loaded.image, self.format, at - loaded.bias) if loaded else NoRow(f"no file covers {at:#x}")
            nothing = RowRules(None, Lost(), (None,) * len(self.sites.arch.index))
            rules = nothing if isinstance(row, NoRow) else rules_of(row)
            self.rows.append(row)
            self.kinds.append(_kind(row))
            self.biases.append(loaded.bias if loaded else 0)
            self.rules.append(self.distinct.setdefault(rules, len(self.distinct)))
        return self._known[at]


def table_rows(sites: Sites, assumption: TableRow) -> ReadingAlong:
    """The row of each frame, on the registers that the row before gave."""
    here, table = at_first(sites), _Reread(sites, assumption.format)
    interrupted = np.ones(len(sites), np.bool_)
    while True:
        come = _by_rows(sites, here, table, table.at(here.pc - ~interrupted), interrupted, assumption)
        go_on = yield come
        here, interrupted = here.after(come, go_on, np.zeros(len(here.rows), np.bool_)), come.interrupted[go_on]


def _by_rows(
    sites: Sites, here: AtFrame, table: _Reread, number: Numbers, interrupted: Bools, assumption: TableRow
) -> ComeBy:
    """What the numbered rows of a table give, each on one frame."""
    arch, rows = sites.arch, table.rows
    none, root, signal, signed, has_cfa, on_stack, may_go_back = np.array(table.kinds, np.bool_)[number].T
    frames = RowFrames(
        arch,
        here.values,
        here.known,
        lambda some, addresses, size: sites.words(here.rows[some], addresses, np.ones(len(some), np.bool_), size),
        np.array(table.biases, object)[number],
    )
    given = evaluate([*table.distinct], np.array(table.rules)[number], frames)
    returns, lost = given.return_address.value, ~given.return_address.known
    pc = code_of(arch, np.where(signed, returns & ~np.uint64(arch.signature), returns))

    def tell(row: int) -> ToldHow:
        found = rows[number[row]]
        assert isinstance(found, SecondRow)
        return ToldHow(_InForce(found, True), _InForce(found, False))

    found = found_callers(ADDRESS, sites, pc, tell)
    found.values[:], found.known[:] = given.values, given.known
    found.known[:, arch.index[arch.pc]] = False
    found.cfa[:], found.cfa_known[:], found.interrupted[:] = *given.cfa, signal
    stays, why = no_further_out(
        sites, here, found, interrupted | ~on_stack, may_go_back & _has_moved_up(arch, here, given)
    )

    def unknown(row: int) -> Filling:
        return {"register": "the return address" if lost[row] else "the CFA"}

    return unless(
        found,
        (none, THERE, True, lambda row: {"why": rows[number[row]]}),
        (root, ROOT, False, lambda row: {}),
        (lost | has_cfa & ~given.cfa.known, KNOWN, True, unknown),
        ((pc == 0) & ~signal, NO_RETURN, False, lambda row: {"how": "the row's return address is"}),
        (stays & ~signal, ASCENDS, True, why),
        too_deep(here.depth, assumption.most_frames, stops=True),
    )


class _Kind(NamedTuple):
    """What is asked of a row besides its values: see `SecondRow`."""

    none: bool
    is_root: bool = False
    signal_frame: bool = False
    signed: bool = False
    has_cfa: bool = False
    returns_by_memory: bool = False
    may_go_back: bool = False


def _kind(row: SecondRow | NoRow) -> _Kind:
    if isinstance(row, NoRow):
        return _Kind(none=True)
    returns = row.return_address
    has_cfa, by_memory = row.cfa is not None, isinstance(returns, Word)
    return _Kind(False, row.undefined_return, row.signal_frame, row.signed, has_cfa, by_memory, _may_go_back(row))


def _may_go_back(row: SecondRow) -> bool:
    """True of a row by which the caller's SP, the CFA by a register, may lie below this one's.

    Of a return address in a register, a CFA from a frame pointer is not believed.
    """
    cfa = row.cfa
    if not isinstance(cfa, Plus) or cfa.base == CFA:
        return False
    match row.return_address:
        case Plus(str(base)) if base != CFA:
            return cfa.base not in row.arch.frame_pointers
        case Word(Plus(str())):
            return True
        case _:
            return False


def _has_moved_up(arch: Arch, here: AtFrame, given: Evaluated) -> Bools:
    """Where the caller's SP is the CFA, and the return address lives: on the stack it lives at SP or above."""
    sp = arch.index[arch.sp]
    place, on_stack = given.return_place
    is_cfa = (given.known[:, sp] == given.cfa.known) & (given.values[:, sp] == given.cfa.value)
    moved: Bools = here.known[:, sp] & is_cfa & (~on_stack | (here.values[:, sp] <= place))
    return moved
