"""Programs as compilers make them: clang and zig, GCC."""

import re
import shutil
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES, Arch
from testbed.build import Built, build, cache, compile
from testbed.build.recipes import RECIPES, recipe_named, recipes_for
from testbed.build.targets import MACH_O
from testbed.campaign.cells import Unit
from testbed.campaign.matrix import judge_unit
from testbed.program.model import Program, read_program
from testbed.runs.run import run_built
from testbed.words.errors import BuildError, ToolchainMissing, UsageError
from tests.build.procedures import SOURCE, written
from unwinders.formats.reader import Reader
from unwinders.formats.sframe import read_header

try:
    compile.find_zig()
except ToolchainMissing as missing:
    pytest.skip(str(missing), allow_module_level=True)


pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize("arch", ARCHES.values(), ids=str)
def test_c_is_linked_with_the_start_of_each_instruction_set(arch: Arch, tmp_path: Path) -> None:
    program = read_program(written(tmp_path))
    for recipe in (r for r in recipes_for(program, arch) if r.name.endswith(("-O0", "-O2-fp"))):
        built = build(program, arch, recipe)
        assert {"_start", "main", "fib"} <= {s.name for s in built.image.symbols if s.is_function}
        start = built.image.symbol_named("_start")
        assert built.image.entry == start.address
        assert built.image.isa_at(start.address) is built.isa
        main = built.image.symbol_named("main")
        assert built.image.isa_at(main.address) is built.isa
        assert {".eh_frame", ".debug_frame"} & set(built.image.sections)


@pytest.mark.parametrize("recipe", ["clang-O2", "macho-O2", "gcc-O2"])
def test_equal_input_gives_equal_output_wherever_it_lies(recipe: str, tmp_path: Path) -> None:
    contents = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        contents.append(built_or_skipped(written(folder), "arm64", recipe).path.read_bytes())
    assert contents[0] == contents[1]
    assert b"/tmp/" not in contents[0] and str(tmp_path).encode() not in contents[0]


def built_or_skipped(path: Path, arch: str, recipe: str) -> Built:
    """What is missing is a build error too: a test of messages has to know that it is there."""
    try:
        return build(read_program(path), ARCHES[arch], RECIPES[recipe], fresh=True)
    except ToolchainMissing as missing:
        pytest.skip(str(missing))


UNDECLARED, UNLINKED = "int main(void) { return x; }\n", "int g(void); int main(void) { return g(); }\n"
NO_MNEMONIC = "_start:\n  movv x0, x1\n"


@pytest.mark.parametrize(
    ("recipe", "arch", "name", "text", "said"),
    [
        ("clang-O1", "x86_64", "prog.c", UNDECLARED, r"^PATH:3:25: error: use of undeclared identifier 'x'.* -O1 "),
        ("gcc-O2", "arm64", "prog.c", UNDECLARED, r"^PATH:3:25: error: 'x' undeclared"),
        ("clang-asm", "arm64", "prog.arm64.S", NO_MNEMONIC, r"^PATH:4:3: error: unrecognized instruction mnemonic"),
        ("gcc-asm", "arm64", "prog.arm64.S", NO_MNEMONIC, r"^PATH:4: Error: unknown mnemonic"),
        ("clang-O1", "arm64", "prog.c", UNLINKED, "undefined symbol: g"),
        ("macho-O2", "arm64", "prog.c", UNLINKED, "undefined symbol: _g"),
        ("gcc-O2", "arm64", "prog.c", UNLINKED, "undefined reference to `g'"),
    ],
)
def test_an_error_names_the_users_file_and_place_or_what_is_missing(
    recipe: str, arch: str, name: str, text: str, said: str, tmp_path: Path
) -> None:
    path = written(tmp_path, f"// summary: s\n// exit: 0\n{text}", name)
    with pytest.raises(BuildError) as caught:
        built_or_skipped(path, arch, recipe)
    assert re.search(said.replace("PATH", re.escape(str(path))), str(caught.value), re.DOTALL)
    if text == UNDECLARED:
        assert any(recipe.partition("-")[0] in part for part in caught.value.command)
        assert str(caught.value).count("error: ") == 1


