"""Parts of functions that lie elsewhere, which are jumped to: their rows are judged as those of the function itself."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from testbed.arch import ARCHES
from testbed.checks.check_file import check_file
from testbed.checks.impossible import without_led_astray
from testbed.checks.kept import keep_check, kept_check
from testbed.checks.model import FileCheck, FindingKind
from testbed.checks.options import CheckOptions
from testbed.checks.row_checks import RowChecks
from testbed.cli.table_readers import READERS
from testbed.micro.batches import Batch
from testbed.report.check_words import answer
from tests.checks.sources import check_of

# Functions with a part elsewhere, in assembly, with right rows.


@dataclass(frozen=True)
class PartElsewhere:
    """A function with a part elsewhere, and how one wrong offset is written in the part."""

    text: str
    right: str
    wrong: str


SOURCES = {
    "x86_64": PartElsewhere(
        """
        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movq    %rdi, %rbx
        testq   %rdi, %rdi
        je      f.cold
        xorl    %eax, %eax
back:   popq    %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   f, .-f
        .section .text.unlikely, "ax", @progbits
        .type   f.cold, @function
f.cold: .cfi_startproc
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        pushq   %rbp
        .cfi_def_cfa_offset 24
        .cfi_offset %rbp, -24
        movl    $3, %eax
        popq    %rbp
        .cfi_def_cfa_offset 16
        .cfi_restore %rbp
        jmp     back
        .cfi_endproc
        .size   f.cold, .-f.cold
""",
        ".cfi_def_cfa_offset 24",
        ".cfi_def_cfa_offset 32",
    ),
    "arm64": PartElsewhere(
        """
        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        cbz     x0, f.cold
        mov     w0, #0
back:   ldp     x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size   f, .-f
        .section .text.unlikely, "ax", @progbits
        .type   f.cold, @function
