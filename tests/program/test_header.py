"""The header of a program's source: what is read, and the one error that a wrong one is."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES
from testbed.build import build, cache
from testbed.build.cache import build_key
from testbed.build.recipes import RECIPES, recipes_for
from testbed.campaign.cells import Unit
from testbed.campaign.kept_results import judge_and_keep, kept_result
from testbed.program.header import Signal, Span, Trapped
from testbed.program.model import (
    Expectation,
    Program,
    parse_header,
    program_from_text,
    programs_in,
    read_program,
    read_source,
)
from testbed.runs.files import load_run, save_run
from testbed.runs.run import run_built, run_program
from testbed.words import files
from testbed.words.errors import BuildError, ProgramError
from unwinders import UNWINDERS

GOOD = ["// summary: a leaf", "// exit: 42", "// frames: leaf = leaf, main", "code"]


def header_with(**changed: str | None) -> str:
    """The good header with lines replaced, by number ("line2"), or left out (None)."""
    lines = {f"line{i}": line for i, line in enumerate(GOOD, 1)} | changed
    return "\n".join(line for line in lines.values() if line is not None) + "\n"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (header_with(line1="// sumary: a leaf"), 1, "unknown header key 'sumary'; did you mean summary?"),
        (header_with(line1=None), 3, "the header has no '// summary: ...' line"),
        (header_with(line2=None), 3, "the header has no '// exit: ...' line"),
        ("", 1, "the header has no '// summary: ...' line"),
        (header_with(line2="// exit: 256"), 2, "a status from 0 to 255 is needed, not '256'"),
        (header_with(line2="// exit: -1"), 2, "a status from 0 to 255 is needed, not '-1'"),
        (header_with(line2="// exit: 0x2a"), 2, "a status from 0 to 255 is needed"),
        (header_with(line2="// exit:"), 2, "header key 'exit' has no value"),
        (header_with(line4="// exit: 42"), 4, "header key 'exit' is already given in line 2"),
        (header_with(line3="// traits: FP_OMITED"), 3, "'FP_OMITED' is no trait that a header declares; did you mean"),
        (header_with(line3="// traits: PROLOGUE"), 3, "'PROLOGUE' is no trait that a header declares"),
        (header_with(line3="// frames: leaf, main"), 3, "'LOCATION = f, g, h' is needed, not 'leaf, main'"),
        (header_with(line3="// frames: leaf ="), 3, "'LOCATION = f, g, h' is needed"),
        (header_with(line3="// frames: leaf+4 = leaf"), 3, "'LOCATION = f, g, h' is needed"),
        (header_with(line3="// frames: leaf#x = leaf"), 3, "'LOCATION = f, g, h' is needed"),
        (header_with(line4="// frames: 2leaf = leaf"), 4, "'LOCATION = f, g, h' is needed"),
        (header_with(line3="// frame-record: r11-gc"), 3, "no frame record 'r11-gc'; did you mean r11-gcc"),
        (header_with(line3="// what this does"), 3, "not a header line ('// key: value'): '// what this does'"),
        (header_with(line3="// trap: six a/b#1"), 3, "'NUMBER REFERENCE, REFERENCE' is needed, not 'six a/b#1'"),
        (header_with(line3="// trap: 6"), 3, "'NUMBER REFERENCE, REFERENCE' is needed"),
        (header_with(line3="// trap: 99 a/b#1"), 3, "there is no trap 99; they are numbered 1 to 39"),
        (header_with(line3="// trap: 6 a/b#1, the bug"), 3, "'owner/name#12' or an https address is needed"),
        (header_with(line3="// wrong: popped"), 3, "'LABEL..LABEL' is needed, not 'popped'"),
        (header_with(line3="// untabled: a..b, c-d"), 3, "'LABEL..LABEL' is needed, not 'c-d'"),
        (header_with(line3="// exchanged: work"), 3, "'F, G' is needed, not 'work'"),
        (header_with(line3="// signal: leaf handler f restorer g"), 3, "'at LABEL handler F restorer G'"),
        (header_with(line3="// signal: at leaf#0 handler f restorer g"), 3, "'at LABEL handler F restorer G'"),
        ("//   a continuation of nothing\n" + header_with(), 1, "not a header line"),
    ],
)
def test_a_wrong_header_is_one_error_with_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse_header("folder/mine.c", text)
    assert (caught.value.line, said in caught.value.detail) == (line, True), caught.value
    assert str(caught.value).startswith(f"folder/mine.c:{line}: ")


def test_a_good_header_is_read_with_its_continuations() -> None:
    text = (
        "// summary: a leaf\n//   below main\n// exit: 7\n// entry: go\n// traits: FP_OMITTED\n"
        "// frame-record: r11-gcc\n// recipes: clang-O2*, clang-Os\n// clang-only: PAC\n"
        "// frames: leaf+0x4#2 = leaf,\n//   main\n\n// not: this\n"
    )
    header = parse_header("x.c", text)
    assert (header.summary, header.exit, header.entry) == ("a leaf below main", 7, "go")
    assert [trait.name for trait in header.traits] == ["FP_OMITTED"]
    assert (header.frame_record, header.clang_only) == ("r11-gcc", "PAC")
    assert header.recipes == ("clang-O2*", "clang-Os")
    assert header.frames == (Expectation("leaf+0x4", 2, ("leaf", "main"), 9),)


def test_traps_places_and_signals_are_read() -> None:
    text = (
        "// summary: a leaf\n// exit: 7\n// twin: good\n// trap: 6 a/b#1, https://x.org/2\n// trap: 7 c/d#3\n"
        "// wrong: a..b, c+0x4..d\n// untabled: e..f\n// signal: at leaf#2 handler f restorer g on alternate stack\n"
        "// signal: at fault handler f restorer g\n"
    )
    header = parse_header("x.c", text)
    assert header.traps == (Trapped(6, ("a/b#1", "https://x.org/2")), Trapped(7, ("c/d#3",)))
    assert header.twin == "good"
    assert header.wrong == (Span("a", "b", 6), Span("c+0x4", "d", 6))
    assert header.untabled == (Span("e", "f", 7),)
    assert header.signals == (Signal("leaf", 2, "f", "g", True, 8), Signal(None, 1, "f", "g", False, 9))


@pytest.mark.parametrize("name", ["x.S", "x.mips.S", "arm64.S", "x.s", "x.txt"])
def test_a_file_name_without_an_instruction_set_says_which_there_are(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(header_with())
    with pytest.raises(ProgramError, match=r"NAME\.c or NAME\.ISA\.S with ISA one of x86_64, arm64, a32, thumb"):
        read_source(path)


def test_a_file_that_is_not_text_or_not_there_is_a_program_error(tmp_path: Path) -> None:
    (tmp_path / "x.c").write_bytes(b"\xff\xfe")
    for path in (tmp_path / "x.c", tmp_path / "y.c"):
        with pytest.raises(ProgramError, match="cannot be read"):
            read_source(path)


def test_a_header_can_limit_the_recipes_and_keep_keystone_out(tmp_path: Path) -> None:
    limited, clang_only = tmp_path / "limited.c", tmp_path / "clang_only.arm64.S"
    limited.write_text(header_with(line3="// recipes: clang-O2*, clang-Os"))
    clang_only.write_text(header_with(line3="// clang-only: paciasp"))

    def recipes(path: Path) -> list[str]:
        return [recipe.name for recipe in recipes_for(read_program(path), ARCHES["arm64"])]

    assert recipes(limited) == ["clang-O2", "clang-O2-fp", "clang-Os", "clang-O2-scs", "clang-O2-debug_frame"]
    assert recipes(clang_only) == ["clang-asm"]


# What a header says of a build: further sources, include folders, flags, the syntax of x86 assembly.

ARCH = ARCHES["x86_64"]
HEAD = "// summary: t\n// exit: 0\n"


def written(folder: Path, keys: str, text: str = "int main(void) { return 0; }\n", name: str = "t.c") -> Program:
    path = folder / name
    path.write_text(HEAD + keys + text)
    return read_program(path)


def test_sources_and_headers_that_are_named_are_built_together(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "second.c").write_text('#include "both.h"\nint second(void) { return VALUE; }\n')
    (tmp_path / "parts" / "both.h").write_text("int second(void);\n")
    (tmp_path / "parts" / "third.arm64.S").write_text("this is for another instruction set\n")
    keys = "// sources: parts/second.c, parts/third.arm64.S\n// include: parts\n// flags: -DVALUE=3\n"
    program = written(tmp_path, keys, '#include "both.h"\nint main(void) { return second(); }\n')
    recipe = RECIPES["clang-O1"]
    built = build(program, ARCH, recipe)
    assert {"main", "second"} <= {symbol.name for symbol in built.image.symbols}
    # What a build reads is part of its key.
    (tmp_path / "parts" / "both.h").write_text("int second(void); // changed\n")
    again = read_program(tmp_path / "t.c")
    keys_of = [cache.build_key(p.sources["c"], ARCH, ARCH.isas[0], recipe) for p in (program, again)]
    assert keys_of[0] != keys_of[1]


@pytest.mark.parametrize("recipe", ["clang-asm", "gcc-asm"])
@pytest.mark.parametrize("arch", ARCHES)
def test_assembly_brings_a_part_in_c_along(tmp_path: Path, arch: str, recipe: str) -> None:
    (tmp_path / "second.c").write_text("int second(void) { return VALUE; }\n")
    isa = ARCHES[arch].isas[0].name
    keys = "// sources: second.c\n// flags: -DVALUE=3\n"
    program = written(tmp_path, keys, ".globl _start\n_start: nop\n", f"t.{isa}.S")
    image = build(program, ARCHES[arch], RECIPES[recipe]).image
    assert {"_start", "second"} <= {symbol.name for symbol in image.symbols}


@pytest.mark.parametrize("recipe", ["clang-O1", "gcc-O2"])
def test_inline_assembly_in_att_syntax(tmp_path: Path, recipe: str) -> None:
    text = 'int main(void) { int x; __asm__("movl $3, %0" : "=r"(x)); return x; }\n'
    keys = "// syntax: att\n" if recipe.startswith("clang") else ""
    assert build(written(tmp_path, keys, text), ARCH, RECIPES[recipe]).image.symbols


def test_keystone_is_left_out_where_it_does_not_know_what_is_said(tmp_path: Path) -> None:
    for keys in ("// syntax: att\n", "// flags: -DX\n"):
        program = written(tmp_path, keys, "_start: nop\n", "t.x86_64.S")
        assert "keystone" not in [recipe.name for recipe in recipes_for(program, ARCH)]
    assert "keystone" in [r.name for r in recipes_for(written(tmp_path, "", "_start: nop\n", "t.x86_64.S"), ARCH)]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("// sources: ../x.c\n", r"t\.c:3: sources: what lies beside this file is needed, not '../x.c'"),
        ("// sources: /etc/passwd\n", r"t\.c:3: sources: what lies beside this file is needed"),
        ("// sources: parts/none.c\n", r"t\.c:1: sources and include: .*none\.c cannot be read"),
        ("// include: nowhere\n", r"t\.c:1: include: there is no folder 'nowhere'"),
        ("// flags: -fplugin=x.so\n", r"t\.c:3: flags: '-fplugin=x\.so' is not among"),
        ("// flags: -o x\n", r"t\.c:3: flags: '-o' is not among"),
        ("// flags: @file\n", r"t\.c:3: flags: '@file' is not among"),
        ("// flags: -I/etc\n", r"t\.c:3: flags: '-I/etc' is not among"),
        ("// syntax: intel\n", r"t\.c:3: no other syntax 'intel'"),
    ],
)
def test_what_a_header_may_not_say(tmp_path: Path, keys: str, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        written(tmp_path, keys)


def test_a_link_out_of_the_folder_is_no_file_of_the_source(tmp_path: Path) -> None:
    (tmp_path / "out.c").symlink_to("/etc/passwd")
    with pytest.raises(ProgramError, match=r"'out\.c' is a link that leads out of the source's folder"):
        written(tmp_path, "// sources: out.c\n")


# A folder of programs in which other things lie: each is told with its name, and nothing is waited for without end.

THINGS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a folder": (lambda path: path.mkdir(), "a folder, not a regular file"),
    "a pipe that nobody writes to": (lambda path: os.mkfifo(path), "cannot be read"),
    "a link to nothing": (lambda path: path.symlink_to("nothing"), "No such file"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "a device, not a regular file"),
    "no text": (lambda path: path.write_bytes(b"\xff\xfe\x00"), "can't decode"),
    "nothing": (lambda path: path.write_bytes(b""), "the header has no '// summary: ...' line"),
}


@pytest.mark.parametrize("what", THINGS)
def test_what_is_no_source_is_told(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PIPE_SECONDS", 0.05)
    make, told = THINGS[what]
    make(tmp_path / "thing.c")
    with pytest.raises(ProgramError, match=r"thing\.c:1: ") as caught:
        programs_in(tmp_path)["thing"]
    assert told in str(caught.value)


def test_line_ends_are_made_one(tmp_path: Path) -> None:
    (tmp_path / "ends.c").write_bytes(b"// summary: ends\r\n// exit: 0\r\nint main(void) { return 0; }\r\n")
    (source,) = programs_in(tmp_path)["ends"].sources.values()
    assert source.text.count("\n") == 3
    assert "\r" not in source.text


# Fragments: built by every assembler, named in messages, part of every key and of every trace file.


ROOT = Path(__file__).parents[2]
ARM64 = ARCHES["arm64"]
HEADER = "// summary: a fragment\n// exit: 7\n\n"
WHOLE = """.globl _start
.type _start, %function
_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x29, #0
.include "parts/status.arm64.S"  // into x0
    mov x8, #0x5d
    svc #0
    .cfi_endproc
