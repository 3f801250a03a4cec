"""What a row says wrongly at a step.

A row is held against the innermost activation alone::

    true CFA              = SP just before the call that opened this activation
    true value of a rule  = the caller's register, as it was when the activation opened (SP: the CFA); one that calls do
                            not preserve as it was when this function was entered, be it by a tail call

A rule is tried with the true CFA, so a wrong CFA is one thing and not one per register. It is right when it finds the
right value: a slot below SP that still holds it (a red zone) is legal, and so is a register that is pushed already
while its rule still says "same value". Registers without a rule that the activation's convention saves have "same
value"; of others only those with a rule are tried. What a row says of the return address's signature has to be true
even where there is none to take off: who authenticates it fails. A rule that finds nothing, as memory that is not
mapped, is wrong; one that says "undefined" claims nothing of a register.

The row of a call is that of who has called, as long as it lasts: the link register is looked at when the call has been
made, and has the address behind it. Of a table that promises rows at calls only nothing else is asked, and what calls
do not preserve is nobody's then.

At the bottom of a stack nobody called, and a row has to say that: its return address is undefined. Where somebody did,
that is wrong.

A row is given by its place in the columns, a step by its place (``i``) among those that are checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import uint64 as u64

from testbed.checks.native.codes import CFA, NOT_TRIED, OUTERMOST, REGISTERS, RETURN_ADDRESS, SIGNATURE, VALUE
from testbed.contract.native import (
    AT_CFA,
    AT_REGISTER,
    CFA_PLUS,
    COMPUTED,
    CONSTANT,
    NONE,
    REGISTER_PLUS,
    SAME,
    UNDEFINED,
    UNKNOWN,
    rule_at,
)
from testbed.native.compiled import compiled
from testbed.trace.flat.native import load, move_to
from testbed.truth.native.near import is_at


@compiled(pays_from=50_000)
def check_steps(checked: Any, rows: Any, run: Any) -> None:
    """Fill in what is wrong at each step, and where a rule could not be tried."""
    for i in range(len(checked.step)):
        step, row = checked.step[i], checked.row[i]
        move_to(step, run.journal, run.memory)
        was_called = run.truth.parent[run.truth.node[step]] >= 0
        if not was_called:
            checked.wrong[i] = u64(0) if ends_the_stack(row, step, rows, run) else u64(RETURN_ADDRESS)
        elif ends_the_stack(row, step, rows, run):
            checked.untried[i] = run.at_calls
            checked.wrong[i] = u64(0) if run.at_calls else u64(RETURN_ADDRESS | OUTERMOST)
        else:
            wrong, untried = wrong_of_row(row, i, checked, rows, run)
            registers, others_untried = wrong_registers(row, i, checked, rows, run)
            checked.wrong[i], checked.untried[i] = wrong | registers, untried or others_untried


@compiled(inline=True)
def ends_the_stack(row: Any, step: Any, rows: Any, run: Any) -> Any:
    """Whether a row says that nobody called."""
    zero = rows.zero[row]
    return rows.return_address.kind[row] == UNDEFINED or (zero >= 0 and run.registers[step, zero] == u64(0))


@compiled(inline=True)
def wrong_of_row(row: Any, i: Any, checked: Any, rows: Any, run: Any) -> Any:
    """Which of CFA, return address and signature a row says wrongly, and whether one of them could not be tried."""
    step = checked.step[i]
    index, wrong, differs = run.truth.node[step], u64(0), rows.signed[row] != run.truth.signed[step]
    rule = rule_at(rows.cfa, row)
    cfa_untried = cannot_be_tried(rule, i, checked)
    if not cfa_untried and rule.kind != NONE:
        value, is_found = value_of(rule, i, checked, run)
        if not is_found or value != run.truth.cfa[index]:
            wrong |= u64(CFA)
    rule = rule_at(rows.return_address, row)
    untried = cannot_be_tried(rule, i, checked)
    if not untried:
        value, is_found = value_of(rule, i, checked, run)
        if not is_found or not is_return_address(value, index, run):
            wrong |= u64(RETURN_ADDRESS)
        elif differs and run.truth.signed[step] < 2:  # what counts is the place that the row tells: a copy may be plain
            differs = (value & run.signature != u64(0)) != rows.signed[row]
    if differs:
        wrong |= u64(SIGNATURE)
    return wrong, untried or cfa_untried


@compiled(inline=True)
def wrong_registers(row: Any, i: Any, checked: Any, rows: Any, run: Any) -> Any:
    """The registers whose rules find another value than the caller's, and whether a rule could not be tried."""
    step, truth = checked.step[i], run.truth
    index, wrong, untried = truth.node[step], u64(0), False
    for at in range(rows.first[row], rows.end[row]):
        rule = rule_at(rows.registers, at)
        is_kept = truth.kept[truth.convention[index], rule.own]
        if run.at_calls and not is_kept and rule.own != run.stack:  # whoever was called need not keep it
            continue
        if cannot_be_tried(rule, i, checked):
            untried = True
            continue
        before = truth.own[index] if is_kept else truth.entered[step]
        true = truth.cfa[index] if rule.own == run.stack else run.registers[before, rule.own]
        value, is_found = value_of(rule, i, checked, run)
        if not is_found or low_bytes(value, rule.size) != low_bytes(true, rule.size):
            wrong |= u64(1) << u64(REGISTERS + rule.own)
    return wrong, untried