f.cold: .cfi_startproc
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        str     x19, [sp, #-16]!
        .cfi_def_cfa_offset 48
        .cfi_offset x19, -48
        mov     x19, #3
        ldr     x19, [sp], #16
        .cfi_def_cfa_offset 32
        .cfi_restore x19
        b       back
        .cfi_endproc
        .size   f.cold, .-f.cold
""",
        ".cfi_def_cfa_offset 48",
        ".cfi_def_cfa_offset 64",
    ),
}


pytest.importorskip("ziglang", reason="needs pip install ziglang")


def _without_name(text: str) -> str:
    """The part without a symbol: its table's entry alone tells of it."""
    text = re.sub(r"\n.*\.(?:type|size) +f\.cold.*", "", text)
    return text.replace("f.cold", ".Lcold")


def _without_rows(text: str) -> str:
    """The part without a table's entry."""
    function, part = text.split("f.cold: .cfi_startproc")
    return f"{function}f.cold:{re.sub(r'[.]cfi_.*', '', part)}"


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("arch", SOURCES)
def test_right_rows_of_a_part_are_right_and_counted(tmp_path: Path, arch: str, named: bool) -> None:
    text = SOURCES[arch].text
    check = check_of(tmp_path, text if named else _without_name(text), arch)
    assert not check.findings
    assert [function.name for function in check.functions] == ["f"]
    (part,) = check.parts
    assert (part.name == "f.cold") == named
    assert (part.instructions, part.never, part.calls) == (4, 0, 0)
    assert check.total("instructions") == check.functions[0].instructions + 4
    assert answer("code.o", [check]) == (
        f"code.o: every row is right; all {check.total('instructions')} instructions were tried."
    )


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("arch", SOURCES)
def test_a_wrong_offset_in_a_part_is_one_finding_at_its_line(tmp_path: Path, arch: str, named: bool) -> None:
    source = SOURCES[arch]
    text = source.text.replace(source.right, source.wrong)
    (finding,) = check_of(tmp_path, text if named else _without_name(text), arch).findings
    assert finding.kind is FindingKind.WRONG_ROW and finding.things[0].what == "CFA"
    line = next(i for i, each in enumerate(text.splitlines(), 1) if "$3," in each or each.endswith("#3"))
    if named:
        assert (finding.function, finding.line) == ("f.cold", line)
    assert finding.repair is not None and finding.repair.repaired == finding.instructions == 2


@pytest.mark.parametrize("arch", SOURCES)
def test_a_part_without_a_row_is_a_finding(tmp_path: Path, arch: str) -> None:
    check = check_of(tmp_path, _without_rows(SOURCES[arch].text), arch)
    (finding,) = check.findings
    assert (finding.kind, finding.function, finding.instructions) == (FindingKind.NO_ROW, "f.cold", 4)
    assert finding.repair is None, "a frame is there already: `.cfi_startproc` alone would not be right"
    assert check.parts[0].without_row == 4
    assert answer("code.o", [check]).startswith("code.o: 1 of 2 functions and parts has code without a row; all ")


@pytest.mark.parametrize("arch", SOURCES)
def test_code_that_nothing_leads_to_is_never_called_right(tmp_path: Path, arch: str) -> None:
    jump = re.compile(r"je +f\.cold|cbz +x0, f\.cold")
    source = SOURCES[arch]
    check = check_of(tmp_path, jump.sub("nop", source.text.replace(source.right, source.wrong)), arch)
    assert not check.findings
    assert (check.parts[0].never, check.total("never")) == (4, 4)
    tried = check.functions[0].instructions
    assert f"every row that was tried is right; {tried} of {tried + 4} instructions" in answer("code.o", [check])


def test_a_helper_with_a_convention_of_its_own_is_not_judged(tmp_path: Path) -> None:
    """A call leads there, and its rows count a word more: nobody knows what they are to say."""
    text = SOURCES["x86_64"].text.replace("je      f.cold", "call    f.cold").replace("jmp     back", "ret")
    check = check_of(tmp_path, text, "x86_64")
    assert not [finding for finding in check.findings if finding.function == "f.cold"]
    assert check.parts[0].never == 4


def test_where_a_stack_begins_is_no_part_of_who_jumps_there(tmp_path: Path) -> None:
    """As in glibc's `clone`: the new thread goes on there, and nobody has called it."""
    text = SOURCES["x86_64"].text
    function, part = text.split("f.cold: .cfi_startproc")
    part = re.sub(r"[.]cfi_(?!endproc).*", "", part)
    check = check_of(tmp_path, f"{function}f.cold: .cfi_startproc\n .cfi_undefined rip\n{part}", "x86_64")
    assert not check.findings
    assert check.parts[0].never == 4


def test_what_stands_behind_a_call_that_never_returns_is_another_functions(tmp_path: Path) -> None:
    """Two parts side by side, the first of which ends with such a call."""
    second = """
        .text
        .globl  g
        .type   g, @function
g:      .cfi_startproc
        testq   %rdi, %rdi
        jne     g.cold
        ret
        .cfi_endproc
        .size   g, .-g
        .section .text.unlikely, "ax", @progbits
        .type   g.cold, @function
g.cold: .cfi_startproc
        subq    $24, %rsp
        .cfi_def_cfa_offset 32
        call    abort@PLT
        .cfi_endproc
        .size   g.cold, .-g.cold
"""
    text = SOURCES["x86_64"].text.replace("jmp     back", "call    abort@PLT") + second
    check = check_of(tmp_path, text, "x86_64")
    assert not check.findings
    assert {part.name: part.never for part in check.parts} == {"f.cold": 0, "g.cold": 0}


def test_behind_a_call_in_a_part_another_row_says_that_it_never_returns(tmp_path: Path) -> None:
    """As before a landing pad: only the unwinder goes there, with the frame of another call."""
    pad = """call    abort@PLT
        .cfi_def_cfa_offset 32
        movq    %rax, %rdi
        call    abort@PLT"""
    check = check_of(tmp_path, SOURCES["x86_64"].text.replace("jmp     back", pad), "x86_64")
    assert not check.findings
    (part,) = check.parts
    assert (part.instructions, part.never) == (6, 0), "it is executed, and what it does there counts for nothing"


def test_a_path_that_went_astray_in_the_function_stays_so_in_its_part() -> None:
    """As those that come from a landing pad which they entered with the frame of another call, in libstdc++."""
    path = np.array([0, 0, 0, 0, 1, 1, 2, 2])
    forced = path != 2
    in_part = np.array([False, False, False, True, False, True, False, True])
    wrong = np.array([0, 1, 0, 1, 0, 1, 1, 1], np.uint64)
    nothing, every = np.zeros(8, np.bool_), np.ones(8, np.bool_)
    before = RowChecks(ARCHES["x86_64"], np.arange(8, dtype=np.uint64), every, wrong, nothing)
    dropped = np.array([True, False, True, True, True, True, False, True])
    batch = Batch(None, path, forced, nothing, nothing)  # type: ignore[arg-type]
    left = without_led_astray(replace(before, compared=dropped), before, batch, in_part).compared
    assert left.tolist() == [True, False, True, False, True, True, False, True]


def test_a_function_that_was_asked_for_brings_its_parts(tmp_path: Path) -> None:
    path = tmp_path / "code.S"
    other = SOURCES["x86_64"].text.replace("f.cold", "g.cold").replace("back", "away")
    other = re.sub(r"\bf\b(?!\.)", "g", other)
    path.write_text(SOURCES["x86_64"].text + other, encoding="utf-8")
    check = check_file(path, CheckOptions(arch="x86_64", functions=("f",), runs=20, steps=60), READERS)
    assert [part.name for part in check.parts] == ["f.cold"]
    (note,) = check.notes
    assert note.startswith("not called, 1 place of code (f.cold)")


COMPILED = """
extern void report(long);
__attribute__((cold, noinline)) static void rare(long n) { report(n); report(n + 1); }
long f(long *words, long count)
{
    long sum = 0;
    for (long i = 0; i < count; i++) {
        if (__builtin_expect(words[i] == 7, 0)) {
            rare(words[i]);
            sum ^= words[i];
        }
        sum += words[i];
    }
    return sum;
}
"""
COMPILERS = {"x86_64": "gcc", "arm64": "aarch64-linux-gnu-gcc"}


def _compiled(folder: Path, arch: str) -> FileCheck:
    compiler = shutil.which(COMPILERS[arch])
    if compiler is None:
        pytest.skip(f"needs {COMPILERS[arch]}")
    path = folder / "code.c"
    path.write_text(COMPILED, encoding="utf-8")
    flags = (compiler, "-O2", "-freorder-blocks-and-partition")
    return check_file(path, CheckOptions(arch=arch, flags=flags, runs=100, steps=400), READERS)


@pytest.mark.parametrize("arch", COMPILERS)
def test_what_gcc_moves_elsewhere_is_right(tmp_path: Path, arch: str) -> None:
    check = _compiled(tmp_path, arch)
    assert not check.findings
    parts = [part for part in check.parts if part.name == "f.cold"]
    assert len(parts) == 1 and parts[0].never == 0 and parts[0].executed + parts[0].forced > 0


def test_parts_are_kept_with_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path))
    check = check_of(tmp_path, SOURCES["x86_64"].text, "x86_64")
    keep_check(b"content", CheckOptions(), check)
    kept = kept_check(tmp_path / "code.S", b"content", CheckOptions())
    assert kept is not None and kept.parts == check.parts
