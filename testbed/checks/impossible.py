"""Drops visits that only forced paths make, and no real run can: they count for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.checks.native.codes import CFA, REGISTERS, RETURN_ADDRESS
from testbed.checks.row_checks import RowChecks, wrong_alone
from testbed.checks.row_columns import Evaluate
from testbed.checks.static_rows import StaticReading, is_another_frame
from testbed.contract.rows import AtRegister, Offset, RegisterPlus, RowTable, UnwindRow, ValExpression
from testbed.conventions import platform
from testbed.image import Image, LoadedImage
from testbed.micro.batches import Batch
from testbed.micro.function_parts import linkers_code
from testbed.micro.functions import CodePiece
from testbed.micro.stack_moves import MoveKind, StackMove, register_use, stack_move_at
from testbed.truth import Truth
from testbed.truth.events import Bools

# Steps at which SP is as far below the CFA as an argument says: in this call, and in another one perhaps elsewhere.
#
# A local array of variable size, `alloca` and an alignment beyond the ABI's move SP by what is no constant of the code.
# A row that counts from SP behind that is right in the calls that were made, and that proves nothing: it counts for
# nothing here, unless it is wrong in one of them.

_FAR = 64  # instructions before a move among which a constant is made
_Pcs = NDArray[np.uint64]


def dynamic_frame_steps(watched: Truth, loaded: LoadedImage, pc: _Pcs, batch: Batch) -> tuple[Bools, Bools]:
    """The steps after a dynamic stack allocation, until SP is back in the fixed frame; and those that no run makes.

    ``pc`` are link-time addresses. Of an amount that is made up SP may rise, where it was to be lowered: over what is
    saved there, its callers' frames, too. So the rest of such a path is made by no run.
    """
    trace, node, image = watched.trace, watched.node, loaded.image
    found, raised = np.zeros(len(trace), np.bool_), np.zeros(len(trace), np.bool_)
    pcs, of_step = np.unique(pc, return_inverse=True)
    moves = [stack_move_at(image, at) if image.covers(at) else None for at in pcs.tolist()]
    places = np.flatnonzero(np.array([move is not None for move in moves], np.bool_)[of_step])
    places = places[places < len(trace) - 1]
    if not len(places):
        return found, raised
    said = {int(step): move for step in places.tolist() if (move := moves[int(of_step[step])]) is not None}
    starts = [step for step, move in said.items() if _may_begin(watched, loaded, step, move)]
    for activation in np.unique(node[starts]).tolist() if starts else ():
        own = np.flatnonzero(node == activation)
        its = {step: said[step] for step in own.tolist() if step in said}
        _mark(watched, own, its, frozenset(starts), found, raised)
    behind = np.flatnonzero(raised) + 1
    raised[:] = False
    raised[behind[batch.path[behind] == batch.path[behind - 1]]] = True
    return found, _since(batch, raised)


def _may_begin(watched: Truth, loaded: LoadedImage, step: int, move: StackMove) -> bool:
    """Whether SP may be where no constant says behind this step; a copy that only gives memory back is none."""
    sp = watched.trace.sp
    if move.kind is MoveKind.COPY:
        scratch = any(name not in platform(watched.trace.arch).preserved for name in move.registers)
        return bool(sp[step + 1] < sp[step] or (sp[step + 1] == sp[step] and scratch))
    if move.kind is MoveKind.ALIGNED:
        return True
    return not all(_is_constant(watched, loaded, step, name) for name in move.registers)


def _is_constant(watched: Truth, loaded: LoadedImage, step: int, name: str | None) -> bool:
    """Whether the code itself has made the register's value of constants, right before a step of this activation."""
    trace, node = watched.trace, watched.node
    wanted = {name}
    for before in range(step - 1, max(step - 1 - _FAR, -1), -1):
        if node[before] != node[step]:
            return False
        use = register_use(loaded.image, int(trace.pc[before]) - loaded.bias)
        if use is None:
            return False
        if made := wanted & use.writes:
            if use.loads:
                return False
            wanted = (wanted - made) | use.reads
        if not wanted:
            return True
    return False


def _mark(
    watched: Truth,
    own: NDArray[np.int64],
    moves: dict[int, StackMove],
    starts: frozenset[int],
    found: Bools,
    raised: Bools,
) -> None:
    """Mark the steps of one activation, which are ``own``."""
    trace, cfa = watched.trace, int(watched.activations.cfa[watched.node[own[0]]])
    lowest, sized, at = cfa, False, 0
    places = np.searchsorted(own, sorted(moves)).tolist()
    for place, end in zip(places, [*places[1:], len(own) - 1], strict=True):
        if not sized:
            lowest = min(lowest, int(trace.sp[own[at : place + 1]].min()))
        step, at = int(own[place]), place + 1
        move, after = moves[step], int(trace.sp[step + 1])
        if move.kind is MoveKind.COPY:
            bases = [int(trace.column(name)[step]) for name in move.registers if name in trace.arch.index]
            fixed = all(lowest <= base <= cfa for base in (*bases, *(() if bases else (after,))))
            sized = not fixed or (step in starts and after == int(trace.sp[step]) and not sized)
        elif step in starts:
            if move.kind is MoveKind.AMOUNT and not sized and after > int(trace.sp[step]):
                raised[step] = True
            sized = not sized or after <= int(trace.sp[step]) or not lowest <= after <= cfa
        if sized:
            found[own[at : end + 1]] = True


