"""Mistakes of users: each gets one clear message and status 2, never a traceback."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build
from testbed.build.recipes import RECIPES
from tests.cli.command import HEAD, NEVER_ENDS, Testbed, tells

BUILT = "a program file"
SOURCE = PROGRAMS["leaf_call"].sources["arm64"].path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "leaf_cal"], "no program 'leaf_cal'; did you mean leaf_call"),
        (["run", "leaf_call", "--arch", "arm65"], "no architecture 'arm65'; did you mean arm64"),
        (["run", "leaf_call", "--arch", "thumb"], "'thumb' is an instruction set of arm32"),
        (["run", "leaf_call", "--arch", "arm64", "--recipe", "keyston"], "no recipe 'keyston'; did you mean keystone"),
        (["run", "leaf_call", "--arch", "arm64", "--recipe", "clang-O2"], "does not build leaf_call on arm64"),
        (
            ["run", "leaf_call", "--arch", "arm64", "-u", "fp_chian"],
            "no strategy matches 'fp_chian'; did you mean fp_chain",
        ),
        (["run", "leaf_call", "--arch", "arm64", "--at", "laef"], "no symbol 'laef'; did you mean leaf"),
        (["run", "leaf_call", "--arch", "arm64", "--at", "leaf#9"], "is executed once in this run"),
        (["run", "leaf_call", "--at", "leaf", "--json"], "--json is of the whole run: not with --at"),
        (["run", "leaf_call", "--at", "leaf", "-o", "a.svg"], "-o a.svg is of the whole run: not with --at"),
        (["run", "leaf_call", "--at", "main+0x3"], "is never executed in this run"),
        (["run", "leaf_call", "-o", "-"], "-o -: the end of its name says what to write (.html: a page"),
        (["run", "leaf_call", "--html", "x"], "no option --html any more; in its place: -o FILE.html"),
        (["run", "leaf_call", "--recipe", ""], "no recipe ''; "),
        (["check", "f.S", "--format", "xml"], "--format cannot be 'xml'; did you mean html"),
        (["matrix", "--known-bugs", "--report", "nothing", "."], "no report 'nothing'; "),
        (["matrix", "--known-bugs", "--try"], "--try runs the command of a report"),
        (["list", "programs", "-u", "x"], "-u goes with assumptions, not with programs"),
        (["run", "leaf_call", "--arch", "arm64", "--at", "@99999"], "this run has the steps"),
        (["run", "leaf_call", "--arch", "arm64", "--at", "1 + 1"], "is no location"),
        (["run", "interworking", "--arch", "x86_64"], "interworking does not exist for x86_64"),
        (["run", "./nowhere.c"], "no file"),
        (["run", "leaf_call", "--budget", "0"], "'--budget': 0 is not in the range"),
        (["run", "leaf_call", "--cross-check", "--budget", "-3"], "'--budget': -3 is not in the range"),
        (["run", "./program", "-l"], "what is not for testbed stands behind --"),
        (["matrix", "-p", "nothing*"], "no program matches"),
        (["matrix", "-p", "leaf_call", "-r", "clang-O2"], "no program is built that way"),
        (["matrix", "-p", "recursion", "-r", "gcc-O3"], "only --all has these units"),
        (["run", "leaf_call", "--outptu"], "no option --outptu; did you mean --output"),
        (["list", "progams"], "WHAT cannot be 'progams'; did you mean programs"),
        (["serve"], "no `testbed serve` any more; in its place: testbed edit"),
        (["generate", "7", "-l", "c"], "in its place: testbed fuzz --write SEED"),
        (["list", "arches", "--clear"], "--clear goes with cache, not with arches"),
        (["list"], "WHAT is missing; there are: programs, unwinders"),
        (["mtrix"], "no command 'mtrix'; did you mean matrix"),
        (["show", "leaf_call"], "in its place: testbed run PROGRAM --at PLACE --machine"),
        (["run", "leaf_call", "--cross-check", "-u", "x"], "--unwinder does not go with --cross-check"),
        (["run"], "error: PROGRAM is missing"),
        (["matrix", "-r", "typo"], "such as keystone, clang-asm"),
        (
            ["backtrace", "leaf_call", "--at", "leaf", "-u", "eh_fram"],
            "no strategy matches 'eh_fram'; did you mean eh_frame",
        ),
        (["backtrace", "leaf_call", "--at", "leav"], "no symbol 'leav'; did you mean leaf"),
        (["backtrace", "leaf_call", "--at", "leaf", "-s", "none"], "--style cannot be 'none'; "),
        (["run", "leaf_call", "--step"], "--step needs a terminal"),
        (["rows", "leaf_call", "-a", "arm64", "--compare", "-f", "sframe"], "too few tables to compare: sframe"),
        (["list", "assumptions", "-u", "eh_fram"], "no strategy matches 'eh_fram'; did you mean eh_frame"),
        (["backtrace", "leaf_call"], "where in leaf_call? --at LOCATION, or --judge for all of it"),
        (["backtrace", "leaf_call", "--at", "leaf", "--sysroot", "."], "--sysroot does not go with --at: leave it out"),
        (["backtrace", "a.core", "--seed", "2"], "--seed does not go with a snapshot: leave it out"),
        (["backtrace", "leaf_call", "--at", "leaf", "-u", "*_frame"], "-u says who finds the frames: one, not"),
        (["export", "leaf_call"], "export what? PROGRAM --at LOCATION, or --vectors DIR"),
        (["export", "leaf_call", "--vectors", "d"], "choose some by -p"),
        (["export", "leaf_call", "--at", "@0", "-a", "arm64", "-a", "arm32"], "one snapshot is of one --arch"),
        (["export", "--vectors", "d", "--at", "@0"], "--at does not go with --vectors: leave it out"),
        (["check", "leaf_call", "--executed", "--fix"], "--fix does not go with --executed: leave it out"),
        (["check", "leaf_call", "other", "--executed"], "--executed takes one program"),
        (["check", "leaf_call", "--executed", "--arch", "arm64", "-t", "orc"], "has no table that a strategy reads"),
        (["score", "-u", "nobody"], "no strategy matches 'nobody'"),
        (["score", "-u", "ehabi", "-a", "x86_64"], "not for any of these architectures"),
        (["score", "-a", "vax"], "no architecture 'vax'"),
        (["score", "-o", "x.svg", "-a", "arm64"], "a badge is of one unwinder"),
        (["run", "--trace", __file__], "no trace file of testbed"),
        (["run", "--trace", "gone"], "No such file"),
        (["run", "leaf_call", "--trace", __file__], "takes the place of PROGRAM"),
        (["run", BUILT, "--frame-record", "r11-gc"], "is no frame record of x86_64"),
        (["run", "leaf_call", "--frame-record", "r11-gcc"], "--frame-record is for program files; the header of leaf"),
        (["run", "leaf_call", "--convention", "go"], "--convention is for program files; the header of leaf_call says"),
        (["run", "leaf_call", "-o", "no/file.trace"], "cannot be written"),
        (["run", "leaf_call", "-o", "a.trace", "-o", "a.html"], "-o FILE.trace only records"),
        (["run", "leaf_call", "-o", "a.trace", "--explain"], "--explain does not go with -o FILE.trace"),
        (["protocol", "--example", "c"], "belong together"),
        (["protocol", "--check"], "--check takes one --unwinder-cmd"),
        (["protocol", "--check", "--unwinder-cmd", "./nothing"], "does not start"),
        (["check", "f.s", "-u", "eh_frame", "-o", "page.html"], "--format html is of tables"),
        (["check", "f.s", "-u", "eh_frame", "--format", "sarif"], "--format sarif is of tables"),
        (["check", "f.s", "-u", "eh_frame", "--baseline", "known.json"], "are of tables"),
        (["check", "f.s", "-u", "eh_frame", "-t", "eh_frame"], "are of tables"),
        (["check", str(SOURCE), "-u", "ehabi"], "it has nothing for arm64"),
    ],
)
def test_a_mistake_gets_one_message_and_status_2(
    testbed: Testbed, arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    built = build(PROGRAMS["leaf_call"], ARCHES["x86_64"], RECIPES["keystone"]).path
    tells(testbed, 2, (str(built) if each == BUILT else each for each in arguments), err=[message])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("typo.x86_64.S", "// sumary: x\n", r"typo\.x86_64\.S:1: unknown header key 'sumary'; did you mean summary"),
        ("wrong.x86_64.S", HEAD + ".intel_syntax noprefix\n_start:\n  movv rax, rbx\n", r"wrong\.x86_64\.S:6:\d+: "),
        ("wrong.c", HEAD + "int main(void) { return x; }\n", r"wrong\.c:4:25: error: use of undeclared identifier"),
        ("noisa.S", HEAD, "a source is named NAME.c or NAME.ISA.S"),
        ("loop.x86_64.S", HEAD + NEVER_ENDS, r"did not exit within 500 steps.*last steps:"),
        (
            "status.x86_64.S",
            HEAD + NEVER_ENDS.replace(" jmp _start", " mov edi, 3\n mov eax, 60\n syscall"),
            "exit status 3; the header of status.x86_64.S says 0",
        ),
        ("text.elf", "this is no ELF file", "text.elf: at offset 0x0: not an ELF file"),
        ("cut.elf", "\x7fELF\x02\x01\x01", "cut.elf: at offset 0x0: corrupt ELF structure"),
    ],
)
def test_a_bad_file_gets_one_message_that_names_the_place(
    testbed: Testbed, tmp_path: Path, name: str, content: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="latin-1")
    said = tells(testbed, 2, ("run", str(path), "--budget", "500"))
    assert re.search(message, said.err, re.S), said.err
    assert "Traceback" not in said.err


def test_a_missing_toolchain_says_what_to_install(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "ziglang", None)
    monkeypatch.setattr("testbed.build.compile.find_zig", _no_zig, raising=True)
    tells(testbed, 2, ("run", "recursion", "--arch", "arm64"), err=["pip install ziglang"])


def _no_zig() -> Path:
    from testbed.words.errors import ToolchainMissing

    raise ToolchainMissing("clang (ziglang)", "pip install ziglang==0.17.0")


def test_the_cache_command_says_how_its_folder_is_chosen(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "TESTBED_CACHE" in testbed("list", "--help").out
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "mine"))
    assert testbed("list", "cache").out.startswith(f"{tmp_path / 'mine'}: 0 files")
