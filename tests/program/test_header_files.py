"""What a header says of a build: further sources, include folders, flags, the syntax of x86 assembly."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.arch import ARCHES
from testbed.build import build, cache
from testbed.build.recipes import RECIPES, recipes_for
from testbed.program.model import Program, read_program
from testbed.words.errors import ProgramError, ToolchainMissing

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
    try:
        image = build(program, ARCHES[arch], RECIPES[recipe]).image
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    assert {"_start", "second"} <= {symbol.name for symbol in image.symbols}


@pytest.mark.parametrize("recipe", ["clang-O1", "gcc-O2"])
def test_inline_assembly_in_att_syntax(tmp_path: Path, recipe: str) -> None:
    text = 'int main(void) { int x; __asm__("movl $3, %0" : "=r"(x)); return x; }\n'
    keys = "// syntax: att\n" if recipe.startswith("clang") else ""
    try:
        assert build(written(tmp_path, keys, text), ARCH, RECIPES[recipe]).image.symbols
    except ToolchainMissing as missing:
        pytest.skip(str(missing))


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