def test_a_missing_wheel_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(compile, "find_spec", lambda name: None)
    with pytest.raises(ToolchainMissing, match=r"clang \(ziglang\) is not installed; .* pip install ziglang=="):
        build(read_program(written(tmp_path)), ARCHES["x86_64"], RECIPES["clang-O0"])


# Mach-O


@pytest.mark.parametrize("arch", [a for a in ARCHES.values() if MACH_O[a.name]], ids=str)
def test_c_becomes_a_mach_o_file_with_the_start_of_its_architecture(arch: Arch, tmp_path: Path) -> None:
    built = build(read_program(written(tmp_path)), arch, RECIPES["macho-O0"])
    assert built.path.suffix == ".macho"
    assert {"_start", "main", "fib"} <= {s.name for s in built.image.symbols if s.is_function}
    start = built.image.symbol_named("_start")
    assert built.image.entry == start.address
    assert "__TEXT,__unwind_info" in built.image.sections
    assert run_built(built).failure == ""


def test_a_program_opts_into_a_recipe_or_is_built_by_it_when_asked(tmp_path: Path) -> None:
    arch = ARCHES["arm64"]
    plain = read_program(written(tmp_path))
    opted = read_program(written(tmp_path, SOURCE.replace("// exit: 8", "// exit: 8\n// recipes: clang-O2, macho-*")))
    refused = read_program(written(tmp_path, SOURCE.replace("// exit: 8", "// exit: 8\n// recipes: clang-*")))

    def listed(program: Program) -> set[str]:
        return {recipe.name for recipe in recipes_for(program, arch)}

    assert not any(name.startswith("macho") for name in listed(plain) | listed(refused))
    assert listed(opted) == {"clang-O2", "macho-O0", "macho-O2", "macho-O2-dwarf"}
    assert recipe_named("macho-O2", plain, arch) is RECIPES["macho-O2"]
    with pytest.raises(UsageError, match="recipe 'macho-O2' does not build prog on arm64"):
        recipe_named("macho-O2", refused, arch)
    with pytest.raises(UsageError, match="recipe 'macho-O2' does not build prog on arm32"):
        recipe_named("macho-O2", plain, ARCHES["arm32"])


# Another clang


def test_another_clang_is_the_one_that_the_environment_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the wheel's own binary as the other one the files are equal; what it is called is in the results."""
    program, arch = read_program(written(tmp_path)), ARCHES["arm64"]
    monkeypatch.setenv(compile.OTHER_ZIG, str(compile.find_zig()))
    other, own = build(program, arch, RECIPES["clang-other-O2"]), build(program, arch, RECIPES["clang-O2"])
    assert other.path != own.path
    assert other.path.read_bytes() == own.path.read_bytes()
    assert other.tools.startswith("clang version 22.")
    assert own.tools.startswith("ziglang 0.")


@pytest.mark.parametrize("named", [None, "", "/nowhere/zig"])
def test_without_another_clang_its_recipes_say_how_to_name_one(
    named: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if named is None:
        monkeypatch.delenv(compile.OTHER_ZIG, raising=False)
    else:
        monkeypatch.setenv(compile.OTHER_ZIG, named)
    with pytest.raises(ToolchainMissing, match=r"a second clang is not installed; .* and TESTBED_OTHER_ZIG=FOLDER"):
        build(read_program(written(tmp_path)), ARCHES["x86_64"], RECIPES["clang-other-Os"])
    assert not [r.name for r in recipes_for(read_program(tmp_path / "prog.c"), ARCHES["x86_64"]) if "other" in r.name]


@pytest.mark.parametrize("recipe", ["clang-asm", "gcc-asm"])
@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("_start", """the entry symbol '_start' is not global: write ".globl _start" in front of its label"""),
        ("begin", "the entry symbol '_start' is not in the file"),
    ],
)
def test_an_entry_that_a_linker_does_not_find_is_an_error(recipe: str, label: str, words: str, tmp_path: Path) -> None:
    """Both linkers only warn: one starts at address 0 then, the other wherever the code begins."""
    path = tmp_path / "unseen.x86_64.S"
    path.write_text(
        f"// summary: no symbol to start at\n// exit: 0\n{label}:\n    mov eax, 60\n    syscall\n", encoding="utf-8"
    )
    with pytest.raises(BuildError) as caught:
        built_or_skipped(path, "x86_64", recipe)
    assert str(caught.value).startswith(f"{path}: {words}")


