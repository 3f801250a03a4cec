"""What techniques come by that apply rows: those of a table, read by another reader than theirs, or those of the code.

Of a function's own code no second reader is at hand. Where it does not say how to unwind is found by what the trace
shows of the function's activations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
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
from testbed.image import LoadedImage, image_covering
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
    rule_columns,
    rules_of,
)
from testbed.trace.by_address import AskedOnce
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


class _Reread:
    """The rows of a table at the addresses that were looked up so far, each asked for once."""

    def __init__(self, images: tuple[LoadedImage, ...], arch: Arch, format: str) -> None:
        self.images, self.arch, self.format = images, arch, format
        self.rows: list[SecondRow | NoRow] = []  # each once
        self._numbers: dict[tuple[int, int], int] = {}  # by identity, and by where its file is loaded
        self.biases: list[int] = []
        self.rules = rule_columns(arch, ())
        self._lines: dict[RowRules, int] = {}  # of the rules
        self._facts: list[tuple[int, *_Kind]] = []  # of each row, behind the line of its rules
        self._columns = np.zeros((0, 1 + len(_Kind._fields)), np.int64)
        self._asked = AskedOnce(self._number)

    def at(self, addresses: Words) -> tuple[Numbers, Numbers, Bools]:
        """At each address the number of the row, the line of its rules, and its kind in columns."""
        number = self._asked.at(addresses)
        if len(self._facts) > len(self._columns):
            self._columns = np.concatenate((self._columns, self._facts[len(self._columns) :]))
            known = len(self.rules.rules)
            self.rules = self.rules.with_lines(rule_columns(self.arch, [*self._lines][known:]))
        facts = self._columns[number]
        return number, facts[:, 0], facts[:, 1:].astype(np.bool_)

    def _number(self, at: int) -> int:
        loaded = image_covering(self.images, at)
        row = reread(loaded.image, self.format, at - loaded.bias) if loaded else NoRow(f"no file covers {at:#x}")
        bias = loaded.bias if loaded else 0
        number = self._numbers.setdefault((id(row), bias), len(self.rows))
        if number == len(self.rows):
            nothing = RowRules(None, Lost(), (None,) * len(self.arch.index))
            rules = nothing if isinstance(row, NoRow) else rules_of(row)
            self._facts.append((self._lines.setdefault(rules, len(self._lines)), *_kind(row)))
            self.rows.append(row)
            self.biases.append(bias)
        return number


_reread_of = lru_cache(maxsize=8)(_Reread)  # a long run is judged in pieces, by the rows of the same files


def read_by_rows(sites: Sites, assumption: TableRow) -> Words:
    """What a row goes by at the innermost frame of each site: its rules, its kind, and the registers that they read.

    Of an expression the pc stands for what it reads of the code.
    """
    table, registers = _reread_of(sites.trace.images, sites.arch, assumption.format), sites.registers
    pc = sites.register(sites.arch.pc)
    _, line, kinds = table.at(pc)
    own = np.where(table.rules.has_others[line], pc, 0)
    read = np.where(table.rules.reads[line], registers[:, table.rules.bases], 0)
    return np.column_stack((line, kinds @ (1 << np.arange(kinds.shape[1])), own, read))


def table_rows(sites: Sites, assumption: TableRow) -> ReadingAlong:
    """The row of each frame, on the registers that the row before gave."""
    here, table = at_first(sites), _reread_of(sites.trace.images, sites.arch, assumption.format)
    interrupted = np.ones(len(sites), np.bool_)
    while True:
        come = _by_rows(sites, here, table, interrupted, assumption)
        go_on = yield come
        here, interrupted = here.after(come, go_on, np.zeros(len(here.rows), np.bool_)), come.interrupted[go_on]


def _by_rows(sites: Sites, here: AtFrame, table: _Reread, interrupted: Bools, assumption: TableRow) -> ComeBy:
    """What the rows of a table give, each on one frame."""
    arch, rows = sites.arch, table.rows
    number, line, kinds = table.at(here.pc - ~interrupted)
    none, root, signal, signed, has_cfa, on_stack, may_go_back = kinds.T
    frames = RowFrames(
        arch,
        here.values,
        here.known,
        lambda some, addresses, size: sites.words(here.rows[some], addresses, np.ones(len(some), np.bool_), size),
        lambda i: table.biases[number[i]],
    )
    given = evaluate(table.rules, line, frames)
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