def unproven_steps(
    watched: Truth, checks: RowChecks, table: RowTable, sized: Bools, *, at_calls: bool = False
) -> NDArray[np.int64]:
    """The steps at which a right row proves nothing: it counts from SP, which moved by an unknown amount (``sized``).

    ``at_calls``: as `check_rows` takes it.
    """
    steps = np.flatnonzero(sized & checks.compared & (checks.wrong == 0))
    looked_up = checks.pc[steps] + (
        np.maximum(watched.trace.sizes[steps], 1) - np.uint64(1) if at_calls else np.uint64(0)
    )
    pcs, of_step = np.unique(looked_up, return_inverse=True)
    rows = [table.at(pc) for pc in pcs.tolist()]
    cfas = [row.cfa if row is not None else None for row in rows]
    from_sp = [isinstance(cfa, RegisterPlus) and cfa.register == watched.trace.arch.sp for cfa in cfas]
    return steps[np.array(from_sp, np.bool_)[of_step]]


def on_answers(checks: RowChecks, batch: Batch, called: Truth, table: RowTable) -> NDArray[np.int64]:
    """The steps whose row proves nothing, since it counts from a register that an answered call left as it is.

    Who is called may change such a register, and by a contract with this caller need not. From the call on till the
    activation writes it a row that is right counts for nothing, and on a forced path a wrong one, too.
    """
    trace, node = called.trace, called.node
    changed = _changed_by_calls(trace.arch)
    behind = np.flatnonzero(batch.answered)
    steps = np.flatnonzero(checks.compared & ((checks.wrong == 0) | batch.forced) & np.isin(node, node[behind]))
    pcs, of_step = np.unique(checks.pc[steps], return_inverse=True)
    rows = (table.at(pc) for pc in pcs.tolist())
    rules = [(row.cfa, *row.registers.values()) if row is not None else () for row in rows]
    bases = [
        changed & {each.register for each in said if isinstance(each, RegisterPlus | AtRegister)} for said in rules
    ]
    found = list[int]()
    for step, base in ((step, bases[k]) for step, k in zip(steps.tolist(), of_step.tolist(), strict=True) if bases[k]):
        answers = behind[node[behind] == node[step]]
        k = int(np.searchsorted(answers, step, side="right"))
        calls = k < len(answers) and bool((node[step + 1 : answers[k]] != node[step]).all())
        since = int(answers[k - 1]) if k else step
        own = since + np.flatnonzero(node[since:step] == node[step])
        values = [trace.column(name) for name in base]
        if calls or (k and any(bool((each[own] == each[own + 1]).all()) for each in values)):
            found.append(step)
    return np.array(found, np.int64)


def _changed_by_calls(arch: Arch) -> set[str]:
    its = platform(arch)
    return {*arch.index} - {*its.preserved, *its.fixed, arch.sp, arch.pc}


def without_contracts(checks: RowChecks, batch: Batch, called: Truth, image: Image) -> RowChecks:
    """The results without what rows say of registers that calls may change, from an answered call of the activation on.

    Who is called may keep such a register, or a copy of it, by a contract with this caller; who answers does not. What
    began at a jump that a linker has added is without all registers: whoever that leads to says which he keeps.
    """
    behind = np.flatnonzero(batch.answered)
    steps = np.flatnonzero(checks.compared & np.isin(called.node, called.node[behind]))
    nodes, answers = called.node[behind], np.full(len(called.activations), len(called.node))
    np.minimum.at(answers, nodes, behind)
    steps = steps[steps >= answers[called.node[steps]]]
    bits = np.uint64(sum(1 << REGISTERS + checks.arch.index[name] for name in _changed_by_calls(checks.arch)))
    steps = steps[checks.wrong[steps] & bits != 0]
    wrong, untried = checks.wrong.copy(), checks.untried.copy()
    wrong[steps] &= ~bits
    began = checks.pc[called.activations.opened[called.node]]
    for start, end in linkers_code(image):
        added = np.flatnonzero((began >= start) & (began < end) & (wrong >> np.uint64(REGISTERS) != 0))
        wrong[added] &= np.uint64((1 << REGISTERS) - 1)
        steps = np.append(steps, added)
    untried[steps] = True
    return replace(checks, wrong=wrong, untried=untried)


