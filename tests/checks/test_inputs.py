"""Files of every kind, whole, empty, mixed and cut: a check, or an error that says what is the matter."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.arch import ARCHES
from testbed.build.confined import landlock_version
from testbed.checks.check_file import check_file
from testbed.checks.inputs import program_file
from testbed.checks.model import FileCheck, Severity
from testbed.checks.options import CheckOptions
from testbed.cli.table_readers import READERS
from testbed.image import read_image, separate_debug
from testbed.report.check_words import answer
from testbed.words.errors import BuildError, NothingAskedFor, TestbedError, UsageError

pytest.importorskip("ziglang", reason="needs pip install ziglang")

SOURCE = ".globl f\n.type f, {type}\nf: .cfi_startproc\nret\n.cfi_endproc\n.size f, .-f\n"
RETURNS = {"x86_64": "@function", "arm64": "%function"}


def checked(path: Path, **options: object) -> FileCheck:
    return check_file(path, CheckOptions(**{"runs": 5, "steps": 50, **options}), READERS)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """An object file of each architecture: as an assembler made it, before anything is joined."""
    from testbed.checks.inputs import _compiled

    folder = tmp_path_factory.mktemp("objects")
    made = {}
    for arch, kind in RETURNS.items():
        source = folder / f"{arch}.S"
        source.write_text(SOURCE.format(type=kind), encoding="utf-8")
        (folder / arch).mkdir()
        made[arch] = _compiled(source, arch, (), folder / arch).read_bytes()
    return made


def archive(*members: tuple[str, bytes], thin: bool = False) -> bytes:
    """System V ABI, chapter 7: magic; 60 bytes of text before each member, at even places."""
    names = "".join(f"{name}/\n" for name, _ in members).encode()
    out = b"!<thin>\n" if thin else b"!<arch>\n"
    if thin:
        out += _head("//", len(names)) + names + b"\n" * (len(names) & 1)
    at = 0
    for name, content in members:
        out += _head(f"/{at}" if thin else f"{name}/", len(content))
        if not thin:
            out += content + b"\n" * (len(content) & 1)
        at += len(name) + 2
    return out


def _head(name: str, size: int) -> bytes:
    return f"{name:<16}{0:<12}{0:<6}{0:<6}{'644':<8}{size:<10}`\n".encode()


def test_a_thin_archive_is_the_files_that_it_names(tmp_path: Path, objects: dict[str, bytes]) -> None:
    (tmp_path / "one.o").write_bytes(objects["x86_64"])
    path = tmp_path / "thin.a"
    path.write_bytes(archive(("one.o", objects["x86_64"]), thin=True))
    assert [function.name for function in checked(path).functions] == ["f"]
    (tmp_path / "one.o").unlink()
    with pytest.raises(UsageError, match=r"its member .*one\.o cannot be read"):
        checked(path)


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [
        (lambda o: archive(), UsageError, "no member of this archive is an ELF object"),
        (lambda o: archive(("notes", b"just text")), UsageError, "no member of this archive is an ELF object"),
        (lambda o: archive(("a.o", o["x86_64"]), ("b.o", o["arm64"])), BuildError, r"incompatible.*check them apart"),
        (lambda o: archive(("a.o", o["x86_64"]))[:-100], BuildError, r"cut\.a"),
        (lambda o: b"!<arch>\n" + b"x" * 60, UsageError, "no size of an archive's member"),
        (lambda o: o["x86_64"].replace(b".eh_frame", b".gnu.lto_"), UsageError, "GCC left no machine code"),
    ],
)  # fmt: skip
def test_an_archive_of_which_nothing_can_be_checked_says_why(
    tmp_path: Path,
    objects: dict[str, bytes],
    content: Callable[[dict[str, bytes]], bytes],
    error: type[TestbedError],
    says: str,
) -> None:
    path = tmp_path / "cut.a"
    path.write_bytes(content(objects))
    with pytest.raises(error, match=says):
        checked(path)


@pytest.mark.parametrize("flag", ["-fsyntax-only", "-S", "-E"])
def test_a_compiler_that_makes_no_object_is_told(tmp_path: Path, flag: str) -> None:
    path = tmp_path / "code.c"
    path.write_text("int f(void) { return 1; }\n", encoding="utf-8")
    with pytest.raises(BuildError, match="the compiler made no object file"):
        checked(path, flags=(flag,))


def test_a_call_of_a_function_that_is_not_there_is_told(tmp_path: Path, objects: dict[str, bytes]) -> None:
    path = tmp_path / "one.o"
    path.write_bytes(objects["x86_64"])
    assert checked(path, calls=("f(1)",)).total("calls") == 4
    assert not checked(path, calls=("f(1)",)).notes
    assert "--call g(...) calls nothing here" in checked(path, calls=("g(1)",)).notes[-1]


def test_an_object_for_split_stacks_is_joined(tmp_path: Path) -> None:
    path = tmp_path / "code.S"
    text = '.section .note.GNU-split-stack, "", @progbits\n.text\n.globl g\ng: call h\n' + SOURCE.format(
        type="@function"
    )
    path.write_text(text, encoding="utf-8")
    with program_file(path, "x86_64", ()) as file:
        image = read_image(file)
    assert "f" in [symbol.name for symbol in image.symbols]
    assert struct.calcsize("<Q") == image.arch.word


def test_a_call_within_the_file_is_that_call(tmp_path: Path) -> None:
    """Not one through a linkage table, whose answer would be made up."""
    path = tmp_path / "calls.S"
    path.write_text(
        """
        .syntax unified
        .thumb
        .text
        .globl  f, g
        .type   f, %function
        .thumb_func
