"""One row applied to one frame, and the one stack walk. Its guards stand here once, for every row technique.

* SP moves towards the caller at every step: ``caller's SP > SP``. Equal is allowed where nothing need be on the
  stack: for an interrupted frame, and where the row has the return address in a register.
* The caller's SP may be lower where it is the CFA, a register says where that is, and the return address is alive: in
  a register, or on the stack at SP or above. A function that has moved its return address up into its caller's frame,
  and SP with it, has a CFA below its SP; so has one that takes its arguments off the stack before it returns by a
  register. An address read from below SP is nobody's; an SP read from memory may be anything, and so may one that
  is counted from a frame pointer while the return address is in a register: it may be another function's.
* Where SP is not known on both sides, the same holds for the frame pointer; a caller's frame pointer of zero is the
  mark of the outermost frame, not a step back.
* A signal may have switched stacks, so neither is asked of a signal frame's row.
* pc, SP and frame pointers never all repeat from one caller to another, which ends a walk that goes back and forth.
  A caller may be where the interrupted frame is:
  at the first instruction of a function behind a call that does not return, with an empty frame, the return address is
  pc itself (https://github.com/libunwind/libunwind/issues/54 is about the same address, one frame further out).
* There are at most MAX_FRAMES frames.

A return address of zero marks the outermost frame too: no code is there, thread starters leave it behind, and gdb,
libunwind and elfutils all end the stack at it. A pc of zero that a signal interrupted is no end but a call through a
null pointer (https://github.com/libunwind/libunwind/issues/106).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from testbed.arch import Arch
from testbed.contract.coded import coded_rule, register_rules, return_address_rule
from testbed.contract.native import EncodedRule
from testbed.contract.rows import (
    AtRegister,
    ExpressionRule,
    Offset,
    Operation,
    RegisterPlus,
    RowTable,
    Rule,
    Undefined,
    UnwindRow,
    ValExpression,
    ValOffset,
)
from testbed.contract.unwinder import Backtrace, Frame, FrameKind
from testbed.image import Image, LoadedImage, image_covering
from testbed.trace import Snapshot
from testbed.words.errors import (
    NoProgress,
    NoUnwindInfo,
    UnknownRegister,
    UnreadableMemory,
    UnsupportedRule,
    UnwindError,
)
from unwinders.rows.expression import ExpressionSteps, evaluate
from unwinders.rows.native.codes import FrameRegisters
from unwinders.rows.native.row import GOES_BACK, LIES_AT, NO_CFA, STAYS, VALUE, may_go_back, progress, says

# One row applied to one frame of one snapshot: the caller's registers, or why they cannot be had.
#
# The rules are those of `unwinders.rows.native.row`. Here is what the sweep over traces leaves out, too: DWARF
# expressions, and the frames of signals.
#
# With the rules of `testbed.contract.rows`::
#
#     CFA               = the row's CFA rule on this frame's registers
#     caller's register = its rule; without one, what the ABI says: callee-saved registers keep their value,
#                         SP is the CFA, everything else is unknown
#     caller's pc       = the code address that the return-address register's recovered value names; where the row
#                         says that it is signed, without its signature, whose bits the snapshot knows (AADWARF64,
#                         section 4.2: RA_SIGN_STATE)
#
# The return address without a rule is still in the link register, where the architecture has one. The link register
# itself is unknown in a caller: the call has overwritten it. Only a signal's frame can know what it held.


@np.errstate(over="ignore")  # addresses wrap around
def apply(
    row: UnwindRow, frame: Frame, snapshot: Snapshot, bias: int = 0, steps: ExpressionSteps | None = None
) -> tuple[int | None, Frame | None]:
    """This frame's CFA and its caller; no caller where the row says that this is the root.

    ``bias`` is the load bias of the image that the row came from; ``steps`` are those that expressions may still take.

    Raises UnknownRegister, UnreadableMemory or UnsupportedRule where the CFA or the return address cannot be had,
    NoUnwindInfo where the row does not say where the return address is. Another register that cannot be had is unknown
    in the caller.
    """
    if row.outermost_if_zero is not None and frame.registers.get(row.outermost_if_zero) == 0:
        return None, None
    arch = snapshot.arch
    coded = coded_row(row, arch)
    facts = _FrameFacts(state_of(frame, arch), frame.registers, snapshot, bias, steps or ExpressionSteps())
    if coded.address.rule is None:
        raise NoUnwindInfo(f"the row has no rule for the return address in {row.return_address}")
    if isinstance(coded.address.rule, Undefined):
        return _root_cfa(coded, facts), None
    cfa = None if coded.cfa.rule is None else facts.value(coded.cfa)
    if cfa is not None:
        facts = facts._replace(frame=facts.frame._replace(cfa=np.uint64(cfa), cfa_known=True))
    return_address = facts.value(coded.address)
    pc = snapshot.without_signature(return_address) if row.is_signed else arch.code_address(return_address)
    registers: dict[str, int] = {}
    for rule in coded.registers:
        try:
            registers[rule.name] = facts.value(rule)
        except (UnknownRegister, UnreadableMemory, UnsupportedRule):
            continue
    registers[arch.pc] = pc
    kind = FrameKind.INTERRUPTED if row.signal_frame else FrameKind.CALLER
    return cfa, Frame(kind, pc, registers)


class _NamedRule(NamedTuple):
    """A rule as it reads and as `unwinders.rows.native.row` sees it, and for which register; the CFA's has no name."""

    name: str
    rule: Rule | None
    code: EncodedRule


