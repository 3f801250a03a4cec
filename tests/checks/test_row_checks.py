"""Rows held against the truth."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.checks.code_spans import CodeSpan, span_at
from testbed.checks.code_words import CodeWords
from testbed.checks.file_result import formats_differ
from testbed.checks.groups import PieceCounts
from testbed.checks.impossible import dynamic_frame_steps
from testbed.checks.model import FindingKind, HowKnown, WrongThing
from testbed.checks.native.codes import CFA, NO_ROW, OUTERMOST, RETURN_ADDRESS, SIGNATURE, UNREADABLE
from testbed.checks.pc_checks import by_pc, summed
from testbed.checks.row_checks import RowChecks, check_rows, wrong_things
from testbed.checks.table_findings import table_findings
from testbed.checks.true_rows import ObservedRow, TruePlace
from testbed.cli.table_readers import evaluate_rule
from testbed.contract.coded import register_rules
from testbed.contract.rows import (
    RA_SIGNED,
    BrokenPart,
    Constant,
    Offset,
    RegisterPlus,
    RowTable,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
    ValOffset,
)
from testbed.contract.unwinder import Frame, FrameKind
from testbed.conventions import platform
from testbed.image import Image, LoadedImage, Segment, Symbol
from testbed.micro.batches import Batch
from testbed.micro.functions import CodePiece
from testbed.runs.run import Run, run_program
from testbed.truth import observe
from testbed.words.errors import ToolchainMissing, UnsupportedRule, UnwindError
from tests.checks.watched_tables import damaged, loaded_of, ran, table_of, tables_of
from tests.witness.witnessed import recorded
from unwinders.rows.walk import apply


def checked(run: Run, table: RowTable, **options: Any) -> RowChecks:
    return check_rows(run.watched, table, loaded_of(run), **options)


DAMAGED = ("leaf_call", "callee_saved", "signal", "early_return", "probe_loop", "behind_call")


@pytest.mark.parametrize("arch", ARCHES)
def test_a_damaged_row_is_wrong_where_it_leads_a_walk_to_another_caller(arch: str) -> None:
    """The evaluator of the unwinders shares no rule with this check. It counts from a row's own CFA: for the rest that
    has to be right. A rule that is undefined claims nothing. Compiled, the rules say the same."""
    rng, seen, compared = random.Random(arch), 0, 0
    walked = {"return address", ARCHES[arch].sp, *platform(ARCHES[arch]).preserved}
    for run in (ran(name, arch) for name in DAMAGED):
        for table in (damaged(table, run.arch, rng) for _, table in (*tables_of(run), *tables_of(run))):
            checks = checked(run, table, natively=False)
            compiled = checked(run, table, natively=True)
            assert (checks.wrong == compiled.wrong).all() and (checks.untried == compiled.untried).all()
            seen |= int(np.bitwise_or.reduce(checks.wrong))
            ends = np.uint64(NO_ROW | UNREADABLE | OUTERMOST)
            for step in np.flatnonzero(checks.compared & ~checks.untried & (checks.wrong & ends == 0)).tolist():
                row = table.at(int(checks.pc[step]))
                if row is None or len(run.truth(step).frames) == 1 or row.cfa is None:
                    continue
                is_wrong = bool(checks.wrong[step] & np.uint64(CFA))
                assert is_wrong == (cfa_of(run, step, row) != run.truth(step).frames[0].cfa), run.where(
                    int(checks.pc[step])
                )
                if not is_wrong:
                    said = {*wrong_things(int(checks.wrong[step]), run.arch)} & walked
                    assert said == {*led_astray(run, step, row)}, f"{run}, {run.where(int(run.trace.pc[step]))}"
                    compared += 1
    things = {"row", "CFA", "return address", "outermost", ARCHES[arch].sp, *platform(ARCHES[arch]).preserved[:3]}
    assert things <= set(wrong_things(seen, ARCHES[arch]))
    assert compared > 200


def cfa_of(run: Run, step: int, row: UnwindRow) -> int | None:
    """The CFA that a row gives; None where it cannot be had."""
    at = run.trace.snapshot(step)
    alone = replace(row, registers={row.return_address: Constant(0)}, outermost_if_zero=None)
    try:
        return apply(alone, Frame(FrameKind.INTERRUPTED, at.pc, at.registers), at)[0]
    except UnwindError:
        return None


def led_astray(run: Run, step: int, row: UnwindRow) -> Iterator[str]:
    """What a walk by a row finds otherwise than it was: the return address, or registers; of a call, as it goes on."""
    at, arch, truth = run.trace.snapshot(step), run.arch, run.truth(step).frames[1]
    own = run.watched.activations[run.truth(step).frames[0].activation]
    before = run.trace.snapshot(own.opened - (1 if own.signal else 0)).registers
    registers = dict(at.registers)
    if arch.link and any(
        (each.opened, each.parent) == (step + 1, own.index) and not each.signal for each in run.watched.activations
    ):
        registers[arch.link] = run.trace.snapshot(step + 1).registers[arch.link]
    frame = Frame(FrameKind.INTERRUPTED, at.pc, registers)
    try:
        _, caller = apply(row, frame, at)
    except UnwindError:
        caller = None
    if caller is None or not truth.is_at(caller.pc & ~arch.signature):
        yield "return address"
    if caller is None:  # of the registers a walk says nothing then: take the return address for granted
        given = {**row.registers, row.return_address: Constant(truth.pc)}
        _, caller = apply(replace(row, registers=given), frame, at)
    assert caller is not None
    for name, rule in register_rules(row, arch).items():
        if isinstance(rule, Undefined) or (name not in platform(arch).preserved and name != arch.sp):
            continue
        true = truth.registers[name] if name == arch.sp else before[name]
        if caller.registers.get(name) != true:
            yield name


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
    found = by_pc(checked(run, table, evaluate=evaluate_rule))
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
    rax = run.trace.registers[:, run.arch.index["rax"]]
    changed = {k for k in run.steps_in("leaf") if rax[k] != rax[first_leaf(run)]}
    assert changed
    assert not checked(run, table).wrong.any()
    wrong = {*np.flatnonzero(checked(run, with_rules(table, rax=SameValue())).wrong).tolist()}
    assert changed <= wrong
    assert first_leaf(run) not in wrong


def test_an_end_of_the_stack_in_a_called_function_is_wrong_and_says_nothing_where_only_calls_count() -> None:
    run = ran("callee_saved", "x86_64", "keystone")
    table = with_rules(table_of(run, "eh_frame"), rip=Undefined())
    checks = checked(run, table)
    called = [k for k in range(len(run)) if len(run.truth(k).frames) > 1]
    assert set(checks.wrong[called].tolist()) == {RETURN_ADDRESS | OUTERMOST}
    assert not np.delete(checks.wrong, called).any()
    at_calls = checked(run, table, at_calls=True)
    assert not at_calls.wrong.any()
    assert at_calls.untried.any()


def test_no_row_and_an_unreadable_one_are_told_apart() -> None:
    run = ran("leaf_call", "arm64", "keystone")
    table = table_of(run, "eh_frame")
    bias = loaded_of(run).bias
    pc = int(run.trace.pc[first_leaf(run)]) - bias
    rows = tuple(row for row in table if not row.start <= pc < row.end)
    assert checked(run, replace(table, rows=rows)).wrong[first_leaf(run)] == NO_ROW
    broken = BrokenPart(pc, pc + 4, UnsupportedRule("an operation that nobody knows"))
    assert checked(run, replace(table, rows=rows, broken=(broken,))).wrong[first_leaf(run)] == UNREADABLE


@pytest.mark.parametrize(
    ("arch", "rules", "things"),
    [
        ("x86_64", {"rsp": ValOffset(0)}, ()),  # what the caller had in SP is the CFA
        ("x86_64", {"rsp": ValOffset(8)}, ("rsp",)),
        ("x86_64", {"rbx": Offset(0x100)}, ("rbx",)),  # a slot with another value
        ("x86_64", {"rbx": Offset(-(1 << 40))}, ("rbx",)),  # and one that is not mapped
        ("arm64", {RA_SIGNED: Constant(1)}, ("signature",)),  # nothing is signed
    ],
)
def test_a_rule_is_wrong_where_the_caller_had_another_value(
    arch: str, rules: dict[str, Rule], things: tuple[str, ...]
) -> None:
    run = ran("leaf_call", arch, "keystone")
    wrong = checked(run, with_rules(table_of(run, "eh_frame"), **rules)).wrong
    assert wrong_things(int(wrong[first_leaf(run)]), run.arch) == things
    assert things or not wrong.any()


def test_a_return_address_may_be_said_before_or_after_it_was_changed() -> None:
    """And any address between the two: who counts it on over data behind the call comes by there."""
    run = ran("behind_call", "arm64")
    step, table = run.step_at("take"), table_of(run, "eh_frame")
    caller = run.truth(step).frames[1]
    assert caller.goes_on
    assert not checked(run, table).wrong.any()
    between = caller.pc + caller.goes_on >> 1
    assert caller.pc < between < caller.goes_on
    for place in (caller.pc - 4, caller.pc, between, caller.goes_on, caller.goes_on + 4):
        wrong = checked(run, with_rules(table, x30=Constant(place))).wrong[step] & RETURN_ADDRESS
        assert (wrong == 0) == (caller.pc <= place <= caller.goes_on)


def test_a_signature_that_a_row_does_not_tell_of_is_one_thing() -> None:
    run = ran("pac_ret", "arm64", "keystone")
    checks, signed = checked(run, with_rules(table_of(run, "eh_frame"), **{RA_SIGNED: Constant(0)})), run.watched.signed
    assert (checks.compared & signed).any()
    assert (checks.wrong[checks.compared] & SIGNATURE != 0).tolist() == signed[checks.compared].tolist()


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
    assert set(np.flatnonzero(checked(run, table, at_calls=True).compared).tolist()) == calls
    lasts = sorted({int(run.trace.pc[k]) + int(run.trace.sizes[k]) - bias - 1 for k in calls})
    # A table with a row for the last byte of each call, and for nothing else.
    rows = [replace(row, start=last, end=last + 1) for last in lasts if (row := table.at(last)) is not None]
    assert len(rows) == len(lasts)
    assert not checked(run, replace(table, rows=tuple(rows)), at_calls=True).wrong.any()
    off = replace(rows[-1], cfa=RegisterPlus("rsp", 0x1238))
    assert CFA in checked(run, replace(table, rows=(*rows[:-1], off)), at_calls=True).wrong


def test_a_rule_that_is_not_tried_is_counted_and_expressions_are_evaluated() -> None:
    run = ran("signal", "x86_64", "keystone")
    table = table_of(run, "eh_frame")
    untried = checked(run, table)
    assert {run.function(int(run.trace.pc[k])) for k in np.flatnonzero(untried.untried)} == {"give_back"}
    tried = checked(run, table, evaluate=evaluate_rule)
    assert not tried.untried.any()
    assert not tried.wrong.any()
    off = checked(run, table, evaluate=lambda rule, at, cfa: (evaluate_rule(rule, at, cfa) or 0) + 8)
    assert (off.wrong[untried.untried] & np.uint64(CFA)).all()


def test_visits_of_several_traces_are_added_up() -> None:
    run = ran("early_return_wrong", "x86_64", "keystone")
    table = table_of(run, "eh_frame")
    own, half = loaded_of(run), np.arange(len(run)) < len(run) // 2
    checks = check_rows(run.watched, table, own)
    parts = [check_rows(run.watched, table, own, steps=chosen) for chosen in (half, ~half)]
    total = summed([by_pc(part, number) for number, part in enumerate(parts)])
    whole = by_pc(checks)
    for name in ("pc", "visits", "wrong", "some", "every", "first"):
        assert getattr(total, name).tolist() == getattr(whole, name).tolist(), name
    assert total.visits.sum() == checks.compared.sum()
    assert set(total.trace.tolist()) == {-1, 1}
    for i, pc in enumerate(whole.pc.tolist()):
        visits = np.flatnonzero((checks.pc == pc) & checks.compared)
        masks = checks.wrong[visits].astype(np.uint64)
        wrong = visits[masks != 0].tolist()
        assert (whole.wrong[i], whole.first[i]) == (len(wrong), wrong[0] if wrong else -1)
        assert whole.some[i] == np.bitwise_or.reduce(masks) and whole.every[i] == np.bitwise_and.reduce(masks)
    assert len(summed([])) == 0


def test_what_a_tail_call_changes_is_no_fault_of_the_function_that_it_goes_to() -> None:
    """GCC pushes r3 for the alignment of the stack, and says where: after a tail call that is not the caller's r3."""
    try:
        run = ran("tail_branches", "arm32", "gcc-thumb-O2")
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    table = table_of(run, "debug_frame")
    assert any("r3" in row.registers for row in table)
    column = run.arch.index["r3"]
    entered: dict[int, set[int]] = {}  # what r3 is where an activation enters a function
    for step, activation in enumerate(run.watched.node.tolist()):
        if run.watched.function(int(run.trace.pc[step])) == int(run.trace.pc[step]):
            entered.setdefault(activation, set()).add(int(run.trace.registers[step, column]))
    assert max(map(len, entered.values())) > 1
    assert not checked(run, table).wrong.any()