def of_another_frame(checks: RowChecks, table: RowTable) -> NDArray[np.int64]:
    """The steps whose row is of another frame than the caller's."""
    steps = np.flatnonzero(checks.compared)
    pcs, of_step = np.unique(checks.pc[steps], return_inverse=True)
    others = [is_another_frame(table.at(pc), checks.arch) for pc in pcs.tolist()]
    return steps[np.array(others, np.bool_)[of_step]]


def without(checks: RowChecks, steps: NDArray[np.int64] | Sequence[int]) -> RowChecks:
    """The results without those at some steps."""
    compared = checks.compared.copy()
    compared[steps] = False
    return replace(checks, compared=compared)


# Steps in code that nobody calls: of which of them the truth is known, and which only a path makes that no run takes.
#
# A part that a function jumps to runs in the function's activation, whose CFA and caller are known. What a call led to
# is another thing: a helper that begins with a frame has a convention of its own, and nothing is said of it.


def within(pieces: Sequence[CodePiece], pc: NDArray[np.uint64]) -> Bools:
    """Whether each link-time pc lies in one of some pieces."""
    if not pieces:
        return np.zeros(len(pc), np.bool_)
    starts, ends = np.array(sorted((piece.start, piece.end) for piece in pieces), np.uint64).T
    place = np.searchsorted(starts, pc, side="right") - 1
    return np.asarray((place >= 0) & (pc < ends[np.maximum(place, 0)]))


def in_parts(pieces: Sequence[CodePiece], parts: Sequence[CodePiece], watched: Truth, pc: NDArray[np.uint64]) -> Bools:
    """The steps in ``parts`` in an activation that did not begin in code that is not called."""
    opened = watched.activations.opened[watched.node]
    others = [piece for piece in pieces if not piece.is_entry]
    return within(parts, pc) & ~within(others, pc[opened])


def without_impossible(checks: RowChecks, batch: Batch) -> RowChecks:
    """Drops the visits that only an impossible path makes.

    A row says one thing of an instruction. Where it is right on some path, a forced path on which it is wrong mixes
    branches that belong together.
    """
    wrong = checks.compared & (checks.wrong != 0)
    right = np.unique(checks.pc[checks.compared & (checks.wrong == 0)])
    return replace(checks, compared=checks.compared & ~(wrong & batch.forced & np.isin(checks.pc, right)))


def seconded(checks: RowChecks, batch: Batch, reading: StaticReading | None) -> RowChecks:
    """Drops a path from where a row is wrong and no second witness says so: the static pass, which goes every way.

    A path needs one that was forced, or that did not come back behind a call that was answered. A row is wrong there if
    the pass says so. Where the pass cannot tell, a forced path is believed that came back, and one that went by itself;
    but not from where it was sent to code that no branch leads to, if the row there has another CFA: of a handler only
    who jumps there knows where SP is.
    """
    behind = _since(batch, batch.answered)
    wrong = checks.compared & (checks.wrong >= np.uint64(CFA))  # no row is none, whoever comes
    guess = np.zeros(len(wrong), np.bool_)
    guess[[step for step, _ in batch.strays]] = True
    guess &= checks.wrong & np.uint64(CFA) != 0
    steps = np.flatnonzero((wrong & (batch.forced | (behind & ~batch.returned))) | guess)
    believed = (batch.returned[steps] & ~guess[steps]) | ~batch.forced[steps]
    if reading is not None and len(steps):
        contradicted, decided = reading.contradicted(checks.pc[steps])
        believed = np.where(decided, contradicted, believed)
    astray = np.zeros(len(batch.path), np.bool_)
    astray[steps[~believed]] = True
    return replace(checks, compared=checks.compared & ~_since(batch, astray))


def _since(batch: Batch, marks: Bools) -> Bools:
    """The steps of each path from the first marked one on."""
    last = np.maximum.accumulate(np.where(marks, np.arange(len(marks)), -1))
    return np.asarray(last >= np.searchsorted(batch.path, batch.path))


def without_overwritten_frame(
    checks: RowChecks, batch: Batch, watched: Truth, table: RowTable, evaluate: Evaluate | None = None
) -> RowChecks:
    """Drops a path from where it overwrote its own frame, if it did not come back, or not with the register.

    A row says the same slot as before, which lies in the frame still, and what was right there is wrong: a made-up
    length or index led a store there. Likewise a CFA that is read from memory, and is right from the memory of before.
    """
    kept = checks.compared & (checks.wrong >= np.uint64(CFA))
    over = np.full(len(batch.path), False)
    for path in np.unique(batch.path[kept]).tolist():
        first, last = np.searchsorted(batch.path, [path, path + 1])
        steps = np.flatnonzero(kept[first:last]) + first
        _, new = np.unique(np.stack((watched.node[steps], checks.wrong[steps])), axis=1, return_index=True)
        for step in np.sort(steps[new]).tolist():
            back = bool(batch.returned[step])
            if _is_written_over(checks, watched, table, int(first), step, back) or (
                not back and _is_cfa_written_over(checks, watched, table, int(first), step, evaluate)
            ):
                over[step:last] = True
                break
    return replace(checks, compared=checks.compared & ~over) if over.any() else checks


