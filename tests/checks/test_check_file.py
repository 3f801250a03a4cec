"""Files as authors have them: what is asked for, what is called, what processes do, and parts that lie elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from testbed.arch import ARCHES
from testbed.checks import groups, table_findings
from testbed.checks.check_file import check_file
from testbed.checks.impossible import seconded
from testbed.checks.inputs import program_file
from testbed.checks.model import FileCheck, FindingKind, Severity
from testbed.checks.native.codes import CFA, NO_ROW
from testbed.checks.options import MOST_STEPS, CheckOptions
from testbed.checks.own_sources import Sources
from testbed.checks.repair import find_causes
from testbed.checks.row_checks import RowChecks
from testbed.checks.source_statements import Around, around
from testbed.cli.table_readers import READERS
from testbed.image import read_image
from testbed.micro.batches import Batch
from testbed.micro.exploring import Explorer
from testbed.report.check_words import answer
from testbed.words.errors import BuildError, NothingAskedFor, TestbedError, UsageError

pytest.importorskip("ziglang", reason="needs pip install ziglang")


def checked(path: Path, **options: Any) -> FileCheck:
    """What a check with short runs finds in a file."""
    return check_file(path, CheckOptions(**{"runs": 100, "steps": 500, **options}), READERS)


def written(folder: Path, text: str, name: str = "code.S") -> Path:
    """The file that a text was written into."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


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
    assert finding.repair.directives == (".cfi_def_cfa_offset 16",)


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


def test_what_another_function_says_is_not_told(tmp_path: Path) -> None:
    one = ".globl {0}\n.type {0}, @function\n{0}: .cfi_startproc\n{1} ret\n.cfi_endproc\n.size {0}, .-{0}\n"
    halves = ".cfi_escape 0x0f, 2, 0x77, 8\n nop\n .cfi_def_cfa_register %rsp\n"
    path = written(tmp_path, ".text\n" + one.format("f", halves) + one.format("g", ""))
    assert [found.kind for found in checked(path, functions=("f",)).findings] == [FindingKind.HALF_CFA]
    assert not checked(path, functions=("g",)).findings


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


BARE = ".text\n.globl f\n.type f, @function\nf: push %rax\n call g\n pop %rax\n ret\n.size f, .-f\n"


def test_a_function_without_a_table_has_no_row(tmp_path: Path) -> None:
    (finding,) = checked(written(tmp_path, BARE)).findings
    assert (finding.kind, finding.severity, finding.instructions) == (FindingKind.NO_ROW, Severity.ERROR, 4)
    assert finding.repair is not None and finding.repair.directives[0] == ".cfi_startproc"


@pytest.mark.parametrize(
    ("name", "text", "options", "error", "message"),
    [
        ("code.S", ".text\n ret\n", {}, UsageError, "no symbol, table or call says that one begins"),
        (
            "code.S",
            BARE,
            {"tables": ("debug_frame",)},
            UsageError,
            "no unwind table that matches debug_frame in it",
        ),
        ("code.S", ".section .rodata\n.quad 1\n", {}, NothingAskedFor, "it has no code"),
        ("code.S", BARE, {"functions": ("nothing",)}, UsageError, r"no function that matches nothing; (there|did)"),
        ("code.S", BARE, {"calls": ("f(what?)",)}, UsageError, "buf:BYTES"),
        ("code.S", ".text\nf: nonsense %rax\n", {}, BuildError, r"(?s)^(?!.*code\.S:2.*code\.S:2).*code\.S:2"),
        ("notes.txt", "just text", {}, TestbedError, "notes.txt"),
        ("missing.o", None, {}, UsageError, "no such file"),
    ],
)
def test_what_cannot_be_checked_is_said(
    tmp_path: Path, name: str, text: str | None, options: dict[str, Any], error: type[TestbedError], message: str
) -> None:
    path = tmp_path / name if text is None else written(tmp_path, text, name)
    with pytest.raises(error, match=message):
        checked(path, **options)


SIGNALS = """.text
        .cfi_startproc
        .cfi_signal_frame
        .cfi_def_cfa %rsp, 160
        nop
        .type returns, @function
returns: movq $15, %rax
        syscall
        .cfi_endproc
        .size returns, .-returns
"""
ABSOLUTE = """.text
        .globl f
        .type f, @function
f:      ret
1:      .size f, .-f
        .section .eh_frame, "a", @progbits
2:      .long 4f-3f
3:      .long 0
        .byte 1, 0, 1, 0x78, 16, 12, 7, 8, 0x90, 1
        .p2align 3
4:      .long 6f-5f
5:      .long 5b-2b
        .quad f, 1b-f
        .p2align 3
6:
"""


