"""What a row says wrongly at a step: `testbed.checks.row_rules`, natively, for every step of a trace.

numba turns an expression of uint64 and int64 into float64: machine words are uint64 here, indices int64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import uint64 as u64

from testbed.checks.native.codes import (
    ABSENT,
    AT_CFA,
    AT_REGISTER,
    BASE,
    CFA_PLUS,
    COMPUTED,
    CONSTANT,
    COUNT,
    FIRST,
    KIND,
    NOT_TRIED,
    OWN,
    REGISTER_PLUS,
    REGISTERS,
    SAME,
    SIGNED,
    SIZE,
    UNDEFINED,
    UNTRIED,
    VALUE,
    ZERO,
)
from testbed.checks.native.memory import load, move_to
from testbed.native.compiled import compiled

_ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


@compiled(inline=True)
def _low(value: Any, size: Any) -> Any:
    return value if size >= 8 else value & ((u64(1) << u64(8 * size)) - u64(1))


@compiled(inline=True)
def _is_untried(rules: Any, at: Any, computed: Any, i: Any) -> Any:
    """Whether a rule cannot be tried at the step with the number ``i``."""
    kind = rules.columns[at, KIND]
    return kind == UNTRIED or (kind >= COMPUTED and computed.outcome[i, np.int64(rules.offset[at])] == NOT_TRIED)


@compiled(inline=True)
def _found(
    rules: Any, at: Any, registers: Any, step: Any, cfa: Any, memory: Any, word: Any, computed: Any, i: Any
) -> Any:
    """What a rule finds, and whether it finds anything."""
    kind, base, size = rules.columns[at, KIND], rules.columns[at, BASE], rules.columns[at, SIZE]
    offset = rules.offset[at]
    if kind >= COMPUTED:
        value, is_known = computed.value[i, np.int64(offset)], computed.outcome[i, np.int64(offset)] == VALUE
        if kind == COMPUTED or not is_known:
            return _low(value, size), is_known
        return load(value & word, size, memory)
    if kind == AT_CFA:
        return load((cfa + offset) & word, size, memory)
    if kind == CFA_PLUS:
        return (cfa + offset) & word, True
    if kind == AT_REGISTER:
        return load((registers[step, base] + offset) & word, size, memory)
    if kind == REGISTER_PLUS:
        return _low(registers[step, base] + offset, size), True
    if kind == SAME:
        return registers[step, base], True
    if kind == CONSTANT:
        return _low(offset, size), True
    return u64(0), False


@compiled(inline=True)
def _is_return(value: Any, index: Any, truth: Any, masks: Any) -> Any:
    """`testbed.truth.TrueFrame.is_at`, of an address with or without a signature."""
    address, own, on = value & masks.address, truth.return_address[index], truth.goes_on[index]
    if address == own or on == u64(0):
        return address == own
    return address == on or (own < address < on and on - own <= masks.near)


@compiled()
def check_steps(checked: Any, rows: Any, truth: Any, registers: Any, memory: Any, masks: Any, computed: Any) -> None:
    """Fill in what is wrong at each step, and where a rule could not be tried."""
    for i in range(len(checked.step)):
        step, row = checked.step[i], checked.row[i]
        index, zero = truth.node[step], rows.facts[row, ZERO]
        move_to(step, memory)
        kind = rows.return_address.columns[row, KIND]
        ends = kind == UNDEFINED or (zero >= 0 and registers[step, zero] == u64(0))
        if truth.parent[index] < 0:
            checked.wrong[i] = u64(0) if ends else masks.return_address
            continue
        if ends:
            checked.untried[i] = masks.at_calls
            checked.wrong[i] = u64(0) if masks.at_calls else masks.return_address | masks.outermost
            continue
        wrong, untried, cfa = u64(0), _is_untried(rows.return_address, row, computed, i), truth.cfa[index]
        how = rows.cfa.columns[row, KIND]
        if _is_untried(rows.cfa, row, computed, i):
            untried = True
        elif how != ABSENT:
            value, is_known = _found(rows.cfa, row, registers, step, cfa, memory, masks.word, computed, i)
            if not is_known or value != cfa:
                wrong |= masks.cfa
        if (rows.facts[row, SIGNED] != 0) != truth.signed[step]:
            wrong |= masks.signature
        if not _is_untried(rows.return_address, row, computed, i):
            value, is_known = _found(rows.return_address, row, registers, step, cfa, memory, masks.word, computed, i)
            if not is_known or not _is_return(value, index, truth, masks):
                wrong |= masks.return_address
        for at in range(rows.facts[row, FIRST], rows.facts[row, FIRST] + rows.facts[row, COUNT]):
            own, size = rows.rules.columns[at, OWN], rows.rules.columns[at, SIZE]
            if _is_untried(rows.rules, at, computed, i):
                untried = True
                continue
            at_call = truth.own[index] if truth.kept[own] else truth.entered[step]
            true = cfa if own == masks.stack else registers[at_call, own]
            value, is_known = _found(rows.rules, at, registers, step, cfa, memory, masks.word, computed, i)
            if not is_known or _low(value, size) != _low(true, size):
                wrong |= u64(1) << u64(REGISTERS + own)
        checked.wrong[i], checked.untried[i] = wrong, untried