# Findings of tables: of what was compared and what is true, of code that nothing executed, of two tables.


WORDS = CodeWords(hex, lambda pc: "call rax", lambda pc: ("", 0))


@pytest.mark.parametrize(("behind", "its_own"), [(-1, True), (0, False), (1, False)])
def test_the_row_of_a_call_is_the_one_at_its_last_byte(behind: int, its_own: bool) -> None:
    """A call of two bytes, and a wrong row that begins at its last byte, right behind it, or one byte further on."""
    image = run_program(PROGRAMS["leaf_call"], ARCHES["x86_64"], "keystone").built.image
    main = next(symbol for symbol in image.symbols if symbol.name == "main")
    pc, end = main.address, main.address + main.size
    row = UnwindRow(pc + 2 + behind, end, RegisterPlus("rsp", 24), {"rip": Offset(-8)}, "rip")
    true = {pc: ObservedRow(pc, 1, 1, {"rsp": 8}, stack=8)}
    found = table_findings(RowTable(".eh_frame", (row,)), image, {pc: CFA}, true, {pc: 2}, WORDS)
    assert bool(found) is its_own


# Functions as ranges: by the sizes of symbols, up to the next function, and where nothing has a name.


def image(*symbols: Symbol) -> Image:
    code = Segment(0x1000, bytes(0x100), 0x100, readable=True, writable=False, executable=True)
    return Image(Path("a"), ARCHES["x86_64"], 0x1000, (code,), {}, tuple(sorted(symbols, key=lambda s: s.address)))


