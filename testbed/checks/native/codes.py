"""Rules, rows and the truth as the compiled check sees them: numbers in columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Kinds of rules. ABSENT: neither the row nor the ABI says anything. UNTRIED: it cannot be tried here. COMPUTED: a value
# of `ComputedValues`, whose column is the rule's offset; AT_COMPUTED: what lies at that address.
ABSENT, AT_CFA, CFA_PLUS, AT_REGISTER, REGISTER_PLUS, SAME, UNDEFINED, CONSTANT, UNTRIED = range(9)
COMPUTED, AT_COMPUTED = 9, 10
# What became of an expression: a value, none since it cannot be tried, none since it reads what is not mapped.
VALUE, NOT_TRIED, UNMAPPED = range(3)
# Columns of coded rules. OWN is the register that the rule is for, and so a bit of the mask.
KIND, BASE, SIZE, OWN = range(4)
# Columns of a row's facts: its rules are FIRST .. FIRST + COUNT; ZERO is the register whose zero ends the stack, or -1.
FIRST, COUNT, ZERO, SIGNED = range(4)

# What can be wrong with a row at a step, as bits of a mask; then one bit per register, from REGISTERS on.
NO_ROW, UNREADABLE, CFA, RETURN_ADDRESS, SIGNATURE = (1 << bit for bit in range(5))
REGISTERS = 5
# Beside RETURN_ADDRESS: the row says that there is no caller, and there is one.
OUTERMOST = 1 << 63


class CodedRules(NamedTuple):
    """One row each of: kind, base register, size in bytes, own register; and the offset or constant."""

    columns: NDArray[np.int64]
    offset: NDArray[np.uint64]


class CodedRows(NamedTuple):
    """Rows of a table in columns: the CFA's rule, the return address's, those of registers, and facts."""

    cfa: CodedRules
    return_address: CodedRules
    rules: CodedRules
    facts: NDArray[np.int64]


class CallerColumns(NamedTuple):
    """The truth per activation, and the innermost activation of each step and whether its return address is signed.

    ``own`` is the step whose registers are the caller's; ``parent`` is -1 at the bottom of a stack. ``entered`` is, per
    step, where the function was entered that executes it; ``kept`` says which registers calls preserve.
    """

    parent: NDArray[np.int32]
    return_address: NDArray[np.uint64]
    goes_on: NDArray[np.uint64]
    cfa: NDArray[np.uint64]
    own: NDArray[np.int64]
    node: NDArray[np.int32]
    signed: NDArray[np.bool_]
    entered: NDArray[np.int64]
    kept: NDArray[np.bool_]


class ComputedValues(NamedTuple):
    """What the expressions of each step's row compute: by step, then by the expression's place in the row."""

    value: NDArray[np.uint64]
    outcome: NDArray[np.uint8]


class Masks(NamedTuple):
    """Of the architecture: a word, what a return address is without its signature, SP's column. Then the bits above."""

    word: np.uint64
    address: np.uint64
    near: np.uint64
    cfa: np.uint64
    return_address: np.uint64
    signature: np.uint64
    outermost: np.uint64
    stack: np.int64
    at_calls: np.bool_


class CheckedSteps(NamedTuple):
    """The steps to check, in order, and each one's row. To be filled in: what is wrong, and what was not tried."""

    step: NDArray[np.int64]
    row: NDArray[np.int64]
    wrong: NDArray[np.uint64]
    untried: NDArray[np.bool_]
