"""C and assembly through GCC and GNU binutils: every instruction set, messages, versions, and what is missing."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest

from programs import PROGRAMS
from testbed.arch import ARCHES, Arch
from testbed.build import build, cache, gnu
from testbed.build.recipes import RECIPES, recipes_for
from testbed.campaign.matrix import judge_unit
from testbed.campaign.results import Unit
from testbed.program.model import read_program
from testbed.runs.run import run_built
from testbed.words.errors import BuildError, ToolchainMissing
from tests.build.sources import written
from unwinders.formats.reader import Reader
from unwinders.formats.sframe import read_header

GNU = [recipe for recipe in RECIPES.values() if recipe.tool.gnu]


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("arch", ARCHES.values(), ids=str)
def test_c_is_compiled_for_each_instruction_set_and_runs(arch: Arch, tmp_path: Path) -> None:
    program = read_program(written(tmp_path))
    recipes = [r for r in recipes_for(program, arch, everything=True) if r in GNU]
    assert len(recipes) >= 8 * len(arch.isas)
    for recipe in (r for r in recipes if "-O2" in r.name):
        built = build(program, arch, recipe)
        main = built.image.symbol_named("main")
        assert main is not None
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


def test_equal_input_gives_equal_output_wherever_it_lies(tmp_path: Path) -> None:
    contents = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        program = read_program(written(tmp_path / folder))
        contents.append(build(program, ARCHES["arm64"], RECIPES["gcc-O2"], fresh=True).path.read_bytes())
    assert contents[0] == contents[1]
    assert b"/tmp/" not in contents[0] and str(tmp_path).encode() not in contents[0]


@pytest.fixture
def for_arm64() -> None:
    """What is missing is a build error too: a test of messages has to know that it is there."""
    if not gnu.is_installed(ARCHES["arm64"]):
        pytest.skip(f"apt-get install {gnu.package_of(ARCHES['arm64'])}")


@pytest.mark.usefixtures("for_arm64")
def test_an_error_names_the_users_file_line_and_column(tmp_path: Path) -> None:
    path = written(tmp_path, "// summary: s\n// exit: 0\nint main(void) { return x; }\n")
    with pytest.raises(BuildError) as caught:
        build(read_program(path), ARCHES["arm64"], RECIPES["gcc-O2"])
    assert str(caught.value).startswith(f"{path}:3:25: error: 'x' undeclared")
    assert any("gcc" in part for part in caught.value.command)


@pytest.mark.usefixtures("for_arm64")
def test_an_assembly_error_names_the_users_file_and_line(tmp_path: Path) -> None:
    path = written(tmp_path, "// summary: s\n// exit: 0\n_start:\n  movv x0, x1\n", "prog.arm64.S")
    with pytest.raises(BuildError) as caught:
        build(read_program(path), ARCHES["arm64"], RECIPES["gcc-asm"])
    assert str(caught.value).startswith(f"{path}:4: Error: unknown mnemonic")


@pytest.mark.usefixtures("for_arm64")
def test_a_link_error_says_what_is_missing(tmp_path: Path) -> None:
    path = written(tmp_path, "// summary: s\n// exit: 0\nint g(void); int main(void) { return g(); }\n")
    with pytest.raises(BuildError, match="undefined reference to `g'"):
        build(read_program(path), ARCHES["arm64"], RECIPES["gcc-O2"])


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
    arch, recipe = ARCHES["x86_64"], RECIPES["gcc-O2"]
    before = cache.key_of(source, arch, arch.isas[0], recipe)
    assert before == cache.key_of(source, arch, arch.isas[0], recipe)
    said = gnu.gnu_version
    monkeypatch.setattr(gnu, "gnu_version", lambda arch, source: said(arch, source) + ".1")
    assert cache.key_of(source, arch, arch.isas[0], recipe) != before
    clang = dataclasses.replace(RECIPES["clang-O2"])
    assert cache.key_of(source, arch, arch.isas[0], clang) == cache.key_of(source, arch, arch.isas[0], clang)
