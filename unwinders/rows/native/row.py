"""The rules of row techniques: what a rule says of a frame, and what holds between a frame and its caller.

Whoever applies rows uses these: `unwinders.rows.walk` and `unwinders.rows.walk` for one snapshot, as Python, and
`unwind_one` for every step of a trace, compiled. Registers are places: SP and the frame pointers come first.

numba, and numpy too, turn an expression of uint64 and int64 into float64: machine words are uint64 here, indices int64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import uint64 as u64

from testbed.contract.native import (
    AT_CFA,
    AT_REGISTER,
    CFA_PLUS,
    CONSTANT,
    NONE,
    REGISTER_PLUS,
    ROOT,
    SAME,
    SPECIFICATION,
    STOPPED,
    UNDEFINED,
    rule_at,
)
from testbed.native.compiled import compiled
from testbed.trace.flat.native import load
from unwinders.rows.native.codes import FrameRegisters, StepOut

NOWHERE = np.uint64(0xFFFF_FFFF_FFFF_FFFF)  # the address of what was not read
FOUND = 0  # there is a caller; otherwise ROOT, STOPPED or SPECIFICATION

# What a rule says: a value, the address where it lies, or nothing, since a register or the CFA is not known.
VALUE, LIES_AT, NO_REGISTER, NO_CFA = range(4)
# SP, or a frame pointer, of the caller: it is further out, it is allowed to be where it is, or it is not.
GROWS, IS_ALLOWED, STAYS, GOES_BACK = range(4)


@compiled(inline=True)
def says(rule: Any, frame: Any, word_mask: Any) -> Any:
    """What a rule says of a frame: how it says it, and the value or the address."""
    kind = rule.kind
    if kind in (AT_CFA, CFA_PLUS):
        if not frame.cfa_known:
            return NO_CFA, u64(0)
        return LIES_AT if kind == AT_CFA else VALUE, (frame.cfa + rule.offset) & word_mask
    if kind == CONSTANT:
        return VALUE, low_bytes(rule.offset, rule.size)
    if kind not in (AT_REGISTER, REGISTER_PLUS, SAME) or not knows(frame.known, rule.base):
        return NO_REGISTER, u64(0)
    value = frame.values[rule.base]
    if kind == SAME:
        return VALUE, value
    if kind == REGISTER_PLUS:
        return VALUE, low_bytes(value + rule.offset, rule.size)
    return LIES_AT, (value + rule.offset) & word_mask


@compiled(inline=True)
def progress(frame: Any, caller: Any, known: Any, pointers: Any, may_stay: Any) -> Any:
    """How SP, or else a frame pointer, moves from a frame to its caller; and which of them, or -1.

    It is the first of the ``pointers`` that is ``known`` on both sides. A caller's frame pointer of zero is the mark of
    the outermost frame, not a step back.
    """
    for j in range(pointers):
        if not knows(known, j):
            continue
        here, there = frame[j], caller[j]
        if j > 0 and here == u64(0):
            return IS_ALLOWED, j
        if j > 0 and there == u64(0):
            return GROWS, j
        if there < here:
            return GOES_BACK, j
        if there == here:
            return IS_ALLOWED if may_stay else STAYS, j
        return GROWS, j
    return IS_ALLOWED, -1


@compiled(inline=True)
def may_go_back(cfa_rule: Any, address_rule: Any, frame: Any, caller_sp: Any, pointers: Any, word_mask: Any) -> Any:
    """True where the caller's SP is the CFA, a register says where that is, and the return address is alive.

    That is, on the stack and not below this frame's SP, or in a register. In that case a CFA from a frame pointer is
    not believed: in a prologue or an epilogue that may be another function's.
    """
    if cfa_rule.kind != REGISTER_PLUS or not frame.cfa_known or caller_sp != frame.cfa:
        return False
    how, place = says(address_rule, frame, word_mask)
    if how != LIES_AT:
        return address_rule.kind in (SAME, REGISTER_PLUS) and not 1 <= cfa_rule.base < pointers
    base = frame.cfa if address_rule.kind == AT_CFA else frame.values[address_rule.base]
    has_wrapped = (place < base) != (address_rule.offset >> u64(63) != u64(0))
    return place >= frame.values[0] and not has_wrapped


@compiled(inline=True)
def knows(known: Any, register: Any) -> Any:
    """Whether a register is one of those that are known."""
    return (known >> u64(register)) & u64(1) != u64(0)


@compiled(inline=True)
def low_bytes(value: Any, size: Any) -> Any:
    """The lowest bytes of a value."""
    return value if size >= 8 else value & ((u64(1) << u64(8 * size)) - u64(1))


# One row applied to one frame of a trace: `unwinders.rows.walk` and `unwinders.rows.walk.unwind_one` without errors,
# and without what is too rare for compiled code, which is left to them (SPECIFICATION).


@compiled(inline=True)
def unwind_one(row: Any, interrupted: Any, values: Any, known: Any, planned: Any, memory: Any, out: Any) -> Any:
    """What a row gives for a frame; ``out`` gets the caller's registers."""
    rows, low = planned.rows, NOWHERE
    frame = FrameRegisters(values, known, u64(0), False)
    zero = rows.zero[row]
    if zero >= 0 and knows(known, zero) and values[zero] == u64(0):
        return _no_caller(ROOT, frame, low)
    if rows.is_slow[row]:
        return _no_caller(SPECIFICATION, frame, low)
    cfa_rule, address_rule = rule_at(rows.cfa, row), rule_at(rows.return_address, row)
    if address_rule.kind == NONE:
        return _no_caller(STOPPED, frame, low)
    if cfa_rule.kind != NONE:
        cfa, cfa_known, low = _value_of(cfa_rule, frame, planned, memory)
        frame = FrameRegisters(values, known, cfa, cfa_known)
        if not cfa_known and address_rule.kind != UNDEFINED:
            return _no_caller(STOPPED, frame, low)
    if address_rule.kind == UNDEFINED:
        return _no_caller(ROOT, frame, low)
    value, is_known, read = _value_of(address_rule, frame, planned, memory)
    low = min(low, read)
    if not is_known:
        return _no_caller(STOPPED, FrameRegisters(values, known, u64(0), False), low)
    pc = value & planned.code_mask
    if rows.is_signed[row]:
        pc &= ~planned.signature
    if pc == u64(0):
        return _no_caller(ROOT, frame, low)
    recovered, read = _recover(row, frame, planned, memory, out)
    low = min(low, read)
    code, pointer = _guard(row, interrupted, frame, recovered, planned, out)
    if code != FOUND:
        return _no_caller(code, FrameRegisters(values, known, u64(0), False), low)
    return StepOut(code, pc, recovered, frame.cfa, frame.cfa_known, low, pointer)