def function(name: str, address: int, size: int) -> Symbol:
    return Symbol(name, address, size, is_function=True)


F, G = function("f", 0x1010, 0x10), function("g", 0x1040, 4)
NAMES = (
    Symbol("entry", 0x1020, 0, is_function=False),
    Symbol("here", 0x1028, 0, is_function=False, local=True),
    Symbol("table", 0x1030, 8, is_function=False, is_data=True),
)
WITHOUT_A_SIZE = (function("f", 0x1010, 0), Symbol("loop", 0x1018, 0, is_function=False), G)

# symbols, an address, the code that it is in
SPANS: list[tuple[tuple[Symbol, ...], int, CodeSpan]] = [
    ((F,), 0x101F, CodeSpan("f", 0x1010, 0x1020)),
    # a function without a size reaches to the next one
    *((WITHOUT_A_SIZE, pc, CodeSpan("f", 0x1010, 0x1040)) for pc in (0x1010, 0x103F)),
    ((function("f", 0x1010, 0),), 0x10FF, CodeSpan("f", 0x1010, 0x1100)),
    (NAMES, 0x1034, CodeSpan("entry", 0x1020, 0x1100)),  # a name that nobody marked as a function
    # code without a name lies between functions
    ((F, G), 0x1024, CodeSpan("", 0x1020, 0x1040)),
    ((F, G), 0x1044, CodeSpan("", 0x1044, 0x1100)),
    ((F, G), 0x5000, CodeSpan("", 0x5000, 0x5001)),
]


