"""Repairs are right when the repaired table is compared again, at every visit; the directives that say them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from testbed.arch import ARCHES, ARM32, Arch
from testbed.checks.code_spans import span_at
from testbed.checks.edits import edits_of, saved_with
from testbed.checks.frame_states import (
    CFA_OFFSET,
    CFA_PARTS,
    CFA_REGISTER,
    SIGNED,
    FrameState,
    StateSpan,
    cfa_of,
    directives,
    state_of,
    state_spans,
)
from testbed.checks.pc_checks import by_pc
from testbed.checks.repair import Cause, find_causes
from testbed.checks.row_checks import check_rows, wrong_things
from testbed.checks.save_directives import frame_directives
from testbed.checks.source_directives import is_said, written_anew
from testbed.checks.tried_function import TriedFunction, TriedPc
from testbed.checks.true_rows import ObservedRow, TruePlace, merged, true_rows
from testbed.contract.rows import (
    RA_SIGNED,
    AtRegister,
    Constant,
    Offset,
    RegisterPlus,
    RowTable,
    Rule,
    SameValue,
    Undefined,
    UnwindRow,
)
from testbed.conventions import platform
from testbed.runs.run import Run
from tests.checks.watched_tables import TABLE, loaded_of, ran, replace_rules, table_of

NAMES = ("early_return", "callee_saved", "epilogue_cfa", "hoisted_add", "recursion")


def functions_of(run: Run, table: RowTable) -> Iterator[TriedFunction]:
    """Every function of a run with all of its instructions, right or wrong."""
    image, arch = loaded_of(run).image, run.arch
    steps = check_rows(run.watched, table, loaded_of(run))
    checks = by_pc(steps)
    true = true_rows(run.watched, steps, table, checks.pc.tolist())
    masks = dict(zip(checks.pc.tolist(), checks.some.tolist(), strict=True))
    for span in sorted({span_at(image, pc) for pc in true}, key=lambda span: span.start):
        spans = state_spans(table, span.start, span.end, platform(arch))
        tried = []
        for pc in sorted(pc for pc in true if span.start <= pc < span.end):
            at = next((i for i, each in enumerate(spans) if each.start <= pc < each.end), None)
            if at is not None:
                size = next(int(run.trace.sizes[k]) for k in np.flatnonzero(steps.pc == pc))
                tried.append(TriedPc(pc, size, at, masks[pc], true[pc]))
        yield TriedFunction(platform(arch), tried, spans)


def row_of(state: FrameState, old: UnwindRow, pc: int) -> UnwindRow:
    rules = {name: rule for name, rule in state.items() if name not in {*CFA_PARTS, SIGNED}}
    registers = {name: rule for name, rule in rules.items() if rule is not None} | {
        RA_SIGNED: Constant(int(bool(state[SIGNED])))
    }
    return replace(old, start=pc, end=pc + 1, cfa=cfa_of(state), registers=registers)  # type: ignore[arg-type]


def repaired_table(table: RowTable, functions: list[TriedFunction]) -> RowTable:
    """A table with a row for each instruction: the states that the repairs left."""
    rows = [
        row_of(state, function.row(i), function.tried[i].pc)
        for function in functions
        for i, state in enumerate(function.states)
    ]
    return replace(table, rows=tuple(sorted(rows, key=lambda row: row.start)))


def untold(causes: list[Cause]) -> set[tuple[int, str]]:
    """What no directive makes right, as (pc, thing)."""
    return {(pc, thing) for cause in causes if not cause.directives for pc in cause.pcs for thing in cause.things}


def spoiled(table: RowTable, arch: Arch, rng: random.Random) -> RowTable:
    """The table with something else in some rows: what directives can say, and rules that none can."""
    rows = []
    for row in table:
        pick = rng.random()
        if pick < 0.1:
            row = replace(replace_rules(row, arch, rng), outermost_if_zero=None, signal_frame=False)
        elif pick < 0.3 and isinstance(row.cfa, RegisterPlus):
            base = rng.choice((row.cfa.register, arch.sp, *arch.frame_pointers))
            row = replace(row, cfa=RegisterPlus(base, row.cfa.offset + arch.word * rng.randrange(-2, 3)))
        elif pick < 0.5:
            name = rng.choice((*platform(arch).preserved[:4], row.return_address))
            offset = -arch.word * rng.randrange(1, 5)
            row = replace(
                row, registers={**row.registers, name: rng.choice((SameValue(), Offset(offset), Undefined()))}
            )
        rows.append(row)
    return replace(table, rows=tuple(rows))


@pytest.mark.parametrize("arch", ARCHES)
def test_the_facts_of_all_visits_say_what_the_trial_of_every_visit_said(arch: str) -> None:
    """What is wrong at an instruction follows from what is true there; the two are computed apart."""
    rng, seen = random.Random(arch), set[str]()
    for name in NAMES:
        run = ran(name, arch)
        for table in (table_of(run, TABLE[arch]), spoiled(table_of(run, TABLE[arch]), run.arch, rng)):
            for function in functions_of(run, table):
                for i, each in enumerate(function.tried):
                    said = set(wrong_things(each.mask, run.arch)) - {"outermost"}
                    own = function.return_address(i)
                    expected = {own if thing == "return address" else thing for thing in said}
                    assert function.wrong(i) == expected, (name, run.where(each.pc), function.states[i])
                    seen |= expected
    assert {"CFA", run.arch.return_address} <= seen
    assert seen & set(platform(run.arch).preserved)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("seed", range(2))
def test_a_repaired_table_is_right_at_every_visit_but_for_what_is_told_to_be_beyond_repair(
    arch: str, seed: int
) -> None:
    rng, repaired = random.Random(f"{arch} {seed}"), 0
    for name in NAMES:
        run = ran(name, arch)
        table = spoiled(table_of(run, TABLE[arch]), run.arch, rng)
        functions = list(functions_of(run, table))
        causes = [cause for function in functions for cause in find_causes(function)]
        before = by_pc(check_rows(run.watched, table, loaded_of(run)))
        again = by_pc(check_rows(run.watched, repaired_table(table, functions), loaded_of(run)))
        compared = {each.pc for function in functions for each in function.tried}
        own = run.arch.return_address
        for pc, was, some in zip(again.pc.tolist(), before.some.tolist(), again.some.tolist(), strict=True):
            if pc not in compared:
                continue
            left = {own if t == "return address" else t for t in wrong_things(int(some), run.arch)} - {"outermost"}
            assert {(pc, thing) for thing in left} <= untold(causes), (name, run.where(pc))
            repaired += bool(was) and not some
            assert was or not some, "none that was right is wrong"
        told = {pc for cause in causes for pc in cause.pcs}
        assert told >= {pc for pc, was in zip(before.pc.tolist(), before.some.tolist(), strict=True) if was} & compared
    assert repaired > 20


def test_a_state_as_directives() -> None:
    arch = ARCHES["x86_64"]
    row = UnwindRow(0, 4, RegisterPlus("rsp", 8), {"rip": Offset(-8)}, "rip")
    state = state_of(row, platform(arch))

    def said(**registers: object) -> tuple[str, ...]:
        return directives(state, {**state, **registers}, arch)  # type: ignore[dict-item]

    assert said() == ()
    assert said(**{"CFA offset": 16}) == (".cfi_def_cfa_offset 0x10",)
    assert said(**{"CFA register": "rbp"}) == (".cfi_def_cfa_register rbp",)
    assert said(**{"CFA register": "rbp", "CFA offset": 16}) == (".cfi_def_cfa rbp, 0x10",)
    assert said(rbx=Offset(-16), rip=Undefined()) == (".cfi_offset rbx, -0x10", ".cfi_undefined rip")
    assert directives({**state, "rbx": Offset(-16)}, state, arch) == (".cfi_restore rbx",)
    assert said(rax=SameValue()) == (".cfi_same_value rax",)
    assert said(signed=True) == (".cfi_negate_ra_state",)
    assert said(rbx=RegisterPlus("rax", 0)) == (".cfi_register rbx, rax",)
    with pytest.raises(ValueError, match="no directive"):
        said(rbx=RegisterPlus("rax", 8))


def test_what_several_traces_show_is_what_holds_in_all_of_them() -> None:
    run = ran("recursion", "x86_64")
    table, own = table_of(run, "eh_frame"), loaded_of(run)
    pcs = sorted(set((run.trace.pc - np.uint64(own.bias)).tolist()))
    whole = true_rows(run.watched, check_rows(run.watched, table, own), table, pcs)
    part = np.arange(len(run)) % 3 == 0
    halves: list[dict[int, ObservedRow]] = []
    for chosen in (part, ~part):
        halves.append(true_rows(run.watched, check_rows(run.watched, table, own, steps=chosen), table, pcs))
    together = merged(halves)
    assert together.keys() == whole.keys()
    for pc, row in whole.items():
        its = together[pc]
        assert (its.visits, its.called, its.cfa, its.signed) == (row.visits, row.called, row.cfa, row.signed)
        # A slot that is looked for at another visit first may be missed where a frame holds a value very often.
        assert {n: p.in_place for n, p in its.places.items()} == {n: p.in_place for n, p in row.places.items()}
        for name, place in row.places.items():
            assert its.places[name].offsets == place.offsets
    assert any(row.visits > 1 for row in whole.values())


# The `.save`, `.vsave`, `.pad` and `.setfp` of a frame, and frames that none describe.


@pytest.mark.parametrize(
    "rules",
    [
        {"r4": Offset(-8), "r5": Offset(-8)},
        {"r4": Offset(-32)},
        {"r4": AtRegister("sp", 4)},
        {"pc": Offset(-4)},
    ],
)
def test_what_no_directives_say_is_refused(rules: dict[str, Rule]) -> None:
    with pytest.raises(ValueError, match=r"no directive|lies where|below SP"):
        frame_directives({CFA_REGISTER: "sp", CFA_OFFSET: 16, **rules}, ARM32)


def test_registers_that_no_one_push_saves_are_two_directives() -> None:
    rules = {"lr": Offset(-8), "r4": Offset(-4), "d9": Offset(-24), "d8": Offset(-16)}
    state = {CFA_REGISTER: "sp", CFA_OFFSET: 24, **rules}
    assert frame_directives(state, ARM32) == (".save {r4}", ".save {lr}", ".vsave {d8}", ".vsave {d9}")


# What directives in a source say already, and which of them are to be written anew.


def test_what_is_replaced_is_of_the_same_thing() -> None:
    assert written_anew([".cfi_adjust_cfa_offset -0x8"], [".cfi_adjust_cfa_offset 16"]) == (
        (".cfi_adjust_cfa_offset 0x8",),
        (".cfi_adjust_cfa_offset 16",),
    )
    assert written_anew([".cfi_adjust_cfa_offset 8"], [".cfi_def_cfa %rsp, 16"])[0] == (".cfi_def_cfa %rsp, 0x18",)
    assert written_anew([".cfi_offset rbx, -0x10"], [".cfi_offset %rbp, -16"])[1] == ()
    assert written_anew([".cfi_def_cfa_offset 0x8"], [".cfi_def_cfa_register %rbp"])[1] == ()
    assert written_anew([".cfi_def_cfa_register rbp"], [".cfi_def_cfa %rsp, 16"])[0] == (".cfi_def_cfa rbp, 16",)
    assert written_anew([".cfi_restore_state"], [".cfi_def_cfa_offset 8"])[1] == ()
    assert written_anew([".cfi_adjust_cfa_offset 8"], [".cfi_adjust_cfa_offset FRAME"])[1] == ()


def test_what_a_source_says_already() -> None:
    standing = (".cfi_def_cfa %rsp, 8", ".cfi_restore %rbx")
    for said in (".cfi_def_cfa_register rsp", ".cfi_def_cfa_offset 0x8", ".cfi_def_cfa rsp, 0x8", ".cfi_restore rbx"):
        assert is_said(said, standing), said
    for said in (".cfi_def_cfa_register rbp", ".cfi_def_cfa_offset 0x10", ".cfi_restore rbp", ".cfi_offset rbx, -0x10"):
        assert not is_said(said, standing), said


def test_of_two_directives_that_say_the_same_thing_the_last_one_counts() -> None:
    """The first is replaced by nothing: what stands behind it would still hold."""
    standing = [".cfi_def_cfa rbp, 16", ".cfi_def_cfa rsp, 16"]
    assert written_anew([".cfi_def_cfa rbp, 0x10"], standing) == ((".cfi_def_cfa rbp, 0x10",), (standing[1],))
    assert not is_said(".cfi_def_cfa rbp, 0x10", standing) and is_said(".cfi_def_cfa rsp, 0x10", standing)


def test_what_was_left_over_on_the_stack_is_no_save() -> None:
    """Another call has left the register's value where the table says another one: nobody saved it in this one."""
    arch = ARCHES["x86_64"]
    said = UnwindRow(0, 4, RegisterPlus("rsp", 24), {"rip": Offset(-8), "rbp": Offset(-16)}, "rip")
    span = StateSpan(0, 4, said, state_of(said, platform(arch)), frozenset(), True)
    places = {name: TruePlace(True) for name in platform(arch).preserved} | {"rip": TruePlace(False, frozenset({-8}))}
    for copied in (False, True):
        its = {**places, "r12": TruePlace(True, frozenset({-16}), copied=copied)}
        true = ObservedRow(0, 1, 1, {"rsp": 8}, its, False, 8)
        function = TriedFunction(platform(arch), [TriedPc(0, 4, 0, 0, true)], [span])
        found = edits_of(function, 0, function.wrong(0))
        assert found.keys() == {"CFA", "rbp"}
        assert saved_with(function, 0, found).keys() == ({"r12"} if copied else set())
