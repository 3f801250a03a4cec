"""A check on the terminal: errors first and whole, the last line answers, nothing is left out silently."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from testbed.checks.model import FileCheck, FunctionCheck, HowKnown, Severity, WrongThing
from testbed.report.check_report import BrokenInput, CheckReport, reported
from testbed.report.check_text import print_check
from testbed.report.check_words import sentence
from testbed.words.printable import printable
from tests.report.checked import (
    CHECK,
    CLEAN,
    FUNCTIONS,
    NO_ROW,
    RESTORED,
    START,
    STATIC,
    UNREADABLE,
    WHOLE_TABLE,
    WRONG,
)


def printed(report: CheckReport, width: int = 100, *, coverage: bool = False, notes: bool = False) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    print_check(console, report, coverage=coverage, notes=notes)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def of(*checks: FileCheck) -> CheckReport:
    return CheckReport(tuple(map(reported, checks)))


def test_a_finding_says_where_what_how_it_is_known_and_what_to_do() -> None:
    text = printed(of(replace(CHECK, findings=(WRONG,))))
    assert text.splitlines()[2:6] == [
        "zlib/crc32.S:120: error: crc32_z+0x4 (push rbx), .eh_frame",
        "    the row says CFA = rsp+0x8, the true CFA is rsp+0x10 here",
        "    add `.cfi_def_cfa_offset 0x10` before it (tried: it makes 4 instructions right and none wrong)",
        "    seen when it was executed; 3 more instructions by the same cause",
    ]


def test_one_sentence_says_all_of_a_finding() -> None:
    assert sentence(RESTORED) == (
        "crc32_z+0x10 (mov eax, dword ptr [rdi]): the row says CFA = rsp+0x8, the true CFA is rsp+0x10 here; "
        "the row says rbx is still in rbx, the caller's rbx is at CFA-0x10: add `.cfi_restore_state` before it, with "
        "`.cfi_remember_state` before crc32_z+0x8 (.eh_frame; seen on a forced path: a branch was made to go the other "
        "way)"
    )
    nothing = WrongThing("row", "nothing", "and there is a caller to be found")
    for finding in (NO_ROW, replace(NO_ROW, things=(nothing,))):
        assert "): no row covers this instruction, and its function is called: add `.cfi_startproc`" in sentence(
            finding
        )


def test_each_kind_of_evidence_is_told_apart() -> None:
    told = {printed(of(replace(CHECK, findings=(replace(WRONG, evidence=known),)))) for known in HowKnown}
    assert len(told) == len(HowKnown)


def test_errors_come_first_in_the_order_of_addresses() -> None:
    text = printed(of(CHECK), notes=True)
    places = ["crc32_z+0x4", "crc32_z+0x10", "inflate+0x0", "inflate+0x10", "_start+0x0"]
    assert [text.index(place) for place in places] == sorted(text.index(place) for place in places)


def test_notes_are_counted_and_listed_on_demand() -> None:
    quiet, listed = printed(of(CHECK)), printed(of(CHECK), notes=True)
    assert "_start+0x0" not in quiet
    assert "1 note " in quiet and "(--notes lists them)" in " ".join(quiet.split())
    assert "_start+0x0 (endbr64)" in listed


def test_the_last_line_answers_for_what_was_tried_only() -> None:
    def last(check: FileCheck) -> str:
        return printed(of(check)).splitlines()[-1]

    assert last(CHECK) == (
        "libz.so.1: 1 of 3 functions has a wrong row, 1 has code without a row and 1 has an entry that cannot be read; "
        "184 of 324 instructions were tried (56.8 %); 16 have no row."
    )
    assert last(CLEAN) == "memcpy.o: every row is right; all 32 instructions were tried."
    half = replace(CLEAN, functions=(replace(CLEAN.functions[0], executed=16),))
    assert last(half) == "memcpy.o: every row that was tried is right; 16 of 32 instructions were tried (50.0 %)."
    none = replace(CLEAN, functions=(replace(CLEAN.functions[0], executed=0),))
    assert last(none) == "memcpy.o: nothing was tried, so nothing is known of its rows."
    noted = replace(CHECK, findings=(START,))
    assert last(noted).startswith("libz.so.1: every row that was tried is right; 184 of 324")


def test_code_that_is_not_called_counts_as_code() -> None:
    parts = FunctionCheck("memcpy.cold", 0x200, 0x210, 4, forced=4), FunctionCheck("_start", 0x300, 0x310, 4)
    lines = printed(of(replace(CLEAN, parts=parts)), coverage=True).splitlines()
    assert lines[-1] == "memcpy.o: every row that was tried is right; 36 of 40 instructions were tried (90.0 %)."
    shown = [" ".join(line.split()) for line in lines]
    assert "2 places that are not called" in shown and "1 50.0 % not compared" in shown
    assert any("memcpy.cold" in line for line in lines)
    wrong = replace(WRONG, pc=0x200, function="memcpy.cold")
    said = printed(of(replace(CLEAN, parts=parts, findings=(wrong,)))).splitlines()[-1]
    assert said.startswith("memcpy.o: 1 of 3 functions and parts has a wrong row; ")


def test_a_table_that_cannot_be_read_is_nobodys_row() -> None:
    lines = printed(of(replace(CHECK, findings=(WRONG, WHOLE_TABLE)))).splitlines()
    head = lines.index(".sframe: error: the whole table")
    assert lines[head + 1 : head + 3] == [
        "    the row says nothing that can be read, .eh_frame+0x40: no CIE at 0x10",
        "    seen when the table was read",
    ]
    assert lines[-1].startswith("libz.so.1: 1 of 3 functions has a wrong row and .sframe cannot be read; 184 of")


def test_functions_of_one_name_count_as_two() -> None:
    twin = replace(FUNCTIONS[0], start=0x5000, end=0x5100)
    findings = (WRONG, RESTORED, replace(WRONG, pc=0x5004))
    text = printed(of(replace(CHECK, functions=(*FUNCTIONS, twin), findings=findings)))
    assert "2 of 4 functions have a wrong row" in text.splitlines()[-1]


def test_coverage_adds_up_and_says_why_nothing_was_tried() -> None:
    text = printed(of(CHECK), coverage=True)
    for said in (
        "150  46.3 %    executed",
        "140  43.2 %    never reached",
        "  3            fell off the function's end",
    ):
        assert f"{said}\n" in text
    assert "_start: it never returns" in text
    assert "_start: it never returns" not in printed(of(CHECK))


def test_a_narrow_terminal_cuts_nothing() -> None:
    narrow, wide = (printed(of(CHECK), width, coverage=True, notes=True) for width in (60, 200))
    heads = [line for line in narrow.splitlines() if len(line) > 60]
    assert heads == narrow.splitlines()[-1:]  # the answer is one line at any width: the terminal folds it
    assert set(narrow.replace(",", "").split()) >= set(wide.replace(",", "").replace("─", "").split())


def test_several_files_have_an_answer_each_and_one_together() -> None:
    lines = printed(of(CHECK, CLEAN)).splitlines()
    assert any(line.startswith("libz.so.1: 1 of 3") for line in lines)
    assert "memcpy.o: every row is right; all 32 instructions were tried." in lines
    assert lines[-1].startswith("2 files: 1 of 4 functions has a wrong row")


def test_what_is_known_gone_or_broken_is_told() -> None:
    flags = [finding is WRONG for finding in CHECK.findings]
    report = CheckReport(
        (reported(CHECK, flags),),
        (BrokenInput(Path("x.o"), "x.o: at offset 0x0: not an ELF file"),),
        ("inflate+0x8 was wrong",),
        Path("base.json"),
    )
    text = printed(report)
    assert "zlib/crc32.S:120" not in text and "1 finding known from the baseline" in text
    assert "zlib/crc32.S:120" in printed(report, notes=True)
    assert "no longer found, and still in base.json:\n    inflate+0x8 was wrong" in text
    assert "x.o: could not be checked\n    x.o: at offset 0x0: not an ELF file" in text
    assert text.splitlines()[-1].endswith("1 of 6 findings known from the baseline; 1 file could not be checked.")


def test_the_status_follows_what_is_new_and_how_heavy_it_is() -> None:
    notes = replace(CHECK, findings=(START,))
    assert of(CHECK).status == 1 and of(notes).status == 0 and of(CLEAN).status == 0
    assert replace(of(CHECK), fail_on=None).status == 0
    assert replace(of(notes), fail_on=Severity.NOTE).status == 1
    assert replace(of(notes), fail_on=Severity.WARNING).status == 0
    assert CheckReport((reported(CHECK, [True] * 6),)).status == 0
    assert replace(of(CLEAN), broken=(BrokenInput(Path("x"), "no"),)).status == 2


def test_names_cannot_command_a_terminal() -> None:
    evil = "f\x1b[2J\n::error::\u202e\udcff"
    finding = replace(UNREADABLE, where=evil, instruction=evil, table=evil, source=evil, line=1)
    check = replace(CHECK, path=Path(evil), findings=(finding, STATIC), notes=(evil,), dropped={evil: 1})
    check = replace(check, functions=(replace(FUNCTIONS[0], name=evil, note=evil),))
    text = printed(of(check), coverage=True, notes=True)
    assert not set(text) & {"\x1b", "\u202e", "\udcff"}
    assert not any(line.lstrip().startswith("::error") for line in text.splitlines())
    assert printable(evil) == "f\\x1b[2J\\n::error::\\u202e\\udcff"
