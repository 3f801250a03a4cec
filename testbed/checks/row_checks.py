"""A table's rows held against the truth at every step of a trace, and what came of it.

What a row says wrongly is a mask: a bit for each of "no row", "a row that cannot be read", the CFA, the return address,
its signature, and one bit per register (`wrong_things`). The rules are those of `testbed.checks.native.rows`; for long
traces they are compiled, and some ten million are tried in a second.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.arch import Arch
from testbed.checks.native.codes import (
    CFA,
    NO_ROW,
    NOT_TRIED,
    OUTERMOST,
    REGISTERS,
    RETURN_ADDRESS,
    SIGNATURE,
    UNMAPPED,
    UNREADABLE,
    VALUE,
    CheckedRun,
    CheckedSteps,
)
from testbed.checks.native.rows import check_steps
from testbed.checks.row_columns import Evaluate, RowColumns, checked_run, row_columns
from testbed.contract.rows import RowTable, UnwindRow
from testbed.conventions import Convention
from testbed.conventions.chosen import chosen
from testbed.image import Image, LoadedImage
from testbed.native.compiled import native, sooner
from testbed.trace.flat.native import SweptWrites
from testbed.truth import Truth
from testbed.truth.events import Bools
from testbed.words.errors import UnreadableMemory

Wrong = NDArray[np.uint64]
Pcs = NDArray[np.uint64]

BITS = {
    NO_ROW: "row",
    UNREADABLE: "unreadable row",
    CFA: "CFA",
    RETURN_ADDRESS: "return address",
    SIGNATURE: "signature",
    OUTERMOST: "outermost",
}


@dataclass(frozen=True, eq=False)
class RowChecks:
    """What is wrong with one table's row at each step of one trace.

    ``pc`` are link-time addresses. Where a step was ``compared``, ``wrong`` is the mask of what its row says wrongly,
    0 where all is right, and ``untried`` says that some rule of it could not be tried. Elsewhere both are 0.
    """

    arch: Arch
    pc: Pcs
    compared: Bools = field(repr=False)
    wrong: Wrong = field(repr=False)
    untried: Bools = field(repr=False)

    def __str__(self) -> str:
        counts = int(self.compared.sum()), int((self.wrong != 0).sum()), int(self.untried.sum())
        return "{} visits compared, {} of them wrong; {} have a rule that was not tried".format(*counts)


def wrong_things(mask: int, arch: Arch) -> tuple[str, ...]:
    """What the bits of a mask stand for, in words: "CFA", "return address", "rbx"."""
    registers = (name for name, column in arch.index.items() if mask >> REGISTERS + column & 1)
    return (*(name for bit, name in BITS.items() if mask & bit), *registers)


def _both(convention: Convention, image: Image, pc: int) -> Convention:
    """What a row says by itself is by its own function's convention, where another one that was called jumped there: of
    registers that both promise."""
    own = chosen(image, pc).convention
    return own if {*own.judged} < {*convention.judged} else convention


def check_rows(
    watched: Truth,
    table: RowTable,
    loaded: LoadedImage,
    *,
    steps: Bools | None = None,
    at_calls: bool = False,
    evaluate: Evaluate | None = None,
    natively: bool | None = None,
) -> RowChecks:
    """Hold the row of every step against the innermost activation, in the code of one image.

    Steps in transition are left out: they have no single right answer. So are those that ``steps`` leaves out, and
    those whose return address has a signature that is 0, which nobody can tell from none.
    ``at_calls``: the table only promises rows at calls. Then the row is the one at the last byte before the return
    address, and compared is the step of the call; steps that call nothing are left out. ``evaluate`` computes DWARF
    expressions; without it they are not tried. ``natively`` None: where the trace is long.
    """
    trace = watched.trace
    word = np.uint64(trace.arch.word_mask)
    pc = (trace.pc - np.uint64(loaded.bias % (1 << 64))) & word
    chosen = has_one_answer(watched) if steps is None else has_one_answer(watched) & steps
    looked_up = _at_calls(watched, chosen) if at_calls else trace.pc
    chosen = chosen if not at_calls else chosen & (looked_up != 0)
    at = np.flatnonzero(chosen)
    columns = row_columns(table, loaded.image)
    pcs, of_step = np.unique((looked_up[at] - np.uint64(loaded.bias % (1 << 64))) & word, return_inverse=True)
    conventions, of_activation = watched.conventions
    pairs, of_step = np.unique(of_step * len(conventions) + of_activation[watched.node[at]], return_inverse=True)
    places = [(int(pcs[pair // len(conventions)]), conventions[pair % len(conventions)]) for pair in pairs.tolist()]
    inside = np.array([loaded.image.covers(place) for place, _ in places], np.bool_)
    if len(conventions) > 1:
        places = [(place, _both(convention, loaded.image, place)) for place, convention in places]
    numbers = np.zeros(len(places), np.int64)
    numbers[inside] = columns.numbers(compress(places, inside))
    at, row = at[inside[of_step]], numbers[of_step][inside[of_step]]
    checks = RowChecks(
        trace.arch,
        pc,
        np.zeros(len(trace), np.bool_),
        np.zeros(len(trace), np.uint64),
        np.zeros(len(trace), np.bool_),
    )
    checks.compared[at] = True
    checks.wrong[at[row < 0]] = (-row[row < 0]).astype(np.uint64)
    at, row = at[row >= 0], row[row >= 0]
    run = checked_run(watched, at_calls)
    checked = _checked(watched, columns, run, at, row, evaluate)
    _check(checked, columns, run, natively)
    checks.wrong[at], checks.untried[at] = checked.wrong, checked.untried
    return checks


def wrong_alone(
    row: UnwindRow,
    watched: Truth,
    step: int,
    *,
    cfa: int | None = None,
    memory_of: int | None = None,
    evaluate: Evaluate | None = None,
) -> int:
    """The mask of one row at one step: with another CFA than the true one, or with the memory of a step before it."""
    conventions, of_activation = watched.conventions
    its = conventions[of_activation[watched.node[step]]]
    columns = RowColumns(RowTable("one row", (replace(row, start=0, end=1),)), watched.trace.arch)
    run = checked_run(watched, at_calls=False)
    if cfa is not None:
        run = run._replace(truth=run.truth._replace(cfa=np.full_like(run.truth.cfa, cfa)))
    written = int(np.searchsorted(run.journal.step, step if memory_of is None else memory_of))
    before: list[NDArray[Any]] = [column[:written] for column in run.journal[:4]]
    at, address, size, value = before
    run = run._replace(journal=SweptWrites(at, address, size, value, run.journal.applied))
    checked = _checked(watched, columns, run, np.array([step]), columns.numbers([(0, its)]), evaluate, memory_of)
    _check(checked, columns, run)
    return int(checked.wrong[0])


def has_one_answer(watched: Truth) -> Bools:
    """The steps at which a row can be right or wrong: in no transition, and the signature of no return address is 0."""
    return ~watched.transition & ~_signed_with_zero(watched)


def _signed_with_zero(watched: Truth) -> Bools:
    """Steps of an activation behind an instruction that signed in other activations, and here changed nothing.

    A signature has 7 bits where the top byte is no part of an address (Arm ARM, D8.8), so one in 128 is 0.
    """
    signed, node, pc = watched.signed, watched.node, watched.trace.pc
    found = np.zeros(len(signed), np.bool_)
    signs = np.flatnonzero(signed[1:] & ~signed[:-1] & (node[1:] == node[:-1]))
    if not len(signs):
        return found
    never = np.ones(len(watched.activations), np.bool_)
    never[node[signed]] = False
    passed = np.flatnonzero(np.isin(pc, np.unique(pc[signs])) & never[node])
    since = np.full(len(never), len(signed), np.int64)
    np.minimum.at(since, node[passed], passed)
    found[:] = np.arange(len(signed)) > since[node]
    return found


def _at_calls(watched: Truth, chosen: Bools) -> Pcs:
    """For the steps that call: the last byte before the return address; 0 for all others.

    A call made in another way than by one instruction right before its return address has no such row.
    """
    trace, activations = watched.trace, watched.activations
    out = np.zeros(len(trace), np.uint64)
    called = np.flatnonzero((activations.parent >= 0) & (activations.opened > 0))
    steps, returns = activations.opened[called] - 1, activations.return_address[called]
    plain = (watched.node[steps] == activations.parent[called]) & chosen[steps] & (trace.sizes[steps] > 0)
    plain &= trace.pc[steps] + trace.sizes[steps].astype(np.uint64) == returns
    out[steps[plain]] = returns[plain] - np.uint64(1)
    return out


def _check(checked: CheckedSteps, columns: RowColumns, run: CheckedRun, natively: bool | None = None) -> None:
    """Try the rows, in compiled code where there is much to do."""
    much = max(len(checked.step), len(run.journal.step))
    check = sooner(check_steps, much) if natively is None else native(check_steps, when=natively)
    check(checked, columns.coded(), run)


def _checked(
    watched: Truth,
    columns: RowColumns,
    run: CheckedRun,
    steps: NDArray[np.int64],
    rows: NDArray[np.int64],
    evaluate: Evaluate | None,
    memory_of: int | None = None,
) -> CheckedSteps:
    """The steps to check, with what the expressions of their rows compute."""
    counts = np.array([len(each) for each in columns.expressions], np.int64)[rows]
    many, most = len(steps), int(counts.max(initial=0))
    values, outcomes = np.zeros((many, most), np.uint64), np.full((many, most), NOT_TRIED, np.uint8)
    checked = CheckedSteps(steps, rows, values, outcomes, np.zeros(many, np.uint64), np.zeros(many, np.bool_))
    if evaluate is None:
        return checked
    for i in np.flatnonzero(counts).tolist():
        step, node = int(steps[i]), run.truth.node[steps[i]]
        if run.truth.parent[node] < 0:
            continue
        snapshot, cfa = watched.trace.snapshot(step), int(run.truth.cfa[node])
        if memory_of is not None:
            snapshot = replace(snapshot, memory=watched.trace.memory(memory_of))
        for place, (expression, is_cfa) in enumerate(columns.expressions[int(rows[i])]):
            try:
                value = evaluate(expression, snapshot, None if is_cfa else cfa)
            except UnreadableMemory:
                outcomes[i, place] = UNMAPPED
                continue
            if value is not None:
                values[i, place], outcomes[i, place] = value & (2**64 - 1), VALUE
    return checked