def test_what_cannot_be_called_or_joined_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the rows of .*returns are for a frame that the kernel makes, of a signal"):
        checked(written(tmp_path, SIGNALS))
    with pytest.raises(UsageError, match="the first row of returns is not that of a function that someone calls"):
        checked(written(tmp_path, SIGNALS.replace(".cfi_signal_frame", "").replace("nop", "")))
    with pytest.raises(UsageError, match=r"its \.eh_frame says by absolute addresses where code lies"):
        checked(written(tmp_path, ABSOLUTE))


def test_a_line_beyond_the_end_of_a_file_is_none(tmp_path: Path) -> None:
    """An assembler goes on counting where it includes a file."""
    (tmp_path / "more.inc").write_text("\n" * 40 + "f: push %rax\n call g\n pop %rax\n ret\n", encoding="utf-8")
    path = written(tmp_path, '.text\n.globl f\n.type f, @function\n.include "more.inc"\n.size f, .-f\n')
    (finding,) = checked(path, flags=(f"-Wa,-I{tmp_path}",)).findings
    assert (finding.source, finding.line) == ("", 0)


class _Dies(ProcessPoolExecutor):
    """A pool whose processes die over everything."""

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(BrokenProcessPool("it died"))
        return future


def test_what_dies_in_one_pool_is_done_alone(tmp_path: Path, headers: Path) -> None:
    options = CheckOptions(runs=100, steps=500, flags=(f"-I{headers}", "-DWRONG=-16"))
    assert len(check_file(written(tmp_path, ATT), options, READERS, executor=_Dies()).findings) == 1


# Code that is called by its address alone, and how many steps one call may have.


EARLY = """
        .text
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        push    %rbx
        mov     %rdi, %rbx
        pop     %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   f, .-f
"""
# No symbol and no entry: a linker's stub, or what start code is to a stripped file. `f` has no size.
NAMELESS = """
        .section .init, "ax", @progbits
        .globl  f
        .type   f, @function
f:      .cfi_startproc
        xor     %eax, %eax
        ret
        .cfi_endproc
        .text
        push    %rbx
        mov     $2, %eax
        pop     %rbx
        ret
        .p2align 4
        mov     $3, %eax
        ret
"""


def test_code_that_nothing_names_is_called_by_its_address(tmp_path: Path) -> None:
    """Up to the next one that is asked for; a function without a size does not reach into another section."""
    (tmp_path / "n.s").write_text(NAMELESS)
    linked = tmp_path / "libn.so"
    command = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-linux-gnu", "-shared", "-nostdlib", "-g0"]
    subprocess.run([*command, "-o", linked, tmp_path / "n.s"], check=True)
    start = next(s for name, s in read_image(linked).sections.items() if name == ".text").address
    first, second = f"{start:#x}", f"{start + 16:#x}"
    check = check_file(linked, CheckOptions(functions=(first, second)), READERS)
    said = [(f.name, f.without_row, f.never) for f in check.functions]
    assert said == [(first, 4, 0), (second, 2, 0)]
    assert {finding.kind for finding in check.findings} == {FindingKind.NO_ROW}
    alone = check_file(linked, CheckOptions(functions=(second, "f")), READERS)
    assert {f.name for f in alone.functions} == {"f", second}
    assert not check_file(linked, CheckOptions(), READERS).functions[1:]


def test_as_many_steps_can_be_asked_for_as_there_is_room_for(tmp_path: Path) -> None:
    (tmp_path / "f.s").write_text(EARLY)
    check = check_file(tmp_path / "f.s", CheckOptions(arch="x86_64", steps=MOST_STEPS, runs=2), READERS)
    assert not check.failures and check.functions[0].calls
    more = check_file(tmp_path / "f.s", CheckOptions(arch="x86_64", steps=MOST_STEPS + 1, runs=2), READERS)
    assert more.failures, "the command allows no more"


# Parts of functions that lie elsewhere: where GCC puts them, and paths into them that went astray before.


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


@pytest.mark.parametrize("arch", COMPILERS)
def test_what_gcc_moves_elsewhere_is_right(tmp_path: Path, arch: str) -> None:
    compiler = shutil.which(COMPILERS[arch])
    if compiler is None:
        pytest.skip(f"needs {COMPILERS[arch]}")
    path = tmp_path / "code.c"
    path.write_text(COMPILED, encoding="utf-8")
    flags = (compiler, "-O2", "-freorder-blocks-and-partition")
    check = check_file(path, CheckOptions(arch=arch, flags=flags, runs=100, steps=400), READERS)
    assert not check.findings
    parts = [part for part in check.parts if part.name == "f.cold"]
    assert len(parts) == 1 and parts[0].never == 0 and parts[0].executed + parts[0].forced > 0