def _said_cfa(row: UnwindRow | None, watched: Truth, step: int) -> int | None:
    """What a row says the CFA is, if that is a register and a constant."""
    arch = watched.trace.arch
    if row is None or not isinstance(row.cfa, RegisterPlus) or row.cfa.register not in arch.index:
        return None
    return int(watched.trace.column(row.cfa.register)[step]) + row.cfa.offset & arch.word_mask


def without_moved(checks: RowChecks, watched: Truth, table: RowTable) -> RowChecks:
    """Drops visits of a function that keeps its return address in its caller's room, if rows count from there.

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
    moved = []
    for step in wrong.tolist():
        row, index = rows[int(checks.pc[step])], int(watched.node[step])
        cfa = _said_cfa(row, watched, step)
        if row is None or cfa in (None, int(watched.activations.cfa[index])) or watched.activations.parent[index] < 0:
            continue
        if trace.arch.link is not None:
            if _is_kept_outside(row, watched, step, cfa) and not wrong_alone(row, watched, step, cfa=cfa):
                moved.append(step)
            continue
        if not _is_return_address_at(watched, step, cfa):
            continue
        if index not in after:
            after[index] = _after_return(watched, index)
        if after[index] in (cfa, None):
            moved.append(step)
    return without(checks, moved)


def _is_kept_outside(row: UnwindRow, watched: Truth, step: int, cfa: int) -> bool:
    """Whether a row finds the return address in memory, and not between SP and the true CFA."""
    rule = row.registers.get(row.return_address)
    own = range(int(watched.trace.sp[step]), int(watched.activations.cfa[watched.node[step]]))
    return isinstance(rule, Offset) and cfa + rule.offset & watched.trace.arch.word_mask not in own


def without_thrown_away(checks: RowChecks, watched: Truth) -> RowChecks:
    """Drops what code did after it had thrown away its own return address.

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
    value, mapped = watched.trace.words.at(np.array([step]), place)
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
    row = table.at(int(checks.pc[step]))
    if row is None or not isinstance(row.cfa, AtRegister | ValExpression) or not checks.wrong[step] & np.uint64(CFA):
        return False
    own = np.flatnonzero(checks.compared[first:step] & (watched.node[first:step] == watched.node[step])) + first
    right = own[checks.wrong[own] & np.uint64(CFA) == 0]
    same = [at for at in right.tolist() if (before := table.at(int(checks.pc[at]))) and before.cfa == row.cfa]
    if watched.activations.parent[watched.node[step]] < 0 or not same:
        return False
    return wrong_alone(row, watched, step, memory_of=same[-1], evaluate=evaluate) & CFA == 0


def _is_written_over(checks: RowChecks, watched: Truth, table: RowTable, first: int, step: int, back: bool) -> bool:
    """``back``: the path came back. Then the activation must leave without the register, which its caller may have."""
    row, cfa = table.at(int(checks.pc[step])), watched.stack(step).frames[0].cfa
    if row is None or cfa is None:
        return False
    index, arch, trace = int(watched.node[step]), checks.arch, watched.trace
    own = np.flatnonzero(watched.node[first:step] == index) + first
    for name, rule in row.registers.items():
        if not isinstance(rule, Offset) or name not in arch.index or cfa + rule.offset < int(trace.sp[step]):
            continue
        bit = np.uint64(RETURN_ADDRESS if name == row.return_address else 1 << REGISTERS + arch.index[name])
        if not checks.wrong[step] & bit or (back and not _is_lost(watched, index, name)):
            continue
        held, mapped = trace.words.at(own, np.full(len(own), cfa + rule.offset & arch.word_mask, np.uint64))
        if (mapped & (held == _at_entry(watched, index, name))).any():
            return True
    return False


def _at_entry(watched: Truth, index: int, name: str) -> np.uint64:
    """What a register had when an activation began; of the return address, where that is no register, itself."""
    if name == watched.trace.arch.return_address and watched.trace.arch.link is None:
        return np.uint64(watched.activations.return_address[index])
    return np.uint64(watched.trace.column(name)[watched.activations.opened[index]])


def _is_lost(watched: Truth, index: int, name: str) -> bool:
    """Does an activation leave another value in a register than it found?"""
    column, opened = watched.trace.column(name), int(watched.activations.opened[index])
    behind = int(np.flatnonzero(watched.node == index)[-1]) + 1
    return behind < len(column) and bool(column[behind] != column[opened])
