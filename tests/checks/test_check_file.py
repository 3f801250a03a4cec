"""Files as authors have them, with one thing wrong: it is found, at its line, with the directive that repairs it."""

from __future__ import annotations

from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from testbed.checks.check_file import check_file
from testbed.checks.model import FindingKind, Severity
from testbed.checks.options import CheckOptions
from testbed.words.errors import BuildError, TestbedError, UsageError
from tests.checks.checked_sources import READERS, checked, written

pytest.importorskip("ziglang", reason="needs pip install ziglang")

ATT = """// Licensed under nothing in particular.
#include "frame.h"
        .macro enter
        push %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        .endm
        .text
        .globl  sum
        .type   sum, @function
sum:    .cfi_startproc
        enter
        push    SAVED
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset SAVED, 0
        mov     %rdi, SAVED
        test    %rsi, %rsi
        jz      2f
1:      add     (SAVED), %rax
        lea     8(SAVED), SAVED
        dec     %rsi
        jnz     1b
2:      pop     SAVED
        .cfi_adjust_cfa_offset WRONG
        .cfi_restore SAVED
        pop     %rbp
        .cfi_def_cfa_offset 8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size   sum, .-sum
"""


@pytest.fixture
def headers(tmp_path: Path) -> Path:
    folder = tmp_path / "include"
    folder.mkdir()
    (folder / "frame.h").write_text("#define SAVED %rbx\n", encoding="utf-8")
    return folder


def test_a_source_with_includes_macros_and_a_licence_is_right(tmp_path: Path, headers: Path) -> None:
    found = checked(written(tmp_path, ATT), flags=(f"-I{headers}", "-DWRONG=-8"))
    assert found.findings == ()
    assert found.total("executed") == found.total("instructions") == 12
    assert found.compared > 12


def test_one_wrong_directive_is_one_finding_at_the_right_line(tmp_path: Path, headers: Path) -> None:
    found = checked(written(tmp_path, ATT), flags=(f"-I{headers}", "-DWRONG=-16"))
    (finding,) = found.findings
    line = 1 + ATT.splitlines().index("        pop     %rbp")
    assert (finding.kind, finding.line, Path(finding.source).name) == (FindingKind.WRONG_ROW, line, "code.S")
    assert finding.repair is not None
    assert finding.repair.directives == (".cfi_def_cfa_offset 0x10",)


@pytest.mark.parametrize("optimized", ["-O0", "-O2", "-Os"])
@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_what_a_compiler_wrote_is_right(tmp_path: Path, arch: str, optimized: str) -> None:
    text = """
extern int g(int *, int);
int f(int n, int *p) { int s = 0, local[40]; for (int k = 0; k < n; k++) s += g(local, p[k]); return s; }
int h(int n) { switch (n) { case 1: return g(0, 1); case 2: return 5; case 3: return g(0, 7) + 1; case 4: return n * 3;
    case 5: return g(0, n) * g(0, 2); } return 0; }
int tail(int n) { return n ? g(0, n) : h(n); }
int each(int (*of)(int), int n) { int s = 0; while (n-- > 0) { s ^= of(n); if (s & 4) s += of(s); } return s; }
"""
    found = checked(written(tmp_path, text, "code.c"), arch=arch, flags=(optimized,))
    assert found.findings == ()
    assert found.total("never") == 0


def test_functions_are_chosen_and_called_as_the_user_says(tmp_path: Path, headers: Path) -> None:
    path = written(tmp_path, ATT)
    flags = (f"-I{headers}", "-DWRONG=-8")
    found = checked(path, flags=flags, functions=("s*",), calls=("sum(buf:64, 8)",))
    assert [each.name for each in found.functions] == ["sum"]
    assert found.total("calls") > checked(path, flags=flags, functions=("s*",)).total("calls")
    aliased = written(tmp_path, ATT + ".globl total\n.set total, sum\n", "aliased.S")
    assert checked(aliased, flags=flags, functions=("total",)).total("instructions") == 12
    with pytest.raises(UsageError, match=r"no function that matches nothing"):
        checked(path, flags=flags, functions=("nothing",))
    with pytest.raises(UsageError, match=r"buf:BYTES"):
        checked(path, flags=flags, calls=("sum(what?)",))


def test_one_process_and_two_find_the_same(tmp_path: Path) -> None:
    body = "".join(
        f".globl f{k}\n.type f{k}, @function\nf{k}: .cfi_startproc\n push %rbx\n"
        f"{'.cfi_def_cfa_offset 16' if k % 3 else ''}\n .zero {900}, 0x90\n pop %rbx\n"
        f"{'.cfi_def_cfa_offset 8' if k % 3 else ''}\n ret\n.cfi_endproc\n.size f{k}, .-f{k}\n"
        for k in range(20)
    )
    path = written(tmp_path, ".text\n" + body)
    one, two = checked(path, steps=2000), checked(path, steps=2000, jobs=2)
    assert len(one.findings) == 7
    assert (one.findings, one.functions, one.steps) == (two.findings, two.functions, two.steps)


def test_a_file_without_a_table_and_a_source_that_does_not_compile(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no symbol, table or call says that one begins"):
        checked(written(tmp_path, ".text\n ret\n"))
    text = ".text\n.globl f\n.type f, @function\nf: push %rax\n call g\n pop %rax\n ret\n.size f, .-f\n"
    (finding,) = checked(written(tmp_path, text)).findings
    assert (finding.kind, finding.severity, finding.instructions) == (FindingKind.NO_ROW, Severity.ERROR, 4)
    assert finding.repair is not None and finding.repair.directives[0] == ".cfi_startproc"
    with pytest.raises(UsageError, match="no unwind table that matches debug_frame in it; it has"):
        checked(written(tmp_path, text), tables=("debug_frame",))
    with pytest.raises(BuildError, match=r"code\.S:2") as told:
        checked(written(tmp_path, ".text\nf: nonsense %rax\n"))
    assert str(told.value).count("code.S:2") == 1
    with pytest.raises(TestbedError):
        checked(written(tmp_path, "just text", "notes.txt"))
    with pytest.raises(UsageError, match="no such file"):
        checked(tmp_path / "missing.o")


class _Dies(ProcessPoolExecutor):
    """A pool whose processes die over everything."""

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(BrokenProcessPool("it died"))
        return future


def test_what_dies_in_one_pool_is_done_alone(tmp_path: Path, headers: Path) -> None:
    path, options = written(tmp_path, ATT), CheckOptions(runs=100, steps=500, flags=(f"-I{headers}", "-DWRONG=-16"))
    found = check_file(path, options, READERS, executor=_Dies())
    assert len(found.findings) == 1
