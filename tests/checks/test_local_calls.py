"""Calls within a function that nobody comes back from, in a run of a whole program: what a check says, `lint` says."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from testbed.runs.program_file import built_file
from testbed.runs.run import run_built
from tests.checks.declared_cases import CASES, DeclaredCase, checked
from tests.checks.watched_tables import linted

CALLS = [
    case
    for case in CASES
    if case.source.stem.partition(".")[0] in ("thunk", "inline_thunk", "refill", "string", "subroutine")
    and "elsewhere" not in case.text
]
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
"""


@pytest.mark.parametrize("case", CALLS, ids=lambda case: f"{case.source.stem}, {case.name}")
def test_a_run_of_a_program_shows_the_same(tmp_path: Path, case: DeclaredCase) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    path, check = checked(case, tmp_path, case.text)
    path.write_text(START + case.text.replace("leaq f(", "leaq g("))
    program = tmp_path / "program"
    subprocess.run(["gcc", "-g", "-nostdlib", "-static", "-no-pie", "-o", program, path], check=True)
    run = run_built(built_file(program))
    assert run.failure == ""
    found = [
        [(each.things, each.repair and each.repair.directives[0].split()[-1]) for each in findings]
        for findings in (linted(run, "eh_frame").findings, check.findings)
    ]
    assert found[0] == found[1]