@dataclass(frozen=True)
class Reading:
    """What the static pass says of the instructions at which it can tell anything."""

    said: Mapping[int, bool]

    def contradicted(self, pcs: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        said = [self.said.get(pc) for pc in pcs.tolist()]
        return np.array([each is True for each in said]), np.array([each is not None for each in said])


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({1: False, 4: True}, [True, False, False, True, True, True, True, True]),  # with all that comes behind it
        ({1: True, 4: False}, [True, True, True, True, False, True, True, True]),
        ({}, [True, False, False, True, True, True, True, True]),  # a path that did not come back proves nothing then
    ],
)
def test_a_forced_path_goes_astray_where_no_second_witness_says_so(said: dict[int, bool], kept: list[bool]) -> None:
    path = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    wrong = np.array([0, CFA, 0, 0, CFA, 0, CFA, NO_ROW], np.uint64)
    every, nothing = np.ones(8, np.bool_), np.zeros(8, np.bool_)
    checks = RowChecks(ARCHES["x86_64"], np.arange(8, dtype=np.uint64), every, wrong, nothing)
    batch = Batch(None, path, path != 2, path == 1, nothing)  # type: ignore[arg-type]
    assert seconded(checks, batch, Reading(said)).compared.tolist() == kept  # type: ignore[arg-type]


# A function over which the testbed itself fails costs its own result, and no other's.


FUNCTION = """
.text
.globl {0}
.type {0}, @function
{0}: .cfi_startproc
 pushq %rbx
 .cfi_def_cfa_offset {1}
 popq %rbx
 .cfi_def_cfa_offset 8
 ret
 .cfi_endproc
.size {0}, . - {0}
"""


@pytest.fixture
def fresh() -> Iterator[None]:
    groups.opened.cache_clear()
    yield
    groups.opened.cache_clear()


def test_a_function_that_cannot_be_explored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    explore = Explorer.explore

    def fails(self: Explorer, piece: Any, *args: Any, **named: Any) -> Any:
        if piece.name == "broken":
            raise IndexError("tuple index out of range")
        return explore(self, piece, *args, **named)

    monkeypatch.setattr(Explorer, "explore", fails)
    names = [("a", 16), ("broken", 16), ("b", 24), ("c", 16)]
    found = checked(written(tmp_path, "".join(FUNCTION.format(*each) for each in names)))
    assert list(found.failures) == ["broken"]
    assert "IndexError: tuple index out of range (check_file.py" not in found.failures["broken"]
    assert [finding.function for finding in found.findings] == ["b"]
    tried = [(each.name, each.ran > 0) for each in found.functions]
    assert tried == [("a", True), ("broken", False), ("b", True), ("c", True)]


def test_a_function_whose_findings_cannot_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    def fails(function: Any) -> Any:
        if len(function) == 4:
            raise KeyError("rbx")
        return find_causes(function)

    monkeypatch.setattr(table_findings, "find_causes", fails)
    broken = FUNCTION.format("broken", 24).replace(" ret", " nop\n ret")
    found = checked(written(tmp_path, broken + FUNCTION.format("b", 24)))
    assert list(found.failures) == ["broken"] and "KeyError" in found.failures["broken"]
    assert [finding.function for finding in found.findings] == ["b"]
    monkeypatch.setenv("TESTBED_TRACEBACK", "1")
    with pytest.raises(KeyError):
        checked(written(tmp_path, broken))


# Debug information may name any file: only sources below the folders that the user gave are read, and no pipe.


WRONG = """ .text
 .globl f
 .type f, @function
f: .cfi_startproc
 pushq %rbx
 .cfi_def_cfa_offset 24
 .cfi_offset %rbx, -16
 movl %edi, %ebx
 popq %rbx
 .cfi_def_cfa_offset 8
 .cfi_restore %rbx
 ret
 .cfi_endproc
 .size f, . - f
"""
LINE = WRONG.splitlines().index(" movl %edi, %ebx") + 1


def build(source: Path, file: Path) -> Path:
    """An object with lines, of a source that GCC assembled."""
    for path in (source, file):
        path.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(WRONG)
    subprocess.run(["gcc", "-c", "-g", "-o", file, source], check=True)
    return file


