"""Visits that only a path made which no run takes: they count for nothing."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace

import numpy as np

from testbed.checks.native.codes import CFA, REGISTERS, RETURN_ADDRESS, CallerColumns
from testbed.checks.row_checks import RowChecks, true_caller
from testbed.checks.row_columns import caller_columns
from testbed.checks.row_rules import Evaluate, wrong_at
from testbed.checks.static_rows import RowAt, agrees
from testbed.contract.rows import AtCfa, AtRegister, IsExpression, RegisterPlus, RowTable, Rule, UnwindRow
from testbed.image import Image
from testbed.micro.batches import Batch
from testbed.truth import Truth


def without_impossible(checks: RowChecks, batch: Batch) -> RowChecks:
    """Without the visits that only an impossible path makes.

    A row says one thing of an instruction. Where it is right on some path, a forced path on which it is wrong mixes
    branches that belong together.
    """
    wrong = checks.compared & (checks.wrong != 0)
    right = np.unique(checks.pc[checks.compared & (checks.wrong == 0)])
    return replace(checks, compared=checks.compared & ~(wrong & batch.forced & np.isin(checks.pc, right)))


def without_never_returning(
    checks: RowChecks, batch: Batch, image: Image, table: RowTable, row_at: RowAt | None
) -> RowChecks:
    """Without what a path did behind a call of what never returns: an import, which everyone here answers.

    The row where it comes back is wrong then, and right where another path comes there, or as the instructions say that
    lead there in another way. Who defines the import is not known, so only this tells. Where the instructions say that
    a register is saved by then, of which the row says that it is unchanged, the row is wrong: it counts on that call.
    """
    wrong = checks.compared & (checks.wrong != 0)
    suspects = np.flatnonzero(wrong & batch.answered)
    if not len(suspects):
        return checks
    right = frozenset(np.unique(checks.pc[checks.compared & (checks.wrong == 0)]).tolist())
    over = np.full(len(batch.path), False)
    for step in suspects.tolist():
        pc = int(checks.pc[step])
        said = None if row_at is None else _is_as_said(image, table, row_at, pc, int(checks.wrong[step]))
        if said or (said is None and pc in right):
            over[step:] |= batch.path[step:] == batch.path[step]
    return replace(checks, compared=checks.compared & ~over)


def _is_as_said(image: Image, table: RowTable, row_at: RowAt, pc: int, wrong: int) -> bool | None:
    """Whether the instructions say of a place what the table says; of the return address above all, if that is wrong.

    Other registers are saved on some of the paths to a place only, where GCC shrink-wraps them one by one.
    """
    row = table.at(pc)
    return agrees(image, table, row_at, pc, [row.return_address] if row is not None and wrong & RETURN_ADDRESS else [])


def without_misled(checks: RowChecks, batch: Batch, table: RowTable) -> RowChecks:
    """Without wrong visits of a path that was sent from a wrong place to code that no branch leads to.

    A landing pad has the frame of its calls, and a function that saves registers late has several. Which calls lead
    there is guessed. The guess is to blame where the row that it came from says something else, and another row of the
    function says the same as the pad's: a call with that one leads there.
    """
    over = np.full(len(batch.path), False)
    for step, piece in batch.strays:
        before, row = table.at(int(checks.pc[step - 1])), table.at(int(checks.pc[step]))
        if before is None or row is None or _says(before) == _says(row):
            continue
        first, last = (bisect_left(table.starts, at) for at in (piece.start, piece.end))
        if any(other.start != row.start and _says(other) == _says(row) for other in table.rows[first:last]):
            over[step:] |= batch.path[step:] == batch.path[step]
    return replace(checks, compared=checks.compared & ~(over & (checks.wrong != 0))) if over.any() else checks


def _says(row: UnwindRow) -> tuple[Rule | None, dict[str, Rule]]:
    return row.cfa, dict(row.registers)


def without_spoiled(
    checks: RowChecks, batch: Batch, watched: Truth, table: RowTable, evaluate: Evaluate | None = None
) -> RowChecks:
    """Without what a path did that did not come back, from where it wrote over what its frame keeps.

    A row says the same slot as before, which lies in the frame still, and what was right there is wrong: a made-up
    length or index led a store there. Likewise a CFA that is read from memory, and is right from the memory of before.
    """
    kept = checks.compared & (checks.wrong >= np.uint64(CFA)) & ~batch.returned
    over = np.full(len(batch.path), False)
    for path in np.unique(batch.path[kept]).tolist():
        first, last = np.searchsorted(batch.path, [path, path + 1])
        steps = np.flatnonzero(kept[first:last]) + first
        _, new = np.unique(np.stack((watched.node[steps], checks.wrong[steps])), axis=1, return_index=True)
        for step in np.sort(steps[new]).tolist():
            if _is_written_over(checks, watched, table, int(first), step) or _is_cfa_written_over(
                checks, watched, table, int(first), step, evaluate
            ):
                over[step:last] = True
                break
    return replace(checks, compared=checks.compared & ~over) if over.any() else checks


def without_moved(checks: RowChecks, watched: Truth, table: RowTable) -> RowChecks:
    """Without visits of a function that keeps its return address where its caller made room, if rows count from there.

    A row whose CFA lies there does not say what SP was at the call, as those of libffi's `ffi_call_unix64` and
    `ffi_call_SYSV` on purpose: nothing says which of the two a row has to give. On x86_64 the function comes back with
    SP behind the moved address. With a link register all that the row finds from its CFA is the caller's, and the
    return address lies outside the function's own frame.
    """
    trace = watched.trace
    wrong = np.flatnonzero(checks.compared & (checks.wrong & np.uint64(CFA | RETURN_ADDRESS) != 0))
    if not len(wrong):
        return checks
    rows = {pc: table.at(pc) for pc in np.unique(checks.pc[wrong]).tolist()}
    after: dict[int, int | None] = {}
    columns = caller_columns(watched)
    moved = []
    for step in wrong.tolist():
        row, index = rows[int(checks.pc[step])], int(watched.node[step])
        if row is None or not isinstance(row.cfa, RegisterPlus) or watched.activations.parent[index] < 0:
            continue
        cfa = int(trace.column(row.cfa.register)[step]) + row.cfa.offset & trace.arch.word_mask
        if cfa == int(watched.activations.cfa[index]):
            continue
        if trace.arch.link is not None:
            if _is_kept_outside(row, watched, step, cfa) and _is_right_from(row, watched, step, cfa, columns):
                moved.append(step)
            continue
        if not _is_return_address_at(watched, step, cfa):
            continue
        if index not in after:
            after[index] = _after_return(watched, index)
        if after[index] in (cfa, None):
            moved.append(step)
    compared = checks.compared.copy()
    compared[moved] = False
    return replace(checks, compared=compared)


def _is_kept_outside(row: UnwindRow, watched: Truth, step: int, cfa: int) -> bool:
    """Whether a row finds the return address in memory, and not between SP and the true CFA."""
    rule = row.registers.get(row.return_address)
    own = range(int(watched.trace.sp[step]), int(watched.activations.cfa[watched.node[step]]))
    return isinstance(rule, AtCfa) and cfa + rule.offset & watched.trace.arch.word_mask not in own


def _is_right_from(row: UnwindRow, watched: Truth, step: int, cfa: int, columns: CallerColumns) -> bool:
    """Whether everything that a row says is right if its own CFA is."""
    caller = true_caller(watched, step, columns)
    if caller is None:
        return False
    return wrong_at(row, watched.trace.snapshot(step), replace(caller, cfa=cfa), None)[0] == 0


def without_thrown_away(checks: RowChecks, watched: Truth) -> RowChecks:
    """Without what code did after it had thrown away who called it.

    A function that raises SP over its return address and jumps on was not called as the ABI says: somebody left words
    for it on the stack, as libffi's trampolines do for `ffi_closure_unix64_alt`. Here nobody did. So its own caller's
    address is gone, and it goes on in the frame of the harness, whose second step is the first call.
    """
    pc, node = watched.trace.pc, watched.node
    of_harness = np.isin(node, np.unique(node[pc == pc[1]]))
    return replace(checks, compared=checks.compared & ~of_harness)


def _is_return_address_at(watched: Truth, step: int, cfa: int) -> bool:
    """Whether the return address of the innermost activation lies below some CFA, as a call leaves it."""
    place = np.array([cfa - watched.trace.arch.word & watched.trace.arch.word_mask], np.uint64)
    value, mapped = watched.words.at(np.array([step]), place)
    return bool(mapped[0]) and int(value[0]) == int(watched.activations.return_address[watched.node[step]])


def _after_return(watched: Truth, index: int) -> int | None:
    """SP once an activation came back; None where it never did."""
    trace = watched.trace
    last = int(np.flatnonzero(watched.node == index)[-1])
    if last + 1 == len(trace) or trace.pc[last + 1] != watched.activations.return_address[index]:
        return None
    return int(trace.sp[last + 1])


def _is_cfa_written_over(
    checks: RowChecks, watched: Truth, table: RowTable, first: int, step: int, evaluate: Evaluate | None
) -> bool:
    row, trace = table.at(int(checks.pc[step])), watched.trace
    if row is None or not isinstance(row.cfa, AtRegister | IsExpression) or not checks.wrong[step] & np.uint64(CFA):
        return False
    caller = true_caller(watched, step, caller_columns(watched))
    own = np.flatnonzero(checks.compared[first:step] & (watched.node[first:step] == watched.node[step])) + first
    right = own[checks.wrong[own] & np.uint64(CFA) == 0]
    same = [at for at in right.tolist() if (before := table.at(int(checks.pc[at]))) and before.cfa == row.cfa]
    if caller is None or not same:
        return False
    as_before = replace(trace.snapshot(step), memory=trace.memory(same[-1]))
    return wrong_at(row, as_before, caller, evaluate)[0] & CFA == 0


def _is_written_over(checks: RowChecks, watched: Truth, table: RowTable, first: int, step: int) -> bool:
    row, cfa = table.at(int(checks.pc[step])), watched.stack(step).frames[0].cfa
    if row is None or cfa is None:
        return False
    own = np.flatnonzero(watched.node[first:step] == watched.node[step]) + first
    own = own[checks.compared[own]]
    for name, rule in row.registers.items():
        if (
            not isinstance(rule, AtCfa)
            or name not in checks.arch.index
            or cfa + rule.offset < int(watched.trace.sp[step])
        ):
            continue
        bit = np.uint64(RETURN_ADDRESS if name == row.return_address else 1 << REGISTERS + checks.arch.index[name])
        if not checks.wrong[step] & bit:
            continue
        for earlier in np.unique(checks.pc[own[checks.wrong[own] & bit == 0]]).tolist():
            before = table.at(earlier)
            if before is not None and before.registers.get(name) == rule:
                return True
    return False


def without_contradicted(
    checks: RowChecks, batch: Batch, image: Image, table: RowTable, row_at: RowAt | None
) -> RowChecks:
    """Without forced visits at which the table is wrong, but says what the instructions before it say.

    Then it is the path that is wrong: it came there with another frame than any run does.
    """
    wrong = checks.compared & (checks.wrong != 0)
    alone = np.setdiff1d(checks.pc[wrong & batch.forced], checks.pc[wrong & ~batch.forced])
    if row_at is None or not len(alone):
        return checks
    masks = [int(np.bitwise_or.reduce(checks.wrong[wrong & (checks.pc == pc)])) for pc in alone]
    agreed = [pc for pc, mask in zip(alone.tolist(), masks, strict=True) if _is_as_said(image, table, row_at, pc, mask)]
    return replace(checks, compared=checks.compared & ~(wrong & np.isin(checks.pc, np.array(agreed, np.uint64))))