class EncodedRow(NamedTuple):
    """The rules of a row, by the places of a frame's registers. What is undefined is no rule."""

    row: UnwindRow
    cfa: _NamedRule
    address: _NamedRule
    registers: tuple[_NamedRule, ...]


_CODED: dict[tuple[int, Arch], EncodedRow] = {}  # by identity: rows hold dictionaries
_MOST_CODED = 4096


def coded_row(row: UnwindRow, arch: Arch) -> EncodedRow:
    """A row's rules, coded. They are kept: a walk comes to the same rows again and again."""
    known = _CODED.get((id(row), arch))
    if known is None or known.row is not row:
        if len(_CODED) >= _MOST_CODED:
            _CODED.clear()
        default = {arch.sp: Undefined() if row.cfa is None else ValOffset(0)}
        rules = default | register_rules(row, arch)
        known = _CODED[id(row), arch] = EncodedRow(
            row,
            _named("", row.cfa, arch),
            _named(row.return_address, return_address_rule(row, arch), arch),
            tuple(_named(name, rule, arch) for name, rule in rules.items() if not isinstance(rule, Undefined)),
        )
    return known


def _named(name: str, rule: Rule | None, arch: Arch) -> _NamedRule:
    size = arch.by_name[name].bits // 8 if name in arch.by_name else arch.word
    return _NamedRule(name, rule, coded_rule(rule, name, places(arch), size))


@lru_cache
def places(arch: Arch) -> Mapping[str, int]:
    """Where the registers of a frame are: SP and the frame pointers first."""
    return {name: i for i, name in enumerate(dict.fromkeys((arch.sp, *arch.frame_pointers, *arch.index)))}


def state_of(frame: Frame, arch: Arch, cfa: int | None = None) -> FrameRegisters:
    """A frame as `unwinders.rows.native.row` sees it."""
    place, known = places(arch), 0
    values = [0] * len(place)
    for name, value in frame.registers.items():
        values[place[name]] = value
        known |= 1 << place[name]
    return FrameRegisters(np.array(values, np.uint64), np.uint64(known), np.uint64(cfa or 0), cfa is not None)


def _root_cfa(coded: EncodedRow, facts: _FrameFacts) -> int | None:
    """The outermost frame's CFA leads nowhere, so it may as well be unknown."""
    try:
        return None if coded.cfa.rule is None else facts.value(coded.cfa)
    except UnwindError:
        return None


class _FrameFacts(NamedTuple):
    """What rules are evaluated on: one frame's registers, and its CFA once it is known; and the memory."""

    frame: FrameRegisters
    registers: Mapping[str, int]
    snapshot: Snapshot
    bias: int
    steps: ExpressionSteps

    def value(self, named: _NamedRule) -> int:
        """What a rule says the caller's register is, cut to its width, or what the CFA is. Raises as `apply` does."""
        name, rule, code = named
        if isinstance(rule, ValExpression):
            return self._computed(rule.operations)
        if isinstance(rule, ExpressionRule):
            return self._read(self._computed(rule.operations), code.size)
        how, said = says(code, self.frame, self.snapshot.arch.word_mask)
        if how == VALUE:
            return int(said)
        if how == LIES_AT:
            return self._read(int(said), code.size)
        if how == NO_CFA:
            raise UnsupportedRule("a rule counts from the CFA, and the row has none")
        raise UnknownRegister(rule.register if isinstance(rule, AtRegister | RegisterPlus) else name or "the CFA")

    def _read(self, address: int, size: int) -> int:
        return self.snapshot.memory.unsigned(address & self.snapshot.arch.word_mask, size)

    def _computed(self, operations: tuple[Operation, ...]) -> int:
        """A DWARF expression; a register's starts with the CFA on its stack (DWARF 5, section 6.4.2.3)."""
        initial = (int(self.frame.cfa),) if self.frame.cfa_known else ()
        arch, memory = self.snapshot.arch, self.snapshot.memory
        return evaluate(operations, arch, self.registers, memory, initial, bias=self.bias, steps=self.steps)


MAX_FRAMES = 1024

RowFor = Callable[[Frame, LoadedImage | None], UnwindRow]