@pytest.mark.parametrize(
    ("source", "file", "current", "read"),
    [
        ("code.S", "code.o", "made", True),  # beside its object
        ("source/code.S", "made/code.o", "made", False),
        ("source/code.S", "made/code.o", ".", True),  # below the current folder
    ],
)
def test_what_stands_in_a_source_is_said_where_the_user_gave_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, file: str, current: str, read: bool
) -> None:
    built = build(tmp_path / source, tmp_path / file)
    (tmp_path / current).mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / current)
    (finding,) = check_file(built, CheckOptions(runs=50, steps=200), READERS).findings
    assert finding.repair is not None
    assert [edit.old.strip() for edit in finding.repair.edits] == read * [".cfi_def_cfa_offset 24"]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    source = tmp_path / "code.S"
    build(source, tmp_path / "code.o")
    source.unlink()
    os.mkfifo(source)
    command = [sys.executable, "-m", "testbed.cli", "check", "code.o", "--fresh"]
    done = subprocess.run(command, cwd=tmp_path, timeout=300, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "1 of 1 function has a wrong row" in done.stdout, done


def test_links_lead_out_of_no_folder(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
    (outside / "code.S").write_text(WRONG)
    (inside / "out.S").symlink_to(outside / "code.S")
    (inside / "round.S").symlink_to("round.S")
    assert around(str(outside / "code.S"), LINE, 0, Sources((outside,))).directives
    for name in ("out.S", "round.S", "../outside/code.S", "no\0name.S", "x" * 300 + ".S"):
        assert around(f"{inside}/{name}", LINE, 0, Sources((inside,))) == Around()


IN_A_MACRO = """#include "macros.h"
        .globl f
        .type f, @function
f:      .cfi_startproc
        SAVE rbx
        xorl %ebx, %ebx
        popq %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        ret
        .cfi_endproc
        .size f, . - f
"""
SAVE = """        .macro SAVE reg
        pushq %\\reg
        .cfi_adjust_cfa_offset 16
        .cfi_rel_offset %\\reg, 0
        .endm
"""


@pytest.mark.parametrize(("linked", "flags"), [(("code.S", "macros.h"), ()), (("macros.h",), ("-I../real",))])
def test_what_links_lead_to_is_read_where_the_source_is_a_link_or_its_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linked: tuple[str, ...], flags: tuple[str, ...]
) -> None:
    for name in ("real", "here"):
        (tmp_path / name).mkdir()
        written(tmp_path / name, IN_A_MACRO)
        written(tmp_path / name, SAVE, "macros.h")
    for name in linked:
        (tmp_path / "here" / name).unlink()
        (tmp_path / "here" / name).symlink_to(f"../real/{name}")
    monkeypatch.chdir(tmp_path / "here")
    (finding,) = checked(Path("code.S"), flags=flags).findings
    assert finding.place is not None and finding.repair is not None
    assert (finding.place.line, finding.place.macro, finding.place.macro_line) == (5, "SAVE", 3)
    assert finding.place.macro_file == str((tmp_path / "real" / "macros.h").resolve())
    assert finding.repair.no_patch.endswith(f"another file, {finding.place.macro_file}")


def test_a_link_out_of_a_sources_folder_is_named_with_the_folder_to_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "here").mkdir()
    written(tmp_path / "shared", SAVE, "macros.h")
    written(tmp_path / "here", IN_A_MACRO)
    (tmp_path / "here" / "macros.h").symlink_to("../shared/macros.h")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BuildError, match=r"here/macros.h is a link out of its folder; .*: `testbed .*-Ishared`"):
        checked(Path("here/code.S"))


def test_a_current_folder_that_is_gone_opens_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    (tmp_path / "code.S").write_text(WRONG)
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert around(str(tmp_path / "code.S"), LINE, 0, Sources((Path(),))) == Around()


def test_a_library_without_tables_is_noted_and_not_called_right(tmp_path: Path) -> None:
    text = ".text\n.globl f\n.type f, %function\nf: push {r4, lr}\n bl g\n pop {r4, pc}\n.size f, .-f\n"
    source = written(tmp_path, text)
    assert [each.severity for each in checked(source, arch="arm32").findings] == [Severity.ERROR]
    with program_file(source, "arm32", ()) as made:
        shutil.copy(made, tmp_path / "lib.so")
    check = checked(tmp_path / "lib.so")
    assert [each.severity for each in check.findings] == [Severity.NOTE]
    assert answer("lib.so", [check]).startswith("lib.so: there is no unwind table, so no row is right or wrong")


