"""Calls within a function that nobody comes back from: retpolines, refills of a return predictor, strings in code."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.model import FileCheck, TableFinding
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS
from testbed.runs.program_file import built_file
from testbed.runs.run import run_built
from tests.checks.watched_tables import linted

THUNK = """ call 2f
1: pause
 lfence
 jmp 1b
2: {}
 movq %r11, (%rsp)
 ret
"""
INLINE = """ pushq %rbp
 .cfi_def_cfa_offset 16
 .cfi_offset %rbp, -16
 movq %rsp, %rbp
 .cfi_def_cfa_register %rbp
 leaq other(%rip), %rax
 jmp 4f
2: call 3f
1: pause
 jmp 1b
3: movq %rax, (%rsp)
 ret
4: call 2b
 popq %rbp
 .cfi_def_cfa %rsp, {}
 ret
.cfi_endproc
.size f, . - f
.type other, @function
other: .cfi_startproc
 movl $1, %eax
 ret
"""
REFILL = """ .rept 4
 call 771f
 int3
771:
 .endr
 .cfi_adjust_cfa_offset {}
 addq $32, %rsp
 .cfi_def_cfa_offset 8
 ret
"""
STRING = """ call 1f
 .cfi_adjust_cfa_offset 8
 .asciz "hello, inline"
1: popq %rax
 .cfi_adjust_cfa_offset -8
 {}
 ret
"""
LOCAL = """ call 5f
 call 5f
 ret
5: pushq %rdi
 .cfi_def_cfa_offset {}
 popq %rdi
 .cfi_def_cfa_offset 8
 ret
"""


def checked(folder: Path, body: str) -> FileCheck:
    path = folder / "code.S"
    head = ".text\n.globl f\n.type f, @function\nf: .cfi_startproc\n"
    end = "" if "other:" in body else ".size f, . - f\n"
    path.write_text(f"{head}{body}.cfi_endproc\n{end}")
    return check_file(path, CheckOptions(runs=100, steps=500), READERS)


RIGHT = {
    "GCC's thunk": THUNK.format(".cfi_def_cfa_offset 16"),
    "LLVM's thunk, whose return address is where control goes on": " leaq f(%rip), %r11\n" + THUNK.format(""),
    "LLVM's thunk, of what another file has": " leaq elsewhere@plt(%rip), %r11\n" + THUNK.format(""),
    "GCC's thunk in a function with a frame": INLINE.format(8),
    "a refill": REFILL.format(32),
    "a refill whose calls are described": REFILL.replace("call 771f", "call 771f\n .cfi_adjust_cfa_offset 8").format(0),
    "a string": STRING.format(""),
    "a local subroutine": LOCAL.format(16),
}


@pytest.mark.parametrize("body", RIGHT.values(), ids=list(RIGHT))
def test_right_rows_have_no_finding(tmp_path: Path, body: str) -> None:
    check = checked(tmp_path, body)
    assert [(each.where, each.things) for each in check.findings] == []
    assert check.compared


WRONG = {
    "a thunk": (THUNK.format(".cfi_def_cfa_offset 24"), ("CFA = rsp+0x18", "rsp+0x10"), ".cfi_def_cfa_offset 0x10"),
    "a function with a thunk": (INLINE.format(16), ("CFA = rsp+0x10", "rsp+0x8"), ".cfi_def_cfa %rsp, 0x8"),
    "a refill": (REFILL.format(24), ("CFA = rsp+0x20", "rsp+0x28"), ".cfi_def_cfa_offset 0x28"),
    "a string": (STRING.format(" pushq %rax\n popq %rax"), ("CFA = rsp+0x8", "rsp+0x10"), ".cfi_def_cfa_offset 0x10"),
    "a local subroutine": (LOCAL.format(24), ("CFA = rsp+0x18", "rsp+0x10"), ".cfi_def_cfa_offset 0x10"),
}


@pytest.mark.parametrize(("body", "things", "advice"), WRONG.values(), ids=list(WRONG))
def test_wrong_rows_are_found(tmp_path: Path, body: str, things: tuple[str, str], advice: str) -> None:
    (finding,) = checked(tmp_path, body).findings
    (thing,) = finding.things
    assert (thing.what, thing.says, thing.true) == ("CFA", things[0], f"the true CFA is {things[1]} here")
    assert finding.repair is not None and finding.repair.directives[0] == advice


START = """.text
.globl _start
.type _start, @function
_start: .cfi_startproc
 .cfi_undefined %rip
 leaq g(%rip), %r11
 call f
 movl $60, %eax
 xorl %edi, %edi
 syscall
.cfi_endproc
.size _start, . - _start
.type g, @function
g: .cfi_startproc
 movl $3, %eax
 ret
.cfi_endproc
.size g, . - g
.type f, @function
f: .cfi_startproc
"""


def watched(folder: Path, body: str) -> tuple[TableFinding, ...]:
    """What `testbed lint` finds where a program calls the function."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    path, program = folder / "code.S", folder / "program"
    end = "" if "other:" in body else ".size f, . - f\n"
    path.write_text(f"{START}{body.replace('leaq f(', 'leaq g(')}.cfi_endproc\n{end}")
    subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", "-o", str(program), str(path)], check=True)
    run = run_built(built_file(program))
    assert run.failure == ""
    return linted(run, "eh_frame").findings


@pytest.mark.parametrize("what", [what for what, body in RIGHT.items() if "elsewhere" not in body])
def test_right_rows_have_no_finding_on_a_watched_run(tmp_path: Path, what: str) -> None:
    assert [(each.where, each.things) for each in watched(tmp_path, RIGHT[what])] == []


@pytest.mark.parametrize(("body", "things", "advice"), WRONG.values(), ids=list(WRONG))
def test_wrong_rows_are_found_on_a_watched_run(tmp_path: Path, body: str, things: tuple[str, str], advice: str) -> None:
    (finding,) = watched(tmp_path, body)
    (thing,) = finding.things
    assert (thing.what, thing.says, thing.true) == ("CFA", things[0], f"the true CFA is {things[1]} here")
    assert finding.repair is not None
    assert finding.repair.directives[0].split()[-1] == advice.split()[-1]