f:      .fnstart
        push    {r4, lr}
        .save   {r4, lr}
        sub     sp, #8
        bl      g
        add     sp, #8
        pop     {r4, pc}
        .fnend
        .size   f, .-f
        .type   g, %function
        .thumb_func
g:      .fnstart
        bx      lr
        .fnend
        .size   g, .-g
""",
        encoding="utf-8",
    )
    check = checked(path, arch="arm32")
    (finding,) = check.findings
    assert (finding.where, finding.instruction) == ("f+0x4", "bl g")
    assert check.total("forced") == 0


FOR_OTHERS = ".globl f\n.type f, %function\nf: .cfi_startproc\n {}\n.cfi_endproc\n"


def test_a_source_for_another_architecture_is_built_for_that(tmp_path: Path) -> None:
    path = tmp_path / "f.S"
    path.write_text(FOR_OTHERS.format("ldr x0, [x1]\n ret"), "utf-8")
    assert checked(path).arch.name == "arm64"
    path.write_text(FOR_OTHERS.format("bx lr"), "utf-8")
    assert checked(path).arch.name == "arm32"


def test_a_source_for_several_others_is_asked_about_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_text("#ifdef __x86_64__\n#error not here\n#endif\nint f(void) { return 1; }\n", "utf-8")
    with pytest.raises(BuildError) as asked:
        checked(path)
    sentence = "it does not build for x86_64, but for arm64 and arm32: say --arch arm64 or --arch arm32"
    assert str(asked.value) == f"{path}: {sentence}"
    path.write_text("this is no assembly\n", "utf-8")
    with pytest.raises(BuildError) as error:
        checked(path)
    assert "--arch" not in str(error.value) and "command: " in str(error.value)


def test_a_source_is_built_for_what_its_conditions_leave_code_for(tmp_path: Path) -> None:
    path = tmp_path / "f.S"
    path.write_text(f"#ifdef __aarch64__\n{FOR_OTHERS.format('ldr x0, [x1]; ret')}#endif\n", "utf-8")
    assert checked(path).arch.name == "arm64"
    with pytest.raises(BuildError, match="it has no code for arm32, but for arm64: say --arch arm64"):
        check_file(path, CheckOptions(arch="arm32"), READERS)
    path.write_text("#ifdef MINE\n ret\n#endif\n", "utf-8")
    with pytest.raises(NothingAskedFor, match=r"no code for x86_64: .* by --arch, or behind -- \(-DNAME\)"):
        checked(path)


def test_what_a_source_is_for_is_said_where_another_architecture_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "f.S"
    path.write_text(FOR_OTHERS.format("push %rax; pop %rax; ret"), "utf-8")
    with pytest.raises(BuildError, match="it does not build for arm64, but for x86_64: say --arch x86_64"):
        check_file(path, CheckOptions(arch="arm64"), READERS)


@pytest.mark.parametrize(("content", "why"), [(b"", "it is empty"), (b"a\nb\n", "it is text, .* a list of files is @")])
def test_what_is_no_program_is_told_as_what_it_is(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "files.txt"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=why):
        checked(path)


@pytest.mark.parametrize("name", ["-c.S", "@f.S", "a b.S", "gr\u00fc\u00df.S", 'a"b\\c.S'])
def test_a_source_has_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = FOR_OTHERS.format("push %rax\n nop\n pop %rax\n ret")
    Path(name).write_text(wrong, "utf-8")
    findings = checked(Path(name)).findings
    assert findings and {Path(finding.source).name for finding in findings} == {name}


def test_a_table_of_calls_of_a_function_without_any_says_why_nothing_is_known(tmp_path: Path) -> None:
    path = tmp_path / "f.S"
    path.write_text(".globl f\n.type f, %function\nf: .fnstart\n .pad #4\n bx lr\n .fnend\n", "utf-8")
    said = answer("f.S", [checked(path)])
    assert ".ARM.exidx promises rows at calls only, and none was made" in said


@pytest.mark.skipif(not landlock_version(), reason="the kernel has no Landlock switched on")
@pytest.mark.parametrize(
    "text",
    [
        '__asm__(".incbin \\"/etc/pass" "wd\\"");',
        '#define NAME "/etc/hostname"\n#include NAME',
        '#include "../given/t.h"',
    ],
)
@pytest.mark.parametrize("compiler", [(), ("cc",)])
def test_a_source_reads_its_own_folder_and_those_that_are_named(
    tmp_path: Path, text: str, compiler: tuple[str, ...]
) -> None:
    if compiler and shutil.which(compiler[0]) is None:
        pytest.skip("cc is missing: apt-get install gcc")
    (tmp_path / "own").mkdir()
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "t.h").write_text("#define ONE 1\n", encoding="utf-8")
    (tmp_path / "own" / "u.h").write_text("#define TWO 2\n", encoding="utf-8")
    path = tmp_path / "own" / "t.c"
    path.write_text(f'#include "u.h"\n{text}\nint f(void) {{ return TWO; }}\n', encoding="utf-8")
    with pytest.raises(BuildError, match=r"named behind --: `testbed check \S+ -- -Iinclude`\)"):
        checked(path, flags=compiler)
    path.write_text('#include "u.h"\n#include "t.h"\nint f(void) { return ONE + TWO; }\n', encoding="utf-8")
    assert checked(path, flags=(*compiler, f"-I{tmp_path}/given")).functions


def test_of_assembly_that_clang_does_not_read_another_assembler_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.s"
    path.write_text(".text\nf: .gnu_only\n", encoding="utf-8")
    for arch, gcc in (("x86_64", "x86_64-linux-gnu-gcc"), ("arm32", "arm-linux-gnueabihf-gcc")):
        with pytest.raises(BuildError, match=rf"GNU's is asked by `testbed check \S+/t.s -- {gcc}`\)"):
            checked(path, arch=arch)


def test_a_compiler_that_wants_too_much_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "t.S"
    path.write_text(".text\nf: ret\n.space 0xfffffffff\n", encoding="utf-8")
    with pytest.raises(BuildError, match="the compiler was stopped: it wanted more than a file of 64 MB"):
        checked(path)


# A kernel module's object: no `.cfi`, only what objtool makes (arch/x86/include/asm/orc_types.h).
KERNEL_OBJECT = """
        .text
        .globl f
        .type f, @function
