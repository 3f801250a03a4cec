"""Functions whose rows suppose that they are entered with more on the stack than a call leaves there.

The linkage table pushes two words and jumps to glibc's `_dl_runtime_resolve`, whose rows count them from the first
instruction on, and which takes them off before it jumps on. Called as any function, all of its rows are wrong by these
words. That tells it from a mistake: no row is right, but for one behind which it leaves with SP above where it was
entered, at which nobody's caller can be told any more.
"""

from __future__ import annotations

from testbed.checks.frame_states import CFA_OFFSET, CFA_REGISTER, StatePart
from testbed.checks.tried_function import THE_CFA, TriedFunction
from testbed.contract.rows import AtCfa, RegisterPlus


def more_at_entry(function: TriedFunction, start: int) -> int:
    """How many bytes more than a call leaves the rows from ``start`` on count, if some last row does not; else 0."""
    if not len(function) or function.tried[0].pc != start:
        return 0
    arch, state = function.arch, function.states[0]
    offset = state.get(CFA_OFFSET)
    if state.get(CFA_REGISTER) != arch.sp or not isinstance(offset, int) or offset <= arch.entry_cfa:
        return 0
    if not all(function.is_wrong(i, THE_CFA, state) for i, state in enumerate(function.states)):
        return 0
    tried = {each.span for each in function.tried}
    left = [span.row.cfa for i, span in enumerate(function.spans) if i not in tried]
    return offset - arch.entry_cfa if RegisterPlus(arch.sp, arch.entry_cfa) in left else 0


def entered_by_call(function: TriedFunction, more: int) -> None:
    """Take the words off all rows that count them: what is wrong then is wrong however the function is entered."""
    for i, state in enumerate(function.states):
        offset = state.get(CFA_OFFSET)
        if not isinstance(offset, int):
            continue
        moved: dict[str, StatePart] = {**state, CFA_OFFSET: offset - more}
        for name, rule in state.items():
            if isinstance(rule, AtCfa) and name != function.return_address(i):
                moved[name] = AtCfa(rule.offset + more)
        function.states[i] = moved