# C and assembly through GCC and GNU binutils: every instruction set, messages, versions, and what is missing.


GNU = [recipe for recipe in RECIPES.values() if recipe.tool.gnu]


@pytest.mark.parametrize("arch", ARCHES.values(), ids=str)
def test_c_is_compiled_for_each_instruction_set_and_runs(arch: Arch, tmp_path: Path) -> None:
    program = read_program(written(tmp_path))
    recipes = [r for r in recipes_for(program, arch, everything=True) if r in GNU]
    assert len(recipes) >= 8 * len(arch.isas)
    for recipe in (r for r in recipes if "-O2" in r.name):
        built = build(program, arch, recipe)
        main = built.image.symbol_named("main")
        assert built.image.isa_at(main.address) is built.isa
        assert b"GNU C" in built.path.read_bytes(), "GCC names itself in the debug information"
        assert "12." in built.tools and "GNU ld" in built.tools
        assert run_built(built).failure == ""


@pytest.mark.parametrize("name", ["callee_saved", "tail_call", "red_zone"])
@pytest.mark.parametrize("arch", ARCHES.values(), ids=str)
def test_assembly_lies_where_every_assembler_puts_it(name: str, arch: Arch) -> None:
    program = PROGRAMS[name]
    ours = {recipe.isa: recipe for recipe in recipes_for(program, arch) if recipe.name.startswith("keystone")}
    theirs = {recipe.isa: recipe for recipe in recipes_for(program, arch) if recipe.name.startswith("gcc-asm")}
    assert theirs and theirs.keys() <= ours.keys()
    for isa, recipe in theirs.items():
        here, there = build(program, arch, ours[isa]), build(program, arch, recipe)
        assert there.image.entry == here.image.entry
        assert there.image.sections[".text"].address == here.image.sections[".text"].address
        assert run_built(there).failure == ""


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_ld_makes_one_sorted_search_table_and_as_the_first_version_of_sframe(arch: str, tmp_path: Path) -> None:
    image = build(read_program(written(tmp_path)), ARCHES[arch], RECIPES["gcc-O2-sframe"]).image
    hdr = image.sections[".eh_frame_hdr"]
    count = int.from_bytes(hdr.data[8:12], "little")
    starts = [int.from_bytes(hdr.data[12 + 8 * i : 16 + 8 * i], "little", signed=True) for i in range(count)]
    assert count >= 3 and starts == sorted(starts)
    table = image.sections[".sframe"]
    assert read_header(Reader(".sframe", table.address, table.data), ARCHES[arch]).version == 1
    assert table.data.count(b"\xe2\xde") == 1, "ld has merged the tables of both objects"


def test_a_missing_compiler_is_named_with_its_debian_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    program = read_program(written(tmp_path))
    packages = {"x86_64": "gcc-12", "arm64": "gcc-12-aarch64-linux-gnu", "arm32": "gcc-12-arm-linux-gnueabihf"}
    for name, package in packages.items():
        with pytest.raises(ToolchainMissing, match=f"install it with: apt-get install {package}$"):
            build(program, ARCHES[name], RECIPES["gcc-O2"])
    unit = Unit("prog", "arm64", "gcc-O2")
    result = judge_unit(unit, {"prog": program}, [])
    assert "gcc-12-aarch64-linux-gnu" in result.skipped and not result.failed and not result.cells


def test_a_c_plus_plus_program_asks_for_the_other_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ToolchainMissing, match=r"apt-get install g\+\+-12-arm-linux-gnueabihf$"):
        build(PROGRAMS["cxx_names"], ARCHES["arm32"], RECIPES["gcc-O2"])


def test_another_version_of_the_compiler_is_another_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = read_program(written(tmp_path)).sources["c"]
    arch = ARCHES["x86_64"]

    def keys() -> list[str]:
        return [cache.build_key(source, arch, arch.isas[0], RECIPES[name]) for name in ("gcc-O2", "clang-O2")]

    before, said = keys(), compile.gnu_version
    assert before == keys()
    monkeypatch.setattr(compile, "gnu_version", lambda arch, source: said(arch, source) + ".1")
    after = keys()
    assert after[0] != before[0] and after[1] == before[1]