@compiled(inline=True)
def cannot_be_tried(rule: Any, i: Any, checked: Any) -> Any:
    """Whether nothing is known of what a rule counts from, or computes."""
    return rule.kind == UNKNOWN or (rule.kind >= COMPUTED and checked.outcome[i, np.int64(rule.offset)] == NOT_TRIED)


@compiled(inline=True)
def value_of(rule: Any, i: Any, checked: Any, run: Any) -> Any:
    """What a rule finds with the true CFA, and whether it finds anything."""
    step, kind = checked.step[i], rule.kind
    is_written = rule.base == run.link and calls(step, run)
    cfa, base = run.truth.cfa[run.truth.node[step]], run.registers[step + np.int64(is_written), rule.base]
    if kind == AT_CFA:
        address = (cfa + rule.offset) & run.word
        stack = run.registers[step, run.stack]
        if address < stack and calls(step, run) and address >= run.registers[step + 1, run.stack]:
            return u64(0), False  # the call's own word lies there
        return load(address, rule.size, run.memory)
    if kind == CFA_PLUS:
        return (cfa + rule.offset) & run.word, True
    if kind == AT_REGISTER:
        return load((base + rule.offset) & run.word, rule.size, run.memory)
    if kind == REGISTER_PLUS:
        return low_bytes(base + rule.offset, rule.size), True
    if kind == SAME:
        return base, True
    if kind == CONSTANT:
        return low_bytes(rule.offset, rule.size), True
    if kind >= COMPUTED:  # the offset is the expression's place in its row
        computed, outcome = checked.value[i, np.int64(rule.offset)], checked.outcome[i, np.int64(rule.offset)]
        if kind == COMPUTED or outcome != VALUE:
            return low_bytes(computed, rule.size), outcome == VALUE
        return load(computed & run.word, rule.size, run.memory)
    return u64(0), False


@compiled(inline=True)
def calls(step: Any, run: Any) -> Any:
    """Whether a step calls: an activation begins with the next one."""
    if step + 1 >= len(run.truth.node):
        return False
    index = run.truth.node[step + 1]
    return run.truth.own[index] == step + 1 and run.truth.parent[index] == run.truth.node[step]


@compiled(inline=True)
def is_return_address(value: Any, index: Any, run: Any) -> Any:
    """Whether a value, with or without a signature, is where an activation comes back to or control really goes on."""
    return is_at(value & run.address, run.truth.return_address[index], run.truth.goes_on[index])


@compiled(inline=True)
def low_bytes(value: Any, size: Any) -> Any:
    """The lowest bytes of a value."""
    return value if size >= 8 else value & ((u64(1) << u64(8 * size)) - u64(1))
