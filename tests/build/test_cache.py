"""The cache of built files: hit, miss, and what is built again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.arch import ARCHES
from testbed.build import build, cache
from testbed.build.keystone import KeystoneIsa, call_keystone
from testbed.build.recipes import RECIPES
from testbed.program.model import Program, program_from_text, read_program
from testbed.words.errors import UsageError
from testbed.words.files import cache_folder
from testbed.words.traits import Trait

X86 = ARCHES["x86_64"]
KEYSTONE = RECIPES["keystone"]


@pytest.fixture(autouse=True)
def calls(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An empty cache, and what keystone was asked to assemble."""
    asked: list[str] = []

    def counting(isa: KeystoneIsa, text: str, address: int) -> tuple[bytes, str]:
        asked.append(text)
        return call_keystone(isa, text, address)

    monkeypatch.setattr("testbed.build.keystone.call_keystone", counting)
    return asked


def program(text: str = "_start: nop\n") -> Program:
    return program_from_text("t", X86, text)


def test_the_second_build_takes_the_first_ones_file(calls: list[str]) -> None:
    first, second = build(program(), X86, KEYSTONE), build(program(), X86, KEYSTONE)
    assert first.path == second.path
    assert first.path.parent == cache_folder()
    assert len(calls) == 1
    build(program(), X86, KEYSTONE, fresh=True)
    assert len(calls) == 2


def test_another_source_is_another_file(calls: list[str]) -> None:
    first, second = build(program(), X86, KEYSTONE), build(program("_start: ret\n"), X86, KEYSTONE)
    assert first.path != second.path
    assert len(calls) == 2
    assert first.image.sections[".text"].data == b"\x90"
    assert second.image.sections[".text"].data == b"\xc3"


@pytest.mark.parametrize(("what", "instead"), [("_own_code", lambda: "edited"), ("version_of", lambda package: "99")])
def test_an_edited_writer_and_another_version_of_a_tool_make_another_file(
    monkeypatch: pytest.MonkeyPatch, calls: list[str], what: str, instead: Callable[..., str]
) -> None:
    first = build(program(), X86, KEYSTONE)
    monkeypatch.setattr(cache, what, instead)
    assert build(program(), X86, KEYSTONE).path != first.path
    assert len(calls) == 2


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_file_that_others_may_have_written_is_built_again(calls: list[str], what: str) -> None:
    first = build(program(), X86, KEYSTONE)
    (first.path if what == "file" else first.path.parent).chmod(0o777)
    again = build(program(), X86, KEYSTONE)
    assert len(calls) == 2 and again.image.sections[".text"].data == b"\x90"
    assert (again.path.parent == cache_folder()) == (what != "folder")


def test_a_file_with_one_wrong_bit_is_built_again(calls: list[str]) -> None:
    path = build(program(), X86, KEYSTONE).path
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    build(program(), X86, KEYSTONE)
    assert len(calls) == 2


def test_a_folder_that_cannot_be_written_costs_only_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "file" / "cache"))
    assert build(program(), X86, KEYSTONE).path.read_bytes()[:4] == b"\x7fELF"


def test_a_recipe_that_does_not_build_the_program_says_which_do() -> None:
    with pytest.raises(UsageError, match=r"'clang-O2' does not build t on x86_64; there are: keystone, clang-asm$"):
        build(program(), X86, RECIPES["clang-O2"])


def test_the_header_decides_traits_entry_and_frame_record(tmp_path: Path) -> None:
    path = tmp_path / "p.a32.S"
    path.write_text(
        "// summary: s\n// exit: 0\n// entry: go\n// traits: FP_OMITTED\n// frame-record: r11-gcc\n"
        "nop\n.type go, %function\ngo: bx lr\n.size go, . - go\n"
    )
    built = build(read_program(path), ARCHES["arm32"], KEYSTONE)
    assert built.source.header.traits == {Trait.FP_OMITTED}
    assert built.image.frame_record_at(built.image.entry).name == "r11-gcc"
    assert built.image.entry == 0x410004
    assert (built.isa.name, built.source.path) == ("a32", path)
