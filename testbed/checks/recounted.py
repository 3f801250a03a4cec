"""A directive further down that counts from one that is advised: `.cfi_adjust_cfa_offset`, which adds to what stands.

Where an offset of the CFA is said anew, each such directive behind it would be off by as much as the offset was. So the
first one is to say the offset itself; what comes behind that is as before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from testbed.checks.repair import Cause
from testbed.checks.source_directives import ADJUST, DEF_CFA, DEF_CFA_OFFSET, RESTORE_STATE
from testbed.checks.tried_function import THE_CFA
from testbed.checks.true_rows import TrueRow
from testbed.contract.rows import RegisterPlus, RowTable

_ABSOLUTE = (f"{DEF_CFA_OFFSET} ", f"{DEF_CFA} ", RESTORE_STATE)  # how directives begin that count from no other
_OF_THE_CFA = (*_ABSOLUTE, f"{ADJUST} ")


def recounted(
    cause: Cause, standing: Iterable[tuple[int, Mapping[str, str]]], table: RowTable, true: Mapping[int, TrueRow]
) -> tuple[int, str, str] | None:
    """Of the first directive that would count from what is advised: where it stands, what is to stand there for it, and
    what does. None where there is none, or where its row is wrong now: that has advice of its own.

    ``standing`` are the directives before each instruction behind the cause's, in order, each to as it is written.
    """
    found = _first(cause, standing)
    row = None if found is None else table.at(found[0])
    if found is None or row is None or not isinstance(row.cfa, RegisterPlus):
        return None
    pc, written = found
    if true[pc].cfa.get(row.cfa.register) != row.cfa.offset:
        return None
    return pc, f"{DEF_CFA_OFFSET} {row.cfa.offset:#x}", written


def _first(cause: Cause, standing: Iterable[tuple[int, Mapping[str, str]]]) -> tuple[int, str] | None:
    """An adjustment that is advised makes those right that are among the cause's own instructions."""
    said = [each for each in cause.directives if each.startswith(_OF_THE_CFA)]
    if THE_CFA not in cause.things or not said:
        return None
    adjusts = said[0].startswith(ADJUST)
    ends = [each.pc for each in cause.closings if any(its.startswith(_OF_THE_CFA) for its in each.directives)]
    for pc, directives in standing:
        if ends and pc >= min(ends):
            return None
        for named, written in directives.items():
            if named.startswith(_ABSOLUTE):
                return None
            if named.startswith(ADJUST) and not (adjusts and pc in cause.pcs):
                return pc, written
    return None
