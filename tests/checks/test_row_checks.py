"""Rows held against the truth: the compiled check says what the readable rules say, and both what is true."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.checks.native.codes import CFA, NO_ROW, OUTERMOST, RETURN_ADDRESS, SIGNATURE, UNREADABLE
from testbed.checks.pc_checks import by_pc, summed
from testbed.checks.row_checks import RowChecks, check_rows, wrong_things
from testbed.checks.row_rules import Evaluate
from testbed.cli.table_readers import evaluate_rule
from testbed.contract.rows import (
    RA_SIGNED,
    AtCfa,
    BrokenPart,
    CfaPlus,
    Constant,
    RegisterPlus,
    RowTable,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
)
from testbed.image import LoadedImage
from testbed.runs.run import Run, run_program
from testbed.words.errors import ToolchainMissing, UnsupportedRule
from tests.checks.watched_tables import AT_CALLS, damaged, loaded_of, some_runs, table_of, tables_of


@cache
def ran(program: str, arch: str, recipe: str | None = None) -> Run:
    return run_program(PROGRAMS[program], ARCHES[arch], recipe)


def both(run: Run, table: RowTable, *, at_calls: bool = False, evaluate: Evaluate | None = None) -> RowChecks:
    """The compiled check, after it was compared with the readable one at every step."""
    loaded = loaded_of(run)
    native = check_rows(run.watched, table, loaded, at_calls=at_calls, evaluate=evaluate, natively=True)
    readable = check_rows(run.watched, table, loaded, at_calls=at_calls, evaluate=evaluate, natively=False)
    assert (native.compared == readable.compared).all()
    assert (native.pc == readable.pc).all()
    for step in np.flatnonzero((native.wrong != readable.wrong) | (native.untried != readable.untried)).tolist():
        said, expected = (wrong_things(int(each.wrong[step]), run.arch) for each in (native, readable))
        raise AssertionError(f"{run}, {table.source}, {run.where(int(run.trace.pc[step]))}: {said}, not {expected}")
    return native


@pytest.mark.parametrize("arch", ARCHES)
def test_natively_as_readably_on_the_tables_of_the_corpus(arch: str) -> None:
    compared: Counter[str] = Counter()
    for run in some_runs(arch, 2, 29):
        for name, table in tables_of(run):
            compared[name] += int(both(run, table, at_calls=name in AT_CALLS, evaluate=evaluate_rule).compared.sum())
    assert sum(compared.values()) > 2000, compared


@pytest.mark.parametrize("arch", ARCHES)
def test_natively_as_readably_on_damaged_tables(arch: str) -> None:
    rng, seen = random.Random(arch), 0
    for run in (
        ran(name, arch) for name in ("leaf_call", "callee_saved", "signal", "early_return", "probe_loop", "behind_call")
    ):
        for _, table in tables_of(run):
            for at_calls in (False, True):
                checks = both(run, damaged(table, run.arch, rng), at_calls=at_calls)
                seen |= int(np.bitwise_or.reduce(checks.wrong))
    things = {"row", "CFA", "return address", "outermost", ARCHES[arch].sp, *ARCHES[arch].preserved[:3]}
    assert things <= set(wrong_things(seen, ARCHES[arch]))


@pytest.mark.parametrize(
    ("program", "arch", "expected"),
    [
        ("epilogue_cfa_wrong", "x86_64", {"work+0xb": ("CFA",)}),
        ("pac_early", "arm64", {"work": ("signature",)}),
        ("end_zero", "arm32", dict.fromkeys(("_start", "_start+0x4"), ("return address",))),
        ("callee_saved", "arm64", {}),
        ("red_zone", "x86_64", {}),
        ("signal", "x86_64", {}),
    ],
)
def test_exactly_the_wrong_things_are_said(program: str, arch: str, expected: dict[str, tuple[str, ...]]) -> None:
    run = ran(program, arch, "keystone")
    table = table_of(run, "debug_frame" if arch == "arm32" else "eh_frame")
    found = by_pc(both(run, table, evaluate=evaluate_rule))
    wrong = {run.where(int(found.pc[i]) + loaded_of(run).bias): i for i in np.flatnonzero(found.wrong)}
    assert (
        expected.items() <= {where: wrong_things(int(found.every[i]), run.arch) for where, i in wrong.items()}.items()
    )
    assert bool(expected) == bool(wrong)


def with_rules(table: RowTable, cfa: Rule | None = None, **registers: Rule) -> RowTable:
    rows = (replace(row, cfa=cfa or row.cfa, registers={**row.registers, **registers}) for row in table)
    return replace(table, rows=tuple(rows))


def first_leaf(run: Run) -> int:
    return run.step_at("leaf")


def test_an_explicit_rule_of_a_register_that_calls_do_not_preserve_is_tried() -> None:
    run = ran("leaf_call", "x86_64", "keystone")
    table = table_of(run, "eh_frame")
    inside = [k for k in run.steps_in("leaf") if run.trace.registers[k, run.arch.index["rax"]] != 42]
    changed = [
        k
        for k in run.steps_in("leaf")
        if run.trace.registers[k, run.arch.index["rax"]] != run.trace.registers[first_leaf(run), run.arch.index["rax"]]
    ]
    assert inside
    assert not both(run, table).wrong.any()
    wrong = np.flatnonzero(both(run, with_rules(table, rax=SameValue())).wrong)
    assert set(changed) <= set(wrong.tolist())
    assert first_leaf(run) not in wrong


def test_what_the_caller_had_in_sp_is_the_cfa() -> None:
    run = ran("leaf_call", "x86_64", "keystone")
    table = table_of(run, "eh_frame")
    assert not both(run, with_rules(table, rsp=CfaPlus(0))).wrong.any()
    assert wrong_things(int(both(run, with_rules(table, rsp=CfaPlus(8))).wrong[first_leaf(run)]), run.arch) == ("rsp",)


def test_an_end_of_the_stack_in_a_called_function_is_wrong_and_says_nothing_where_only_calls_count() -> None:
    run = ran("callee_saved", "x86_64", "keystone")
    table = with_rules(table_of(run, "eh_frame"), rip=Undefined())
    checks = both(run, table)
    called = [k for k in range(len(run)) if len(run.truth(k).frames) > 1]
    assert set(checks.wrong[called].tolist()) == {RETURN_ADDRESS | OUTERMOST}
    assert not np.delete(checks.wrong, called).any()
    at_calls = both(run, table, at_calls=True)
    assert not at_calls.wrong.any()
    assert at_calls.untried.any()


def test_no_row_and_an_unreadable_one_are_told_apart() -> None:
    run = ran("leaf_call", "arm64", "keystone")
    table = table_of(run, "eh_frame")
    bias = loaded_of(run).bias
    pc = int(run.trace.pc[first_leaf(run)]) - bias
    rows = tuple(row for row in table if not row.start <= pc < row.end)
    assert both(run, replace(table, rows=rows)).wrong[first_leaf(run)] == NO_ROW
    broken = BrokenPart(pc, pc + 4, UnsupportedRule("an operation that nobody knows"))
    assert both(run, replace(table, rows=rows, broken=(broken,))).wrong[first_leaf(run)] == UNREADABLE


def test_a_sign_state_is_tried_where_nothing_is_signed() -> None:
    run = ran("leaf_call", "arm64", "keystone")
    wrong = both(run, with_rules(table_of(run, "eh_frame"), **{RA_SIGNED: Constant(1)})).wrong
    assert wrong[first_leaf(run)] == SIGNATURE


def test_a_return_address_may_be_said_before_or_after_it_was_changed() -> None:
    run = ran("behind_call", "arm64")
    caller = run.truth(run.step_at("take")).frames[1]
    assert caller.goes_on
    assert not both(run, table_of(run, "eh_frame")).wrong.any()


@pytest.mark.parametrize("distance", [-0x40_0000, 0x1000, 0x7000_0000_0000, 0xFFFF_FFFF_8000_0000])
def test_an_image_may_lie_anywhere(distance: int) -> None:
    """A file of the same code with link-time addresses so far up, as of a kernel, loaded where the code ran."""
    run = ran("early_return_wrong", "x86_64", "keystone")
    table, own = table_of(run, "eh_frame"), loaded_of(run)
    segments = tuple(replace(segment, address=segment.address + distance) for segment in own.image.segments)
    moved = LoadedImage(replace(own.image, segments=segments), own.bias - distance)
    rows = tuple(replace(row, start=row.start + distance, end=row.end + distance) for row in table)
    expected = check_rows(run.watched, table, own)
    found = check_rows(run.watched, replace(table, rows=rows), moved)
    assert expected.wrong.any()
    assert (expected.wrong == found.wrong).all()
    assert (found.pc == expected.pc + np.uint64(distance % (1 << 64))).all()


def test_steps_that_are_left_out_and_code_of_other_images_are_not_compared() -> None:
    run = ran("leaf_call", "x86_64", "keystone")
    table, own = table_of(run, "eh_frame"), loaded_of(run)
    inside = np.zeros(len(run), np.bool_)
    inside[list(run.steps_in("leaf"))] = True
    checks = check_rows(run.watched, table, own, steps=inside)
    assert (checks.compared == inside & ~run.watched.transition).all()
    elsewhere = check_rows(run.watched, table, LoadedImage(own.image, own.bias + 0x1000_0000))
    assert not elsewhere.compared.any()


def test_at_calls_the_row_of_the_call_is_compared_before_it_and_nothing_else() -> None:
    run = ran("callee_saved", "x86_64", "keystone")
    table, bias = table_of(run, "eh_frame"), loaded_of(run).bias
    calls = {activation.opened - 1 for activation in run.watched.activations if activation.parent is not None}
    assert set(np.flatnonzero(both(run, table, at_calls=True).compared).tolist()) == calls
    ends = {int(run.trace.pc[k]) + int(run.trace.sizes[k]) - bias for k in calls}
    # A table with a row for the last byte of each call, and for nothing else.
    rows: list[UnwindRow] = []
    for end in sorted(ends):
        row = table.at(end - 1)
        assert row is not None
        rows.append(replace(row, start=end - 1, end=end))
    assert not both(run, replace(table, rows=tuple(rows)), at_calls=True).wrong.any()
    off = replace(rows[-1], cfa=RegisterPlus("rsp", 0x1238))
    assert CFA in both(run, replace(table, rows=(*rows[:-1], off)), at_calls=True).wrong


def test_a_rule_that_is_not_tried_is_counted_and_expressions_are_evaluated() -> None:
    run = ran("signal", "x86_64", "keystone")
    table = table_of(run, "eh_frame")
    untried = both(run, table)
    assert {run.function(int(run.trace.pc[k])) for k in np.flatnonzero(untried.untried)} == {"give_back"}
    tried = both(run, table, evaluate=evaluate_rule)
    assert not tried.untried.any()
    assert not tried.wrong.any()
    off = both(run, table, evaluate=lambda rule, at, cfa: (evaluate_rule(rule, at, cfa) or 0) + 8)
    assert (off.wrong[untried.untried] & np.uint64(CFA)).all()


def test_visits_of_several_traces_are_added_up() -> None:
    run = ran("early_return_wrong", "x86_64", "keystone")
    table = table_of(run, "eh_frame")
    checks = check_rows(run.watched, table, loaded_of(run))
    half = np.arange(len(run)) < len(run) // 2
    own = loaded_of(run)
    parts = [check_rows(run.watched, table, own, steps=chosen) for chosen in (half, ~half)]
    total = summed([by_pc(part, number) for number, part in enumerate(parts)])
    whole = by_pc(checks)
    for name in ("pc", "visits", "wrong", "some", "every", "first"):
        assert getattr(total, name).tolist() == getattr(whole, name).tolist(), name
    assert total.visits.sum() == checks.compared.sum()
    assert set(total.trace.tolist()) == {-1, 1}
    for i, pc in enumerate(whole.pc.tolist()):
        masks = [int(mask) for mask in checks.wrong[(checks.pc == pc) & checks.compared]]
        wrong = [k for k in np.flatnonzero((checks.pc == pc) & checks.compared).tolist() if checks.wrong[k]]
        assert (whole.wrong[i], whole.first[i]) == (len(wrong), wrong[0] if wrong else -1)
        assert whole.some[i] == np.bitwise_or.reduce(np.array(masks, np.uint64))
        assert whole.every[i] == np.bitwise_and.reduce(np.array(masks, np.uint64))
    assert len(summed([])) == 0


def test_a_slot_with_the_wrong_value_and_one_that_is_not_mapped_are_both_wrong() -> None:
    run = ran("leaf_call", "x86_64", "keystone")
    table = table_of(run, "eh_frame")
    for offset in (0x100, -(1 << 40)):
        wrong = both(run, with_rules(table, rbx=AtCfa(offset))).wrong[first_leaf(run)]
        assert wrong_things(int(wrong), run.arch) == ("rbx",)


def test_what_a_tail_call_changes_is_no_fault_of_the_function_that_it_goes_to() -> None:
    """GCC pushes r3 for the alignment of the stack, and says where: after a tail call that is not the caller's r3."""
    try:
        run = ran("tail_branches", "arm32", "gcc-thumb-O2")
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    table = table_of(run, "debug_frame")
    assert any("r3" in row.registers for row in table)
    column = run.arch.index["r3"]
    changed = [
        activation.index
        for activation in run.watched.activations
        if len({int(run.trace.registers[k, column]) for k in starts_of(run, activation.index)}) > 1
    ]
    assert changed
    assert not both(run, table).wrong.any()


def starts_of(run: Run, activation: int) -> list[int]:
    """The steps of an activation at which a function is entered."""
    own = np.flatnonzero(run.watched.node == activation).tolist()
    return [k for k in own if run.watched.function(int(run.trace.pc[k])) == int(run.trace.pc[k])]