f:
0:      pushq %rbx
1:      movq %rdi, %rbx
        call printk
        movq %rbx, %rax
        popq %rbx
2:      ret
3:
        .size f, . - f
        .section .orc_unwind_ip, "a"
        .long 0b - .
        .long 1b - .
        .long 2b - .
        .long 3b - .
        .section .orc_unwind, "a"
        .short 8, 0, 0x205, HERE, 0, 0x205, 8, 0, 0x205, 0, 0, 0
        .section .orc_header, "a"
        .quad 0x3bd61b58bf325dfe, 0x25a6a55bc6a5a92c  # the layout since Linux 6.4
        .long 0x24feb3ea
"""


@pytest.mark.parametrize(("distance", "wrong"), [(16, 0), (24, 4)])
def test_an_object_with_orc_alone_is_checked(tmp_path: Path, distance: int, wrong: int) -> None:
    path = tmp_path / "module.S"
    path.write_text(KERNEL_OBJECT.replace("HERE", str(distance)), encoding="utf-8")
    found = checked(path)
    assert found.tables == (".orc_unwind",)
    assert (found.total("instructions"), found.total("executed"), found.compared > 6) == (6, 6, True)
    assert sum(finding.instructions for finding in found.findings) == wrong
    if wrong:
        assert "the true CFA is %rsp+0x10 here" in found.findings[0].things[0].true


def test_a_file_for_another_architecture_than_was_asked_for_is_refused(
    tmp_path: Path, objects: dict[str, bytes]
) -> None:
    """A check of other code than the one that was meant is no answer, whoever made it."""
    source = tmp_path / "f.c"
    source.write_text("int f(int a) { return a + 1; }\n")
    for flags in (("gcc", "-O2"), ("--target=x86_64-linux-gnu",)):
        assert checked(source, arch="x86_64", flags=flags).functions
        with pytest.raises(UsageError, match="is for x86_64, not for arm64: leave --arch out, or name what compiles"):
            checked(source, arch="arm64", flags=flags)
    path = tmp_path / "f.o"
    path.write_bytes(objects["arm64"])
    assert checked(path, arch="arm64").functions
    with pytest.raises(UsageError, match="is for arm64, not for arm32"):
        checked(path, arch="arm32")


# Sources that include what every system has are compiled for every architecture.


SOURCE_HEADERS = """
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "mine.h"
size_t f(const char *text) { return strlen(text) + (size_t)errno + MINE; }
"""


@pytest.mark.parametrize("arch", list(ARCHES))
def test_headers_of_the_compiler_of_libc_and_of_the_project_are_found(arch: str, tmp_path: Path) -> None:
    source, folder = tmp_path / "f.c", tmp_path / "include"
    source.write_text(SOURCE_HEADERS)
    folder.mkdir()
    (folder / "mine.h").write_text("#define MINE 3\n")
    with program_file(source, arch, (f"-I{folder}", "-Wall", "-Werror")) as path:
        image = read_image(path)
    assert image.arch is ARCHES[arch] and image.symbol_named("f") is not None


def test_a_header_of_the_project_comes_before_those_of_the_system(tmp_path: Path) -> None:
    source, folder = tmp_path / "f.c", tmp_path / "include"
    source.write_text("#include <string.h>\nint mine(void) { return MINE; }\n")
    folder.mkdir()
    (folder / "string.h").write_text("#define MINE 3\n")
    with program_file(source, "arm64", (f"-I{folder}",)) as path:
        assert read_image(path).symbol_named("mine") is not None


def test_assembly_that_is_not_preprocessed_is_no_reason_to_warn(tmp_path: Path) -> None:
    source = tmp_path / "f.s"
    source.write_text(".globl f\n.type f, @function\nf:\n ret\n.size f, .-f\n")
    with program_file(source, "x86_64", ("-Werror",)) as path:
        assert read_image(path).symbol_named("f") is not None


STRIPPED = """
.text
.type helper, @function
helper: .cfi_startproc
push %rbx
pop %rbx
ret
.cfi_endproc
.size helper, . - helper
.globl f
.type f, @function
f: .cfi_startproc
call helper
ret
.cfi_endproc
.size f, . - f
"""


@pytest.mark.skipif(shutil.which("objcopy") is None, reason="needs objcopy: apt install binutils")
@pytest.mark.parametrize("by", ["build id", "name"])
def test_names_and_lines_come_from_a_separate_debug_file(
    by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(separate_debug, "_OF_THE_SYSTEM", tmp_path / "system")
    source, library, debug = (tmp_path / name for name in ("code.S", "library.so", ".debug/library.debug"))
    source.write_text(STRIPPED, encoding="utf-8")
    with program_file(source, "x86_64", ()) as built:
        shutil.copy(built, library)
    own = read_image(library).sections
    if by == "build id":
        note = struct.pack("<III", 4, 4, 3) + b"GNU\0" + bytes.fromhex("12345678")
        (tmp_path / "note").write_bytes(note)
        _objcopy("--add-section", f".note.gnu.build-id={tmp_path}/note", library)
        debug = tmp_path / "system/.build-id/12/345678.debug"
    debug.parent.mkdir(parents=True)
    _objcopy("--only-keep-debug", library, debug)
    _objcopy("--strip-all", *([f"--add-gnu-debuglink={debug}"] if by == "name" else []), library)
    assert ".symtab" in own and ".symtab" not in read_image(library).sections
    (told,) = checked(library).findings
    (alone,) = checked(library, debug_files=False).findings
    assert (told.function, told.source, told.line) == ("helper", str(source), 6)
    assert (alone.source, alone.line) == ("", 0) and alone.function != "helper"
    assert checked(library).notes == checked(library, debug_files=False).notes


@pytest.mark.skipif(shutil.which("objcopy") is None, reason="needs objcopy: apt install binutils")
def test_who_has_no_name_is_called_by_nobody_outside(tmp_path: Path) -> None:
    source, library = tmp_path / "code.S", tmp_path / "library.so"
    saved = "call helper", "push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbx, -16\ncall helper\npop %rbx"
    text = STRIPPED.replace("push %rbx\npop %rbx", "movq %rdi, %rbx\nnop").replace(*saved)
    source.write_text(text.replace("pop %rbx\nret", "pop %rbx\n.cfi_adjust_cfa_offset -8\nret"), encoding="utf-8")
    with program_file(source, "x86_64", ()) as built:
        _objcopy("--strip-all", built, library)
    (told,) = checked(library).findings
    assert told.severity is Severity.NOTE and told.consequence is not None and told.consequence.gone == ("rbx",)


def _objcopy(*arguments: str | Path) -> None:
    subprocess.run(["objcopy", *map(str, arguments)], check=True)