ONE_ROW = """
.text
.globl f
.type f, @function
f: .cfi_startproc
 .cfi_def_cfa %rbp, 16
 .cfi_offset %rbp, -16
 pushq %rbp
 movq %rsp, %rbp
 call *%rsi
 leave
 ret
 .cfi_endproc
 .size f, .-f
"""


def test_a_state_is_remembered_before_an_advice_changes_it(tmp_path: Path) -> None:
    with program_file(written(tmp_path, ONE_ROW), "x86_64", ()) as made:
        shutil.copy(made, tmp_path / "lib.so")
    told = [each.repair for each in checked(tmp_path / "lib.so").findings if each.repair and each.repair.remembered]
    assert [(each.directives, each.remembered) for each in told] == [((".cfi_restore_state",), "f+0x1")]


def test_a_file_most_of_whose_functions_have_no_row_was_built_so(tmp_path: Path) -> None:
    head = ".globl {0}\n.type {0}, @function\n{0}:\n"
    bare = [f"{head.format(f'bare{i}')} push %rbx\n pop %rbx\n ret\n" for i in range(3)]
    told = [f"{head.format(f'told{i}')} .cfi_startproc\n ret\n .cfi_endproc\n" for i in range(3)]
    weights = list[set[Severity]]()
    command = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-linux-gnu", "-shared", "-nostdlib", "-g0"]
    for k, some in enumerate(((*bare, told[0]), (bare[0], *told))):
        source, linked = written(tmp_path, f".text\n{''.join(some)}"), tmp_path / f"lib{k}.so"
        subprocess.run([*command, "-o", linked, source], check=True)
        found = [each for each in checked(linked).findings if each.kind is FindingKind.NO_ROW]
        weights.append({each.severity for each in found})
    assert weights == [{Severity.NOTE}, {Severity.ERROR}]


def test_what_a_linked_index_says_nothing_of_was_compiled_without_a_table(tmp_path: Path) -> None:
    source = tmp_path / "n.s"
    head = ".globl {0}\n.type {0}, %function\n{0}:\n"
    body = "push {r4, lr}\nbl stub\npop {r4, pc}\n"
    marked = f"{head.format('behind')}.fnstart\n.cantunwind\n{body}.fnend\n"
    stub = f"{head.format('stub')}bx lr\n"
    source.write_text(f".text\n.arm\n{head.format('before')}{body}{stub}{marked}", encoding="utf-8")
    linked = tmp_path / "libn.so"
    command = [sys.executable, "-m", "ziglang", "cc", "-target", "arm-linux-gnueabihf", "-shared", "-nostdlib", "-g0"]
    subprocess.run([*command, "-o", linked, source], check=True)
    check = check_file(linked, CheckOptions(), READERS)
    assert {each.function: each.severity for each in check.findings} == dict.fromkeys(
        ("before", "behind"), Severity.NOTE
    )
    assert "what was executed has no row, so none is known to be right" in answer(linked.name, [check])
    as_a_source = check_file(source, CheckOptions(arch="arm32"), READERS)
    assert {each.function: each.severity for each in as_a_source.findings} == {
        "before": Severity.ERROR,
        "behind": Severity.NOTE,
    }


def test_what_a_linkage_table_leads_to_says_which_registers_it_keeps(tmp_path: Path) -> None:
    """GNU ld writes rows for its `.plt.got`, by which OCaml's functions go on to others with what they have changed."""
    body = {
        "f": "push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\nmov camlT__g_1@GOTPCREL(%rip), %rax\n"
        "call camlT__g_1@PLT\npop %rbx\n"
        ".cfi_def_cfa_offset 8\n.cfi_restore %rbx\nret",
        "camlT__g_1": "mov camlT__h_2@GOTPCREL(%rip), %rax\nmov $3, %ebx\njmp camlT__h_2@PLT",
        "camlT__h_2": "mov %rbx, %rax\nret",
    }
    head = ".globl {0}\n.type {0}, @function\n{0}: .cfi_startproc\n{1}\n.cfi_endproc\n.size {0}, .-{0}\n"
    source = written(tmp_path, ".text\n" + "".join(head.format(*each) for each in body.items()))
    linked = tmp_path / "p.so"
    compiler = shutil.which("x86_64-linux-gnu-gcc-12")
    if compiler is None:
        pytest.skip("needs GNU ld: apt-get install gcc-12")
    subprocess.run([compiler, "-shared", "-nostdlib", "-o", linked, source], check=True)
    check = checked(linked)
    assert not check.failures and not check.findings
    assert {*body} <= {each.name for each in check.functions if each.executed}