@pytest.mark.parametrize(("symbols", "pc", "span"), SPANS)
def test_code_is_in_a_function_or_between_two(symbols: tuple[Symbol, ...], pc: int, span: CodeSpan) -> None:
    assert span_at(image(*symbols), pc) == span


# Two tables of one file that contradict each other, where nothing was executed.


ROW = UnwindRow(0x1000, 0x1010, RegisterPlus("rsp", 16), {"rip": Offset(-8), "rbx": Offset(-16)}, "rip")
PCS = np.array([0x1000, 0x1004, 0x1008], np.uint64)
COUNTS = PieceCounts(CodePiece(0x1000, 0x1010, "f", True), PCS, np.full(3, 4), 1, 1)


def found(other: UnwindRow, executed: tuple[int, ...] = (), name: str = "debug_frame"):  # type: ignore[no-untyped-def]
    tables = {"eh_frame": RowTable(".eh_frame", (ROW,)), name: RowTable(f".{name}", (other,))}
    code = image(function("f", 0x1000, 0x10))
    return list(formats_differ(tables, [COUNTS], frozenset(executed), WORDS, code))


@pytest.mark.parametrize(
    ("other", "thing"),
    [
        (
            replace(ROW, cfa=RegisterPlus("rsp", 24)),
            WrongThing("CFA", "CFA = rsp+0x10", "and .debug_frame says CFA = rsp+0x18"),
        ),
        (
            replace(ROW, registers={"rip": Offset(-8), "rbx": Offset(-24)}),
            WrongThing("rbx", "rbx is at CFA-0x10", "and .debug_frame says it is at CFA-0x18"),
        ),
    ],
)
def test_a_contradiction_is_one_finding_a_function(other: UnwindRow, thing: WrongThing) -> None:
    (finding,) = found(other)
    assert (finding.kind, finding.evidence, finding.instructions) == (FindingKind.FORMATS_DIFFER, HowKnown.STATIC, 3)
    assert (finding.table, finding.pc, finding.things) == (".eh_frame", 0x1000, (thing,))


