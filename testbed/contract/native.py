"""Numbers for what `testbed.contract` says in words: rules of rows in columns, and why a link leads to no caller."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from testbed.native.compiled import compiled

# Where a link to a caller does not lead to a node, why.
ROOT, STOPPED, SPECIFICATION = -1, -2, -3

# Kinds of rules. NONE: there is no rule. UNKNOWN: nothing is known of what it counts from, as of a register that
# nobody records. COMPUTED: what an expression says; AT_COMPUTED: what lies at that address.
NONE, AT_CFA, CFA_PLUS, AT_REGISTER, REGISTER_PLUS, SAME, CONSTANT, UNDEFINED, UNKNOWN, COMPUTED, AT_COMPUTED = range(
    11
)


class EncodedRule(NamedTuple):
    """A rule: its kind, the register that it counts from and how far from there (or the constant), the bytes of its
    value, and the register whose rule it is. Registers are places in whatever order the user of the rule has."""

    kind: int
    base: int
    offset: np.uint64
    size: int
    own: int


class RuleColumns(NamedTuple):
    """Rules in columns, those of `EncodedRule`."""

    kind: NDArray[np.int64]
    base: NDArray[np.int64]
    offset: NDArray[np.uint64]
    size: NDArray[np.int64]
    own: NDArray[np.int64]


@compiled(inline=True)
def rule_at(rules: Any, i: Any) -> Any:
    """One of many rules."""
    return EncodedRule(rules.kind[i], rules.base[i], rules.offset[i], rules.size[i], rules.own[i])
