"""Rules, rows and the truth as the check of rows sees them: numbers in columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.contract.native import RuleColumns
from testbed.trace.flat.native import FlatMemory, SweptWrites

# What became of an expression: a value, none since it cannot be tried, none since it reads what is not mapped.
VALUE, NOT_TRIED, UNMAPPED = range(3)

# What can be wrong with a row at a step, as bits of a mask; then one bit per register, from REGISTERS on.
NO_ROW, UNREADABLE, CFA, RETURN_ADDRESS, SIGNATURE = (1 << bit for bit in range(5))
REGISTERS = 5
# Beside RETURN_ADDRESS: the row says that there is no caller, and there is one.
OUTERMOST = 1 << 63


class EncodedRows(NamedTuple):
    """Rows of a table: the CFA's rule, the return address's, and those of registers, which are all rows' in one.

    A row's are ``first`` up to ``end``. ``zero`` is the register whose zero ends the stack, or -1.
    """

    cfa: RuleColumns
    return_address: RuleColumns
    registers: RuleColumns
    first: NDArray[np.int64]
    end: NDArray[np.int64]
    zero: NDArray[np.int64]
    signed: NDArray[np.bool_]


class CallerColumns(NamedTuple):
    """The truth per activation, and the innermost activation of each step and whether its return address is signed.

    ``own`` is the step whose registers are the caller's; ``parent`` is -1 at the bottom of a stack. ``signed``: with
    the CFA, as rows mean it (1), or with another value (2; AADWARF64, section 3.4.2). ``entered`` is, per
    step, where the function was entered that executes it; ``kept`` says which registers a ``convention`` preserves.
    """

    parent: NDArray[np.int32]
    return_address: NDArray[np.uint64]
    goes_on: NDArray[np.uint64]
    cfa: NDArray[np.uint64]
    own: NDArray[np.int64]
    node: NDArray[np.int32]
    signed: NDArray[np.uint8]
    entered: NDArray[np.int64]
    convention: NDArray[np.int64]
    kept: NDArray[np.bool_]


class CheckedRun(NamedTuple):
    """What rows are held against: the truth, and the registers and the memory of every step.

    Then what the architecture says: a word, the bits of a code address and of its signature, the columns of SP and of
    the link register (-1: none). ``at_calls``: rows are those of who has called.
    """

    truth: CallerColumns
    registers: NDArray[np.uint64]
    memory: FlatMemory
    journal: SweptWrites
    word: np.uint64
    address: np.uint64
    signature: np.uint64
    stack: np.int64
    link: np.int64
    at_calls: np.bool_


class CheckedSteps(NamedTuple):
    """The steps to check, in order, each one's row, and what its expressions compute there, by their places in the row.

    To be filled in: what is wrong, and whether some rule was not tried.
    """

    step: NDArray[np.int64]
    row: NDArray[np.int64]
    value: NDArray[np.uint64]
    outcome: NDArray[np.uint8]
    wrong: NDArray[np.uint64]
    untried: NDArray[np.bool_]