class RowsByPc(Protocol):
    """A table that has a row for a link-time pc, or None."""

    def at(self, pc: int) -> UnwindRow | None: ...

    def all_rows(self) -> RowTable: ...


def looked_up(table_of: Callable[[Image], RowsByPc], nothing: str) -> RowFor:
    """The rows that a table of the image has for a frame's lookup pc.

    Where it has none, a NoUnwindInfo tells ``nothing`` and the pc.
    """

    def row_for(frame: Frame, loaded: LoadedImage | None) -> UnwindRow:
        if loaded is None:
            raise NoUnwindInfo(f"no image covers {frame.lookup_pc:#x}")
        row = table_of(loaded.image).at(frame.lookup_pc - loaded.bias)
        if row is None:
            raise NoUnwindInfo(f"{nothing} {frame.lookup_pc:#x}")
        return row

    return row_for


def walk(snapshot: Snapshot, row_for: RowFor) -> Backtrace:
    """Unwind by rows: ask for the row of each frame, apply it, until a row says root or something is unknown.

    ``row_for`` gets a frame and the image that covers its ``lookup_pc`` (None: no image does) and raises an
    UnwindError where it has no row. The error that ends the walk is ``stopped``, with the pc of the last frame; the
    frames found until then are kept. Any other exception is a bug and passes through.
    """
    frame = Frame(FrameKind.INTERRUPTED, snapshot.pc, snapshot.registers, found_by="registers")
    steps = ExpressionSteps()
    done: list[Frame] = []
    visited = {position(snapshot.arch, frame)}
    try:
        while True:
            cfa, caller = unwind_one(frame, snapshot, row_for, steps)
            if caller is None:
                return Backtrace((*done, replace(frame, cfa=cfa)), None, snapshot.images)
            check_new(snapshot.arch, caller, visited)
            visited.add(position(snapshot.arch, caller))
            done.append(replace(frame, cfa=cfa))
            frame = caller
    except UnwindError as stop:
        stop.pc = frame.pc
        return Backtrace((*done, frame), stop, snapshot.images)


def unwind_one(
    frame: Frame, snapshot: Snapshot, row_for: RowFor, steps: ExpressionSteps | None = None
) -> tuple[int | None, Frame | None]:
    """This frame's CFA and its caller, None where this is the root. Raises the UnwindError that ends the walk here."""
    loaded = image_covering(snapshot.images, frame.lookup_pc)
    row = row_for(frame, loaded)
    cfa, caller = apply(row, frame, snapshot, loaded.bias if loaded else 0, steps)
    if caller is None or (caller.pc == 0 and caller.kind is FrameKind.CALLER):
        return cfa, None
    if not row.signal_frame:
        check_progress(row, frame, cfa, caller, snapshot.arch)
    return cfa, replace(caller, found_by=row.found_by)


def check_new(arch: Arch, caller: Frame, visited: Collection[tuple[int | None, ...]]) -> None:
    """Raise NoProgress where a frame at the caller's position is there already, or there are too many."""
    if position(arch, caller) in visited:
        raise NoProgress(f"a frame with pc {caller.pc:#x} and the same stack is there already")
    if len(visited) >= MAX_FRAMES:
        raise NoProgress(f"more than {MAX_FRAMES} frames")


@np.errstate(over="ignore")  # addresses wrap around
def check_progress(row: UnwindRow, frame: Frame, cfa: int | None, caller: Frame, arch: Arch) -> None:
    """Raise NoProgress unless the caller's frame lies further out than this one, or may be where it is."""
    names, coded = (arch.sp, *arch.frame_pointers), coded_row(row, arch)
    here, there = ([each.registers.get(name, 0) for name in names] for each in (frame, caller))
    known = sum(1 << i for i, name in enumerate(names) if name in frame.registers and name in caller.registers)
    may_stay = frame.kind is FrameKind.INTERRUPTED or not is_in_memory(coded.address.rule)
    how, i = progress(here, there, known, len(names), may_stay)
    if how == STAYS:
        raise NoProgress(f"{names[i]} stays at {here[i]:#x}")
    if how == GOES_BACK:
        rules = coded.cfa.code, coded.address.code
        if i > 0 or not may_go_back(*rules, state_of(frame, arch, cfa), there[0], len(names), arch.word_mask):
            raise NoProgress(f"{names[i]} would go back from {here[i]:#x} to {there[i]:#x}")


def is_in_memory(rule: Rule | None) -> bool:
    """True where a rule says that a value is stored somewhere: a frame whose return address is not may be empty."""
    return isinstance(rule, Offset | AtRegister | ExpressionRule)


def position(arch: Arch, frame: Frame) -> tuple[int | None, ...]:
    """What never repeats in a walk: what the pc is, pc, SP and frame pointers."""
    return (
        int(frame.kind is FrameKind.CALLER),
        frame.pc,
        *(frame.registers.get(name) for name in (arch.sp, *arch.frame_pointers)),
    )
