"""What a table is blamed for, beside a watched run, what it is not, and what is proposed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from testbed.arch import ARCHES
from testbed.checks.model import FindingKind, Repair, Severity, TableFinding
from testbed.checks.row_checks import check_rows
from testbed.checks.watched_run import TableLint, TableReader, lint
from testbed.cli.table_readers import evaluate_rule
from testbed.contract.rows import BrokenPart, Operation, RowTable, ValExpression
from testbed.report.check_text import finding_line
from testbed.report.check_words import place, summary_line
from testbed.runs.run import Run
from testbed.words.errors import ToolchainMissing, UnsupportedRule, UnwindError
from tests.checks.watched_tables import TABLE, linted, loaded_of, ran, table_of


def said(program: str, arch: str, recipe: str | None = "keystone") -> tuple[TableFinding, ...]:
    return linted(ran(program, arch, recipe), TABLE[arch]).findings


def with_table(run: Run, table: RowTable) -> TableLint:
    return lint(run, TableReader("made", lambda: table), evaluate_rule)


def the_repair(finding: TableFinding) -> Repair:
    assert finding.repair is not None
    return finding.repair


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("program", ["red_zone", "leaf_call", "callee_saved", "probe_loop", "realigned", "longjmp"])
def test_a_right_table_is_not_blamed(program: str, arch: str) -> None:
    """`red_zone`: rules that point below SP are legal while the value is there."""
    found = linted(ran(program, arch, "keystone"), TABLE[arch])
    assert found.findings == ()
    assert not found.fails
    assert summary_line(found) == f"every row is right at the {found.compared} instructions that were executed"


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_compilers_with_asynchronous_tables_are_not_blamed(arch: str) -> None:
    assert said("recursion", arch, "clang-O2") == ()


@pytest.mark.parametrize("arch", ARCHES)
def test_a_state_that_was_right_further_up_is_to_be_restored(arch: str) -> None:
    (finding,) = said("early_return_wrong", arch)
    repair = the_repair(finding)
    assert repair.directives == (".cfi_restore_state",)
    run = ran("early_return_wrong", arch, "keystone")
    # What changes the state comes there in the source.
    early = {"x86_64": 0x1A, "arm64": 0x20, "arm32": 0x24}[arch]
    assert repair.remembered == f"classify+{early:#x}"
    assert repair.repaired == finding.instructions == linted(run, TABLE[arch]).wrong
    assert "at CFA-0x1" in finding_line(finding) or arch == "arm32"


def test_a_start_without_an_end_of_the_stack_is_told_to_say_so() -> None:
    (finding,) = said("end_zero", "arm64")
    assert finding.where == "_start"
    assert the_repair(finding).directives == (".cfi_undefined x30",)


def test_the_sentence_names_the_row_the_truth_and_the_fix() -> None:
    (finding,) = said("epilogue_cfa_wrong", "x86_64")
    assert finding_line(finding) == (
        f"{place(finding)}: work+0xb (ret): the row says CFA = rsp+0x10, the true CFA is rsp+0x8 here: "
        "add `.cfi_def_cfa_offset 0x8` behind line 55 (tried: it makes 1 instruction right and none wrong)"
    )


def test_a_sign_state_is_blamed_even_where_taking_the_signature_off_does_no_harm() -> None:
    """LLVM 20's order (https://github.com/llvm/llvm-project/issues/137802): only who authenticates would notice.

    A second directive turns the state over; what the first one said has to be said behind the instruction then.
    """
    (finding,) = said("pac_early", "arm64")
    assert finding_line(finding) == (
        f"{place(finding)}: work (paciasp): the row says the return address is signed, and here it is not: "
        "add `.cfi_negate_ra_state` behind line 46, and `.cfi_negate_ra_state` behind line 47 "
        "(tried: it makes 1 instruction right and none wrong)"
    )
    assert said("pac_ret", "arm64") == ()


@pytest.mark.parametrize("recipe", ["keystone", "keystone-thumb", "clang-asm", "clang-asm-thumb", "gcc-asm"])
def test_a_source_in_assembly_says_the_line(recipe: str) -> None:
    try:
        (finding,) = said("epilogue_cfa_wrong", "arm32" if "thumb" in recipe else "x86_64", recipe)
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    lines = Path(finding.source).read_text(encoding="utf-8").splitlines()
    assert lines[finding.line - 1].split()[0] == finding.instruction.split()[0]
    # The one after the frame is gone: the last return of `work`.
    work = next(i for i, line in enumerate(lines) if line.startswith("work:"))
    returns = [i + 1 for i, line in enumerate(lines) if i > work and line.strip() in ("ret", "bx lr")]
    assert finding.line == returns[0]


@pytest.mark.parametrize("arch", ARCHES)
def test_code_without_a_row_is_a_finding_and_never_right(arch: str) -> None:
    run = ran("leaf_call", arch, "keystone")
    table, leaf = table_of(run, TABLE[arch]), run.built.image.symbol_named("leaf")
    assert leaf is not None
    rows = tuple(row for row in table if not leaf.address <= row.start < leaf.address + leaf.size)
    found = with_table(run, replace(table, rows=rows))
    (finding,) = found.findings
    assert (finding.kind, finding.where, finding.severity) == (FindingKind.NO_ROW, "leaf", Severity.ERROR)
    executed = len({int(run.trace.pc[k]) for k in run.steps_in("leaf")})
    assert found.without_row == finding.instructions == executed
    assert found.fails
    assert the_repair(finding).directives == (".cfi_startproc",)
    assert the_repair(finding).later[0].directives == (".cfi_endproc",)
    assert summary_line(found).endswith(f", {executed} none")
    # Without the rest of them it is no whole function, and nothing stands around it.
    last = max(table, key=lambda row: (leaf.address <= row.start < leaf.address + leaf.size, row.start))
    rows = (*rows, replace(last, start=leaf.address, end=leaf.address + 1))
    part = with_table(run, replace(table, rows=tuple(sorted(rows, key=lambda row: row.start))))
    assert [finding.repair for finding in part.findings if finding.kind is FindingKind.NO_ROW] == [None]


def test_start_code_without_a_row_is_a_note() -> None:
    run = ran("leaf_call", "x86_64", "keystone")
    table, start = table_of(run, "eh_frame"), run.built.image.symbol_named("_start")
    assert start is not None
    rows = tuple(row for row in table if not start.address <= row.start < start.address + start.size)
    found = with_table(run, replace(table, rows=rows))
    (finding,) = found.findings
    assert (finding.kind, finding.severity) == (FindingKind.START_WITHOUT_ROW, Severity.NOTE)
    assert not found.fails
    assert the_repair(finding).directives == (".cfi_startproc", ".cfi_undefined rip")


def test_a_malformed_table_is_a_finding() -> None:
    run = ran("leaf_call", "arm64", "keystone")

    def broken() -> RowTable:
        raise UnwindError("an entry that is longer than its section")

    found = lint(run, TableReader("eh_frame", broken))
    (finding,) = found.findings
    assert (finding.kind, found.fails) == (FindingKind.UNREADABLE, True)
    assert "an entry that is longer than its section" in finding_line(finding)
    assert summary_line(found) == "the table cannot be read, so nothing was compared"


def test_an_entry_that_cannot_be_read_is_a_finding_at_its_code_and_the_rest_is_compared() -> None:
    run = ran("leaf_call", "arm64", "keystone")
    table, leaf = table_of(run, "eh_frame"), run.built.image.symbol_named("leaf")
    assert leaf is not None
    end = leaf.address + leaf.size
    rows = tuple(row for row in table if not leaf.address <= row.start < end)
    why = UnsupportedRule("an operation that nobody knows")
    found = with_table(run, replace(table, rows=rows, broken=(BrokenPart(leaf.address, end, why),)))
    (finding,) = found.findings
    assert (finding.kind, finding.where) == (FindingKind.UNREADABLE, "leaf")
    assert "an operation that nobody knows" in finding_line(finding)
    assert found.compared == len(set(run.trace.pc.tolist()))


def test_a_wrong_expression_is_found_and_one_that_cannot_be_tried_is_told() -> None:
    run = ran("leaf_call", "x86_64", "keystone")
    table = table_of(run, "eh_frame")
    breg7, drop, unknown = 0x77, 0x13, 0xF0  # DW_OP_breg7 (rsp), DW_OP_drop, no operation

    def saying(offset: int, *more: Operation) -> TableLint:
        cfa = ValExpression((Operation(breg7, (offset,), 0), *more))
        leaf = run.built.image.symbol_named("leaf")
        assert leaf is not None
        rows = tuple(replace(row, cfa=cfa) if row.start == leaf.address else row for row in table)
        return with_table(run, replace(table, rows=rows))

    assert saying(8).findings == ()
    (finding,) = saying(16).findings
    assert finding.things[0].says == "CFA = what an expression computes"
    assert the_repair(finding).directives == (".cfi_def_cfa rsp, 0x8",)
    untried = saying(8, Operation(unknown, (), 2), Operation(drop, (), 3))
    assert untried.findings == ()
    assert untried.untried == saying(16).wrong > 0
    assert "could not be tried" in summary_line(untried)


@pytest.mark.parametrize("arch", ARCHES)
def test_with_the_advised_rows_the_table_is_right(arch: str) -> None:
    """What was tried in memory by what is true at all visits holds when the run is compared once more."""
    run = ran("epilogue_cfa_wrong", arch, "keystone")
    table = table_of(run, TABLE[arch])
    (finding,) = linted(run, TABLE[arch]).findings
    good = table_of(ran(run.built.source.header.twin or "", arch, "keystone"), TABLE[arch])
    checks = check_rows(run.watched, good, loaded_of(run))
    assert not checks.wrong.any()
    wrong = np.unique(check_rows(run.watched, table, loaded_of(run)).wrong)
    assert len(wrong) == 2
    assert the_repair(finding).repaired == 1


@pytest.mark.parametrize("program", ["simd_saved", "simd_saved_again"])
def test_a_slot_of_a_vector_register_is_no_obstacle(program: str) -> None:
    """The rows behind the wrong ones have rules of registers that nobody tries: one finding, with its advice."""
    (finding,) = said(program, "x86_64", "vector-O2")
    (directive,) = the_repair(finding).directives
    assert directive.startswith(".cfi_def_cfa_offset ") and finding.instructions == 10