.size _start, . - _start
"""
ASSEMBLERS = ["keystone", "clang-asm", "gcc-asm"]


def written_with(folder: Path, fragment: str, text: str = HEADER + WHOLE) -> Path:
    """A program that includes a fragment, as two files."""
    (folder / "parts").mkdir(exist_ok=True, parents=True)
    (folder / "parts" / "status.arm64.S").write_text(fragment)
    path = folder / "whole.arm64.S"
    path.write_text(text)
    return path


@pytest.mark.parametrize("recipe", ASSEMBLERS)
def test_a_fragment_is_built_as_if_it_stood_there(recipe: str, tmp_path: Path) -> None:
    fragment = "    mov x0, #7\n"
    path = written_with(tmp_path, fragment)
    built = build(read_program(path), ARM64, RECIPES[recipe])
    run_built(built)  # raises where the exit status is another
    alone = re.sub(r"\.include.*\n", fragment, path.read_text())
    assert (
        built.path.read_bytes()
        == build(program_from_text("whole", ARM64, alone), ARM64, RECIPES[recipe]).path.read_bytes()
    )


@pytest.mark.parametrize("recipe", ASSEMBLERS)
@pytest.mark.parametrize(
    ("mistaken", "place"),
    [("fragment", "parts/status.arm64.S:2:"), ("whole", "whole.arm64.S:11:")],  # in a fragment, and behind it
)
def test_a_mistake_has_the_file_and_line_where_it_stands(
    recipe: str, mistaken: str, place: str, tmp_path: Path
) -> None:
    fragment, text = "// two lines\n    mov x0, #7\n", HEADER + WHOLE
    if mistaken == "fragment":
        path = written_with(tmp_path, fragment.replace("mov x0", "movv x0"), text)
    else:
        path = written_with(tmp_path, fragment, text.replace("mov x8", "movv x8"))
    with pytest.raises(BuildError, match=re.escape(f"{tmp_path}/{place}")):
        build(read_program(path), ARM64, RECIPES[recipe])


@pytest.mark.parametrize(
    ("line", "fragment", "message"),
    [
        ('.include "parts/gone.S"', "    nop\n", r"whole\.arm64\.S:4: \.include: .*parts/gone\.S cannot be read"),
        ('.include "../status.arm64.S"', "    nop\n", r"whole\.arm64\.S:4: .*a file in a folder beside the source"),
        ('.include "/etc/hostname"', "    nop\n", r"whole\.arm64\.S:4: .*a file in a folder beside the source"),
        ('.include "parts"', "    nop\n", r"whole\.arm64\.S:4: \.include: .*parts cannot be read"),
        (
            '.include "parts/status.arm64.S"',
            '    nop\n.include "parts/status.arm64.S"\n',
            r"parts/status\.arm64\.S:2: a fragment includes no other file",
        ),
    ],
)
def test_what_cannot_be_included_is_told_where_it_is_asked_for(
    line: str, fragment: str, message: str, tmp_path: Path
) -> None:
    path = written_with(tmp_path, fragment, f"{HEADER}{line}\n")
    with pytest.raises(ProgramError, match=message):
        read_program(path)


def test_a_text_without_a_folder_includes_nothing() -> None:
    program = program_from_text("whole", ARM64, HEADER + WHOLE)
    with pytest.raises(ProgramError, match=r"whole\.arm64\.S:10: .include: there is no file 'parts/status.arm64.S'"):
        build(program, ARM64, RECIPES["keystone"])


@pytest.mark.usefixtures("own_cache")
def test_a_changed_fragment_is_another_build_and_another_kept_result(tmp_path: Path) -> None:
    unit, asked = Unit("whole", "arm64", "keystone"), [UNWINDERS["fp_chain"]]
    keys = set()
    for fragment in ("    mov x0, #7\n", "    mov x0, #7 // a comment\n"):  # the same bytes
        programs = {"whole": read_program(written_with(tmp_path, fragment))}
        keys.add(build_key(programs["whole"].sources["arm64"], ARM64, ARM64.isas[0], RECIPES["keystone"]))
        assert kept_result(unit, programs, asked) is None
        judge_and_keep(unit, programs, asked)
        assert kept_result(unit, programs, asked) is not None
    assert len(keys) == 2


def test_a_trace_file_holds_the_fragments(tmp_path: Path) -> None:
    run = run_program(read_program(written_with(tmp_path, "    mov x0, #7\n")), ARM64, "keystone")
    save_run(run, tmp_path / "trace")
    assert load_run(tmp_path / "trace").built.source.fragments == run.built.source.fragments != ()


def test_every_fragment_is_shared() -> None:
    """One that a single program includes would only hide a part of it."""
    folder = ROOT / "programs" / "fragments"
    sources = [source for program in PROGRAMS.values() for source in program.sources.values()]
    for path in folder.iterdir():
        users = [s.path.name for s in sources if f"fragments/{path.name}" in {f.name for f in s.fragments}]
        assert len(users) > 1, f"{path.name} is included by {users}"
