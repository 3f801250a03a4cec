"""What a build may use: limits that end in an error which names them, and no file but the source's own."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.arch import ARCHES, Arch, Isa
from testbed.build import build, confined
from testbed.build.compile import assemble, compile_c
from testbed.build.confinement import landlock_version
from testbed.build.gnu import assemble_gnu, compile_gcc, is_installed
from testbed.build.recipes import RECIPES
from testbed.program.model import Source, read_program
from testbed.program.start import START
from testbed.words.errors import BuildError

ARCH = ARCHES["x86_64"]
ISA = ARCH.isas[0]
HEAD = "// summary: t\n// exit: 0\n"
MAIN = "int main(void) { return 0; }\n"
landlock = pytest.mark.skipif(not landlock_version(), reason="the kernel has no Landlock switched on")
gcc = pytest.mark.skipif(not is_installed(ARCH), reason="GCC 12 is missing: apt-get install gcc-12")


def _c_by_clang(source: Source, arch: Arch, isa: Isa) -> bytes:
    return compile_c(source, arch, isa, ("-O1",), START[isa.name])


def _c_by_gcc(source: Source, arch: Arch, isa: Isa) -> bytes:
    return compile_gcc(source, arch, isa, ("-O1",), START[isa.name])


def _by_clang(source: Source, arch: Arch, isa: Isa) -> bytes:
    return assemble(source, arch, isa, ())


def _by_gnu(source: Source, arch: Arch, isa: Isa) -> bytes:
    return assemble_gnu(source, arch, isa, ())


Builder = Callable[[Source, Arch, Isa], bytes]
ASSEMBLERS = pytest.mark.parametrize("builder", [_by_clang, pytest.param(_by_gnu, marks=gcc)])
COMPILERS = pytest.mark.parametrize("builder", [_c_by_clang, pytest.param(_c_by_gcc, marks=gcc)])


def source(folder: Path, name: str, text: str) -> Source:
    path = folder / name
    path.write_text(HEAD + text)
    return next(iter(read_program(path).sources.values()))


def assembly(folder: Path, text: str) -> Source:
    return source(folder, "t.x86_64.S", f"_start: nop\n{text}\n")


@ASSEMBLERS
def test_a_file_that_grows_too_large_ends_the_build(tmp_path: Path, builder: Builder) -> None:
    with pytest.raises(BuildError, match=r"t\.x86_64\.S: the build was stopped: it wanted more than a file of 64 MB"):
        builder(assembly(tmp_path, ".space 0xfffffffff"), ARCH, ISA)


@ASSEMBLERS
def test_memory_that_is_wanted_without_end_ends_the_build(
    tmp_path: Path, builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confined, "MEMORY", 600 << 20)  # so that it does not take half a minute
    with pytest.raises(BuildError, match=r"the build was stopped: it wanted more than \d GB of memory"):
        builder(assembly(tmp_path, ".rept 1000000000\nnop\n.endr"), ARCH, ISA)


@COMPILERS
def test_time_that_is_wanted_without_end_ends_the_build(
    tmp_path: Path, builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confined, "CPU_SECONDS", 1)
    slow = "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(A(A(A(A(A(x))))))))\n"
    slow += "int main(void) { return 0 B(+ 0); }\n"
    with pytest.raises(BuildError, match=r"t\.c: the build was stopped: it wanted more than (30 s|\d GB|a file)"):
        builder(source(tmp_path, "t.c", slow), ARCH, ISA)


def test_a_tool_that_was_killed_met_a_limit_and_one_that_crashed_did_not() -> None:
    """A tool that lives on behind SIGXCPU is killed a second later, without a word."""
    assert confined.limit_met(-signal.SIGKILL, "") == f"{confined.CPU_SECONDS} s of processor time"
    assert confined.limit_met(-signal.SIGSEGV, "") == confined.limit_met(1, "t.S:3: error: no such thing") == ""


@landlock
@ASSEMBLERS
@pytest.mark.parametrize(
    "text", ['.macro x a\n.inc\\a "/etc/passwd"\n.endm\nx bin', '.macro x a\n.inc\\a "/etc/passwd"\n.endm\nx lude']
)
def test_a_macro_that_spells_incbin_opens_nothing(tmp_path: Path, builder: Builder, text: str) -> None:
    with pytest.raises(BuildError, match=r"/etc/passwd.*\(a build reads the source's own files"):
        builder(assembly(tmp_path, text), ARCH, ISA)


@landlock
@COMPILERS
@pytest.mark.parametrize(
    "text",
    [
        '__asm__(".incbin \\"/etc/pass" "wd\\"");\n',
        '#define NAME "/etc/passwd"\n#include NAME\n',
        f'#define NAME "{Path(__file__)}"\n#include NAME\n',
    ],
)
def test_a_host_file_is_not_read_whatever_names_it(tmp_path: Path, builder: Builder, text: str) -> None:
    with pytest.raises(BuildError, match=r"\(a build reads the source's own files and what it names in its header"):
        builder(source(tmp_path, "t.c", text + MAIN), ARCH, ISA)


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("t.c", '#include "/etc/passwd"\n', 3),
        ("t.c", '# include "../secret.h"\n', 3),
        ("t.c", '\n__asm__(".incbin \\"/etc/passwd\\"");\n', 4),
        ("t.c", "const char x[] = {\n#embed </etc/passwd>\n};\n", 4),
        ("t.x86_64.S", '_start: nop\n .incbin "../../x"\n', 4),
    ],
)
def test_a_name_that_leads_elsewhere_is_refused_with_its_line(tmp_path: Path, name: str, text: str, where: int) -> None:
    """Also where the kernel has no Landlock."""
    path = tmp_path / name
    path.write_text(HEAD + text + (MAIN if name == "t.c" else ""))
    recipe = RECIPES["clang-O1" if name == "t.c" else "clang-asm"]
    with pytest.raises(BuildError, match=rf"{name}:{where}: .*: a source reads files of its own folder only"):
        build(read_program(path), ARCH, recipe)