@pytest.mark.parametrize(
    ("other", "executed", "name", "pcs"),
    [
        (ROW, (), "debug_frame", []),  # tables that say the same contradict nothing
        (replace(ROW, cfa=RegisterPlus("rsp", 24)), (0x1000,), "debug_frame", [0x1004]),
        (replace(ROW, cfa=RegisterPlus("rsp", 24)), tuple(PCS.tolist()), "debug_frame", []),
        (replace(ROW, cfa=RegisterPlus("rbp", 24)), (), "debug_frame", []),
        (replace(ROW, cfa=RegisterPlus("rsp", 24)), (), "ehabi", []),  # that one promises rows at calls only
    ],
)
def test_left_out_is_what_was_executed_and_what_cannot_be_compared(
    other: UnwindRow, executed: tuple[int, ...], name: str, pcs: list[int]
) -> None:
    assert [each.pc for each in found(other, executed, name)] == pcs


def test_a_value_that_is_in_many_places_shows_no_save() -> None:
    """Zero below SP is no slot: BoringSSL's ``_aesni_ctr32_ghash_6x``, called with rbx zero."""
    slots = frozenset(range(-48, 0, 8))
    assert TruePlace(in_place=False, offsets=slots).vague
    assert not TruePlace(in_place=False, offsets=frozenset({-16, -24})).vague
    assert not TruePlace(in_place=True, offsets=slots).vague


RAISED = """
fn main
    str x30, [sp, #-16]!
    sub sp, sp, #64
    bl f
    nop
    add sp, sp, #64
    ldr x30, [sp], #16
    mov x0, #42
    ret
fn f
    mov x29, sp
    adr x3, amount
    ldr x3, [x3]
    sub sp, sp, x3
    mov x20, x30
    bl g
after:
    mov sp, x29
    br x20
fn g
    nop
    ret
amount: .quad -32
"""


def test_behind_a_raised_stack_pointer_a_path_proves_nothing_whoever_runs() -> None:
    """An amount that is not of the code raised SP over the caller's frame: what is called then is no run's, either."""
    trace = recorded("arm64", RAISED)
    loaded, watched, steps = trace.images[0], observe(trace), np.arange(len(trace))
    (before,) = (step for step in steps.tolist() if trace.sp[step] + 32 == trace.sp[min(step + 1, len(trace) - 1)])
    for path in (np.zeros(len(trace), np.int64), np.minimum(steps // (before + 3), 1)):
        nothing = np.zeros(len(trace), np.bool_)
        batch = Batch(trace, path, nothing, nothing, nothing)
        _, raised = dynamic_frame_steps(watched, loaded, trace.pc - np.uint64(loaded.bias), batch)
        assert np.array_equal(raised, (steps > before) & (path == 0))
