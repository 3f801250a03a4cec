"""A known property of a producer is told once a file, as a note; what is wrong besides is told as ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.model import FindingKind, Severity
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS
from testbed.report.check_words import answer

pytest.importorskip("ziglang", reason="needs pip install ziglang")

SOURCE = """
extern int g(int *, int);
int f(int n) { int local[40]; if (n < 3) return g(local, n); return local[0] + n; }
int h(int n, int *p) { int s = 0; for (int k = 0; k < n; k++) s += g(p, s); return s; }
int e(int *p) { if (!*p) return 1; int local[9]; return g(local, *p) + g(p, 0); }
"""


def test_epilogues_of_clang_on_arm32_are_one_note(tmp_path: Path) -> None:
    path = tmp_path / "code.c"
    path.write_text(SOURCE, encoding="utf-8")
    options = CheckOptions(arch="arm32", tables=("debug_frame",), flags=("-Os",), runs=60, steps=300)
    check = check_file(path, options, READERS)
    assert [(each.kind, each.severity) for each in check.findings] == [(FindingKind.NO_EPILOGUE_ROWS, Severity.NOTE)]
    assert check.findings[0].instructions >= 3, "all that are wrong are counted"
    assert f"right but {check.findings[0].instructions} instructions of epilogues" in answer("code.c", [check])


def test_the_same_is_wrong_where_nobody_is_known_to_leave_it_out(tmp_path: Path) -> None:
    path = tmp_path / "code.S"
    text = """
        .syntax unified
        .cfi_sections .debug_frame
        .text
        .globl f
        .type f, %function
f:      .cfi_startproc
        push {r4, lr}
        .cfi_def_cfa_offset 8
        .cfi_offset lr, -4
        .cfi_offset r4, -8
        bl g
        pop {r4, lr}
        bx lr
        .cfi_endproc
        .size f, .-f
"""
    path.write_text(text, encoding="utf-8")
    (finding,) = check_file(path, CheckOptions(arch="arm32", runs=20, steps=100), READERS).findings
    assert (finding.kind, finding.where) == (FindingKind.WRONG_ROW, "f+0xc")


EPILOGUES = {
    "x86_64": """
        push %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        mov %edi, %ebx
        lea 1(%rbx), %eax
        pop %rbx
        ret
""",
    "arm64": """
        str x19, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x19, -16
        mov x19, x0
        add x0, x19, #1
        ldr x19, [sp], #16
        ret
""",
}


@pytest.mark.parametrize("arch", EPILOGUES)
def test_an_epilogue_without_directives_is_wrong_where_compilers_write_them(tmp_path: Path, arch: str) -> None:
    """The linker's `.comment` names a producer too: none that is known to leave epilogues out."""
    path = tmp_path / "code.S"
    sign = "@" if arch == "x86_64" else "%"
    body = f".cfi_startproc\n{EPILOGUES[arch]}.cfi_endproc"
    path.write_text(f".text\n.globl f\n.type f, {sign}function\nf:\n{body}\n.size f, .-f\n", encoding="utf-8")
    (finding,) = check_file(path, CheckOptions(arch=arch, runs=20, steps=100), READERS).findings
    assert (finding.kind, finding.severity) == (FindingKind.WRONG_ROW, Severity.ERROR)
    assert finding.repair is not None and finding.instructions == 1


def test_functions_that_an_index_does_not_know_are_one_finding(tmp_path: Path) -> None:
    path = tmp_path / "code.S"
    functions = [
        f".globl f{k}\n.type f{k}, %function\nf{k}: push {{r4, lr}}\nbl g\npop {{r4, pc}}\n.size f{k}, .-f{k}\n"
        for k in range(6)
    ]
    last = ".globl h\n.type h, %function\nh: .fnstart\n.save {r4, lr}\npush {r4, lr}\nbl g\npop {r4, pc}\n.fnend\n"
    path.write_text(".syntax unified\n.text\n" + "".join(functions) + last, encoding="utf-8")
    check = check_file(path, CheckOptions(arch="arm32", runs=20, steps=100), READERS)
    (finding,) = check.findings
    assert (finding.kind, finding.function, finding.instructions, finding.functions) == (FindingKind.NO_ROW, "f0", 6, 6)
    assert "6 of 7 functions have code without a row" in answer("code.S", [check])