@compiled(inline=True)
def _no_caller(why: Any, frame: Any, low: Any) -> Any:
    return StepOut(why, u64(0), u64(0), frame.cfa, frame.cfa_known, low, np.int64(-1))


@compiled(inline=True)
def _value_of(rule: Any, frame: Any, planned: Any, memory: Any) -> Any:
    """What a rule finds, whether it finds anything, and the address that it read (NOWHERE: none)."""
    how, said = says(rule, frame, planned.word_mask)
    if how == LIES_AT:
        value, is_mapped = load(said, rule.size, memory)
        return value, is_mapped, said
    return said, how == VALUE, NOWHERE


@compiled(inline=True)
def _recover(row: Any, frame: Any, planned: Any, memory: Any, out: Any) -> Any:
    """The caller's known registers, their values in ``out``; and the lowest address read."""
    rows, low = planned.rows, NOWHERE
    recovered = frame.known & rows.same[row]
    for i in range(len(out)):
        out[i] = frame.values[i] if knows(recovered, i) else u64(0)
    for at in range(rows.first[row], rows.end[row]):
        rule = rule_at(rows.registers, at)
        value, is_known, read = _value_of(rule, frame, planned, memory)
        low = min(low, read)
        if is_known:
            out[rule.own] = value
            recovered |= u64(1) << u64(rule.own)
    return recovered, low


@compiled(inline=True)
def _guard(row: Any, interrupted: Any, frame: Any, recovered: Any, planned: Any, out: Any) -> Any:
    """FOUND, or why the walk ends here; and which of SP and the frame pointers says so.

    Along a chain of callers no frame can repeat as long as one of them grows. Where that is not so, and yet allowed,
    the walk is left to who remembers the frames.
    """
    rows, pointers = planned.rows, planned.pointers
    may_stay = interrupted or rows.may_stay[row]
    how, pointer = progress(frame.values, out, frame.known & recovered, pointers, may_stay)
    if how == GROWS or (how == IS_ALLOWED and interrupted):
        return FOUND, np.int64(pointer)
    if how == GOES_BACK and pointer == 0:
        cfa_rule, address_rule = rule_at(rows.cfa, row), rule_at(rows.return_address, row)
        if may_go_back(cfa_rule, address_rule, frame, out[0], pointers, planned.word_mask):
            return SPECIFICATION, np.int64(-1)
    return SPECIFICATION if how == IS_ALLOWED else STOPPED, np.int64(-1)


@compiled(inline=True)
def row_at(pc: Any, kind: Any, lookup: Any) -> Any:
    """What the map for this kind of frame says about a lookup pc."""
    starts, sizes = lookup.start, lookup.size
    for i in range(len(starts)):
        offset = pc - starts[i]
        if offset < sizes[i]:
            return np.int64(lookup.map[kind, lookup.place[i] + np.int64(offset)])
    return np.int64(lookup.outside[kind])
